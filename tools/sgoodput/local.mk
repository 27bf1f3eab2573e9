bin_PROGRAMS += tools/sgoodput/sgoodput
tools_sgoodput_sgoodput_files = \
  tools/sgoodput/advise.cc tools/sgoodput/advise.h \
  tools/sgoodput/attempts.cc \
  tools/sgoodput/backfill.cc \
  tools/sgoodput/check.cc \
  tools/sgoodput/cloud_log.cc tools/sgoodput/cloud_log.h \
  tools/sgoodput/cloud_monitoring.cc tools/sgoodput/cloud_monitoring.h \
  tools/sgoodput/cloud_program.cc tools/sgoodput/cloud_program.h \
  tools/sgoodput/cloud_state.cc tools/sgoodput/cloud_state.h \
  tools/sgoodput/cloud_sync.cc \
  tools/sgoodput/diff.cc \
  tools/sgoodput/doctor.cc \
  tools/sgoodput/doctor_cloud.cc \
  tools/sgoodput/doctor_controller.cc \
  tools/sgoodput/doctor_events.cc \
  tools/sgoodput/doctor_fleet.cc \
  tools/sgoodput/events_deliver.cc tools/sgoodput/events_deliver.h \
  tools/sgoodput/events_queue.cc tools/sgoodput/events_queue.h \
  tools/sgoodput/events_state.cc tools/sgoodput/events_state.h \
  tools/sgoodput/events_watch.cc \
  tools/sgoodput/doctor_slurm.cc \
  tools/sgoodput/doctor_telemetry.cc \
  tools/sgoodput/export.cc \
  tools/sgoodput/export_bigquery.cc tools/sgoodput/export_bigquery.h \
  tools/sgoodput/export_days.cc tools/sgoodput/export_days.h \
  tools/sgoodput/export_rows.cc tools/sgoodput/export_rows.h \
  tools/sgoodput/findings.h \
  tools/sgoodput/fleet_program.cc tools/sgoodput/fleet_program.h \
  tools/sgoodput/import.cc \
  tools/sgoodput/ingest.cc \
  tools/sgoodput/list.cc \
  tools/sgoodput/main.cc \
  tools/sgoodput/mark.cc \
  tools/sgoodput/mcp.cc \
  tools/sgoodput/metrics.cc \
  tools/sgoodput/now.cc \
  tools/sgoodput/options.h \
  tools/sgoodput/otlp.cc \
  tools/sgoodput/profile.cc \
  tools/sgoodput/program_call.cc tools/sgoodput/program_call.h \
  tools/sgoodput/remote.cc tools/sgoodput/remote.h \
  tools/sgoodput/report.cc \
  tools/sgoodput/report_fleet.cc tools/sgoodput/report_fleet.h \
  tools/sgoodput/requested_profiles.cc tools/sgoodput/requested_profiles.h \
  tools/sgoodput/rollup_subject.cc tools/sgoodput/rollup_subject.h \
  tools/sgoodput/statement.cc \
  tools/sgoodput/run_report.cc tools/sgoodput/run_report.h \
  tools/sgoodput/selection.cc tools/sgoodput/selection.h \
  tools/sgoodput/session.cc tools/sgoodput/session.h \
  tools/sgoodput/show.cc \
  tools/sgoodput/show_head.cc \
  tools/sgoodput/show_interruptions.cc \
  tools/sgoodput/show_page.cc \
  tools/sgoodput/show_sections.cc tools/sgoodput/show_sections.h \
  tools/sgoodput/show_signals.cc \
  tools/sgoodput/sql.cc \
  tools/sgoodput/style.h \
  tools/sgoodput/watch.cc
unity_sources += tools/sgoodput/sgoodput.unity.cc
if UNITY
nodist_tools_sgoodput_sgoodput_SOURCES = tools/sgoodput/sgoodput.unity.cc
else
tools_sgoodput_sgoodput_SOURCES = $(tools_sgoodput_sgoodput_files)
endif
tools_sgoodput_sgoodput_CXXFLAGS = $(AM_CXXFLAGS) $(ABSL_CFLAGS) $(SIMDJSON_CFLAGS)
tools_sgoodput_sgoodput_LDADD = $(installed_libs) $(importexport_libs) $(sharedspool_libs) \
  $(slurmtext_libs) $(reader_libs) $(web_libs)
