#include "sql/fleet/fleet_schema.h"

#include "sql/text.h"

namespace goodput {
namespace {

// Sums are exact only over integers: adding doubles gives another result in another order, and so on another
// number of workers. A bucket without time is NULL, which takes one bit.
constexpr const char* kTables = R"(
CREATE SCHEMA IF NOT EXISTS goodput;
SET search_path = goodput, pg_temp;

CREATE TABLE IF NOT EXISTS fleet_schema (
  one     integer PRIMARY KEY CHECK (one = 1),
  version integer NOT NULL,
  release text NOT NULL,
  columns text NOT NULL DEFAULT ''
);

CREATE TABLE IF NOT EXISTS cluster (
  cluster  text PRIMARY KEY,
  rev      bigint NOT NULL DEFAULT 0,
  url      text NOT NULL DEFAULT '',
  release  text NOT NULL DEFAULT '',
  as_of_ns bigint,
  heard_ns bigint,
  refused  bigint NOT NULL DEFAULT 0,
  problem  text NOT NULL DEFAULT ''
);

CREATE TABLE IF NOT EXISTS writer (
  role    name PRIMARY KEY,
  cluster text NOT NULL
);

CREATE TABLE IF NOT EXISTS unit (
  shard          bigint NOT NULL,
  cluster        text NOT NULL,
  unit           text NOT NULL,
  final          boolean NOT NULL,
  begin_ns       bigint NOT NULL,
  end_ns         bigint NOT NULL,
  job_id         bigint NOT NULL,
  job_id_text    text NOT NULL,
  job_ids        bigint[] NOT NULL,
  run            text NOT NULL,
  job_name       text NOT NULL,
  user_name      text NOT NULL,
  account        text NOT NULL,
  partition      text NOT NULL,
  qos            text NOT NULL,
  reservation    text NOT NULL,
  state          text NOT NULL,
  states         text[] NOT NULL,
  tags           text[] NOT NULL,
  gpu_type       text NOT NULL,
  has_gpus       boolean NOT NULL,
  gpus           bigint NOT NULL,
  attempts       bigint NOT NULL,
  interruptions  bigint NOT NULL,
  executed_steps bigint NOT NULL,
  kept_steps     bigint NOT NULL,
  lost_steps     bigint NOT NULL,
  at_risk_steps  bigint NOT NULL,
  flops_per_step numeric,
  peak_flops     numeric,
  program_e9     bigint,
  digest         uuid NOT NULL,
  rev            bigint NOT NULL,
  PRIMARY KEY (cluster, unit, shard)
);
CREATE INDEX IF NOT EXISTS unit_by_job ON unit USING gin (job_ids);
CREATE INDEX IF NOT EXISTS unit_by_text ON unit (job_id_text);
CREATE INDEX IF NOT EXISTS unit_by_run ON unit (run) WHERE run <> '';
CREATE INDEX IF NOT EXISTS unit_by_end ON unit (end_ns);

CREATE TABLE IF NOT EXISTS attempt_day (
  shard       bigint NOT NULL,
  cluster     text NOT NULL,
  unit        text NOT NULL,
  attempt     integer NOT NULL,
  day         date NOT NULL,
  month       date NOT NULL,
  cause       text NOT NULL,
  stockout    text NOT NULL DEFAULT '',
  job_id      bigint,
  restart     bigint,
  start_ns    bigint,
  state       text NOT NULL,
  user_name   text NOT NULL,
  account     text NOT NULL,
  partition   text NOT NULL,
  qos         text NOT NULL,
  provision   text NOT NULL,
  gpu_type    text NOT NULL,
  run         text NOT NULL,
  has_gpus    boolean NOT NULL,
  gpus        bigint NOT NULL,
  nodes       bigint NOT NULL,
  program_e9  bigint,
  peak_flops  numeric,
  begin_ns    bigint NOT NULL,
  end_ns      bigint NOT NULL,
  firsts      integer,
  gap_ns      bigint,
  gap_gpu_ns  bigint,
  %BUCKETS%
  PRIMARY KEY (cluster, unit, day, attempt, cause, stockout, month, shard)
) PARTITION BY RANGE (month);

CREATE TABLE IF NOT EXISTS interruption (
  shard       bigint NOT NULL,
  cluster     text NOT NULL,
  unit        text NOT NULL,
  n           integer NOT NULL,
  attempt     integer NOT NULL,
  time_ns     bigint NOT NULL,
  day         date NOT NULL,
  cause       text NOT NULL,
  stockout    text,
  planned     boolean NOT NULL,
  inside      boolean,
  node        text NOT NULL,
  provision   text NOT NULL,
  t_ch_ns     bigint,
  t_detect_ns bigint,
  t_re_ns     bigint,
  t_rm_ns     bigint,
  user_name   text,
  account     text,
  partition   text,
  PRIMARY KEY (cluster, unit, n, shard)
);
DROP INDEX IF EXISTS interruption_by_day;
CREATE INDEX IF NOT EXISTS interruption_by_cluster ON interruption (cluster, day);

CREATE TABLE IF NOT EXISTS attempt_nodes (
  shard   bigint NOT NULL,
  cluster text NOT NULL,
  unit    text NOT NULL,
  attempt integer NOT NULL,
  nodes   text[] NOT NULL,
  PRIMARY KEY (cluster, unit, attempt, shard)
);

CREATE TABLE IF NOT EXISTS cluster_day (
  shard   bigint NOT NULL,
  cluster text NOT NULL,
  day     date NOT NULL,
  month   date NOT NULL,
  nodes   bigint NOT NULL,
  digest  uuid NOT NULL,
  rev     bigint NOT NULL,
  PRIMARY KEY (cluster, day, shard)
);

CREATE TABLE IF NOT EXISTS node_day (
  shard   bigint NOT NULL,
  cluster text NOT NULL,
  node    text NOT NULL,
  day     date NOT NULL,
  month   date NOT NULL,
  gpus    bigint,
  PRIMARY KEY (cluster, day, node, shard)
);

-- A writer may create the partition of a month, and nothing else: this runs with the rights of the owner.
CREATE OR REPLACE FUNCTION fleet_month(first_of_month date) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = goodput, pg_temp AS $fleet$
DECLARE
  name text := 'attempt_day_' || to_char(first_of_month, 'YYYYMM');
BEGIN
  IF first_of_month IS NULL OR first_of_month <> date_trunc('month', first_of_month)::date
     OR first_of_month < DATE '1970-01-01' OR first_of_month > now() + interval '3 years' THEN
    RAISE EXCEPTION '% is no month for which the fleet keeps rows', first_of_month USING ERRCODE = '22008';
  END IF;
  IF to_regclass('goodput.' || name) IS NULL THEN
    PERFORM pg_advisory_xact_lock(1735356260, 1);
    EXECUTE format('CREATE TABLE IF NOT EXISTS goodput.%I PARTITION OF goodput.attempt_day'
                   ' FOR VALUES FROM (%L) TO (%L)', name, first_of_month,
                   (first_of_month + interval '1 month')::date);
  END IF;
END $fleet$;
REVOKE ALL ON FUNCTION fleet_month(date) FROM PUBLIC;
)";

// Tables of releases before `stockout` have a key without it.
constexpr const char* kDayKey = R"(
DO $fleet$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
                 WHERE i.indrelid = 'goodput.attempt_day'::regclass AND i.indisprimary AND a.attname = 'stockout') THEN
    ALTER TABLE attempt_day DROP CONSTRAINT attempt_day_pkey;
    ALTER TABLE attempt_day ADD PRIMARY KEY (cluster, unit, day, attempt, cause, stockout, month, shard);
  END IF;
