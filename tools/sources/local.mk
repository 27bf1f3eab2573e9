# Slurm's text: accounting, configuration, times.
noinst_LIBRARIES += tools/sources/libslurmtext.a
tools_sources_libslurmtext_files = \
  tools/sources/slurm/backfill.cc tools/sources/slurm/backfill.h \
  tools/sources/slurm/backfiller.cc tools/sources/slurm/backfiller.h \
  tools/sources/slurm/plugin_file.cc tools/sources/slurm/plugin_file.h \
  tools/sources/slurm/recovery.cc tools/sources/slurm/recovery.h \
  tools/sources/slurm/sacct.cc tools/sources/slurm/sacct.h \
  tools/sources/slurm/sacctmgr.cc tools/sources/slurm/sacctmgr.h \
  tools/sources/slurm/slurm_time.cc tools/sources/slurm/slurm_time.h \
  tools/sources/slurm/tres.cc tools/sources/slurm/tres.h
unity_sources += tools/sources/libslurmtext.unity.cc
if UNITY
nodist_tools_sources_libslurmtext_a_SOURCES = tools/sources/libslurmtext.unity.cc
else
tools_sources_libslurmtext_a_SOURCES = $(tools_sources_libslurmtext_files)
endif
tools_sources_libslurmtext_a_CXXFLAGS = $(AM_CXXFLAGS) $(ABSL_CFLAGS) $(SIMDJSON_CFLAGS)
slurmtext_libs = tools/sources/libslurmtext.a $(base_libs)

# Training output of frameworks, and the log of Google's goodput library.
noinst_LIBRARIES += tools/sources/liblogs.a
tools_sources_liblogs_files = \
  tools/sources/logs/google_entry.cc tools/sources/logs/google_entry.h \
  tools/sources/logs/google_events.cc tools/sources/logs/google_events.h \
  tools/sources/logs/line_numbers.cc tools/sources/logs/line_numbers.h \
  tools/sources/logs/line_placer.cc tools/sources/logs/line_placer.h \
  tools/sources/logs/line_time.cc tools/sources/logs/line_time.h \
  tools/sources/logs/line_words.cc tools/sources/logs/line_words.h \
  tools/sources/logs/lines.cc tools/sources/logs/lines.h \
  tools/sources/logs/log_event.h \
  tools/sources/logs/rank_budget.h \
  tools/sources/logs/interleaving.cc tools/sources/logs/interleaving.h \
  tools/sources/logs/log_fold.cc tools/sources/logs/log_fold.h \
  tools/sources/logs/log_reader.cc tools/sources/logs/log_reader.h \
  tools/sources/logs/log_sink.h \
  tools/sources/logs/profile.cc tools/sources/logs/profile.h \
  tools/sources/logs/profile_draft.cc tools/sources/logs/profile_draft.h \
  tools/sources/logs/one_rank.cc tools/sources/logs/one_rank.h \
  tools/sources/logs/profile_learner.cc tools/sources/logs/profile_learner.h \
  tools/sources/logs/progress_bars.cc tools/sources/logs/progress_bars.h \
  tools/sources/logs/running_median.h \
  tools/sources/logs/step_entry.cc tools/sources/logs/step_entry.h \
  tools/sources/logs/built_in.h
unity_sources += tools/sources/liblogs.unity.cc
if UNITY
nodist_tools_sources_liblogs_a_SOURCES = tools/sources/logs/built_in.cc tools/sources/liblogs.unity.cc
else
nodist_tools_sources_liblogs_a_SOURCES = tools/sources/logs/built_in.cc
tools_sources_liblogs_a_SOURCES = $(tools_sources_liblogs_files)
endif
tools_sources_liblogs_a_CXXFLAGS = $(AM_CXXFLAGS) $(ABSL_CFLAGS) $(SIMDJSON_CFLAGS) $(RE2_CFLAGS)
logs_libs = tools/sources/liblogs.a $(text_libs) $(SIMDJSON_LIBS) $(RE2_LIBS)

