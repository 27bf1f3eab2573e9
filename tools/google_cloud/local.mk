# The program that `sgoodput` executes for --cloud-log. It is separate because of libcurl with TLS and libcrypto, which would slow
# down every start of sgoodput.
pkglibexec_PROGRAMS += tools/google_cloud/goodput-google-cloud
tools_google_cloud_goodput_google_cloud_SOURCES = tools/google_cloud/main.cc
tools_google_cloud_goodput_google_cloud_CXXFLAGS = $(AM_CXXFLAGS) $(ABSL_CFLAGS)
tools_google_cloud_goodput_google_cloud_LDADD = $(googlecloud_libs)
