# The accounting engine: facts -> timeline -> report. Each library may use those above it.

# Facts -> buckets -> goodput: pure.
noinst_LIBRARIES += tools/accounting/libtimeline.a
tools_accounting_libtimeline_files = \
  tools/accounting/timeline/allocation.cc tools/accounting/timeline/allocation.h \
  tools/accounting/timeline/allocation_check.cc tools/accounting/timeline/allocation_check.h \
  tools/accounting/timeline/attempt_order.cc tools/accounting/timeline/attempt_order.h \
  tools/accounting/timeline/attempt_painter.cc tools/accounting/timeline/attempt_painter.h \
  tools/accounting/timeline/bucket.cc tools/accounting/timeline/bucket.h \
  tools/accounting/timeline/bucket_table.h \
  tools/accounting/timeline/checkpoint_files.cc tools/accounting/timeline/checkpoint_files.h \
  tools/accounting/timeline/checkpoints.cc tools/accounting/timeline/checkpoints.h \
  tools/accounting/timeline/clip.cc tools/accounting/timeline/clip.h \
  tools/accounting/timeline/coarse.cc tools/accounting/timeline/coarse.h \
  tools/accounting/timeline/exclude.cc tools/accounting/timeline/exclude.h \
  tools/accounting/timeline/facts.h \
  tools/accounting/timeline/goodput.cc tools/accounting/timeline/goodput.h \
  tools/accounting/timeline/google_difference.cc tools/accounting/timeline/google_difference.h \
  tools/accounting/timeline/gpu_use.cc tools/accounting/timeline/gpu_use.h \
  tools/accounting/timeline/gpu_use_series.cc tools/accounting/timeline/gpu_use_series.h \
  tools/accounting/timeline/hang.cc tools/accounting/timeline/hang.h \
  tools/accounting/timeline/hang_evidence.cc tools/accounting/timeline/hang_evidence.h \
  tools/accounting/timeline/hardware.cc tools/accounting/timeline/hardware.h \
  tools/accounting/timeline/host_evidence.cc tools/accounting/timeline/host_evidence.h \
  tools/accounting/timeline/host_use.cc tools/accounting/timeline/host_use.h \
  tools/accounting/timeline/incarnation_facts.cc tools/accounting/timeline/incarnation_facts.h \
  tools/accounting/timeline/incarnations.cc tools/accounting/timeline/incarnations.h \
  tools/accounting/timeline/inferred_steps.cc tools/accounting/timeline/inferred_steps.h \
  tools/accounting/timeline/interruption.cc tools/accounting/timeline/interruption.h \
  tools/accounting/timeline/intervals.cc tools/accounting/timeline/intervals.h \
  tools/accounting/timeline/kept_steps.cc tools/accounting/timeline/kept_steps.h \
  tools/accounting/timeline/kept_steps_check.cc tools/accounting/timeline/kept_steps_check.h \
  tools/accounting/timeline/kept_tokens.cc tools/accounting/timeline/kept_tokens.h \
  tools/accounting/timeline/last_step.cc tools/accounting/timeline/last_step.h \
  tools/accounting/timeline/lens.cc tools/accounting/timeline/lens.h \
  tools/accounting/timeline/node_loss.cc tools/accounting/timeline/node_loss.h \
  tools/accounting/timeline/pace.cc tools/accounting/timeline/pace.h \
  tools/accounting/timeline/rank_wait.cc tools/accounting/timeline/rank_wait.h \
  tools/accounting/timeline/painter.cc tools/accounting/timeline/painter.h \
  tools/accounting/timeline/read_incarnation.cc tools/accounting/timeline/read_incarnation.h \
  tools/accounting/timeline/sanitize_facts.cc tools/accounting/timeline/sanitize_facts.h \
  tools/accounting/timeline/saves.cc tools/accounting/timeline/saves.h \
  tools/accounting/timeline/sensitivity.cc tools/accounting/timeline/sensitivity.h \
  tools/accounting/timeline/signal_ledger.cc tools/accounting/timeline/signal_ledger.h \
  tools/accounting/timeline/signal_summary.cc tools/accounting/timeline/signal_summary.h \
  tools/accounting/timeline/stale_preempted_state.cc tools/accounting/timeline/stale_preempted_state.h \
  tools/accounting/timeline/stalls.cc tools/accounting/timeline/stalls.h \
  tools/accounting/timeline/step_painter.cc tools/accounting/timeline/step_painter.h \
  tools/accounting/timeline/step_rate.cc tools/accounting/timeline/step_rate.h \
  tools/accounting/timeline/steps.cc tools/accounting/timeline/steps.h \
  tools/accounting/timeline/stop_signal.cc tools/accounting/timeline/stop_signal.h \
  tools/accounting/timeline/text.h \
  tools/accounting/timeline/timeline.cc tools/accounting/timeline/timeline.h \
  tools/accounting/timeline/timeline_parts.h \
  tools/accounting/timeline/waiting.cc tools/accounting/timeline/waiting.h \
  tools/accounting/timeline/withheld.cc tools/accounting/timeline/withheld.h \
  tools/accounting/timeline/world.cc tools/accounting/timeline/world.h \
  tools/accounting/timeline/world_sizes.cc tools/accounting/timeline/world_sizes.h
