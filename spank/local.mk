# The event vocabulary and the spool, for the plugin, the daemon and the readers.
noinst_LTLIBRARIES += spank/libevent_vocabulary.la
spank_libevent_vocabulary_la_SOURCES = \
  spank/clock.h \
  spank/event.cc spank/event.h \
  spank/files.cc spank/files.h \
  spank/fixed_text.h \
  spank/json_text.h \
  spank/spool.cc spank/spool.h

# The plugin without its entry points, so that tests can link the parts.
noinst_LTLIBRARIES += spank/libspank_parts.la
spank_libspank_parts_la_SOURCES = \
  spank/guard.cc spank/guard.h \
  spank/job_state.cc spank/job_state.h \
  spank/step_use.cc spank/step_use.h \
  spank/duplicate_load.cc spank/duplicate_load.h

spank_plugin_sources = \
  spank/plugin.cc \
  spank/faults.h \
  spank/hooks.h \
  spank/node.cc \
  spank/options.cc spank/options.h \
  spank/slurm_spank.h \
  spank/stepd.cc \
  spank/submit.cc

# libstdc++ and libgcc go into the plugin, hidden by the version script: srun and slurmstepd are C programs, and loading
# the shared ones costs each of them more than the plugin itself; nor can they clash with another plugin's. Linked as C,
# because libtool names the C++ libraries itself otherwise. SPANK's functions are the host program's: undefined here.
spank_plugin_link = $(LIBTOOL) $(AM_V_lt) --tag=CC $(AM_LIBTOOLFLAGS) $(LIBTOOLFLAGS) --mode=link $(CC) \
  $(CFLAGS) $(sanitize_flags)
spank_plugin_ldflags = $(project_ldflags) -Wl,-z,noexecstack \
  -Wl,--version-script=$(srcdir)/spank/exports.map -Wl,--gc-sections $(LDFLAGS)
if SANITIZE
spank_plugin_runtime = -lstdc++ -lm
else
spank_plugin_runtime = -Wc,-static-libgcc -Wl,--push-state,-Bstatic,-lstdc++,--pop-state,-lm
endif

noinst_LTLIBRARIES += spank/spank_goodput.la
spank_spank_goodput_la_SOURCES = $(spank_plugin_sources)
spank_spank_goodput_la_CPPFLAGS = $(AM_CPPFLAGS) $(SLURM_CPPFLAGS)
spank_spank_goodput_la_CXXFLAGS = $(AM_CXXFLAGS) -ffunction-sections -fdata-sections
spank_spank_goodput_la_LIBADD = spank/libspank_parts.la spank/libevent_vocabulary.la
spank_spank_goodput_la_DEPENDENCIES = spank/libspank_parts.la spank/libevent_vocabulary.la spank/exports.map
spank_spank_goodput_la_LDFLAGS = -module -avoid-version -shared -rpath $(plugindir) $(spank_plugin_ldflags)
spank_spank_goodput_la_LINK = $(spank_plugin_link) $(spank_spank_goodput_la_LDFLAGS) \
  $(spank_plugin_runtime) -o $@

# Installed by rename: a program that loads a partly written plugin, such as sbatch or slurmstepd, dies of SIGBUS in the dynamic
# loader, and libtool would overwrite the file in place.
install-exec-local: spank/spank_goodput.la
	$(MKDIR_P) $(DESTDIR)$(plugindir)
	$(INSTALL) spank/.libs/spank_goodput.so $(DESTDIR)$(plugindir)/.spank_goodput.so.new
	mv -f $(DESTDIR)$(plugindir)/.spank_goodput.so.new $(DESTDIR)$(plugindir)/spank_goodput.so
uninstall-local:
	rm -f $(DESTDIR)$(plugindir)/spank_goodput.so

dist_doc_DATA += spank/plugstack.conf.example
EXTRA_DIST += spank/README.md spank/SPOOL_FORMAT.md spank/exports.map

if BUILD_TESTS
include tests/spank/local.mk
endif
