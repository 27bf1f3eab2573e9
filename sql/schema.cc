#include "sql/schema.h"

namespace goodput {
namespace {

// Once released, a version is never edited: a change is the next version.
constexpr const char* kVersion1 = R"sql(
CREATE TABLE source (
  id      INTEGER PRIMARY KEY,
  cluster TEXT NOT NULL,
  node    TEXT NOT NULL,
  file    TEXT NOT NULL,
  offset  INTEGER NOT NULL DEFAULT 0,
  records INTEGER NOT NULL DEFAULT 0,
  bad     INTEGER NOT NULL DEFAULT 0,
  newest_t_ns INTEGER,
  UNIQUE (node, file, cluster)
);

CREATE TABLE event (
  source_id  INTEGER NOT NULL REFERENCES source (id),
  offset     INTEGER NOT NULL,
  t_ns       INTEGER NOT NULL,
  kind       TEXT NOT NULL,
  job_id     INTEGER,
  record     TEXT NOT NULL,
  PRIMARY KEY (source_id, offset)
) WITHOUT ROWID;
CREATE INDEX event_by_job ON event (job_id, t_ns) WHERE job_id IS NOT NULL;
CREATE INDEX event_by_kind ON event (kind, t_ns) WHERE job_id IS NULL;
CREATE INDEX event_of_watch ON event (job_id) WHERE job_id IS NOT NULL AND kind IN ('queue', 'attempt');
CREATE INDEX event_by_name ON event (
  CASE WHEN json_valid(record) THEN json_extract(record, '$.user') END,
  CASE WHEN json_valid(record) THEN json_extract(record, '$.name') END
) WHERE job_id IS NOT NULL AND kind IN ('queue', 'attempt');
CREATE INDEX event_by_dependency ON event (CASE WHEN json_valid(record) THEN json_extract(record, '$.user') END)
  WHERE job_id IS NOT NULL AND kind IN ('queue', 'attempt') AND instr(record, '"dependency":') > 0;

CREATE TABLE step_block (
  job_id       INTEGER NOT NULL,
  source_id    INTEGER NOT NULL REFERENCES source (id),
  slurm_step   TEXT NOT NULL,
  seq          INTEGER NOT NULL,
  marks        INTEGER NOT NULL,
  first_t_ns   INTEGER NOT NULL,
  last_t_ns    INTEGER NOT NULL,
  first_step   INTEGER NOT NULL,
  last_step    INTEGER NOT NULL,
  task         INTEGER NOT NULL,
  first_offset INTEGER NOT NULL,
  last_offset  INTEGER NOT NULL,
  clock_ns     INTEGER,
  stride       INTEGER,
  durations    BLOB,
  data         BLOB NOT NULL
);
CREATE UNIQUE INDEX step_block_by_job ON step_block (job_id, source_id, slurm_step, seq);
CREATE INDEX step_block_by_source ON step_block (source_id);

CREATE TABLE mark_block (
  source_id INTEGER NOT NULL REFERENCES source (id),
  job_id    INTEGER NOT NULL,
  seq       INTEGER NOT NULL,
  marks     INTEGER NOT NULL,
  data      BLOB NOT NULL,
  PRIMARY KEY (source_id, job_id, seq)
) WITHOUT ROWID;
CREATE INDEX mark_block_by_job ON mark_block (job_id);

CREATE TABLE record_block (
  job_id     INTEGER NOT NULL,
  cluster    TEXT NOT NULL,
  records    INTEGER NOT NULL,
  first_t_ns INTEGER NOT NULL,
  last_t_ns  INTEGER NOT NULL,
  made_s     INTEGER,
  by_time    INTEGER NOT NULL,
  data       BLOB NOT NULL
);
CREATE INDEX record_block_by_job ON record_block (job_id, cluster, first_t_ns);

CREATE TABLE summarized (
  job_id  INTEGER PRIMARY KEY,
  until_s INTEGER NOT NULL
);

CREATE TABLE quarantine (
  source_id INTEGER NOT NULL REFERENCES source (id),
  offset    INTEGER NOT NULL,
  reason    TEXT NOT NULL,
  excerpt   TEXT NOT NULL,
  PRIMARY KEY (source_id, offset)
) WITHOUT ROWID;

CREATE TABLE job_seen (
  job_id    INTEGER NOT NULL,
  cluster   TEXT NOT NULL,
  run       TEXT NOT NULL,
  first_t_s INTEGER NOT NULL,
  last_t_s  INTEGER NOT NULL,
  PRIMARY KEY (job_id, cluster, run)
) WITHOUT ROWID;
CREATE INDEX job_seen_by_run ON job_seen (run) WHERE run <> '';
CREATE INDEX job_seen_by_time ON job_seen (cluster, last_t_s) WHERE run = '';

CREATE TABLE heartbeat (
  job_id       INTEGER NOT NULL,
  cluster      TEXT NOT NULL,
  node         TEXT NOT NULL,
  since_ns     INTEGER NOT NULL,
  last_seen_ns INTEGER NOT NULL,
  clock_ns     INTEGER NOT NULL,
  boot         TEXT NOT NULL,
  PRIMARY KEY (job_id, cluster, node, since_ns)
) WITHOUT ROWID;
CREATE INDEX heartbeat_by_node ON heartbeat (node, boot);

CREATE TABLE node_loss (
  node  TEXT NOT NULL,
  what  TEXT NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY (node, what)
) WITHOUT ROWID;

CREATE TABLE accounting (
  cluster     TEXT NOT NULL,
  job_id      INTEGER NOT NULL,
  submit_s    INTEGER NOT NULL,
  eligible_s  INTEGER,
  start_s     INTEGER,
  end_s       INTEGER,
  state       TEXT NOT NULL,
  exit_code   INTEGER,
  exit_signal INTEGER,
  user        TEXT NOT NULL,
  account     TEXT NOT NULL,
  partition   TEXT NOT NULL,
  qos         TEXT NOT NULL,
  name        TEXT NOT NULL,
  node_list   TEXT NOT NULL,
  nodes       INTEGER NOT NULL,
  gpus        INTEGER NOT NULL,
  gpu_type    TEXT NOT NULL,
  reason      TEXT NOT NULL,
  failed_node TEXT NOT NULL,
  admin_comment TEXT NOT NULL,
  suspended_s INTEGER NOT NULL,
  restarts    INTEGER,
  job_id_text TEXT NOT NULL,
  read_s      INTEGER NOT NULL,
  derived_signal INTEGER,
  cancelled_by TEXT NOT NULL DEFAULT '',
  reservation TEXT NOT NULL DEFAULT '',
  time_limit_s INTEGER,
  PRIMARY KEY (cluster, job_id, submit_s)
) WITHOUT ROWID;
CREATE INDEX accounting_by_start ON accounting (start_s);
CREATE INDEX accounting_by_end ON accounting (end_s);
CREATE INDEX accounting_by_job ON accounting (job_id);
CREATE INDEX accounting_by_text ON accounting (job_id_text);
CREATE INDEX accounting_by_name ON accounting (user, name);

CREATE TABLE node_outage (
  cluster TEXT NOT NULL,
  node    TEXT NOT NULL,
  start_s INTEGER NOT NULL,
  end_s   INTEGER,
  state   TEXT NOT NULL,
  reason  TEXT NOT NULL,
  PRIMARY KEY (start_s, node, cluster)
) WITHOUT ROWID;

CREATE TABLE backfilled (
  cluster TEXT NOT NULL,
  from_s  INTEGER NOT NULL,
  to_s    INTEGER NOT NULL,
  PRIMARY KEY (cluster, from_s)
) WITHOUT ROWID;

CREATE TABLE imported (
  source_id   INTEGER PRIMARY KEY REFERENCES source (id),
  job_id      INTEGER,
  run         TEXT NOT NULL,
  name        TEXT NOT NULL,
  user        TEXT NOT NULL,
  joined      TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  read_s      INTEGER NOT NULL
);

CREATE TABLE imported_attempt (
  source_id INTEGER NOT NULL REFERENCES source (id),
  number    INTEGER NOT NULL,
  begin_ns  INTEGER NOT NULL,
  end_ns    INTEGER NOT NULL,
  ended     INTEGER NOT NULL,
  state     TEXT NOT NULL,
  stop_ns   INTEGER,
  is_life   INTEGER NOT NULL,
  offset    INTEGER NOT NULL,
  PRIMARY KEY (source_id, number)
) WITHOUT ROWID;

CREATE TABLE writer (
  one      INTEGER PRIMARY KEY CHECK (one = 1),
  name     TEXT NOT NULL,
  since_ns INTEGER NOT NULL
);

CREATE VIEW job_option AS
  SELECT source.cluster, event.job_id, event.t_ns, event.source_id, event.offset,
         json_extract(event.record, '$.opt') AS opt,
         json_extract(event.record, '$.opt.run') AS run
    FROM event JOIN source ON source.id = event.source_id
   WHERE event.kind IN ('job_prolog', 'step_start') AND event.job_id IS NOT NULL
     AND json_type(event.record, '$.opt') = 'object';

CREATE VIEW node_event AS
  SELECT source.cluster, source.node, source.file, event.offset, event.t_ns, event.kind, event.job_id,
         json_extract(event.record, '$.slurm_step') AS slurm_step,
         json_extract(event.record, '$.task') AS task,
         json_extract(event.record, '$.exit_code') AS exit_code,
         json_extract(event.record, '$.signal') AS signal
    FROM event JOIN source ON source.id = event.source_id
   WHERE event.job_id IS NOT NULL AND source.node <> '@controller';
)sql";

}  // namespace

std::string Migration(int version) {
  return version == 1 ? kVersion1 : "";
}

}  // namespace goodput
