# Unit and property tests: one program per part of the tree.
check_PROGRAMS += tests/unit/timeline_test
TESTS += tests/unit/timeline_test

tests_unit_timeline_test_files = \
  tests/unit/any_run.h \
  tests/unit/cases.h \
  tests/unit/run_builder.h \
  tests/unit/hang_evidence_test.cc \
  tests/unit/hardware_test.cc \
  tests/unit/inferred_steps_test.cc \
  tests/unit/gpu_use_test.cc \
  tests/unit/rank_wait_test.cc \
  tests/unit/signals_test.cc \
  tests/unit/timeline_blocks_test.cc \
  tests/unit/timeline_causes_test.cc \
  tests/unit/timeline_host_test.cc \
  tests/unit/timeline_input_test.cc \
  tests/unit/timeline_proof_test.cc \
  tests/unit/timeline_property_test.cc \
  tests/unit/timeline_test.cc \
  tests/unit/timeline_ways_test.cc \
  tests/unit/trainings_test.cc \
  tests/unit/world_test.cc
if UNITY
nodist_tests_unit_timeline_test_SOURCES = tests/unit/timeline_test.unity.cc
else
tests_unit_timeline_test_SOURCES = $(tests_unit_timeline_test_files)
endif
tests_unit_timeline_test_CPPFLAGS = $(AM_CPPFLAGS) $(GTEST_CFLAGS)
tests_unit_timeline_test_LDADD = $(timeline_libs) $(GTEST_LIBS)

check_PROGRAMS += tests/unit/steps_test
TESTS += tests/unit/steps_test
tests_unit_steps_test_SOURCES = tests/unit/format_document.h tests/unit/steps_test.cc
tests_unit_steps_test_CPPFLAGS = $(AM_CPPFLAGS) $(GTEST_CFLAGS) -DFORMAT_DOCUMENTS='"$(abs_srcdir)/docs/formats"'
tests_unit_steps_test_LDADD = $(steps_libs) $(GTEST_LIBS)

check_PROGRAMS += tests/unit/housekeeping_test
TESTS += tests/unit/housekeeping_test
tests_unit_housekeeping_test_SOURCES = tests/spank/temp_folder.h tests/unit/housekeeping_test.cc
tests_unit_housekeeping_test_CPPFLAGS = $(AM_CPPFLAGS) $(ABSL_CFLAGS) $(GTEST_CFLAGS)
tests_unit_housekeeping_test_LDADD = $(goodputd_libs) $(GTEST_LIBS)

check_PROGRAMS += tests/unit/page_test
TESTS += tests/unit/page_test
tests_unit_page_test_SOURCES = tests/unit/page_test.cc
tests_unit_page_test_CPPFLAGS = $(AM_CPPFLAGS) $(ABSL_CFLAGS) $(GTEST_CFLAGS)
tests_unit_page_test_LDADD = $(web_libs) $(timeline_libs) $(GTEST_LIBS)

check_PROGRAMS += tests/unit/fleet_rows_test
TESTS += tests/unit/fleet_rows_test
tests_unit_fleet_rows_test_SOURCES = tests/unit/any_run.h tests/unit/cases.h tests/unit/fleet_rows_test.cc tests/unit/run_builder.h
tests_unit_fleet_rows_test_CPPFLAGS = $(AM_CPPFLAGS) $(ABSL_CFLAGS) $(GTEST_CFLAGS)
tests_unit_fleet_rows_test_LDADD = $(fleetrows_libs) $(GTEST_LIBS)

check_PROGRAMS += tests/unit/rollup_test
TESTS += tests/unit/rollup_test
tests_unit_rollup_test_files = \
  tests/unit/rollup_test.cc \
  tests/unit/run_builder.h \
  tests/unit/statement_test.cc \
  tests/unit/stockout_test.cc
if UNITY
nodist_tests_unit_rollup_test_SOURCES = tests/unit/rollup_test.unity.cc
else
tests_unit_rollup_test_SOURCES = $(tests_unit_rollup_test_files)
endif
tests_unit_rollup_test_CPPFLAGS = $(AM_CPPFLAGS) $(ABSL_CFLAGS) $(GTEST_CFLAGS)
tests_unit_rollup_test_LDADD = $(rollup_libs) $(runs_libs) $(GTEST_LIBS)

