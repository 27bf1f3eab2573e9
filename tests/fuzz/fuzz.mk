# Builds the fuzz targets, with the sources that they need, with clang in the current folder:
#   make -f TOP/tests/fuzz/fuzz.mk TOP=TOP
# One file per target. Separate from other builds, because the compiler and the flags differ and all code is instrumented.
CLANGXX ?= clang++
TOP ?= ../..
packages = absl_node_hash_map absl_status absl_statusor absl_time absl_strings absl_str_format re2 simdjson sqlite3 zlib libcrypto
OPTIMIZE ?= -O1
CXXFLAGS = -std=c++17 $(OPTIMIZE) -g1 -fno-omit-frame-pointer -fsanitize=fuzzer-no-link,address,undefined \
  -fno-sanitize-recover=all -fsanitize-ignorelist=$(TOP)/tests/sanitize/ignored -I$(TOP) $(shell pkg-config --cflags $(packages))
LDFLAGS = -fuse-ld=lld
LDLIBS := $(shell pkg-config --libs $(packages))

targets = spool_line record mark_message option_value config times sacct_text hostlist log_lines step_block google_entry \
  cloud_log json_stream line_templates mark_block node_status question record_pack \
  helper_answer kernel_line ras_report spool_names spans cloud_answers exporter_text nvrx_cycle
# The sources that they need, each library compiled as one file, as with configure --enable-unity.
piece_spank = spank/event spank/files spank/options spank/spool
$(foreach part,blocks ingest tables,$(eval piece_$(part) = $$(patsubst $$(TOP)/%.cc,%,$$(wildcard $$(TOP)/sql/$(part)/*.cc))))
piece_sql = $(patsubst $(TOP)/%.cc,%,$(wildcard $(TOP)/sql/*.cc))
piece_logs = $(addprefix tools/sources/import_export/,cloud_log input json_stream nvrx_cycle time_order) \
  $(filter-out %/built_in,$(patsubst $(TOP)/%.cc,%,$(wildcard $(TOP)/tools/sources/logs/*.cc)))
piece_otel = $(patsubst $(TOP)/%.cc,%,$(wildcard $(TOP)/tools/sources/otel/*.cc))
# Without cloud_world, which needs libcurl. Cloud Logging and Cloud Monitoring use the same names.
piece_monitoring = $(addprefix tools/sources/google_cloud/,check_monitoring monitoring_service write_series)
piece_cloud = $(filter-out %/cloud_world $(piece_monitoring),$(patsubst $(TOP)/%.cc,%,$(wildcard $(TOP)/tools/sources/google_cloud/*.cc)))
piece_words = tools/accounting/metrics/exposition tools/base/config tools/base/decimal tools/base/gpu_peaks tools/base/gpu_prices tools/base/hostlist \
  tools/base/mark_message tools/base/parse_time tools/base/subprocess tools/base/viewer tools/reader/question tools/reader/rights \
  tools/sources/slurm/sacct tools/sources/slurm/slurm_time tools/sources/slurm/tres tools/reader/host_names tools/base/helper_message \
  tools/base/helper_process tools/base/format tools/base/unpacker
piece_helpers = tools/goodputd/checkpoints/folder_watch tools/goodputd/checkpoints/layout tools/goodputd/checkpoints/open_folder \
  tools/goodputd/checkpoints/scan_helper tools/goodputd/hang/hang_helper tools/goodputd/hang/last_output \
  tools/goodputd/hang/nccl_ras tools/goodputd/hang/process_look tools/goodputd/hang/py_spy tools/goodputd/hang/ras_report tools/goodputd/job_paths tools/goodputd/kernel/kernel_line tools/goodputd/output/buffered_lines tools/goodputd/output/follow_helper tools/goodputd/output/follower tools/goodputd/output/open_mode \
  tools/goodputd/processes tools/sources/shared_spool/files_as tools/sources/shared_spool/ingest_helper \
  tools/sources/shared_spool/shared_folder tools/sources/shared_spool/ship_helper
piece_exporter = tools/goodputd/gpu_use/exporter_text
piece_layouts = $(patsubst $(TOP)/%.cc,%,$(wildcard $(TOP)/tools/goodputd/checkpoints/layouts/*.cc))
pieces = spank sql blocks ingest tables logs otel cloud monitoring words helpers layouts exporter
product = $(pieces:%=piece_%.o) tools/sources/logs/built_in.o

all: $(targets:%=fuzz_%)

# The linker takes from the archive what a target uses.
product.a: $(product)
	@rm -f $@ && $(AR) rc $@ $^
$(targets:%=fuzz_%): fuzz_%: tests/fuzz/%.o product.a
	$(CLANGXX) $(LDFLAGS) -fsanitize=fuzzer,address,undefined -o $@ $< product.a $(LDLIBS)
# Generated sources.
tools/sources/logs/built_in.o: $(wildcard $(TOP)/tools/sources/logs/profiles/*.profile)
	@mkdir -p $(@D)
	cd $(TOP) && sh tools/sources/logs/embed tools/sources/logs/profiles/*.profile >$(CURDIR)/tools/sources/logs/built_in.cc
	$(CLANGXX) $(CXXFLAGS) -c -o $@ tools/sources/logs/built_in.cc
# Written again if a file came or went.
$(pieces:%=piece_%.cc): piece_%.cc: FORCE
	@for file in $(piece_$*); do echo "#include \"$$file.cc\""; done >$@.new
	@if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi
FORCE:
$(pieces:%=piece_%.o): %.o: %.cc
	$(CLANGXX) $(CXXFLAGS) -MMD -c -o $@ $<
$(targets:%=tests/fuzz/%.o): %.o: $(TOP)/%.cc
	@mkdir -p $(@D)
	$(CLANGXX) $(CXXFLAGS) -MMD -c -o $@ $<
print-targets:
	@echo $(targets)
-include $(targets:%=tests/fuzz/%.d) $(product:.o=.d)
.PHONY: all print-targets FORCE
.SECONDARY:
