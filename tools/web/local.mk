# The web page, embedded in the program.
noinst_LIBRARIES += tools/web/libweb.a
tools_web_libweb_a_SOURCES = tools/web/assets.h tools/web/single_page.cc tools/web/single_page.h
nodist_tools_web_libweb_a_SOURCES = tools/web/assets.cc
tools_web_libweb_a_CXXFLAGS = $(AM_CXXFLAGS) $(ABSL_CFLAGS)
web_libs = tools/web/libweb.a $(ABSL_LIBS)

# In the order in which the page loads the files.
web_files = \
  tools/web/index.html \
  tools/web/style.css \
  tools/web/format.js \
  tools/web/data.js \
  tools/web/draw.js \
  tools/web/now.js \
  tools/web/list.js \
  tools/web/run.js \
  tools/web/fleet.js \
  tools/web/main.js
EXTRA_DIST += tools/web/embed $(web_files)
BUILT_SOURCES += tools/web/assets.cc
CLEANFILES += tools/web/assets.cc
bucket_table = tools/accounting/timeline/bucket_table.h
tools/web/assets.cc: tools/web/embed $(bucket_table) $(web_files)
	@mkdir -p tools/web
	$(AM_V_GEN)cd $(srcdir) && sh tools/web/embed $(bucket_table) $(web_files) >$(abs_builddir)/$@.new
	@mv $@.new $@