END $fleet$;
)";

// Rows of older releases do not name the user.
constexpr const char* kUsersOfInterruptions = R"(
UPDATE interruption i SET user_name = u.user_name, account = u.account, partition = u.partition
FROM unit u WHERE i.cluster = u.cluster AND i.unit = u.unit AND i.shard = u.shard AND i.user_name IS NULL;
)";

constexpr const char* kRights = R"(
DO $fleet$
DECLARE
  wanted text;
BEGIN
  FOREACH wanted IN ARRAY ARRAY['goodput_writer', 'goodput_reader', 'goodput_finance'] LOOP
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = wanted) THEN
      EXECUTE format('CREATE ROLE %I NOLOGIN', wanted);
    END IF;
  END LOOP;
  EXECUTE format('GRANT TEMPORARY ON DATABASE %I TO goodput_writer', current_database());
END $fleet$;
GRANT USAGE ON SCHEMA goodput TO goodput_writer, goodput_reader, goodput_finance;
GRANT SELECT ON fleet_schema TO goodput_writer, goodput_reader, goodput_finance;
GRANT SELECT ON writer TO goodput_writer;
GRANT SELECT, INSERT, UPDATE, DELETE ON cluster TO goodput_writer;
GRANT SELECT, INSERT, DELETE ON unit, attempt_day, interruption, attempt_nodes, cluster_day, node_day TO goodput_writer;
REVOKE UPDATE ON unit, attempt_day, interruption, attempt_nodes, cluster_day, node_day FROM goodput_writer;
GRANT EXECUTE ON FUNCTION fleet_month(date) TO goodput_writer;
GRANT SELECT ON cluster, unit, attempt_day, interruption, attempt_nodes, usage_day, cluster_day, node_day TO goodput_reader;
GRANT SELECT ON v_mpg, v_day, v_badput, v_cause, v_users, v_nodes, v_node_time, v_node_use, v_finance TO goodput_reader;
GRANT SELECT ON v_finance TO goodput_finance;

