# What `make check` builds and runs besides the plugin's tests.
if BUILD_TESTS
include tests/unit/local.mk
endif
