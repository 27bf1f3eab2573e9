# Tests of `make check` in addition to the plugin's, and benchmarks of `make bench`.
if BUILD_TESTS
include tests/soak/local.mk
include tests/unit/local.mk
include tests/fuzz/local.mk
include tests/nvml/local.mk
include tests/bench/local.mk
endif

# tests/run tests these without sanitizers only: the accounting engine, which reads nothing that others write, so that property tests
# try all cases; and faults at every call, of which each is a process.
rest_tests = tests/unit/advise_test tests/unit/faults_test tests/unit/fleet_rows_test tests/unit/fleet_test tests/unit/flops_test \
  tests/unit/report_test tests/unit/rollup_test tests/unit/timeline_test
# The unit tests, and the plugin that they load, without other programs.
.PHONY: test-programs input-test-programs rest-test-programs test-helpers
test-programs:
	$(MAKE) input-test-programs
	$(MAKE) rest-test-programs
input-test-programs: $(BUILT_SOURCES)
	$(MAKE) $(filter-out $(rest_tests),$(check_PROGRAMS)) $(check_LTLIBRARIES) spank/spank_goodput.la
rest-test-programs: $(BUILT_SOURCES)
	$(MAKE) $(rest_tests)
# Helpers of the end-to-end tests.
test-helpers: $(check_LTLIBRARIES) tests/soak/spool_writer
