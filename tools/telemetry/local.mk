# The program that `sgoodput telemetry` executes. It is separate because of libcurl, whose libraries would slow down every
# start of sgoodput.
pkglibexec_PROGRAMS += tools/telemetry/goodput-telemetry
tools_telemetry_goodput_telemetry_SOURCES = \
  tools/telemetry/commands.cc \
  tools/telemetry/main.cc \
  tools/telemetry/options.h
tools_telemetry_goodput_telemetry_CXXFLAGS = $(AM_CXXFLAGS) $(ABSL_CFLAGS)
tools_telemetry_goodput_telemetry_LDADD = $(telemetry_libs) $(http_libs)