# In the order of preference of `auto`.
log_profiles = \
  tools/sources/logs/profiles/megatron.profile \
  tools/sources/logs/profiles/nemo.profile \
  tools/sources/logs/profiles/torchtitan.profile \
  tools/sources/logs/profiles/maxtext.profile \
  tools/sources/logs/profiles/deepspeed.profile \
  tools/sources/logs/profiles/composer.profile \
  tools/sources/logs/profiles/lightning.profile \
  tools/sources/logs/profiles/hf.profile \
  tools/sources/logs/profiles/torchtune.profile \
  tools/sources/logs/profiles/verl.profile \
  tools/sources/logs/profiles/automodel.profile \
  tools/sources/logs/profiles/olmo.profile \
  tools/sources/logs/profiles/fairseq.profile \
  tools/sources/logs/profiles/nanotron.profile \
  tools/sources/logs/profiles/litgpt.profile \
  tools/sources/logs/profiles/nanogpt.profile \
  tools/sources/logs/profiles/nemo-rl.profile \
  tools/sources/logs/profiles/paddlenlp.profile \
  tools/sources/logs/profiles/levanter.profile \
  tools/sources/logs/profiles/t5x.profile \
  tools/sources/logs/profiles/mmengine.profile \
  tools/sources/logs/profiles/detectron2.profile \
  tools/sources/logs/profiles/timm.profile \
  tools/sources/logs/profiles/metric-logger.profile \
  tools/sources/logs/profiles/keras.profile \
  tools/sources/logs/profiles/swin.profile \
  tools/sources/logs/profiles/openclip.profile \
  tools/sources/logs/profiles/paddleocr.profile \
  tools/sources/logs/profiles/ultralytics.profile \
  tools/sources/logs/profiles/nnunet.profile \
  tools/sources/logs/profiles/deepmd.profile \
  tools/sources/logs/profiles/megatron-progress.profile \
  tools/sources/logs/profiles/submitit.profile \
  tools/sources/logs/profiles/nccl-tests.profile \
  tools/sources/logs/profiles/slurm.profile \
  tools/sources/logs/profiles/kubernetes.profile
EXTRA_DIST += tools/sources/logs/embed $(log_profiles)
BUILT_SOURCES += tools/sources/logs/built_in.cc
CLEANFILES += tools/sources/logs/built_in.cc
tools/sources/logs/built_in.cc: tools/sources/logs/embed $(log_profiles)
	@mkdir -p tools/sources/logs
	$(AM_V_GEN)cd $(srcdir) && sh tools/sources/logs/embed $(log_profiles) >$(abs_builddir)/$@.new
	@mv $@.new $@

# Spans of OpenTelemetry.
noinst_LIBRARIES += tools/sources/libotel.a
tools_sources_libotel_files = \
  tools/sources/otel/live_spans.cc tools/sources/otel/live_spans.h \
  tools/sources/otel/other_ranks.cc tools/sources/otel/other_ranks.h \
  tools/sources/otel/span.cc tools/sources/otel/span.h \
  tools/sources/otel/span_attributes.cc tools/sources/otel/span_attributes.h \
  tools/sources/otel/span_fold.cc tools/sources/otel/span_fold.h \
  tools/sources/otel/span_survey.cc tools/sources/otel/span_survey.h \
  tools/sources/otel/span_text.cc tools/sources/otel/span_text.h
unity_sources += tools/sources/libotel.unity.cc
if UNITY
nodist_tools_sources_libotel_a_SOURCES = tools/sources/libotel.unity.cc
else
tools_sources_libotel_a_SOURCES = $(tools_sources_libotel_files)
endif
tools_sources_libotel_a_CXXFLAGS = $(AM_CXXFLAGS) $(ABSL_CFLAGS) $(SIMDJSON_CFLAGS)
otel_libs = tools/sources/libotel.a $(text_libs) $(SIMDJSON_LIBS)

# Telemetry for OpenTelemetry.
noinst_LIBRARIES += tools/sources/libtelemetry.a
tools_sources_libtelemetry_files = \
  tools/sources/telemetry/delivery.cc tools/sources/telemetry/delivery.h \
  tools/sources/telemetry/gpu_time.cc tools/sources/telemetry/gpu_time.h \
  tools/sources/telemetry/otlp_request.cc tools/sources/telemetry/otlp_request.h \
  tools/sources/telemetry/run_spans.cc tools/sources/telemetry/run_spans.h \
  tools/sources/telemetry/sender.cc tools/sources/telemetry/sender.h \
  tools/sources/telemetry/sent_state.cc tools/sources/telemetry/sent_state.h \
  tools/sources/telemetry/targets.cc tools/sources/telemetry/targets.h
