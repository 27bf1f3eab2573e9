# Queries over HTTP: code shared by goodputd, goodput-reader, goodput-ask and sgoodput.
noinst_LIBRARIES += tools/reader/libreader.a
tools_reader_libreader_files = \
  tools/reader/answer.cc tools/reader/answer.h \
  tools/reader/control.cc tools/reader/control.h \
  tools/reader/host_names.cc tools/reader/host_names.h \
  tools/reader/answer_cache.cc tools/reader/answer_cache.h \
  tools/reader/munge.cc tools/reader/munge.h \
  tools/reader/question.cc tools/reader/question.h \
  tools/reader/reader_process.h \
  tools/reader/rights.cc tools/reader/rights.h \
  tools/reader/sandbox.cc tools/reader/sandbox.h \
  tools/reader/work_queue.cc tools/reader/work_queue.h
unity_sources += tools/reader/libreader.unity.cc
if UNITY
nodist_tools_reader_libreader_a_SOURCES = tools/reader/libreader.unity.cc
else
tools_reader_libreader_a_SOURCES = $(tools_reader_libreader_files)
endif
tools_reader_libreader_a_CXXFLAGS = $(AM_CXXFLAGS) $(ABSL_CFLAGS) $(SIMDJSON_CFLAGS)
reader_libs = tools/reader/libreader.a $(metrics_libs) $(base_libs)

# The only user of libmicrohttpd.
noinst_LIBRARIES += tools/reader/libmicrohttp.a
tools_reader_libmicrohttp_a_SOURCES = tools/reader/http_server.cc tools/reader/http_server.h
tools_reader_libmicrohttp_a_CXXFLAGS = $(AM_CXXFLAGS) $(ABSL_CFLAGS) $(MICROHTTPD_CFLAGS) -pthread
microhttp_libs = tools/reader/libmicrohttp.a $(base_libs) $(MICROHTTPD_LIBS)

noinst_LIBRARIES += tools/reader/libhttpserver.a
tools_reader_libhttpserver_a_SOURCES = tools/reader/reader.cc tools/reader/reader.h
tools_reader_libhttpserver_a_CXXFLAGS = $(AM_CXXFLAGS) $(ABSL_CFLAGS) -pthread
httpserver_libs = tools/reader/libhttpserver.a $(web_libs) $(reader_libs) $(microhttp_libs)

pkglibexec_PROGRAMS += tools/reader/goodput-reader
tools_reader_goodput_reader_SOURCES = tools/reader/main.cc
tools_reader_goodput_reader_CXXFLAGS = $(AM_CXXFLAGS) $(ABSL_CFLAGS) -pthread
tools_reader_goodput_reader_LDFLAGS = $(AM_LDFLAGS) -pthread
tools_reader_goodput_reader_LDADD = $(httpserver_libs)

# The program that `sgoodput --url` executes.
pkglibexec_PROGRAMS += tools/ask/goodput-ask
tools_ask_goodput_ask_SOURCES = tools/ask/main.cc
tools_ask_goodput_ask_CXXFLAGS = $(AM_CXXFLAGS) $(ABSL_CFLAGS) $(SIMDJSON_CFLAGS)
tools_ask_goodput_ask_LDADD = $(reader_libs) $(http_libs)
