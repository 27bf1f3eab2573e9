#include "tools/accounting/fleet_rows/fleet_rows.h"

#include <algorithm>
#include <boost/uuid/name_generator_sha1.hpp>
#include <boost/uuid/nil_generator.hpp>
#include <boost/uuid/uuid_io.hpp>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/time/civil_time.h"
#include "sql/status_macros.h"
#include "sql/text.h"
#include "tools/accounting/fleet_rows/attempt_days.h"
#include "tools/accounting/fleet_rows/copy_line.h"
#include "tools/accounting/flops/program_flops.h"
#include "tools/accounting/rollup/provision.h"
#include "tools/accounting/rollup/stockout.h"
#include "tools/base/hostlist.h"

namespace goodput {
namespace {

// Ten years: a run with more has a wrong clock.
constexpr std::size_t kMostRows = 40'000;
constexpr std::int64_t kMostDays = 3'660;
constexpr std::int64_t kMostAhead = 366;
constexpr std::size_t kMostText = 1'000;
constexpr std::size_t kMostListed = 10'000;
constexpr const char* kReplacement = "\xEF\xBF\xBD";

// The length of the UTF-8 character at the beginning; 0 if there is none.
std::size_t CharacterLength(std::string_view text) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = at(0);
  if (first == 0) return 0;
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((at(i) & 0xC0U) != 0x80) return 0;
  }
  const bool overlong = (first == 0xE0 && at(1) < 0xA0) || (first == 0xF0 && at(1) < 0x90);
  const bool surrogate = first == 0xED && at(1) >= 0xA0;
  const bool beyond = first == 0xF4 && at(1) >= 0x90;
  return overlong || surrogate || beyond ? 0 : length;
}

std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted.push_back('\\');
    quoted.push_back(c);
  }
  quoted.push_back('"');
  return quoted;
}

// An array as PostgreSQL reads it.
template <typename Values, typename Format>
std::string ArrayOf(const Values& values, const Format& format) {
  std::string array = "{";
  std::size_t count = 0;
  for (const auto& value : values) {
    if (count++ == kMostListed) break;
    if (array.size() > 1) array.push_back(',');
    array += format(value);
  }
  array.push_back('}');
  return array;
}

std::string TextArray(const std::set<std::string>& texts) {
  return ArrayOf(texts, [](const std::string& text) { return Quoted(FleetText(text)); });
}

// The rows of a run come one after the other. A run is counted once in a group of rows if only the first of
// its rows in that group counts it.
class FirstRows {
 public:
  // The bits of FirstOf (fleet_rows.h) for the next row.
  std::int64_t Next(std::int64_t day, const std::string& provision, const std::string& cause) {
    const std::string month = std::to_string(MonthOf(day));
    std::int64_t bits = 0;
    const auto see = [&](FirstOf first, std::string group) {
      if (seen_.insert({first, std::move(group)}).second)
        bits |= std::int64_t{1} << static_cast<unsigned>(first);
    };
    see(FirstOf::kRun, "");
    see(FirstOf::kMonth, month);
    see(FirstOf::kDay, std::to_string(day));
    see(FirstOf::kProvision, provision);
    see(FirstOf::kCause, cause);
    see(FirstOf::kMonthProvision, Cat(month, " ", provision));
    see(FirstOf::kMonthCause, Cat(month, " ", cause));
    return bits;
  }

 private:
  std::set<std::pair<FirstOf, std::string>> seen_;
};

// What the run's FLOPs per step and its peak are; absent if unknown.
struct Flops {
  std::optional<std::string> per_step;
  std::optional<std::string> peak;
  std::optional<std::int64_t> program_e9;  // program goodput in 10^-9
};

Flops FlopsOf(const Report& report) {
  Flops flops;
  const std::optional<double>& program = report.account.goodput.program;
  if (!program) return flops;
  flops.program_e9 = std::llround(*program * 1e9);
  // Exactly the doubles of the report.
  const auto write = [](double value) { return absl::StrFormat("%.17g", value); };
  const auto productive = static_cast<std::size_t>(Bucket::kProductive);
  const double gpu_seconds = static_cast<double>(report.account.buckets[productive].gpu_ns) / 1e9;
  if (report.flops_per_step > 0 && gpu_seconds > 0) {
    flops.per_step = write(report.flops_per_step);
    flops.peak = write(report.peak_flops);
  }
  return flops;
}