DO $fleet$
DECLARE
  wanted text;
BEGIN
  FOREACH wanted IN ARRAY ARRAY['cluster', 'unit', 'attempt_day', 'interruption', 'attempt_nodes', 'cluster_day',
                          'node_day'] LOOP
    EXECUTE format('ALTER TABLE goodput.%I ENABLE ROW LEVEL SECURITY', wanted);
    EXECUTE format('DROP POLICY IF EXISTS read_all ON goodput.%I', wanted);
    EXECUTE format('CREATE POLICY read_all ON goodput.%I FOR SELECT TO goodput_reader USING (true)', wanted);
  END LOOP;
END $fleet$;
)";

// A writer sees and changes the rows of its own cluster only. A role without a policy sees none. Each writer
// has policies of its own, because Citus takes none that looks into another table.
constexpr const char* kPolicies = R"(
DO $fleet$
DECLARE
  known record;
  wanted text;
BEGIN
  FOR known IN SELECT p.tablename, p.policyname FROM pg_policies p
    WHERE p.schemaname = 'goodput' AND starts_with(p.policyname, 'own_cluster') LOOP
    EXECUTE format('DROP POLICY %I ON goodput.%I', known.policyname, known.tablename);
  END LOOP;
  FOR known IN SELECT w.role, w.cluster FROM goodput.writer w JOIN pg_roles r ON r.rolname = w.role LOOP
    FOREACH wanted IN ARRAY ARRAY['cluster', 'unit', 'attempt_day', 'interruption', 'attempt_nodes',
                                  'cluster_day', 'node_day'] LOOP
      EXECUTE format('CREATE POLICY %I ON goodput.%I TO %I USING (cluster = %L) WITH CHECK (cluster = %L)',
                     'own_cluster_' || md5(known.role), wanted, known.role, known.cluster, known.cluster);
      -- It may already. But Citus creates on a new worker only the roles that have rights of their own.
      EXECUTE format('GRANT SELECT ON goodput.%I TO %I', wanted, known.role);
    END LOOP;
  END LOOP;
END $fleet$;
)";

constexpr const char* kDistribution = R"(
CREATE EXTENSION IF NOT EXISTS citus;
-- Creating it resets the path.
SET search_path = goodput, pg_temp;
-- Roles cannot be created in a transaction that used several connections to a worker.
SET LOCAL citus.multi_shard_modify_mode = 'sequential';
DO $fleet$
DECLARE
  wanted regclass;
BEGIN
  FOREACH wanted IN ARRAY ARRAY['goodput.cluster', 'goodput.writer']::regclass[] LOOP
    IF NOT EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = wanted) THEN
      PERFORM create_reference_table(wanted::text);
    END IF;
  END LOOP;
  FOREACH wanted IN ARRAY ARRAY['goodput.unit', 'goodput.attempt_day', 'goodput.interruption',
                                'goodput.attempt_nodes', 'goodput.cluster_day',
                                'goodput.node_day']::regclass[] LOOP
    IF NOT EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = wanted) THEN
      PERFORM create_distributed_table(wanted::text, 'shard', colocate_with =>
        CASE WHEN wanted = 'goodput.unit'::regclass THEN 'default' ELSE 'goodput.unit' END);
    END IF;
  END LOOP;