check_PROGRAMS += tests/unit/report_test
TESTS += tests/unit/report_test
tests_unit_report_test_SOURCES = tests/spank/temp_folder.h tests/unit/glance_test.cc tests/unit/report_test.cc tests/unit/run_builder.h
tests_unit_report_test_CPPFLAGS = $(AM_CPPFLAGS) $(ABSL_CFLAGS) $(GTEST_CFLAGS)
tests_unit_report_test_LDADD = $(report_libs) $(GTEST_LIBS)

check_PROGRAMS += tests/unit/events_queue_test
TESTS += tests/unit/events_queue_test
tests_unit_events_queue_test_SOURCES = \
  tests/spank/temp_folder.h \
  tests/unit/events_queue_test.cc \
  tools/sgoodput/events_queue.cc \
  tools/sgoodput/events_state.cc
tests_unit_events_queue_test_CPPFLAGS = $(AM_CPPFLAGS) $(ABSL_CFLAGS) $(GTEST_CFLAGS)
tests_unit_events_queue_test_LDADD = $(report_libs) $(base_libs) $(GTEST_LIBS)

check_PROGRAMS += tests/unit/backfill_test
TESTS += tests/unit/backfill_test
tests_unit_backfill_test_SOURCES = tests/spank/temp_folder.h tests/unit/backfill_test.cc
tests_unit_backfill_test_CPPFLAGS = $(AM_CPPFLAGS) $(ABSL_CFLAGS) $(GTEST_CFLAGS)
tests_unit_backfill_test_LDADD = $(goodputd_libs) $(GTEST_LIBS)

check_PROGRAMS += tests/unit/fleet_test
TESTS += tests/unit/fleet_test
tests_unit_fleet_test_SOURCES = tests/spank/temp_folder.h tests/unit/fleet_test.cc tests/unit/run_builder.h
tests_unit_fleet_test_CPPFLAGS = $(AM_CPPFLAGS) $(ABSL_CFLAGS) $(GTEST_CFLAGS)
tests_unit_fleet_test_LDADD = $(fleet_libs) $(GTEST_LIBS)

check_PROGRAMS += tests/unit/summary_test
TESTS += tests/unit/summary_test
tests_unit_summary_test_SOURCES = tests/spank/temp_folder.h tests/unit/load_events.h tests/unit/summary_test.cc
tests_unit_summary_test_CPPFLAGS = $(AM_CPPFLAGS) $(ABSL_CFLAGS) $(GTEST_CFLAGS)
tests_unit_summary_test_LDADD = $(store_libs) $(GTEST_LIBS)

check_PROGRAMS += tests/unit/store_test
TESTS += tests/unit/store_test
tests_unit_store_test_files = tests/spank/temp_folder.h tests/unit/cluster_reader_test.cc tests/unit/event_cursor_test.cc tests/unit/format_document.h \
  tests/unit/heartbeats_test.cc tests/unit/load_events.h tests/unit/record_blocks_test.cc tests/unit/store_test.cc
if UNITY
nodist_tests_unit_store_test_SOURCES = tests/unit/store_test.unity.cc
else
tests_unit_store_test_SOURCES = $(tests_unit_store_test_files)
endif
tests_unit_store_test_CPPFLAGS = $(AM_CPPFLAGS) $(ABSL_CFLAGS) $(GTEST_CFLAGS) -DFORMAT_DOCUMENTS='"$(abs_srcdir)/docs/formats"'
tests_unit_store_test_LDADD = $(store_libs) $(GTEST_LIBS)

check_PROGRAMS += tests/unit/tools_test
TESTS += tests/unit/tools_test
tests_unit_tools_test_files = \
  tests/spank/temp_folder.h \
  tests/unit/best_source_test.cc \
  tests/unit/chain_test.cc \
  tests/unit/controller_clock_test.cc \
  tests/unit/jobs_test.cc \
  tests/unit/node_clock_test.cc \
  tests/unit/plugin_file_test.cc \
  tests/unit/times_test.cc \
  tests/unit/tools_test.cc
if UNITY
nodist_tests_unit_tools_test_SOURCES = tests/unit/tools_test.unity.cc
else
tests_unit_tools_test_SOURCES = $(tests_unit_tools_test_files)
endif
tests_unit_tools_test_CPPFLAGS = $(AM_CPPFLAGS) $(ABSL_CFLAGS) $(GTEST_CFLAGS)
tests_unit_tools_test_LDADD = $(slurmtext_libs) $(runs_libs) $(GTEST_LIBS)