// How the machines of each attempt were obtained: as in Rollup.
std::vector<std::string> ProvisionsOf(const Report& report,
                                      const std::map<std::string, std::string>& node_features) {
  std::vector<std::string> provisions;
  for (const AttemptSummary& attempt : report.timeline.attempts) {
    const std::vector<std::string> nodes = ExpandHostList(attempt.facts->node_list);
    const RunInfo& info = report.run.info;
    provisions.push_back(
        ProvisionOfFacts(*attempt.facts, nodes, info.partition, info.cluster, &node_features).name());
  }
  return provisions;
}

bool HasGpus(const Report& report) {
  return report.account.has_gpus;
}

std::string UnitLine(const FleetRows& rows, const Report& report, const std::string& cluster) {
  const RunInfo& info = report.run.info;
  const Flops flops = FlopsOf(report);
  std::set<std::string> states{info.state};
  for (const AttemptSummary& attempt : report.timeline.attempts) states.insert(attempt.facts->state);
  std::set<std::string> tags;
  for (const auto& [key, value] : info.tags) tags.insert(Cat(key, "=", value));
  CopyLine line;
  line.Int(rows.shard).Text(cluster).Text(rows.unit).Bool(rows.final);
  line.Int(report.timeline.begin).Int(report.timeline.end);
  line.Int(info.job_id).Text(info.job_id_text);
  line.Escaped(ArrayOf(JobsOfReport(report), [](const UnitKey& job) { return std::to_string(job.job_id); }));
  line.Text(info.run).Text(info.name).Text(info.user).Text(info.account).Text(info.partition);
  line.Text(info.qos).Text(info.reservation).Text(info.state).Escaped(TextArray(states));
  line.Escaped(TextArray(tags)).Text(info.gpu_type).Bool(HasGpus(report)).Int(report.account.gpus);
  line.Int(static_cast<std::int64_t>(report.timeline.attempts.size()));
  line.Int(static_cast<std::int64_t>(report.timeline.interruptions.size()));
  const StepCounts& steps = report.timeline.steps;
  line.Int(steps.executed).Int(steps.kept).Int(steps.lost).Int(steps.at_risk);
  line.Maybe(flops.per_step).Maybe(flops.peak).Maybe(flops.program_e9);
  return std::move(line).Take();
}

absl::StatusOr<std::string> DayLine(const FleetRows& rows, const Report& report, const std::string& cluster,
                                    const std::vector<std::string>& provisions, const AttemptDay& day,
                                    FirstRows& firsts) {
  const RunInfo& info = report.run.info;
  const Flops flops = FlopsOf(report);
  const bool between = day.attempt < 0;
  const AttemptFacts* const facts =
      between ? nullptr : report.timeline.attempts[static_cast<std::size_t>(day.attempt)].facts;
  const std::string provision = between ? "-" : provisions[static_cast<std::size_t>(day.attempt)];
  CopyLine line;
  line.Int(rows.shard).Text(cluster).Text(rows.unit).Int(day.attempt);
  line.Date(day.day).Date(MonthOf(day.day)).Text(day.cause).Text(day.stockout);
  line.Maybe(between ? std::nullopt : std::optional<std::int64_t>(facts->job_id));
  line.Maybe(between || !facts->restart ? std::nullopt : std::optional<std::int64_t>(*facts->restart));
  line.Maybe(between ? std::nullopt : facts->start);
  line.Text(between ? "" : facts->state);
  line.Text(info.user).Text(info.account).Text(info.partition).Text(info.qos);
  line.Text(provision);
  line.Text(info.gpu_type).Text(info.run.empty() ? info.job_id_text : info.run);
  line.Bool(HasGpus(report)).Int(between ? 0 : facts->gpus).Int(between ? 0 : facts->nodes);
  line.Maybe(flops.program_e9).Maybe(flops.peak);
  line.Int(report.timeline.begin).Int(report.timeline.end);
  line.Int(firsts.Next(day.day, provision, day.cause));
  line.IntOrNull(day.gap_ns);
  // A day of 100,000 GPUs is 8.64e18.
  constexpr GpuNs kMost = std::numeric_limits<std::int64_t>::max();
  const bool fits = day.gap_gpu_ns <= kMost && std::all_of(day.gpu_ns.begin(), day.gpu_ns.end(),
                                                           [](GpuNs gpu_ns) { return gpu_ns <= kMost; });
  if (!fits) return absl::OutOfRangeError("one of its days has more than 2^63 GPU-nanoseconds");
  line.IntOrNull(static_cast<std::int64_t>(day.gap_gpu_ns));
  for (const GpuNs gpu_ns : day.gpu_ns) line.IntOrNull(static_cast<std::int64_t>(gpu_ns));
  for (const Ns ns : day.ns) line.IntOrNull(ns);
  return std::move(line).Take();
}

