# Text formats and numbers.
noinst_LIBRARIES += tools/base/libtext.a
tools_base_libtext_files = \
  tools/base/decimal.cc tools/base/decimal.h \
  tools/base/format.cc tools/base/format.h \
  tools/base/gpu_peaks.cc tools/base/gpu_peaks.h \
  tools/base/gpu_prices.cc tools/base/gpu_prices.h \
  tools/base/hostlist.cc tools/base/hostlist.h \
  tools/base/option_lists.cc tools/base/option_lists.h \
  tools/base/parse_duration.cc tools/base/parse_duration.h \
  tools/base/parse_time.cc tools/base/parse_time.h \
  tools/base/signal_name.cc tools/base/signal_name.h \
  tools/base/time.h
unity_sources += tools/base/libtext.unity.cc
if UNITY
nodist_tools_base_libtext_a_SOURCES = tools/base/libtext.unity.cc
else
tools_base_libtext_a_SOURCES = $(tools_base_libtext_files)
endif
tools_base_libtext_a_CXXFLAGS = $(AM_CXXFLAGS) $(ABSL_CFLAGS)
text_libs = tools/base/libtext.a spank/libevent_vocabulary.la $(ABSL_LIBS)

# Code shared by the programs: configuration, helper processes, the wire format of marks.
noinst_LIBRARIES += tools/base/libbase.a
tools_base_libbase_files = \
  tools/base/cgroup_limits.cc tools/base/cgroup_limits.h \
  tools/base/config.cc tools/base/config.h \
  tools/base/database_copy.cc tools/base/database_copy.h \
  tools/base/database_lease.cc tools/base/database_lease.h \
  tools/base/helper_message.cc tools/base/helper_message.h \
  tools/base/helper_process.cc tools/base/helper_process.h \
  tools/base/http_reply.cc tools/base/http_reply.h \
  tools/base/mark_message.cc tools/base/mark_message.h \
  tools/base/progress.cc tools/base/progress.h \
  tools/base/replace_file.cc tools/base/replace_file.h \
  tools/base/retry_after.cc tools/base/retry_after.h \
  tools/base/service_manager.cc tools/base/service_manager.h \
  tools/base/subprocess.cc tools/base/subprocess.h \
  tools/base/trace_permission.cc tools/base/trace_permission.h \
  tools/base/unix_socket.cc tools/base/unix_socket.h \
  tools/base/unpacker.cc tools/base/unpacker.h \
  tools/base/viewer.cc tools/base/viewer.h
unity_sources += tools/base/libbase.unity.cc
if UNITY
nodist_tools_base_libbase_a_SOURCES = tools/base/libbase.unity.cc
else
tools_base_libbase_a_SOURCES = $(tools_base_libbase_files)
endif
tools_base_libbase_a_CXXFLAGS = $(AM_CXXFLAGS) $(ABSL_CFLAGS) $(SIMDJSON_CFLAGS) $(ZLIB_CFLAGS)
base_libs = tools/base/libbase.a $(text_libs) $(store_libs)

# Alone, so that packages need not compile anything else again.
noinst_LIBRARIES += tools/base/libinstalled.a
tools_base_libinstalled_a_SOURCES = \
  tools/base/installed_program.cc tools/base/installed_program.h
tools_base_libinstalled_a_CPPFLAGS = $(AM_CPPFLAGS) -DBINDIR='"$(bindir)"' -DPKGLIBEXECDIR='"$(pkglibexecdir)"'
installed_libs = tools/base/libinstalled.a

# Included by the programs that use CLI11.
EXTRA_DIST += tools/base/help_formatter.h

# HTTP, for the daemon only, so that the command does not need libcurl.
noinst_LIBRARIES += tools/base/libhttp.a
tools_base_libhttp_a_SOURCES = \
  tools/base/http_client.cc tools/base/http_client.h
tools_base_libhttp_a_CXXFLAGS = $(AM_CXXFLAGS) $(ABSL_CFLAGS) $(CURL_CFLAGS)
http_libs = tools/base/libhttp.a $(base_libs) $(CURL_LIBS)
