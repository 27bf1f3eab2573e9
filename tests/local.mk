# What `make check` builds and runs besides the plugin's tests, and what `make bench` measures.
if BUILD_TESTS
include tests/soak/local.mk
include tests/unit/local.mk
include tests/bench/local.mk
endif