std::string InterruptionLine(const FleetRows& rows, const Report& report, const std::string& cluster,
                             const std::vector<std::string>& provisions,
                             const std::vector<MachineWait>& waits, const Interruption& interruption,
                             std::size_t number) {
  const MachineLack* const lack = LackOf(waits, interruption);
  const Timeline& timeline = report.timeline;
  const RunInfo& info = report.run.info;
  CopyLine line;
  line.Int(rows.shard).Text(cluster).Text(rows.unit).Int(static_cast<std::int64_t>(number));
  line.Int(interruption.attempt).Int(interruption.time).Date(UtcDay(interruption.time));
  line.Text(interruption.cause).Text(lack == nullptr ? "" : LackName(*lack)).Bool(interruption.planned);
  line.Bool(interruption.time >= timeline.begin && interruption.time < timeline.end).Text(interruption.node);
  const bool between = interruption.attempt < 0;
  line.Text(between ? "-" : provisions[static_cast<std::size_t>(interruption.attempt)]);
  line.Maybe(interruption.t_ch)
      .Maybe(interruption.t_detect)
      .Maybe(interruption.t_re)
      .Maybe(interruption.t_rm);
  line.Text(info.user).Text(info.account).Text(info.partition);
  return std::move(line).Take();
}

// The nodes of an attempt, in the order in which its time is divided among them.
std::string NodesLine(const FleetRows& rows, const std::string& cluster, std::size_t attempt,
                      const std::vector<std::string>& nodes) {
  CopyLine line;
  line.Int(rows.shard).Text(cluster).Text(rows.unit).Int(static_cast<std::int64_t>(attempt));
  line.Escaped(ArrayOf(nodes, [](const std::string& node) { return Quoted(FleetText(node)); }));
  return std::move(line).Take();
}

Digest DigestOfLines(const FleetRows& rows) {
  std::string text = rows.unit_line;
  for (const std::vector<std::string>* lines : {&rows.days, &rows.interruptions, &rows.nodes}) {
    text += "\n\n";
    for (const std::string& line : *lines) text += Cat(line, "\n");
  }
  return DigestOf(text);
}

}  // namespace

std::int64_t ShardOf(const std::string& cluster, const std::string& unit) {
  const boost::uuids::uuid hash =
      boost::uuids::name_generator_sha1(boost::uuids::nil_uuid())(Cat(cluster, std::string(1, '\0'), unit));
  std::uint64_t shard = 0;
  for (std::size_t i = 0; i < 6; ++i) shard = shard << 8U | hash.data[i];
  // Bytes 6 and 8 have bits of the version and variant.
  for (std::size_t i = 13; i < 16; ++i) shard = shard << 8U | hash.data[i];
  return static_cast<std::int64_t>(shard & 0x7FFFFFFFFFFFFFFFU);
}

std::int64_t MonthOf(std::int64_t day) {
  const absl::CivilDay epoch(1970, 1, 1);
  return absl::CivilDay(absl::CivilMonth(epoch + day)) - epoch;
}

Digest DigestOf(std::string_view text) {
  boost::uuids::name_generator_sha1 generator((boost::uuids::nil_uuid()));
  return boost::uuids::to_string(generator(text.data(), text.size()));
}

std::string UnitName(const UnitKey& key) {
  return Cat(key.job_id, "@", key.submit_s);
}

absl::StatusOr<UnitKey> ParseUnitName(std::string_view name) {
  UnitKey key;
  const std::size_t at = name.find('@');
  const bool numbers = at != std::string_view::npos &&
                       absl::SimpleAtoi(ToAbsl(name.substr(0, at)), &key.job_id) &&
                       absl::SimpleAtoi(ToAbsl(name.substr(at + 1)), &key.submit_s);
  if (numbers && UnitName(key) == name) return key;
  return absl::InvalidArgumentError(
      Cat("'", FleetText(name), "' names no run of the fleet; it must be JOB@SECONDS"));
}

std::vector<UnitKey> JobsOfReport(const Report& report) {
  std::map<std::int64_t, std::int64_t> submits;
  for (const AttemptFacts& attempt : report.run.facts.attempts) {
    const std::int64_t submit_s = attempt.submit / kSecond;
    const auto [job, fresh] = submits.try_emplace(attempt.job_id, submit_s);
    if (!fresh) job->second = std::min(job->second, submit_s);
  }
  std::vector<UnitKey> jobs;
  jobs.reserve(submits.size());
  for (const auto& [job_id, submit_s] : submits) jobs.push_back({job_id, submit_s});
  return jobs;
}

std::string FleetText(std::string_view text) {
  std::string out;
  while (!text.empty() && out.size() < kMostText) {
    const std::size_t length = CharacterLength(text);
    if (length == 0) {
      out += kReplacement;
      text.remove_prefix(1);
    } else {
      out += text.substr(0, length);
      text.remove_prefix(length);
    }
  }
  return out;
}

