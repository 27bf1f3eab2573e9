# Benchmarks: ratios to a reference in the same run, which `make bench` reports without asserting them.
EXTRA_PROGRAMS += tests/bench/hook_cost
tests_bench_hook_cost_SOURCES = tests/bench/hook_cost.cc tests/spank/spank_host.cc tests/spank/spank_host.h
tests_bench_hook_cost_CPPFLAGS = $(AM_CPPFLAGS) $(SLURM_CPPFLAGS)
tests_bench_hook_cost_LDFLAGS = $(AM_LDFLAGS) -Wl,--export-dynamic
tests_bench_hook_cost_LDADD = spank/libevent_vocabulary.la -ldl

EXTRA_PROGRAMS += tests/bench/one_more_step
tests_bench_one_more_step_SOURCES = tests/bench/one_more_step.cc
tests_bench_one_more_step_CPPFLAGS = $(AM_CPPFLAGS) $(ABSL_CFLAGS)
tests_bench_one_more_step_LDADD = $(runs_libs)

EXTRA_PROGRAMS += tests/bench/many_folders
tests_bench_many_folders_SOURCES = tests/bench/many_folders.cc
tests_bench_many_folders_CPPFLAGS = $(AM_CPPFLAGS) $(ABSL_CFLAGS)
tests_bench_many_folders_LDADD = $(store_libs)
CLEANFILES += $(EXTRA_PROGRAMS)
