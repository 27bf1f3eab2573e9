#include "sql/schema.h"

namespace goodput {
namespace {

// A migration, once released, is never edited: a change is the next version.
constexpr const char* kVersion1 = R"sql(
CREATE TABLE source (
  id      INTEGER PRIMARY KEY,
  cluster TEXT NOT NULL,
  node    TEXT NOT NULL,
  file    TEXT NOT NULL,
  offset  INTEGER NOT NULL DEFAULT 0,
  records INTEGER NOT NULL DEFAULT 0,
  bad     INTEGER NOT NULL DEFAULT 0,
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

CREATE TABLE step_block (
  source_id   INTEGER NOT NULL REFERENCES source (id),
  job_id      INTEGER NOT NULL,
  slurm_step  TEXT NOT NULL,
  seq         INTEGER NOT NULL,
  marks       INTEGER NOT NULL,
  first_t_ns  INTEGER NOT NULL,
  last_t_ns   INTEGER NOT NULL,
  last_step   INTEGER NOT NULL,
  last_task   INTEGER NOT NULL,
  last_offset INTEGER NOT NULL,
  data        BLOB NOT NULL,
  PRIMARY KEY (source_id, job_id, slurm_step, seq)
) WITHOUT ROWID;
CREATE INDEX step_block_by_job ON step_block (job_id);

CREATE TABLE quarantine (
  source_id INTEGER NOT NULL REFERENCES source (id),
  offset    INTEGER NOT NULL,
  reason    TEXT NOT NULL,
  excerpt   TEXT NOT NULL,
  PRIMARY KEY (source_id, offset)
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
  PRIMARY KEY (cluster, job_id, submit_s)
) WITHOUT ROWID;
CREATE INDEX accounting_by_start ON accounting (start_s);
CREATE INDEX accounting_by_end ON accounting (end_s);

CREATE TABLE node_outage (
  cluster TEXT NOT NULL,
  node    TEXT NOT NULL,
  start_s INTEGER NOT NULL,
  end_s   INTEGER,
  state   TEXT NOT NULL,
  reason  TEXT NOT NULL,
  PRIMARY KEY (start_s, node, cluster)
) WITHOUT ROWID;

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

constexpr const char* kVersion2 = R"sql(
ALTER TABLE accounting ADD COLUMN derived_signal INTEGER;
ALTER TABLE accounting ADD COLUMN cancelled_by TEXT NOT NULL DEFAULT '';
)sql";

// The writer's clock, real less monotonic time, of a block's marks; unknown in blocks from before.
constexpr const char* kVersion3 = R"sql(
ALTER TABLE step_block ADD COLUMN clock_ns INTEGER;
)sql";

// What a report needs to know of a block comes before its marks, so that it is read without them; of blocks
// from before only what was known. With rowids: a key that is part of a large row is as slow as the row.
constexpr const char* kVersion4 = R"sql(
CREATE TABLE step_block_4 (
  job_id       INTEGER NOT NULL,
  source_id    INTEGER NOT NULL REFERENCES source (id),
  slurm_step   TEXT NOT NULL,
  seq          INTEGER NOT NULL,
  marks        INTEGER NOT NULL,
  first_t_ns   INTEGER NOT NULL,
  last_t_ns    INTEGER NOT NULL,
  first_step   INTEGER,
  last_step    INTEGER NOT NULL,
  task         INTEGER,
  first_offset INTEGER,
  last_offset  INTEGER NOT NULL,
  clock_ns     INTEGER,
  stride       INTEGER,
  durations    BLOB,
  framed       INTEGER NOT NULL DEFAULT 0,
  data         BLOB NOT NULL
);
INSERT INTO step_block_4 (source_id, job_id, slurm_step, seq, marks, first_t_ns, last_t_ns, last_step, last_offset, clock_ns, data)
  SELECT source_id, job_id, slurm_step, seq, marks, first_t_ns, last_t_ns, last_step, last_offset, clock_ns, data FROM step_block;
DROP TABLE step_block;
ALTER TABLE step_block_4 RENAME TO step_block;
CREATE UNIQUE INDEX step_block_by_job ON step_block (job_id, source_id, slurm_step, seq);
CREATE INDEX step_block_by_source ON step_block (source_id);
)sql";

// Files of other programs. Of a run that no Slurm job of the database is, the attempts are the import's own.
constexpr const char* kVersion5 = R"sql(
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
)sql";

// One job out of a million is found by its id, or by its id as people write it.
constexpr const char* kVersion6 = R"sql(
CREATE INDEX accounting_by_job ON accounting (job_id);
CREATE INDEX accounting_by_text ON accounting (job_id_text);
)sql";

// Marks of imported files, of which there may be as many as steps.
constexpr const char* kVersion7 = R"sql(
CREATE TABLE mark_block (
  source_id INTEGER NOT NULL REFERENCES source (id),
  job_id    INTEGER NOT NULL,
  seq       INTEGER NOT NULL,
  marks     INTEGER NOT NULL,
  data      BLOB NOT NULL,
  PRIMARY KEY (source_id, job_id, seq)
) WITHOUT ROWID;
CREATE INDEX mark_block_by_job ON mark_block (job_id);
)sql";