unity_sources += tools/sources/libtelemetry.unity.cc
if UNITY
nodist_tools_sources_libtelemetry_a_SOURCES = tools/sources/libtelemetry.unity.cc
else
tools_sources_libtelemetry_a_SOURCES = $(tools_sources_libtelemetry_files)
endif
tools_sources_libtelemetry_a_CXXFLAGS = $(AM_CXXFLAGS) $(ABSL_CFLAGS) $(SIMDJSON_CFLAGS)
telemetry_libs = tools/sources/libtelemetry.a $(fleetrows_libs) $(base_libs)

# Import and export of other programs' files.
noinst_LIBRARIES += tools/sources/libimportexport.a
tools_sources_libimportexport_files = \
  tools/sources/import_export/clock_setback.h \
  tools/sources/import_export/cloud_log.cc tools/sources/import_export/cloud_log.h \
  tools/sources/import_export/export_formats.cc tools/sources/import_export/export_formats.h \
  tools/sources/import_export/file_import.cc tools/sources/import_export/file_import.h \
  tools/sources/import_export/folded_export.cc tools/sources/import_export/folded_export.h \
  tools/sources/import_export/google_export.cc tools/sources/import_export/google_export.h \
  tools/sources/import_export/google_fold.cc tools/sources/import_export/google_fold.h \
  tools/sources/import_export/google_import.cc tools/sources/import_export/google_import.h \
  tools/sources/import_export/input.cc tools/sources/import_export/input.h \
  tools/sources/import_export/json_stream.cc tools/sources/import_export/json_stream.h \
  tools/sources/import_export/log_import.cc tools/sources/import_export/log_import.h \
  tools/sources/import_export/nvrx_cycle.cc tools/sources/import_export/nvrx_cycle.h \
  tools/sources/import_export/nvrx_import.cc tools/sources/import_export/nvrx_import.h \
  tools/sources/import_export/otel_import.cc tools/sources/import_export/otel_import.h \
  tools/sources/import_export/otlp_export.cc tools/sources/import_export/otlp_export.h \
  tools/sources/import_export/spool_export.cc tools/sources/import_export/spool_export.h \
  tools/sources/import_export/summary_export.cc tools/sources/import_export/summary_export.h \
  tools/sources/import_export/time_order.cc tools/sources/import_export/time_order.h \
  tools/sources/import_export/trace_export.cc tools/sources/import_export/trace_export.h
unity_sources += tools/sources/libimportexport.unity.cc
if UNITY
nodist_tools_sources_libimportexport_a_SOURCES = tools/sources/libimportexport.unity.cc
else
tools_sources_libimportexport_a_SOURCES = $(tools_sources_libimportexport_files)
endif
tools_sources_libimportexport_a_CXXFLAGS = $(AM_CXXFLAGS) $(ABSL_CFLAGS) $(SIMDJSON_CFLAGS) $(RE2_CFLAGS)
importexport_libs = tools/sources/libimportexport.a $(logs_libs) $(otel_libs) $(telemetry_libs)

# Copies from a node's spool to the shared spool.
noinst_LIBRARIES += tools/sources/libsharedspool.a
tools_sources_libsharedspool_files = \
  tools/sources/shared_spool/files_as.cc tools/sources/shared_spool/files_as.h \
  tools/sources/shared_spool/ingest_helper.cc tools/sources/shared_spool/ingest_helper.h \
  tools/sources/shared_spool/shared_folder.cc tools/sources/shared_spool/shared_folder.h \
  tools/sources/shared_spool/ship_helper.cc tools/sources/shared_spool/ship_helper.h \
  tools/sources/shared_spool/shipper.cc tools/sources/shared_spool/shipper.h
unity_sources += tools/sources/libsharedspool.unity.cc
if UNITY
nodist_tools_sources_libsharedspool_a_SOURCES = tools/sources/libsharedspool.unity.cc
else
tools_sources_libsharedspool_a_SOURCES = $(tools_sources_libsharedspool_files)
endif
tools_sources_libsharedspool_a_CXXFLAGS = $(AM_CXXFLAGS) $(ABSL_CFLAGS)
sharedspool_libs = tools/sources/libsharedspool.a $(base_libs)