const std::vector<std::string>& UnitColumns() {
  static const std::vector<std::string> columns{
      "shard",          "cluster",     "unit",       "final",         "begin_ns",       "end_ns",
      "job_id",         "job_id_text", "job_ids",    "run",           "job_name",       "user_name",
      "account",        "partition",   "qos",        "reservation",   "state",          "states",
      "tags",           "gpu_type",    "has_gpus",   "gpus",          "attempts",       "interruptions",
      "executed_steps", "kept_steps",  "lost_steps", "at_risk_steps", "flops_per_step", "peak_flops",
      "program_e9"};
  return columns;
}

std::vector<std::string> BucketColumns() {
  std::vector<std::string> columns;
  for (const char* kind : {"b_", "w_"}) {
    for (const Bucket bucket : AllBuckets()) columns.push_back(Cat(kind, BucketName(bucket)));
  }
  return columns;
}

const std::vector<std::string>& AttemptDayColumns() {
  static const std::vector<std::string> columns = [] {
    std::vector<std::string> all{"shard",     "cluster",  "unit",      "attempt", "day",        "month",
                                 "cause",     "stockout", "job_id",    "restart", "start_ns",   "state",
                                 "user_name", "account",  "partition", "qos",     "provision",  "gpu_type",
                                 "run",       "has_gpus", "gpus",      "nodes",   "program_e9", "peak_flops",
                                 "begin_ns",  "end_ns",   "firsts",    "gap_ns",  "gap_gpu_ns"};
    for (std::string& column : BucketColumns()) all.push_back(std::move(column));
    return all;
  }();
  return columns;
}

const std::vector<std::string>& InterruptionColumns() {
  static const std::vector<std::string> columns{"shard",   "cluster", "unit",      "n",        "attempt",
                                                "time_ns", "day",     "cause",     "stockout", "planned",
                                                "inside",  "node",    "provision", "t_ch_ns",  "t_detect_ns",
                                                "t_re_ns", "t_rm_ns", "user_name", "account",  "partition"};
  return columns;
}

const std::vector<std::string>& AttemptNodesColumns() {
  static const std::vector<std::string> columns{"shard", "cluster", "unit", "attempt", "nodes"};
  return columns;
}

absl::StatusOr<FleetRows> RowsOfRun(const Report& report, const UnitKey& key, const std::string& cluster,
                                    const std::map<std::string, std::string>& node_features) {
  const std::int64_t begin = UtcDay(report.timeline.begin);
  if (begin < 0 || UtcDay(report.timeline.end) > UtcDay(report.timeline.now) + kMostAhead)
    return absl::OutOfRangeError("it begins before 1970 or ends more than a year from now");
  const std::int64_t span = UtcDay(report.timeline.end) - begin;
  if (span > kMostDays) return absl::OutOfRangeError(Cat("it spans ", span, " days, more than ", kMostDays));
  FleetRows rows;
  rows.key = key;
  rows.unit = UnitName(key);
  rows.shard = ShardOf(cluster, rows.unit);
  rows.final = !report.timeline.running;
  rows.unit_line = UnitLine(rows, report, cluster);
  const std::vector<std::string> provisions = ProvisionsOf(report, node_features);
  std::set<std::int64_t> months;
  FirstRows firsts;
  const std::vector<MachineWait> waits = MachineWaits(report.timeline);
  for (const AttemptDay& day : CutIntoDays(report.timeline, waits)) {
    absl::StatusOr<std::string> line = DayLine(rows, report, cluster, provisions, day, firsts);
    if (!line.ok()) return line.status();
    rows.days.push_back(*std::move(line));
    months.insert(MonthOf(day.day));
  }
  rows.months.assign(months.begin(), months.end());
  for (const Interruption& interruption : report.timeline.interruptions)
    rows.interruptions.push_back(
        InterruptionLine(rows, report, cluster, provisions, waits, interruption, rows.interruptions.size()));
  for (std::size_t attempt = 0; attempt < report.timeline.attempts.size(); ++attempt) {
    const std::vector<std::string> nodes = ExpandHostList(report.timeline.attempts[attempt].facts->node_list);
    if (!nodes.empty()) rows.nodes.push_back(NodesLine(rows, cluster, attempt, nodes));
  }
  if (rows.size() > kMostRows)
    return absl::OutOfRangeError(Cat("it needs ", rows.size(), " rows, more than ", kMostRows));
  rows.digest = DigestOfLines(rows);
  return rows;
}

}  // namespace goodput
