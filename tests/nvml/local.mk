# A library that stands in for NVIDIA's; tests copy it to libnvidia-ml.so.1.
check_LTLIBRARIES += tests/nvml/nvml_stand_in.la
tests_nvml_nvml_stand_in_la_SOURCES = tests/nvml/nvml_stand_in.c
tests_nvml_nvml_stand_in_la_LDFLAGS = -module -avoid-version -shared -rpath /nowhere
