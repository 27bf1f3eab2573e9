# The program that answers goodputd with what NVIDIA's driver says about the GPUs (gpu_use = nvml). It is separate because the
# driver's library may hang, and needs devices that goodputd's sandbox hides. It links nothing but the C++ library.
pkglibexec_PROGRAMS += tools/nvml/goodput-nvml
tools_nvml_goodput_nvml_SOURCES = tools/nvml/main.cc tools/nvml/nvml.cc tools/nvml/nvml.h
tools_nvml_goodput_nvml_LDADD = -ldl