END $fleet$;
)";

std::string SumOf(const std::vector<std::string>& columns) {
  std::string sum;
  for (const std::string& column : columns)
    sum += Cat(sum.empty() ? "" : " + ", "coalesce(sum(", column, "), 0)");
  return sum;
}

std::string Replaced(std::string text, std::string_view word, std::string_view by) {
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + by.size()))
    text.replace(at, word.size(), by);
  return text;
}

// Sums of integers; a ratio is made of sums at the end. `program` is of the productive time of runs whose
// FLOPs are known, and `program_share` is the share of that time; mpg is unknown unless that is 1.
constexpr const char* kViews = R"(
CREATE OR REPLACE VIEW v_mpg AS
SELECT *, up_gpu_ns / nullif(wanted_gpu_ns, 0) AS scheduling,
  productive_gpu_ns / nullif(up_gpu_ns, 0) AS runtime,
  kept_flops / nullif(peak_flops, 0) AS program,
  known_gpu_ns / nullif(productive_gpu_ns, 0) AS program_share,
  CASE WHEN known_gpu_ns = productive_gpu_ns
    THEN productive_gpu_ns / nullif(wanted_gpu_ns, 0) * kept_flops / nullif(peak_flops, 0) END AS mpg
FROM (SELECT cluster, month, account, partition, provision, gpu_type,
    %WANTED% AS wanted_gpu_ns, %UP% AS up_gpu_ns, coalesce(sum(b_productive), 0) AS productive_gpu_ns,
    sum(known_gpu_ns) AS known_gpu_ns, sum(kept_flops_e9) / 1000000000 AS kept_flops,
    sum(known_peak_flops) AS peak_flops
  FROM usage_day WHERE has_gpus AND n > 0 GROUP BY cluster, month, account, partition, provision, gpu_type) AS sums;

CREATE OR REPLACE VIEW v_day AS
SELECT cluster, day, %WANTED% AS wanted_gpu_ns, %UP% AS up_gpu_ns,
  coalesce(sum(b_productive), 0) AS productive_gpu_ns
FROM usage_day WHERE has_gpus AND n > 0 GROUP BY cluster, day;

CREATE OR REPLACE VIEW v_badput AS
SELECT d.cluster, d.month, d.account, d.user_name, b.bucket, sum(b.gpu_ns) AS gpu_ns
FROM usage_day d CROSS JOIN LATERAL (VALUES %BUCKET_VALUES%) AS b (bucket, gpu_ns)
WHERE b.gpu_ns > 0 GROUP BY d.cluster, d.month, d.account, d.user_name, b.bucket;

CREATE OR REPLACE VIEW v_cause AS
SELECT cluster, month, cause, %WANTED% AS gpu_ns
FROM usage_day WHERE cause <> '' AND n > 0 GROUP BY cluster, month, cause;

CREATE OR REPLACE VIEW v_users AS
SELECT cluster, month, user_name, account, %WANTED% AS wanted_gpu_ns, %UP% AS up_gpu_ns,
  coalesce(sum(b_productive), 0) AS productive_gpu_ns, coalesce(sum(b_lost_work), 0) AS lost_work_gpu_ns,
  coalesce(sum(b_stall), 0) AS stall_gpu_ns, coalesce(sum(b_unobserved), 0) AS unobserved_gpu_ns
FROM usage_day WHERE n > 0 GROUP BY cluster, month, user_name, account;

CREATE OR REPLACE VIEW v_nodes AS
SELECT cluster, node, date_trunc('month', day::timestamp)::date AS month, cause, count(*) AS interruptions
FROM interruption WHERE node <> '' GROUP BY 1, 2, 3, 4;

-- The time for which runs held each node.
CREATE OR REPLACE VIEW v_node_time AS
SELECT d.cluster, n.node, d.month, %HELD% AS held_ns
FROM attempt_day d JOIN attempt_nodes a USING (cluster, unit, attempt, shard)
  CROSS JOIN LATERAL unnest(a.nodes) AS n (node)