# The fleet database: the only user of libpq.
noinst_LIBRARIES += tools/sources/libfleetdatabase.a
tools_sources_libfleetdatabase_files = \
  tools/sources/fleet_database/connection.cc tools/sources/fleet_database/connection.h \
  tools/sources/fleet_database/node_questions.cc tools/sources/fleet_database/node_questions.h \
  tools/sources/fleet_database/question_sql.cc tools/sources/fleet_database/question_sql.h \
  tools/sources/fleet_database/questions.cc tools/sources/fleet_database/questions.h \
  tools/sources/fleet_database/sums.cc tools/sources/fleet_database/sums.h \
  tools/sources/fleet_database/sync.cc tools/sources/fleet_database/sync.h \
  tools/sources/fleet_database/tables.cc tools/sources/fleet_database/tables.h \
  tools/sources/fleet_database/utilization_question.cc tools/sources/fleet_database/utilization_question.h
unity_sources += tools/sources/libfleetdatabase.unity.cc
if UNITY
nodist_tools_sources_libfleetdatabase_a_SOURCES = tools/sources/libfleetdatabase.unity.cc
else
tools_sources_libfleetdatabase_a_SOURCES = $(tools_sources_libfleetdatabase_files)
endif
tools_sources_libfleetdatabase_a_CXXFLAGS = $(AM_CXXFLAGS) $(ABSL_CFLAGS) $(LIBPQ_CFLAGS)
fleetdatabase_libs = tools/sources/libfleetdatabase.a $(fleetschema_libs) $(fleetrows_libs) $(base_libs) $(LIBPQ_LIBS)

# Google's Cloud Logging and Cloud Monitoring: the only user of libcrypto.
noinst_LIBRARIES += tools/sources/libgooglecloud.a
# Cloud Monitoring uses the same names as Cloud Logging.
google_monitoring_files = \
  tools/sources/google_cloud/check_monitoring.cc tools/sources/google_cloud/check_monitoring.h \
  tools/sources/google_cloud/monitoring_service.cc tools/sources/google_cloud/monitoring_service.h \
  tools/sources/google_cloud/write_series.cc tools/sources/google_cloud/write_series.h
tools_sources_libgooglecloud_files = \
  tools/sources/google_cloud/access_token.cc tools/sources/google_cloud/access_token.h \
  tools/sources/google_cloud/bigquery_service.cc tools/sources/google_cloud/bigquery_service.h \
  tools/sources/google_cloud/check_log.cc tools/sources/google_cloud/check_log.h \
  tools/sources/google_cloud/cloud_finding.cc tools/sources/google_cloud/cloud_finding.h \
  tools/sources/google_cloud/cloud_world.cc tools/sources/google_cloud/cloud_world.h \
  tools/sources/google_cloud/error_details.cc tools/sources/google_cloud/error_details.h \
  tools/sources/google_cloud/google_service.cc tools/sources/google_cloud/google_service.h \
  tools/sources/google_cloud/load_rows.cc tools/sources/google_cloud/load_rows.h \
  tools/sources/google_cloud/log_name.cc tools/sources/google_cloud/log_name.h \
  tools/sources/google_cloud/logging_service.cc tools/sources/google_cloud/logging_service.h \
  tools/sources/google_cloud/metadata_server.cc tools/sources/google_cloud/metadata_server.h \
  tools/sources/google_cloud/read_entries.cc tools/sources/google_cloud/read_entries.h \
  tools/sources/google_cloud/signature.cc tools/sources/google_cloud/signature.h \
  tools/sources/google_cloud/write_entries.cc tools/sources/google_cloud/write_entries.h
unity_sources += tools/sources/libgooglecloud.unity.cc
if UNITY
nodist_tools_sources_libgooglecloud_a_SOURCES = tools/sources/libgooglecloud.unity.cc
tools_sources_libgooglecloud_a_SOURCES = $(google_monitoring_files)
else
tools_sources_libgooglecloud_a_SOURCES = $(tools_sources_libgooglecloud_files) $(google_monitoring_files)
endif
tools_sources_libgooglecloud_a_CXXFLAGS = $(AM_CXXFLAGS) $(ABSL_CFLAGS) $(SIMDJSON_CFLAGS) $(LIBCRYPTO_CFLAGS)
googlecloud_libs = tools/sources/libgooglecloud.a $(logs_libs) $(http_libs) $(LIBCRYPTO_LIBS)
