# The fuzz targets, with the few sources each needs, built by clang in the folder this is run in:
#   make -f TOP/tests/fuzz/fuzz.mk TOP=TOP
# One file a target. Apart from the other builds: other compiler, other flags, everything instrumented.
CLANGXX ?= clang++
TOP ?= ../..
packages = absl_status absl_statusor absl_time absl_strings absl_str_format re2 simdjson sqlite3 zlib
CXXFLAGS = -std=c++17 -O1 -g1 -fno-omit-frame-pointer -fsanitize=fuzzer-no-link,address,undefined \
  -fno-sanitize-recover=all -I$(TOP) $(shell pkg-config --cflags $(packages))
LDLIBS := $(shell pkg-config --libs $(packages))

targets = spool_line record mark_message option_value config times sacct_text hostlist log_lines step_block google_entry \
  entry_stream known_shapes mark_block node_words question record_pack summary_pack
# What they need of the product, in pieces that are each compiled as one file, as configure --enable-unity does.
piece_spank = spank/event spank/files spank/options
piece_sql = sql/database sql/heartbeats sql/known_shapes sql/losses sql/mark_block sql/record_pack sql/record_shape sql/schema \
  sql/spool_line sql/step_block sql/summary_pack
piece_logs = tools/exchange/decimal tools/exchange/entry_stream tools/exchange/google_entry tools/exchange/input \
  tools/exchange/plain_step tools/logs/counters tools/logs/google_events tools/logs/line_time tools/logs/lines tools/logs/log_fold tools/logs/log_reader \
  tools/logs/profile
piece_words = tools/base/subprocess tools/config/config tools/flops/peaks tools/goodputd/mark_message tools/metrics/exposition \
  tools/reader/question tools/reader/rights tools/reader/viewer tools/sgoodput/time_option tools/slurm/hostlist tools/slurm/sacct \
  tools/slurm/slurm_time tools/slurm/tres
pieces = spank sql logs words
product = $(pieces:%=piece_%.o) tools/logs/built_in.o

all: $(targets:%=fuzz_%)

# Targets take from the archive what they use.
product.a: $(product)
	@rm -f $@ && $(AR) rc $@ $^
$(targets:%=fuzz_%): fuzz_%: tests/fuzz/%.o product.a
	$(CLANGXX) -fsanitize=fuzzer,address,undefined -o $@ $< product.a $(LDLIBS)
# Made, not found.
tools/logs/built_in.o: $(wildcard $(TOP)/tools/logs/profiles/*.profile)
	@mkdir -p $(@D)
	cd $(TOP) && sh tools/logs/embed tools/logs/profiles/*.profile >$(CURDIR)/tools/logs/built_in.cc
	$(CLANGXX) $(CXXFLAGS) -c -o $@ tools/logs/built_in.cc
$(pieces:%=piece_%.cc): piece_%.cc: $(TOP)/tests/fuzz/fuzz.mk
	for file in $(piece_$*); do echo "#include \"$$file.cc\""; done >$@
$(pieces:%=piece_%.o): %.o: %.cc
	$(CLANGXX) $(CXXFLAGS) -MMD -c -o $@ $<
$(targets:%=tests/fuzz/%.o): %.o: $(TOP)/%.cc
	@mkdir -p $(@D)
	$(CLANGXX) $(CXXFLAGS) -MMD -c -o $@ $<
print-targets:
	@echo $(targets)
-include $(targets:%=tests/fuzz/%.d) $(product:.o=.d)
.PHONY: all print-targets
.SECONDARY:
