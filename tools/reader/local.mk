# Queries over HTTP: code shared by goodputd, goodput-reader, goodput-ask and sgoodput.
noinst_LTLIBRARIES += tools/reader/libreader.la
tools_reader_libreader_files = \
  tools/reader/answer.cc tools/reader/answer.h \
  tools/reader/control.cc tools/reader/control.h \
  tools/reader/host_names.cc tools/reader/host_names.h \
  tools/reader/metrics_cache.cc tools/reader/metrics_cache.h \
  tools/reader/munge.cc tools/reader/munge.h \
  tools/reader/question.cc tools/reader/question.h \
  tools/reader/reader_process.h \
  tools/reader/rights.cc tools/reader/rights.h \
  tools/reader/sandbox.cc tools/reader/sandbox.h \
  tools/reader/work_queue.cc tools/reader/work_queue.h
unity_sources += tools/reader/libreader.unity.cc
if UNITY
nodist_tools_reader_libreader_la_SOURCES = tools/reader/libreader.unity.cc
else
tools_reader_libreader_la_SOURCES = $(tools_reader_libreader_files)
endif
tools_reader_libreader_la_CXXFLAGS = $(AM_CXXFLAGS) $(ABSL_CFLAGS) $(SIMDJSON_CFLAGS)
tools_reader_libreader_la_LIBADD = tools/accounting/libmetrics.la tools/base/libbase.la

# The only user of libmicrohttpd.
noinst_LTLIBRARIES += tools/reader/libmicrohttp.la
tools_reader_libmicrohttp_la_SOURCES = tools/reader/http_server.cc tools/reader/http_server.h
tools_reader_libmicrohttp_la_CXXFLAGS = $(AM_CXXFLAGS) $(ABSL_CFLAGS) $(MICROHTTPD_CFLAGS) -pthread
tools_reader_libmicrohttp_la_LIBADD = tools/base/libbase.la $(MICROHTTPD_LIBS)

noinst_LTLIBRARIES += tools/reader/libhttpserver.la
tools_reader_libhttpserver_la_SOURCES = tools/reader/reader.cc tools/reader/reader.h
tools_reader_libhttpserver_la_CXXFLAGS = $(AM_CXXFLAGS) $(ABSL_CFLAGS) -pthread
tools_reader_libhttpserver_la_LIBADD = tools/web/libweb.la tools/reader/libreader.la tools/reader/libmicrohttp.la

pkglibexec_PROGRAMS += tools/reader/goodput-reader
tools_reader_goodput_reader_SOURCES = tools/reader/main.cc
tools_reader_goodput_reader_CXXFLAGS = $(AM_CXXFLAGS) $(ABSL_CFLAGS) -pthread
tools_reader_goodput_reader_LDFLAGS = $(AM_LDFLAGS) -pthread
tools_reader_goodput_reader_LDADD = tools/reader/libhttpserver.la

# The program that `sgoodput --url` executes.
pkglibexec_PROGRAMS += tools/ask/goodput-ask
tools_ask_goodput_ask_SOURCES = tools/ask/main.cc
tools_ask_goodput_ask_CXXFLAGS = $(AM_CXXFLAGS) $(ABSL_CFLAGS) $(SIMDJSON_CFLAGS)
tools_ask_goodput_ask_LDADD = tools/reader/libreader.la tools/base/libhttp.la
