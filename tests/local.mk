# Tests of `make check` in addition to the plugin's, and benchmarks of `make bench`.
if BUILD_TESTS
include tests/soak/local.mk
include tests/unit/local.mk
include tests/fuzz/local.mk
include tests/nvml/local.mk
include tests/bench/local.mk
endif

# The unit tests, and the plugin that they load, without other programs.
.PHONY: test-programs test-helpers
test-programs: $(BUILT_SOURCES)
	$(MAKE) $(check_PROGRAMS) $(check_LTLIBRARIES) spank/spank_goodput.la
# Helpers of the end-to-end tests.
test-helpers: $(check_LTLIBRARIES) tests/soak/spool_writer
