#include "sql/fleet/usage_table.h"

#include <array>

#include "sql/text.h"

namespace goodput {
namespace {

// What reports select and group by.
constexpr const char* kKeys =
    "cluster, day, month, cause, user_name, account, partition, provision, gpu_type, has_gpus";
// Identifies a group of a cluster and day: names are too long for an index.
constexpr const char* kKey =
    "sha256(convert_to(row(cause, user_name, account, partition, provision, gpu_type, has_gpus)::text, "
    "'UTF8'))";

struct Sum {
  std::string column;
  std::string of;  // rows of attempt_day
};

// The bits of `firsts` in order: FirstOf in tools/accounting/fleet_rows/fleet_rows.h.
constexpr std::array<const char*, 7> kRuns{
    "runs",       "runs_month",           "runs_day",        "runs_provision",
    "runs_cause", "runs_month_provision", "runs_month_cause"};

std::vector<Sum> SumsOf(const std::vector<std::string>& bucket_columns) {
  std::vector<Sum> sums{{"n", "count(*)"}};
  for (std::size_t bit = 0; bit < kRuns.size(); ++bit)
    sums.push_back({kRuns[bit], Cat("coalesce(sum(firsts >> ", bit, " & 1), 0)")});
  constexpr const char* kKnown = " FILTER (WHERE program_e9 IS NOT NULL AND peak_flops IS NOT NULL), 0)";
  sums.push_back({"known_gpu_ns", Cat("coalesce(sum(b_productive)", kKnown)});
  sums.push_back({"kept_flops_e9", "coalesce(sum(b_productive * peak_flops * program_e9), 0)"});
  sums.push_back({"known_peak_flops", Cat("coalesce(sum(b_productive * peak_flops)", kKnown)});
  std::vector<std::string> times{"gap_ns", "gap_gpu_ns"};
  times.insert(times.end(), bucket_columns.begin(), bucket_columns.end());
  for (const std::string& column : times) sums.push_back({column, Cat("coalesce(sum(", column, "), 0)")});
  return sums;
}

// Drops what is there if it is of the other kind, with the views that depend on it; they are created later.
std::string DropOther(bool distributed) {
  return Cat(R"(
DO $fleet$
BEGIN
  IF EXISTS (SELECT FROM pg_class WHERE oid = to_regclass('goodput.usage_day') AND relkind = ')",
             distributed ? "r" : "v", R"(') THEN
    DROP TRIGGER IF EXISTS usage_added ON goodput.attempt_day;
    DROP TRIGGER IF EXISTS usage_removed ON goodput.attempt_day;
    DROP )",
             distributed ? "TABLE" : "VIEW", R"( goodput.usage_day CASCADE;
  END IF;
END $fleet$;
)");
}

std::string Table(const std::vector<Sum>& sums) {
  std::string table = R"(
CREATE TABLE IF NOT EXISTS usage_day (
  key       bytea NOT NULL,
  cluster   text NOT NULL,
  day       date NOT NULL,
  month     date NOT NULL,
  cause     text NOT NULL,
  user_name text NOT NULL,
  account   text NOT NULL,
  partition text NOT NULL,
  provision text NOT NULL,
  gpu_type  text NOT NULL,
  has_gpus  boolean NOT NULL,
  PRIMARY KEY (cluster, day, key)
);
)";
  for (const Sum& sum : sums)
    table +=
        Cat("ALTER TABLE usage_day ADD COLUMN IF NOT EXISTS ", sum.column, " numeric NOT NULL DEFAULT 0;\n");
  return table;
}

// What adds the sums of rows of `from`, each multiplied by `sign`.
std::string Add(const std::vector<Sum>& sums, const std::string& from, const std::string& sign) {
  std::string columns;
  std::string values;
  std::string set;
  for (const Sum& sum : sums) {
    columns += Cat(", ", sum.column);
    values += Cat(", ", sign, sum.of);
    set += Cat(set.empty() ? "" : ", ", sum.column, " = u.", sum.column, " + excluded.", sum.column);
  }
  return Cat("INSERT INTO goodput.usage_day AS u (key, ", kKeys, columns, ")\n  SELECT ", kKey, ", ", kKeys,
             values, " FROM ", from, "\n  GROUP BY ", kKeys,
             "\n  ON CONFLICT (cluster, day, key) DO UPDATE SET ", set);
}

// The function has the owner's rights: writers cannot change the sums in another way.
std::string Triggers(const std::vector<Sum>& sums) {
  return Cat(R"(
CREATE OR REPLACE FUNCTION usage_changed() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = goodput, pg_temp AS $fleet$
DECLARE
  sign numeric := CASE TG_OP WHEN 'DELETE' THEN -1 ELSE 1 END;
BEGIN
  )",
             Add(sums, "changed", "sign * "), R"(;
  RETURN NULL;
END $fleet$;
REVOKE ALL ON FUNCTION usage_changed() FROM PUBLIC;
DROP TRIGGER IF EXISTS usage_added ON attempt_day;
CREATE TRIGGER usage_added AFTER INSERT ON attempt_day REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION usage_changed();
DROP TRIGGER IF EXISTS usage_removed ON attempt_day;
CREATE TRIGGER usage_removed AFTER DELETE ON attempt_day REFERENCING OLD TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION usage_changed();
LOCK TABLE attempt_day IN SHARE ROW EXCLUSIVE MODE;
DO $fleet$
BEGIN
  IF NOT EXISTS (SELECT FROM goodput.usage_day) THEN
    )",
             Add(sums, "goodput.attempt_day", ""), R"(;
  END IF;
END $fleet$;
)");
}

std::string View(const std::vector<Sum>& sums) {
  std::string values;
  for (const Sum& sum : sums) values += Cat(", ", sum.of, " AS ", sum.column);
  return Cat("CREATE OR REPLACE VIEW usage_day AS SELECT NULL::bytea AS key, ", kKeys, values,
             " FROM attempt_day GROUP BY ", kKeys, ";\n");
}

}  // namespace

std::string UsageTable(const std::vector<std::string>& bucket_columns, bool distributed) {
  const std::vector<Sum> sums = SumsOf(bucket_columns);
  const std::string drop = DropOther(distributed);
  return distributed ? Cat(drop, View(sums)) : Cat(drop, Table(sums), Triggers(sums));
}

}  // namespace goodput