unity_sources += tools/accounting/libtimeline.unity.cc
if UNITY
nodist_tools_accounting_libtimeline_a_SOURCES = tools/accounting/libtimeline.unity.cc
else
tools_accounting_libtimeline_a_SOURCES = $(tools_accounting_libtimeline_files)
endif
tools_accounting_libtimeline_a_CXXFLAGS = $(AM_CXXFLAGS) $(ABSL_CFLAGS)
timeline_libs = tools/accounting/libtimeline.a $(text_libs) $(steps_libs)

# FLOPs of a step, and peak FLOPs of GPUs: pure.
noinst_LIBRARIES += tools/accounting/libflops.a
tools_accounting_libflops_a_SOURCES = \
  tools/accounting/flops/program_flops.cc tools/accounting/flops/program_flops.h \
  tools/accounting/flops/step_flops.cc tools/accounting/flops/step_flops.h
tools_accounting_libflops_a_CXXFLAGS = $(AM_CXXFLAGS) $(ABSL_CFLAGS)
flops_libs = tools/accounting/libflops.a $(text_libs)

# Database rows -> facts of one run.
noinst_LIBRARIES += tools/accounting/libruns.a
tools_accounting_libruns_files = \
  tools/accounting/runs/allocated_nodes.cc tools/accounting/runs/allocated_nodes.h \
  tools/accounting/runs/best_source.cc tools/accounting/runs/best_source.h \
  tools/accounting/runs/chain.cc tools/accounting/runs/chain.h \
  tools/accounting/runs/clocks.cc tools/accounting/runs/clocks.h \
  tools/accounting/runs/collectives.cc tools/accounting/runs/collectives.h \
  tools/accounting/runs/components.cc tools/accounting/runs/components.h \
  tools/accounting/runs/concurrent_jobs.cc tools/accounting/runs/concurrent_jobs.h \
  tools/accounting/runs/controller_clock.cc tools/accounting/runs/controller_clock.h \
  tools/accounting/runs/drafts.cc tools/accounting/runs/drafts.h \
  tools/accounting/runs/explain_end.cc tools/accounting/runs/explain_end.h \
  tools/accounting/runs/fact_nodes.h \
  tools/accounting/runs/fact_sources.cc tools/accounting/runs/fact_sources.h \
  tools/accounting/runs/imported_runs.cc tools/accounting/runs/imported_runs.h \
  tools/accounting/runs/lack_of_machines.cc tools/accounting/runs/lack_of_machines.h \
  tools/accounting/runs/load_run.cc tools/accounting/runs/load_run.h \
  tools/accounting/runs/node_clock.cc tools/accounting/runs/node_clock.h \
  tools/accounting/runs/node_facts.cc tools/accounting/runs/node_facts.h \
  tools/accounting/runs/only_cluster.cc tools/accounting/runs/only_cluster.h \
  tools/accounting/runs/run_groups.cc tools/accounting/runs/run_groups.h \
  tools/accounting/runs/scheduler_facts.cc tools/accounting/runs/scheduler_facts.h \
  tools/accounting/runs/stored_steps.cc tools/accounting/runs/stored_steps.h
