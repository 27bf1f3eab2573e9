# Every fuzz target with its corpus, without libFuzzer. clang++ alone has the header that some of them include.
if FUZZ_HEADER
check_PROGRAMS += tests/fuzz/replay
TESTS += tests/fuzz/replay
endif

tests_fuzz_replay_files = \
  spank/options.cc \
  tests/fuzz/cloud_answers.cc \
  tests/fuzz/cloud_log.cc \
  tests/fuzz/config.cc \
  tests/fuzz/exporter_text.cc \
  tests/fuzz/google_entry.cc \
  tests/fuzz/helper_answer.cc \
  tests/fuzz/hostlist.cc \
  tests/fuzz/json_stream.cc \
  tests/fuzz/kernel_line.cc \
  tests/fuzz/line_templates.cc \
  tests/fuzz/log_lines.cc \
  tests/fuzz/mark_block.cc \
  tests/fuzz/mark_message.cc \
  tests/fuzz/node_status.cc \
  tests/fuzz/nvrx_cycle.cc \
  tests/fuzz/option_value.cc \
  tests/fuzz/question.cc \
  tests/fuzz/ras_report.cc \
  tests/fuzz/record.cc \
  tests/fuzz/record_pack.cc \
  tests/fuzz/replay.cc \
  tests/fuzz/sacct_text.cc \
  tests/fuzz/spans.cc \
  tests/fuzz/spool_line.cc \
  tests/fuzz/spool_names.cc \
  tests/fuzz/step_block.cc \
  tests/fuzz/target.h \
  tests/fuzz/times.cc
if UNITY
nodist_tests_fuzz_replay_SOURCES = tests/fuzz/replay.unity.cc
else
tests_fuzz_replay_SOURCES = $(tests_fuzz_replay_files)
endif
tests_fuzz_replay_CPPFLAGS = $(AM_CPPFLAGS) $(ABSL_CFLAGS) $(GTEST_CFLAGS) $(SIMDJSON_CFLAGS) -DGOODPUT_REPLAY \
  -DFUZZ_CORPUS='"$(abs_srcdir)/tests/fuzz/corpus"'
tests_fuzz_replay_LDADD = spank/libspank_parts.la $(goodputd_libs) $(sharedspool_libs) $(reader_libs) $(importexport_libs) \
  $(googlecloud_libs) $(GTEST_LIBS)