check_PROGRAMS += tests/unit/queue_watch_test
TESTS += tests/unit/queue_watch_test
tests_unit_queue_watch_test_SOURCES = tests/spank/temp_folder.h tests/unit/queue_watch_test.cc
tests_unit_queue_watch_test_CPPFLAGS = $(AM_CPPFLAGS) $(ABSL_CFLAGS) $(GTEST_CFLAGS)
tests_unit_queue_watch_test_LDADD = $(goodputd_libs) $(runs_libs) $(GTEST_LIBS)

check_PROGRAMS += tests/unit/faults_test
TESTS += tests/unit/faults_test
tests_unit_faults_test_SOURCES = \
  tests/spank/faulty_files.h \
  tests/spank/temp_folder.h \
  tests/unit/faults_test.cc
tests_unit_faults_test_CPPFLAGS = $(AM_CPPFLAGS) $(ABSL_CFLAGS) $(GTEST_CFLAGS)
tests_unit_faults_test_LDADD = spank/libspank_parts.la $(store_libs) $(GTEST_LIBS)

check_PROGRAMS += tests/unit/signals_seen_test
TESTS += tests/unit/signals_seen_test
tests_unit_signals_seen_test_SOURCES = tests/spank/temp_folder.h tests/unit/signals_seen_test.cc
tests_unit_signals_seen_test_CPPFLAGS = $(AM_CPPFLAGS) $(ABSL_CFLAGS) $(GTEST_CFLAGS)
tests_unit_signals_seen_test_LDADD = $(goodputd_libs) $(runs_libs) $(GTEST_LIBS)

check_PROGRAMS += tests/unit/checkpoints_test
TESTS += tests/unit/checkpoints_test
tests_unit_checkpoints_test_SOURCES = tests/spank/temp_folder.h tests/unit/checkpoints_test.cc
tests_unit_checkpoints_test_CPPFLAGS = $(AM_CPPFLAGS) $(ABSL_CFLAGS) $(GTEST_CFLAGS)
tests_unit_checkpoints_test_LDADD = $(goodputd_libs) $(GTEST_LIBS)

check_PROGRAMS += tests/unit/checkpoint_layouts_test
TESTS += tests/unit/checkpoint_layouts_test
tests_unit_checkpoint_layouts_test_SOURCES = tests/spank/temp_folder.h tests/unit/checkpoint_layouts_test.cc
tests_unit_checkpoint_layouts_test_CPPFLAGS = $(AM_CPPFLAGS) $(ABSL_CFLAGS) $(GTEST_CFLAGS)
tests_unit_checkpoint_layouts_test_LDADD = $(goodputd_libs) $(GTEST_LIBS)

check_PROGRAMS += tests/unit/goodputd_test
TESTS += tests/unit/goodputd_test
tests_unit_goodputd_test_SOURCES = tests/spank/json_check.h tests/spank/temp_folder.h tests/unit/goodputd_test.cc
tests_unit_goodputd_test_CPPFLAGS = $(AM_CPPFLAGS) $(ABSL_CFLAGS) $(GTEST_CFLAGS)
tests_unit_goodputd_test_LDADD = $(goodputd_libs) $(GTEST_LIBS)

check_PROGRAMS += tests/unit/job_watches_test
TESTS += tests/unit/job_watches_test
tests_unit_job_watches_test_SOURCES = tests/spank/temp_folder.h tests/unit/checkpoint_watcher_test.cc tests/unit/job_watches_test.cc
tests_unit_job_watches_test_CPPFLAGS = $(AM_CPPFLAGS) $(ABSL_CFLAGS) $(GTEST_CFLAGS)
tests_unit_job_watches_test_LDADD = $(goodputd_libs) $(GTEST_LIBS)

check_PROGRAMS += tests/unit/hang_test
TESTS += tests/unit/hang_test
tests_unit_hang_test_SOURCES = tests/spank/temp_folder.h tests/unit/hang_test.cc
tests_unit_hang_test_CPPFLAGS = $(AM_CPPFLAGS) $(ABSL_CFLAGS) $(GTEST_CFLAGS)
tests_unit_hang_test_LDADD = $(goodputd_libs) $(GTEST_LIBS)

check_PROGRAMS += tests/unit/dcgm_test
TESTS += tests/unit/dcgm_test
tests_unit_dcgm_test_SOURCES = tests/spank/temp_folder.h tests/unit/dcgm_test.cc
tests_unit_dcgm_test_CPPFLAGS = $(AM_CPPFLAGS) $(ABSL_CFLAGS) $(GTEST_CFLAGS)
tests_unit_dcgm_test_LDADD = $(goodputd_libs) $(GTEST_LIBS)

