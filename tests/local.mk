# Tests of `make check` in addition to the plugin's, and benchmarks of `make bench`.
if BUILD_TESTS
include tests/soak/local.mk
include tests/unit/local.mk
include tests/bench/local.mk
endif

# Helpers of the end-to-end tests.
.PHONY: test-helpers
test-helpers: $(check_LTLIBRARIES) tests/soak/spool_writer
