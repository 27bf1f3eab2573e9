# Steps in few bytes, for the store and for the timeline.
noinst_LTLIBRARIES += sql/libsteps.la
sql_libsteps_la_SOURCES = \
  sql/duration_histogram.cc sql/duration_histogram.h \
  sql/step_block.cc sql/step_block.h \
  sql/varint.h

# The store: schema, ingest, and reading back. The only part that includes sqlite3.h.
noinst_LTLIBRARIES += sql/libstore.la
sql_libstore_files = \
  sql/accounting.cc sql/accounting.h \
  sql/backfilled.cc sql/backfilled.h \
  sql/backlog.cc sql/backlog.h \
  sql/chains.cc sql/chains.h \
  sql/coverage.cc sql/coverage.h \
  sql/database.cc sql/database.h \
  sql/evidence.cc sql/evidence.h \
  sql/file_ingest.cc sql/file_ingest.h \
  sql/heartbeats.cc sql/heartbeats.h \
  sql/hook_rows.cc sql/hook_rows.h \
  sql/jobs.cc sql/jobs.h \
  sql/imports.cc sql/imports.h \
  sql/ingest.cc sql/ingest.h \
  sql/ingest_batch.cc sql/ingest_batch.h \
  sql/known_shapes.cc sql/known_shapes.h \
  sql/losses.cc sql/losses.h \
  sql/many_rows.h \
  sql/owners.cc sql/owners.h \
  sql/purge.cc sql/purge.h \
  sql/mark_block.cc sql/mark_block.h \
  sql/new_events.h \
  sql/new_sources.h \
  sql/source.cc sql/source.h \
  sql/record_blocks.cc sql/record_blocks.h \
  sql/record_pack.cc sql/record_pack.h \
  sql/record_shape.cc sql/record_shape.h \
  sql/schema.cc sql/schema.h \
  sql/seen.cc sql/seen.h \
  sql/spool_line.cc sql/spool_line.h \
  sql/spool_memory.h \
  sql/spool_words.cc sql/spool_words.h \
  sql/step_store.cc sql/step_store.h \
  sql/summaries.cc sql/summaries.h \
  sql/summary_pack.cc sql/summary_pack.h \
  sql/writer.cc sql/writer.h \
  sql/text.h \
  sql/watches.cc sql/watches.h
unity_sources += sql/libstore.unity.cc
if UNITY
nodist_sql_libstore_la_SOURCES = sql/libstore.unity.cc
else
sql_libstore_la_SOURCES = $(sql_libstore_files)
endif
sql_libstore_la_CXXFLAGS = $(AM_CXXFLAGS) $(SQLITE_CFLAGS) $(ZLIB_CFLAGS) $(ABSL_CFLAGS) $(SIMDJSON_CFLAGS)
sql_libstore_la_LIBADD = sql/libsteps.la spank/libevent_vocabulary.la $(SQLITE_LIBS) $(ZLIB_LIBS) $(ABSL_LIBS) $(SIMDJSON_LIBS)
EXTRA_DIST += sql/SCHEMA.md