unity_sources += tools/accounting/libruns.unity.cc
if UNITY
nodist_tools_accounting_libruns_a_SOURCES = tools/accounting/libruns.unity.cc
else
tools_accounting_libruns_a_SOURCES = $(tools_accounting_libruns_files)
endif
tools_accounting_libruns_a_CXXFLAGS = $(AM_CXXFLAGS) $(ABSL_CFLAGS) $(SIMDJSON_CFLAGS)
runs_libs = tools/accounting/libruns.a $(timeline_libs) $(flops_libs) $(store_libs)

# Sums over runs: pure.
noinst_LIBRARIES += tools/accounting/librollup.a
tools_accounting_librollup_files = \
  tools/accounting/rollup/node_chance.cc tools/accounting/rollup/node_chance.h \
  tools/accounting/rollup/provision.cc tools/accounting/rollup/provision.h \
  tools/accounting/rollup/rollup.cc tools/accounting/rollup/rollup.h \
  tools/accounting/rollup/statement.cc tools/accounting/rollup/statement.h \
  tools/accounting/rollup/stockout.cc tools/accounting/rollup/stockout.h
unity_sources += tools/accounting/librollup.unity.cc
if UNITY
nodist_tools_accounting_librollup_a_SOURCES = tools/accounting/librollup.unity.cc
else
tools_accounting_librollup_a_SOURCES = $(tools_accounting_librollup_files)
endif
tools_accounting_librollup_a_CXXFLAGS = $(AM_CXXFLAGS) $(ABSL_CFLAGS)
rollup_libs = tools/accounting/librollup.a $(timeline_libs)

# All GPUs of a cluster.
noinst_LIBRARIES += tools/accounting/libfleet.a
tools_accounting_libfleet_files = \
  tools/accounting/fleet/fleet.cc tools/accounting/fleet/fleet.h \
  tools/accounting/fleet/load_fleet.cc tools/accounting/fleet/load_fleet.h \
  tools/accounting/fleet/load_node_days.cc tools/accounting/fleet/load_node_days.h \
  tools/accounting/fleet/node_days.cc tools/accounting/fleet/node_days.h \
  tools/accounting/fleet/node_history.cc tools/accounting/fleet/node_history.h
unity_sources += tools/accounting/libfleet.unity.cc
if UNITY
nodist_tools_accounting_libfleet_a_SOURCES = tools/accounting/libfleet.unity.cc
else
tools_accounting_libfleet_a_SOURCES = $(tools_accounting_libfleet_files)
endif
tools_accounting_libfleet_a_CXXFLAGS = $(AM_CXXFLAGS) $(ABSL_CFLAGS)
fleet_libs = tools/accounting/libfleet.a $(rollup_libs) $(runs_libs)

# Advice on a run: pure.
noinst_LIBRARIES += tools/accounting/libadvise.a
tools_accounting_libadvise_files = \
  tools/accounting/advise/advice.cc tools/accounting/advise/advice.h \
  tools/accounting/advise/checkpoint_interval.cc tools/accounting/advise/checkpoint_interval.h \
  tools/accounting/advise/measure.cc tools/accounting/advise/measure.h \
  tools/accounting/advise/mttf.cc tools/accounting/advise/mttf.h \
  tools/accounting/advise/network.cc tools/accounting/advise/network.h \
  tools/accounting/advise/plan.cc tools/accounting/advise/plan.h \
  tools/accounting/advise/reservation.cc tools/accounting/advise/reservation.h \
  tools/accounting/advise/spares.cc tools/accounting/advise/spares.h \
  tools/accounting/advise/what_to_do.cc tools/accounting/advise/what_to_do.h
unity_sources += tools/accounting/libadvise.unity.cc
if UNITY
nodist_tools_accounting_libadvise_a_SOURCES = tools/accounting/libadvise.unity.cc
else
tools_accounting_libadvise_a_SOURCES = $(tools_accounting_libadvise_files)
endif
tools_accounting_libadvise_a_CXXFLAGS = $(AM_CXXFLAGS) $(ABSL_CFLAGS)
advise_libs = tools/accounting/libadvise.a $(rollup_libs)

# What runs do at this moment: pure.
noinst_LIBRARIES += tools/accounting/liblive.a
tools_accounting_liblive_a_SOURCES = \
  tools/accounting/live/check.cc tools/accounting/live/check.h \
  tools/accounting/live/events.cc tools/accounting/live/events.h \
  tools/accounting/live/run_now.cc tools/accounting/live/run_now.h
