# Unit tests of the plugin's parts, and plugins that only tests load.
check_PROGRAMS += tests/spank/spank_test tests/spank/hooks_test
TESTS += tests/spank/spank_test tests/spank/hooks_test tests/spank/plugin_binary.sh
tests_spank_spank_test_files = \
  tests/spank/clock_test.cc \
  tests/spank/event_test.cc \
  tests/spank/guard_test.cc \
  tests/spank/job_note_test.cc \
  tests/spank/json_check.h \
  tests/spank/options_test.cc \
  tests/spank/spool_test.cc \
  tests/spank/step_use_test.cc \
  tests/spank/temp_folder.h \
  spank/options.cc
if UNITY
nodist_tests_spank_spank_test_SOURCES = tests/spank/spank_test.unity.cc
else
tests_spank_spank_test_SOURCES = $(tests_spank_spank_test_files)
endif
tests_spank_spank_test_CPPFLAGS = $(AM_CPPFLAGS) $(GTEST_CFLAGS)
tests_spank_spank_test_LDADD = spank/libspank_parts.la spank/libevent_vocabulary.la $(GTEST_LIBS)

# Loads the plugin, which finds SPANK's functions in this program as in slurmstepd.
tests_spank_hooks_test_SOURCES = tests/spank/hooks_test.cc tests/spank/spank_host.cc tests/spank/spank_host.h
tests_spank_hooks_test_CPPFLAGS = $(AM_CPPFLAGS) $(SLURM_CPPFLAGS) $(GTEST_CFLAGS)
tests_spank_hooks_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--export-dynamic
tests_spank_hooks_test_LDADD = spank/libevent_vocabulary.la $(GTEST_LIBS) -ldl

# -rpath makes libtool build a loadable module although it is not installed.
check_LTLIBRARIES += spank/spank_goodput_faults.la tests/spank/import_plugin.la tests/spank/other_plugin.la
spank_spank_goodput_faults_la_SOURCES = $(spank_plugin_sources)
spank_spank_goodput_faults_la_CPPFLAGS = $(AM_CPPFLAGS) $(SLURM_CPPFLAGS) -DGOODPUT_TEST_FAULTS
spank_spank_goodput_faults_la_CXXFLAGS = $(AM_CXXFLAGS) -ffunction-sections -fdata-sections
spank_spank_goodput_faults_la_LIBADD = $(spank_spank_goodput_la_LIBADD)
spank_spank_goodput_faults_la_DEPENDENCIES = $(spank_spank_goodput_la_DEPENDENCIES)
spank_spank_goodput_faults_la_LDFLAGS = -module -avoid-version -shared -rpath /nowhere $(spank_plugin_ldflags)
spank_spank_goodput_faults_la_LINK = $(spank_plugin_link) $(spank_spank_goodput_faults_la_LDFLAGS) \
  $(spank_plugin_runtime) -o $@
tests_spank_import_plugin_la_SOURCES = tests/spank/import_plugin.c
tests_spank_import_plugin_la_CPPFLAGS = $(AM_CPPFLAGS) $(SLURM_CPPFLAGS)
tests_spank_import_plugin_la_CFLAGS = $(AM_CFLAGS) -fvisibility=default
tests_spank_import_plugin_la_LDFLAGS = -module -avoid-version -shared -rpath /nowhere
tests_spank_other_plugin_la_SOURCES = tests/spank/other_plugin.c
tests_spank_other_plugin_la_CPPFLAGS = $(AM_CPPFLAGS) $(SLURM_CPPFLAGS)
tests_spank_other_plugin_la_CFLAGS = $(AM_CFLAGS) -fvisibility=default
tests_spank_other_plugin_la_LDFLAGS = -module -avoid-version -shared -rpath /nowhere

EXTRA_DIST += tests/spank/plugin_binary.sh tests/spank/fuse_folder.py tests/e2e/test_plugin.py
