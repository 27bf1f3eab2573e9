# Packed steps, for the store and for the timeline.
noinst_LIBRARIES += sql/libsteps.a
sql_libsteps_a_SOURCES = \
  sql/blocks/deflate.cc sql/blocks/deflate.h \
  sql/blocks/duration_histogram.cc sql/blocks/duration_histogram.h \
  sql/blocks/step_block.cc sql/blocks/step_block.h \
  sql/blocks/varint.h
sql_libsteps_a_CXXFLAGS = $(AM_CXXFLAGS) $(ZLIB_CFLAGS)
steps_libs = sql/libsteps.a $(ZLIB_LIBS)

# The store: schema, ingest and readers. Only this part includes sqlite3.h.
noinst_LIBRARIES += sql/libstore.a
sql_libstore_files = \
  sql/database.cc sql/database.h \
  sql/record.cc sql/record.h \
  sql/schema.cc sql/schema.h \
  sql/spool_line.cc sql/spool_line.h \
  sql/status_macros.h \
  sql/text.h \
  sql/tables/virtual_tables.cc sql/tables/virtual_tables.h \
  sql/blocks/mark_block.cc sql/blocks/mark_block.h \
  sql/blocks/record_pack.cc sql/blocks/record_pack.h \
  sql/blocks/record_summary.cc sql/blocks/record_summary.h \
  sql/blocks/record_template.cc sql/blocks/record_template.h \
  sql/tables/accounting.cc sql/tables/accounting.h \
  sql/tables/backfill_windows.cc sql/tables/backfill_windows.h \
  sql/tables/chains.cc sql/tables/chains.h \
  sql/tables/cluster_reader.cc sql/tables/cluster_reader.h \
  sql/tables/coverage.cc sql/tables/coverage.h \
  sql/tables/event_cursor.cc sql/tables/event_cursor.h \
  sql/tables/evidence.cc sql/tables/evidence.h \
  sql/tables/heartbeats.cc sql/tables/heartbeats.h \
  sql/tables/imports.cc sql/tables/imports.h \
  sql/tables/job_index.cc sql/tables/job_index.h \
  sql/tables/jobs.cc sql/tables/jobs.h \
  sql/tables/losses.cc sql/tables/losses.h \
  sql/tables/lost_records.cc sql/tables/lost_records.h \
  sql/tables/owners.cc sql/tables/owners.h \
  sql/tables/purge.cc sql/tables/purge.h \
  sql/tables/record_blocks.cc sql/tables/record_blocks.h \
  sql/tables/source.cc sql/tables/source.h \
  sql/tables/steady_steps.cc sql/tables/steady_steps.h \
  sql/tables/step_store.cc sql/tables/step_store.h \
  sql/tables/watch_times.cc sql/tables/watch_times.h \
  sql/tables/writer.cc sql/tables/writer.h \
  sql/ingest/backlog.cc sql/ingest/backlog.h \
  sql/ingest/file_ingest.cc sql/ingest/file_ingest.h \
  sql/ingest/hook_rows.cc sql/ingest/hook_rows.h \
  sql/ingest/ingest.cc sql/ingest/ingest.h \
  sql/ingest/ingest_batch.cc sql/ingest/ingest_batch.h \
  sql/ingest/line_templates.cc sql/ingest/line_templates.h \
  sql/ingest/many_rows.h \
  sql/ingest/new_events.h \
  sql/ingest/new_sources.h \
  sql/ingest/node_status.cc sql/ingest/node_status.h \
  sql/ingest/spool_memory.h
unity_sources += sql/libstore.unity.cc
if UNITY
nodist_sql_libstore_a_SOURCES = sql/libstore.unity.cc
else
sql_libstore_a_SOURCES = $(sql_libstore_files)
endif
sql_libstore_a_CXXFLAGS = $(AM_CXXFLAGS) $(ABSL_CFLAGS) $(SQLITE_CFLAGS) $(ZLIB_CFLAGS) $(SIMDJSON_CFLAGS)
store_libs = sql/libstore.a $(steps_libs) spank/libevent_vocabulary.la $(SQLITE_LIBS) $(ABSL_LIBS) $(SIMDJSON_LIBS)

# The tables of the fleet database, as text.
noinst_LIBRARIES += sql/libfleetschema.a
sql_libfleetschema_a_SOURCES = sql/fleet/fleet_schema.cc sql/fleet/fleet_schema.h \
  sql/fleet/usage_table.cc sql/fleet/usage_table.h
sql_libfleetschema_a_CXXFLAGS = $(AM_CXXFLAGS) $(ABSL_CFLAGS)
fleetschema_libs = sql/libfleetschema.a $(ABSL_LIBS)

EXTRA_DIST += sql/README.md sql/SCHEMA.md sql/fleet/SCHEMA.md