tools_accounting_liblive_a_CXXFLAGS = $(AM_CXXFLAGS) $(ABSL_CFLAGS)
live_libs = tools/accounting/liblive.a $(advise_libs)

# Runs -> OpenMetrics, and the series of Cloud Monitoring: pure.
noinst_LIBRARIES += tools/accounting/libmetrics.a
tools_accounting_libmetrics_a_SOURCES = \
  tools/accounting/metrics/exposition.cc tools/accounting/metrics/exposition.h \
  tools/accounting/metrics/run_metrics.cc tools/accounting/metrics/run_metrics.h \
  tools/accounting/metrics/workload_series.cc tools/accounting/metrics/workload_series.h
tools_accounting_libmetrics_a_CXXFLAGS = $(AM_CXXFLAGS) $(ABSL_CFLAGS)
metrics_libs = tools/accounting/libmetrics.a $(live_libs)

# The report on a run, and JSON reports.
noinst_LIBRARIES += tools/accounting/libreport.a
tools_accounting_libreport_files = \
  tools/accounting/report/advise_report.h \
  tools/accounting/report/event_report.h \
  tools/accounting/report/fleet_report.h \
  tools/accounting/report/now_report.h \
  tools/accounting/report/glance.cc tools/accounting/report/glance.h \
  tools/accounting/report/gpu_hours.cc tools/accounting/report/gpu_hours.h \
  tools/accounting/report/json.cc \
  tools/accounting/report/report.cc tools/accounting/report/report.h \
  tools/accounting/report/rollup_report.h \
  tools/accounting/report/rollup_table.cc tools/accounting/report/rollup_table.h \
  tools/accounting/report/statement_report.cc tools/accounting/report/statement_report.h \
  tools/accounting/report/gpu_use_report.cc tools/accounting/report/gpu_use_report.h \
  tools/accounting/report/host_use_report.cc tools/accounting/report/host_use_report.h \
  tools/accounting/report/late_ranks.cc tools/accounting/report/late_ranks.h \
  tools/accounting/report/machines_report.cc tools/accounting/report/machines_report.h \
  tools/accounting/report/suspects.cc tools/accounting/report/suspects.h \
  tools/accounting/report/utilization.cc tools/accounting/report/utilization.h
unity_sources += tools/accounting/libreport.unity.cc
if UNITY
nodist_tools_accounting_libreport_a_SOURCES = tools/accounting/libreport.unity.cc
else
tools_accounting_libreport_a_SOURCES = $(tools_accounting_libreport_files)
endif
tools_accounting_libreport_a_CXXFLAGS = $(AM_CXXFLAGS) $(ABSL_CFLAGS)
report_libs = tools/accounting/libreport.a $(live_libs) $(fleet_libs)

# The rows of a run in the fleet database: pure.
noinst_LIBRARIES += tools/accounting/libfleetrows.a
tools_accounting_libfleetrows_files = \
  tools/accounting/fleet_rows/attempt_days.cc tools/accounting/fleet_rows/attempt_days.h \
  tools/accounting/fleet_rows/copy_line.h \
  tools/accounting/fleet_rows/copy_text.cc tools/accounting/fleet_rows/copy_text.h \
  tools/accounting/fleet_rows/fleet_rows.cc tools/accounting/fleet_rows/fleet_rows.h \
  tools/accounting/fleet_rows/node_day_rows.cc tools/accounting/fleet_rows/node_day_rows.h \
  tools/accounting/fleet_rows/row_json.cc tools/accounting/fleet_rows/row_json.h
unity_sources += tools/accounting/libfleetrows.unity.cc
if UNITY
nodist_tools_accounting_libfleetrows_a_SOURCES = tools/accounting/libfleetrows.unity.cc
else
tools_accounting_libfleetrows_a_SOURCES = $(tools_accounting_libfleetrows_files)
endif
tools_accounting_libfleetrows_a_CXXFLAGS = $(AM_CXXFLAGS) $(ABSL_CFLAGS)
fleetrows_libs = tools/accounting/libfleetrows.a $(report_libs)

dist_pkgdata_DATA = \
  tools/accounting/report/advise.schema.json \
  tools/accounting/report/diff.schema.json \
  tools/accounting/report/event.schema.json \
  tools/accounting/report/now.schema.json \
  tools/accounting/report/report.schema.json \
  tools/accounting/report/sgoodput.schema.json \
  tools/accounting/report/sql.schema.json