check_PROGRAMS += tests/unit/kernel_test
TESTS += tests/unit/kernel_test
tests_unit_kernel_test_SOURCES = tests/spank/temp_folder.h tests/unit/kernel_test.cc
tests_unit_kernel_test_CPPFLAGS = $(AM_CPPFLAGS) $(ABSL_CFLAGS) $(GTEST_CFLAGS)
tests_unit_kernel_test_LDFLAGS = $(AM_LDFLAGS) -pthread
tests_unit_kernel_test_LDADD = $(goodputd_libs) $(GTEST_LIBS)

check_PROGRAMS += tests/unit/advise_test
TESTS += tests/unit/advise_test
tests_unit_advise_test_files = \
  tests/unit/advise_test.cc \
  tests/unit/events_test.cc \
  tests/unit/reservation_test.cc \
  tests/unit/spares_test.cc \
  tests/unit/run_builder.h \
  tests/unit/run_now_test.cc
if UNITY
nodist_tests_unit_advise_test_SOURCES = tests/unit/advise_test.unity.cc
else
tests_unit_advise_test_SOURCES = $(tests_unit_advise_test_files)
endif
tests_unit_advise_test_CPPFLAGS = $(AM_CPPFLAGS) $(ABSL_CFLAGS) $(GTEST_CFLAGS) \
  -DGOLDEN_FORMULAS='"$(abs_srcdir)/tests/golden/formulas.json"'
tests_unit_advise_test_LDADD = $(live_libs) $(runs_libs) $(GTEST_LIBS)

check_PROGRAMS += tests/unit/import_test
TESTS += tests/unit/import_test
tests_unit_import_test_files = \
  tests/spank/temp_folder.h \
  tests/unit/cloud_log_test.cc \
  tests/unit/export_test.cc \
  tests/unit/cases.h \
  tests/unit/import_test.cc \
  tests/unit/nvrx_cycle_test.cc \
  tests/unit/run_builder.h
if UNITY
nodist_tests_unit_import_test_SOURCES = tests/unit/import_test.unity.cc
else
tests_unit_import_test_SOURCES = $(tests_unit_import_test_files)
endif
tests_unit_import_test_CPPFLAGS = $(AM_CPPFLAGS) $(ABSL_CFLAGS) $(GTEST_CFLAGS) $(SIMDJSON_CFLAGS)
tests_unit_import_test_LDADD = $(importexport_libs) $(GTEST_LIBS)

check_PROGRAMS += tests/unit/google_cloud_test
TESTS += tests/unit/google_cloud_test
tests_unit_google_cloud_test_SOURCES = tests/unit/google_cloud_test.cc
tests_unit_google_cloud_test_CPPFLAGS = $(AM_CPPFLAGS) $(ABSL_CFLAGS) $(LIBCRYPTO_CFLAGS) $(GTEST_CFLAGS)
tests_unit_google_cloud_test_LDADD = $(googlecloud_libs) $(LIBCRYPTO_LIBS) $(GTEST_LIBS)

check_PROGRAMS += tests/unit/otel_test
TESTS += tests/unit/otel_test
tests_unit_otel_test_SOURCES = tests/spank/temp_folder.h tests/unit/otel_test.cc tests/unit/run_builder.h
tests_unit_otel_test_CPPFLAGS = $(AM_CPPFLAGS) $(ABSL_CFLAGS) $(GTEST_CFLAGS) $(ZLIB_CFLAGS)
tests_unit_otel_test_LDADD = $(importexport_libs) $(ZLIB_LIBS) $(GTEST_LIBS)

check_PROGRAMS += tests/unit/follower_test
TESTS += tests/unit/follower_test
tests_unit_follower_test_SOURCES = tests/spank/temp_folder.h tests/unit/follower_test.cc
tests_unit_follower_test_CPPFLAGS = $(AM_CPPFLAGS) $(ABSL_CFLAGS) $(GTEST_CFLAGS)
tests_unit_follower_test_LDADD = $(goodputd_libs) $(GTEST_LIBS)

check_PROGRAMS += tests/unit/logs_test
TESTS += tests/unit/logs_test
tests_unit_logs_test_files = \
  tests/unit/logs_test.cc \
  tests/unit/profile_learner_test.cc
if UNITY
nodist_tests_unit_logs_test_SOURCES = tests/unit/logs_test.unity.cc
else
tests_unit_logs_test_SOURCES = $(tests_unit_logs_test_files)
endif
tests_unit_logs_test_CPPFLAGS = $(AM_CPPFLAGS) $(ABSL_CFLAGS) $(GTEST_CFLAGS)
tests_unit_logs_test_LDADD = $(logs_libs) $(GTEST_LIBS)

