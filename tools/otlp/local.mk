# The receiver of OpenTelemetry's spans that `sgoodput otlp` executes.
otlp_protos = \
  tools/otlp/proto/opentelemetry/proto/collector/trace/v1/trace_service.proto \
  tools/otlp/proto/opentelemetry/proto/common/v1/common.proto \
  tools/otlp/proto/opentelemetry/proto/resource/v1/resource.proto \
  tools/otlp/proto/opentelemetry/proto/trace/v1/trace.proto
otlp_generated = $(otlp_protos:tools/otlp/proto/%.proto=tools/otlp/proto/%.pb.cc)
EXTRA_DIST += $(otlp_protos)
BUILT_SOURCES += $(otlp_generated)
CLEANFILES += $(otlp_generated) $(otlp_generated:.cc=.h)
$(otlp_generated): $(otlp_protos)
	@mkdir -p tools/otlp/proto
	$(AM_V_GEN)$(PROTOC) -I $(srcdir)/tools/otlp/proto --cpp_out=tools/otlp/proto $(srcdir)/$(@:.pb.cc=.proto)

# Generated code has its own warnings.
noinst_LIBRARIES += tools/otlp/libotlpproto.a
nodist_tools_otlp_libotlpproto_a_SOURCES = \
  tools/otlp/proto/opentelemetry/proto/collector/trace/v1/trace_service.pb.cc \
  tools/otlp/proto/opentelemetry/proto/common/v1/common.pb.cc \
  tools/otlp/proto/opentelemetry/proto/resource/v1/resource.pb.cc \
  tools/otlp/proto/opentelemetry/proto/trace/v1/trace.pb.cc
tools_otlp_libotlpproto_a_CPPFLAGS = $(AM_CPPFLAGS) -Itools/otlp/proto
tools_otlp_libotlpproto_a_CXXFLAGS = $(AM_CXXFLAGS) $(PROTOBUF_CFLAGS) -w
otlpproto_libs = tools/otlp/libotlpproto.a $(PROTOBUF_LIBS)

noinst_LIBRARIES += tools/otlp/libotlp.a
tools_otlp_libotlp_a_SOURCES = \
  tools/otlp/mark_sink.cc tools/otlp/mark_sink.h \
  tools/otlp/otlp_message.cc tools/otlp/otlp_message.h \
  tools/otlp/receiver.cc tools/otlp/receiver.h
tools_otlp_libotlp_a_CPPFLAGS = $(AM_CPPFLAGS) -Itools/otlp/proto
tools_otlp_libotlp_a_CXXFLAGS = $(AM_CXXFLAGS) $(ABSL_CFLAGS) $(PROTOBUF_CFLAGS) -pthread
otlp_libs = tools/otlp/libotlp.a $(otlpproto_libs) $(microhttp_libs) $(otel_libs)

pkglibexec_PROGRAMS += tools/otlp/goodput-otlp
tools_otlp_goodput_otlp_SOURCES = tools/otlp/main.cc
tools_otlp_goodput_otlp_CXXFLAGS = $(AM_CXXFLAGS) $(ABSL_CFLAGS) -pthread
tools_otlp_goodput_otlp_LDFLAGS = $(AM_LDFLAGS) -pthread
tools_otlp_goodput_otlp_LDADD = $(otlp_libs)