// Jobs that may be one run are found by their owner and name, and by who waits for whom. A record that is no
// JSON must not stop the ingest.
constexpr const char* kVersion8 = R"sql(
CREATE INDEX accounting_by_name ON accounting (user, name);
CREATE INDEX event_by_name ON event (
  CASE WHEN json_valid(record) THEN json_extract(record, '$.user') END,
  CASE WHEN json_valid(record) THEN json_extract(record, '$.name') END
) WHERE job_id IS NOT NULL AND kind IN ('queue', 'attempt');
CREATE INDEX event_by_dependency ON event (CASE WHEN json_valid(record) THEN json_extract(record, '$.user') END)
  WHERE job_id IS NOT NULL AND kind IN ('queue', 'attempt') AND instr(record, '"dependency":') > 0;
)sql";

// Which jobs there are, and by which runs' names, without a look at millions of events.
constexpr const char* kVersion9 = R"sql(
CREATE TABLE job_seen (
  job_id    INTEGER NOT NULL,
  cluster   TEXT NOT NULL,
  run       TEXT NOT NULL,
  first_t_s INTEGER NOT NULL,
  last_t_s  INTEGER NOT NULL,
  PRIMARY KEY (job_id, cluster, run)
) WITHOUT ROWID;
CREATE INDEX job_seen_by_run ON job_seen (run) WHERE run <> '';
INSERT INTO job_seen
  SELECT event.job_id, source.cluster, '', min(t_ns) / 1000000000, max(t_ns) / 1000000000
    FROM event JOIN source ON source.id = event.source_id WHERE event.job_id > 0 GROUP BY 1, 2;
INSERT OR IGNORE INTO job_seen
  SELECT job_id, source.cluster, '', min(first_t_ns) / 1000000000, max(last_t_ns) / 1000000000
    FROM step_block JOIN source ON source.id = step_block.source_id WHERE job_id > 0 GROUP BY 1, 2;
INSERT OR IGNORE INTO job_seen
  SELECT job_id, source.cluster, '', 0, 0
    FROM mark_block JOIN source ON source.id = mark_block.source_id WHERE job_id > 0 GROUP BY 1, 2;
INSERT INTO job_seen
  SELECT job_id, cluster, run, min(t_ns) / 1000000000, max(t_ns) / 1000000000
    FROM job_option WHERE run <> '' AND job_id > 0 GROUP BY 1, 2, 3;
)sql";

// What nodes say of themselves beside their records: which jobs live there, and what they lost.
constexpr const char* kVersion10 = R"sql(
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
)sql";

// How far back slurmdbd was asked, so that years need be read once; and what of an attempt accounting had all
// along. What is in the table already is read again as far as slurmdbd is asked again.
constexpr const char* kVersion11 = R"sql(
ALTER TABLE accounting ADD COLUMN reservation TEXT NOT NULL DEFAULT '';
ALTER TABLE accounting ADD COLUMN time_limit_s INTEGER;
CREATE TABLE backfilled (
  cluster TEXT NOT NULL,
  from_s  INTEGER NOT NULL,
  to_s    INTEGER NOT NULL,
  PRIMARY KEY (cluster, from_s)
) WITHOUT ROWID;
)sql";

// What is kept of nodes' records after keep_events, and of which jobs it was made.
constexpr const char* kVersion12 = R"sql(
CREATE TABLE summary (
  job_id     INTEGER NOT NULL,
  cluster    TEXT NOT NULL,
  seq        INTEGER NOT NULL,
  events     INTEGER NOT NULL,
  first_t_ns INTEGER NOT NULL,
  last_t_ns  INTEGER NOT NULL,
  made_s     INTEGER NOT NULL,
  data       BLOB NOT NULL
);
CREATE UNIQUE INDEX summary_by_job ON summary (job_id, cluster, seq);
CREATE TABLE summarized (
  job_id  INTEGER PRIMARY KEY,
  until_s INTEGER NOT NULL
);
)sql";

// What slurmd's hooks said of large jobs, and when each file was last written to, by its records.
constexpr const char* kVersion13 = R"sql(
CREATE TABLE record_block (
  job_id     INTEGER NOT NULL,
  cluster    TEXT NOT NULL,
  records    INTEGER NOT NULL,
  first_t_ns INTEGER NOT NULL,
  last_t_ns  INTEGER NOT NULL,
  made_s     INTEGER,
  data       BLOB NOT NULL
);
CREATE INDEX record_block_by_job ON record_block (job_id, cluster, first_t_ns);
ALTER TABLE source ADD COLUMN newest_t_ns INTEGER;
)sql";

// Which daemon's transactions are taken (writer.h).
constexpr const char* kVersion14 = R"sql(
CREATE TABLE writer (
  one      INTEGER PRIMARY KEY CHECK (one = 1),
  name     TEXT NOT NULL,
  since_ns INTEGER NOT NULL
);
)sql";

}  // namespace

std::string Migration(int version) {
  switch (version) {
    case 1:
      return kVersion1;
    case 2:
      return kVersion2;
    case 3:
      return kVersion3;
    case 4:
      return kVersion4;
    case 5:
      return kVersion5;
    case 6:
      return kVersion6;
    case 7:
      return kVersion7;
    case 8:
      return kVersion8;
    case 9:
      return kVersion9;
    case 10:
      return kVersion10;
    case 11:
      return kVersion11;
    case 12:
      return kVersion12;
    case 13:
      return kVersion13;
    case 14:
      return kVersion14;
    default:
      return "";
  }
}

}  // namespace goodput
