# Questions from elsewhere: what goodputd, goodput-reader, goodput-ask and sgoodput share of them.
noinst_LTLIBRARIES += tools/libreader.la
tools_libreader_files = \
  tools/reader/answer.cc tools/reader/answer.h \
  tools/reader/confine.cc tools/reader/confine.h \
  tools/reader/control.cc tools/reader/control.h \
  tools/reader/http_reply.cc tools/reader/http_reply.h \
  tools/reader/metrics_cache.cc tools/reader/metrics_cache.h \
  tools/reader/munge.cc tools/reader/munge.h \
  tools/reader/question.cc tools/reader/question.h \
  tools/reader/reader_process.h \
  tools/reader/rights.cc tools/reader/rights.h \
  tools/reader/viewer.cc tools/reader/viewer.h \
  tools/reader/work_queue.cc tools/reader/work_queue.h
unity_sources += tools/libreader.unity.cc
if UNITY
nodist_tools_libreader_la_SOURCES = tools/libreader.unity.cc
else
tools_libreader_la_SOURCES = $(tools_libreader_files)
endif
tools_libreader_la_CXXFLAGS = $(AM_CXXFLAGS) $(ABSL_CFLAGS) $(SIMDJSON_CFLAGS)
tools_libreader_la_LIBADD = tools/libcommon.la

# The one user of libmicrohttpd.
noinst_LTLIBRARIES += tools/libhttpserver.la
tools_libhttpserver_la_SOURCES = \
  tools/reader/http_server.cc tools/reader/http_server.h \
  tools/reader/reader.cc tools/reader/reader.h
tools_libhttpserver_la_CXXFLAGS = $(AM_CXXFLAGS) $(ABSL_CFLAGS) $(MICROHTTPD_CFLAGS) -pthread
tools_libhttpserver_la_LIBADD = tools/libweb.la tools/libreader.la $(MICROHTTPD_LIBS)

pkglibexec_PROGRAMS = tools/reader/goodput-reader tools/ask/goodput-ask tools/mark/goodput-mark
tools_reader_goodput_reader_SOURCES = tools/reader/main.cc
tools_reader_goodput_reader_CXXFLAGS = $(AM_CXXFLAGS) $(ABSL_CFLAGS) -pthread
tools_reader_goodput_reader_LDFLAGS = $(AM_LDFLAGS) -pthread
tools_reader_goodput_reader_LDADD = tools/libhttpserver.la

# What sgoodput --url becomes.
tools_ask_goodput_ask_SOURCES = tools/ask/main.cc
tools_ask_goodput_ask_CXXFLAGS = $(AM_CXXFLAGS) $(ABSL_CFLAGS) $(SIMDJSON_CFLAGS)
tools_ask_goodput_ask_LDADD = tools/libreader.la tools/libhttp.la

tools_goodputd_goodputd_files += \
  tools/goodputd/liveness.h \
  tools/goodputd/reader_loop.cc tools/goodputd/reader_loop.h \
  tools/goodputd/reader_sockets.cc tools/goodputd/reader_sockets.h
tools_goodputd_goodputd_CPPFLAGS += -DBINDIR='"$(bindir)"' -DPKGLIBEXECDIR='"$(pkglibexecdir)"'
tools_goodputd_goodputd_LDADD += tools/libreader.la

# What Prometheus is told of runs: pure.
noinst_LTLIBRARIES += tools/libmetrics.la
tools_libmetrics_la_SOURCES = \
  tools/metrics/exposition.cc tools/metrics/exposition.h \
  tools/metrics/run_metrics.cc tools/metrics/run_metrics.h
tools_libmetrics_la_CXXFLAGS = $(AM_CXXFLAGS) $(ABSL_CFLAGS)
tools_libmetrics_la_LIBADD = tools/libtimeline.la $(ABSL_LIBS)
tools_libreader_la_LIBADD += tools/libmetrics.la

tools_sgoodput_sgoodput_files += \
  tools/sgoodput/metrics.cc \
  tools/sgoodput/remote.cc tools/sgoodput/remote.h
tools_sgoodput_sgoodput_CPPFLAGS = $(AM_CPPFLAGS) -DPKGLIBEXECDIR='"$(pkglibexecdir)"'
tools_sgoodput_sgoodput_LDADD += tools/libreader.la

# A dashboard of what /metrics has.
grafanadir = $(pkgdatadir)/grafana
dist_grafana_DATA = tools/grafana/slurm-goodput.json
