# Tests of `make check` in addition to the plugin's, and benchmarks of `make bench`.
if BUILD_TESTS
include tests/soak/local.mk
include tests/unit/local.mk
include tests/fuzz/local.mk
include tests/nvml/local.mk
include tests/bench/local.mk
endif

# tests/run tests the accounting engine, which reads nothing that others write, without sanitizers: property tests try all cases.
accounting_tests = tests/unit/advise_test tests/unit/fleet_rows_test tests/unit/fleet_test tests/unit/flops_test \
  tests/unit/report_test tests/unit/rollup_test tests/unit/timeline_test
# The unit tests, and the plugin that they load, without other programs.
.PHONY: test-programs input-test-programs accounting-test-programs test-helpers
test-programs:
	$(MAKE) input-test-programs
	$(MAKE) accounting-test-programs
input-test-programs: $(BUILT_SOURCES)
	$(MAKE) $(filter-out $(accounting_tests),$(check_PROGRAMS)) $(check_LTLIBRARIES) spank/spank_goodput.la
accounting-test-programs: $(BUILT_SOURCES)
	$(MAKE) $(accounting_tests)
# Helpers of the end-to-end tests.
test-helpers: $(check_LTLIBRARIES) tests/soak/spool_writer
