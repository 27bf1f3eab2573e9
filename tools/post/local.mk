# The program that `sgoodput events` executes to post to a URL. It is separate because of libcurl, whose libraries would slow
# down every start of sgoodput.
pkglibexec_PROGRAMS += tools/post/goodput-post
tools_post_goodput_post_SOURCES = tools/post/main.cc
tools_post_goodput_post_CXXFLAGS = $(AM_CXXFLAGS) $(ABSL_CFLAGS)
tools_post_goodput_post_LDADD = $(http_libs)