check_PROGRAMS += tests/unit/flops_test
TESTS += tests/unit/flops_test
tests_unit_flops_test_SOURCES = tests/unit/flops_test.cc tests/unit/run_builder.h
tests_unit_flops_test_CPPFLAGS = $(AM_CPPFLAGS) $(ABSL_CFLAGS) $(GTEST_CFLAGS) \
  -DGOLDEN_FORMULAS='"$(abs_srcdir)/tests/golden/formulas.json"'
tests_unit_flops_test_LDADD = $(flops_libs) $(timeline_libs) $(GTEST_LIBS)

check_PROGRAMS += tests/unit/ship_test
TESTS += tests/unit/ship_test
tests_unit_ship_test_files = \
  tests/spank/faulty_files.h \
  tests/spank/temp_folder.h \
  tests/unit/helper_process_test.cc \
  tests/unit/shared_ingest_test.cc \
  tests/unit/ship_test.cc
if UNITY
nodist_tests_unit_ship_test_SOURCES = tests/unit/ship_test.unity.cc
else
tests_unit_ship_test_SOURCES = $(tests_unit_ship_test_files)
endif
tests_unit_ship_test_CPPFLAGS = $(AM_CPPFLAGS) $(ABSL_CFLAGS) $(GTEST_CFLAGS)
tests_unit_ship_test_LDADD = spank/libspank_parts.la $(sharedspool_libs) $(GTEST_LIBS)

# The C client, as strict C99, as C++11 and as the test's own C++17, in one program.
check_LTLIBRARIES += tests/clients/libmarks_cxx11.la
tests_clients_libmarks_cxx11_la_SOURCES = tests/clients/marks_cxx11.cc
tests_clients_libmarks_cxx11_la_CXXFLAGS = $(AM_CXXFLAGS) -std=c++11 -pedantic
check_PROGRAMS += tests/unit/clients_test
TESTS += tests/unit/clients_test
tests_unit_clients_test_SOURCES = tests/clients/marks_c99.c tests/unit/clients_test.cc
tests_unit_clients_test_CPPFLAGS = $(AM_CPPFLAGS) $(ABSL_CFLAGS) $(GTEST_CFLAGS)
tests_unit_clients_test_CFLAGS = $(AM_CFLAGS) -std=c99 -pedantic
tests_unit_clients_test_LDADD = tests/clients/libmarks_cxx11.la $(base_libs) $(GTEST_LIBS)

check_PROGRAMS += tests/unit/host_test
TESTS += tests/unit/host_test
tests_unit_host_test_SOURCES = tests/spank/temp_folder.h tests/unit/host_test.cc
tests_unit_host_test_CPPFLAGS = $(AM_CPPFLAGS) $(ABSL_CFLAGS) $(GTEST_CFLAGS)
tests_unit_host_test_LDFLAGS = $(AM_LDFLAGS) -pthread
tests_unit_host_test_LDADD = $(goodputd_libs) $(GTEST_LIBS)

check_PROGRAMS += tests/unit/reader_test
TESTS += tests/unit/reader_test
tests_unit_reader_test_files = \
  tests/spank/temp_folder.h \
  tests/unit/metrics_test.cc \
  tests/unit/reader_test.cc \
  tests/unit/run_builder.h \
  tests/unit/workload_series_test.cc
if UNITY
nodist_tests_unit_reader_test_SOURCES = tests/unit/reader_test.unity.cc
else
tests_unit_reader_test_SOURCES = $(tests_unit_reader_test_files)
endif
tests_unit_reader_test_CPPFLAGS = $(AM_CPPFLAGS) $(ABSL_CFLAGS) $(GTEST_CFLAGS)
tests_unit_reader_test_LDFLAGS = $(AM_LDFLAGS) -pthread
tests_unit_reader_test_LDADD = $(httpserver_libs) $(GTEST_LIBS)

check_PROGRAMS += tests/unit/telemetry_test
TESTS += tests/unit/telemetry_test
tests_unit_telemetry_test_SOURCES = tests/spank/temp_folder.h tests/unit/run_builder.h tests/unit/telemetry_test.cc
tests_unit_telemetry_test_CPPFLAGS = $(AM_CPPFLAGS) $(ABSL_CFLAGS) $(GTEST_CFLAGS)
tests_unit_telemetry_test_LDADD = $(telemetry_libs) $(GTEST_LIBS)
