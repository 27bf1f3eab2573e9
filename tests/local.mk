# What `make check` builds and runs besides the plugin's tests, and what `make bench` measures.
if BUILD_TESTS
include tests/soak/local.mk
include tests/unit/local.mk
include tests/bench/local.mk
endif

# What end-to-end tests load and run beside the programs.
.PHONY: test-helpers
test-helpers: $(check_LTLIBRARIES) tests/soak/spool_writer