GROUP BY d.cluster, n.node, d.month;

-- What became of the time of all nodes. Machines that were powered down (off) are no capacity.
CREATE OR REPLACE VIEW v_node_use AS
SELECT *, n_allocated / nullif(reported_ns - n_unknown, 0) AS allocated_share,
  g_allocated / nullif(reported_gpu_ns - g_unknown, 0) AS allocated_gpu_share
FROM (SELECT cluster, day, month, count(*) AS nodes, %NODE_USES%,
    %REPORTED% AS reported_ns, %REPORTED_GPUS% AS reported_gpu_ns
  FROM node_day GROUP BY cluster, day, month) AS sums;

CREATE OR REPLACE VIEW v_finance AS
SELECT cluster, month, account, provision, gpu_type, %WANTED% AS wanted_gpu_ns, %UP% AS up_gpu_ns,
  coalesce(sum(b_productive), 0) AS productive_gpu_ns
FROM usage_day WHERE n > 0 GROUP BY cluster, month, account, provision, gpu_type;
)";

}  // namespace

std::string FleetTables(const std::vector<std::string>& bucket_columns) {
  std::string columns;
  for (const std::string& column : bucket_columns) columns += Cat(column, " bigint, ");
  return Replaced(kTables, "%BUCKETS%", columns);
}

std::string FleetColumns(const std::vector<std::string>& bucket_columns,
                         const std::vector<std::string>& use_columns) {
  std::string sql =
      "ALTER TABLE fleet_schema ADD COLUMN IF NOT EXISTS columns text NOT NULL DEFAULT '';\n"
      "ALTER TABLE attempt_day ADD COLUMN IF NOT EXISTS firsts integer;\n"
      "ALTER TABLE interruption ADD COLUMN IF NOT EXISTS inside boolean;\n"
      "ALTER TABLE interruption ADD COLUMN IF NOT EXISTS stockout text;\n"
      "ALTER TABLE interruption ADD COLUMN IF NOT EXISTS user_name text;\n"
      "ALTER TABLE interruption ADD COLUMN IF NOT EXISTS account text;\n"
      "ALTER TABLE interruption ADD COLUMN IF NOT EXISTS partition text;\n"
      "ALTER TABLE attempt_day ADD COLUMN IF NOT EXISTS stockout text NOT NULL DEFAULT '';\n";
  sql += kUsersOfInterruptions;
  sql += kDayKey;
  for (const std::string& column : bucket_columns)
    sql += Cat("ALTER TABLE attempt_day ADD COLUMN IF NOT EXISTS ", column, " bigint;\n");
  for (const std::string& column : use_columns)
    sql += Cat("ALTER TABLE node_day ADD COLUMN IF NOT EXISTS ", column, " bigint;\n");
  return sql;
}

std::string FleetViews(const FleetSides& sides, const std::vector<std::string>& bucket_columns,
                       const std::vector<std::string>& use_columns) {
  std::string values;
  for (const std::string& column : bucket_columns) {
    if (column.rfind("b_", 0) != 0) continue;
    values += Cat(values.empty() ? "" : ", ", "('", column.substr(2), "', d.", column, ")");
  }
  std::string views = Replaced(kViews, "%WANTED%", SumOf(sides.wanted));
  views = Replaced(views, "%UP%", SumOf(sides.up));
  views = Replaced(views, "%HELD%", SumOf(sides.held));
  std::string uses;
  std::vector<std::string> reported;
  std::vector<std::string> reported_gpus;
  for (const std::string& column : use_columns) {
    uses += Cat(uses.empty() ? "" : ", ", "coalesce(sum(", column, "), 0) AS ", column);
    if (column.substr(2) != "off") (column[0] == 'n' ? reported : reported_gpus).push_back(column);
  }
  views = Replaced(views, "%NODE_USES%", uses);
  views = Replaced(views, "%REPORTED%", SumOf(reported));
  views = Replaced(views, "%REPORTED_GPUS%", SumOf(reported_gpus));
  return Replaced(views, "%BUCKET_VALUES%", values);
}

std::string FleetRights() {
  return Cat(kRights, kPolicies);
}

std::string FleetPolicies() {
  return kPolicies;
}

std::string FleetDistribution() {
  return kDistribution;
}

}  // namespace goodput
