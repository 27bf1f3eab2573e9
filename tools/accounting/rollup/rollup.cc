#include "tools/accounting/rollup/rollup.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "tools/accounting/rollup/node_chance.h"
#include "tools/accounting/timeline/hardware.h"
#include "tools/base/hostlist.h"

namespace goodput {
namespace {

constexpr Ns kDay = 86'400 * kSecond;
constexpr const char* kNone = "-";
// No name contains it: Slurm refuses control characters.
constexpr char kBetweenGroups = '\x1f';

constexpr std::array<std::pair<std::string_view, RollupBy>, 13> kNames{
    {{"all", RollupBy::kAll},
     {"user", RollupBy::kUser},
     {"account", RollupBy::kAccount},
     {"partition", RollupBy::kPartition},
     {"run", RollupBy::kRun},
     {"tag", RollupBy::kTag},
     {"node", RollupBy::kNode},
     {"day", RollupBy::kDay},
     {"cause", RollupBy::kCause},
     {"recovery", RollupBy::kRecovery},
     {"reservation", RollupBy::kReservation},
     {"consumption", RollupBy::kConsumption},
     {"stockout", RollupBy::kStockout}}};

bool IsUp(Bucket bucket) {
  const Side side = BucketSide(bucket);
  return side != Side::kExcluded && side != Side::kScheduling;
}

bool IsWaiting(Bucket bucket) {
  return BucketSide(bucket) == Side::kScheduling && bucket != Bucket::kSuspended;
}

std::string OrNone(const std::string& text) {
  return text.empty() ? kNone : text;
}

std::string DayOf(Ns t) {
  return absl::FormatTime("%Y-%m-%d", absl::FromUnixNanos(t), absl::LocalTimeZone());
}

Ns NextMidnight(Ns t) {
  const absl::TimeZone zone = absl::LocalTimeZone();
  const absl::CivilDay day = absl::ToCivilDay(absl::FromUnixNanos(t), zone);
  return absl::ToUnixNanos(absl::FromCivil(day + 1, zone));
}

double Ratio(GpuNs part, GpuNs whole) {
  return static_cast<double>(part) / static_cast<double>(whole);
}

void AddWait(const std::optional<NodeWait>& wait, std::optional<NodeWait>& sum) {
  if (!wait) return;
  if (!sum) sum.emplace();
  sum->Add(*wait);
}

}  // namespace

// Nodes are held from their allocation until the job ends.
bool HoldsNodes(Bucket bucket) {
  const Side side = BucketSide(bucket);
  return bucket == Bucket::kProvisioning || bucket == Bucket::kSuspended ||
         (side != Side::kExcluded && side != Side::kScheduling);
}

std::optional<RollupBy> RollupByName(std::string_view name) {
  for (const auto& [known, by] : kNames) {
    if (known == name) return by;
  }
  return std::nullopt;
}

GpuNs RollupRow::allocated() const {
  GpuNs sum = -gap_gpu_ns;
  for (const Bucket bucket : AllBuckets()) {
    if (HoldsNodes(bucket)) sum += gpu_ns[static_cast<std::size_t>(bucket)];
  }
  return sum;
}

GpuNs RollupRow::wanted() const {
  GpuNs sum = 0;
  for (const Bucket bucket : AllBuckets()) {
    if (BucketSide(bucket) != Side::kExcluded) sum += gpu_ns[static_cast<std::size_t>(bucket)];
  }
  return sum;
}

GpuNs RollupRow::waited() const {
  GpuNs sum = 0;
  for (const Bucket bucket : AllBuckets()) {
    if (IsWaiting(bucket)) sum += gpu_ns[static_cast<std::size_t>(bucket)];
  }
  return sum;
}

Ns RollupRow::waited_ns() const {
  Ns sum = 0;
  for (const Bucket bucket : AllBuckets()) {
    if (IsWaiting(bucket)) sum += ns[static_cast<std::size_t>(bucket)];
  }
  return sum;
}

GpuNs RollupRow::maybe_wasted() const {
  return gpu_ns[static_cast<std::size_t>(Bucket::kAtRisk)] + unobserved() - gap_gpu_ns;
}

GpuNs RollupRow::wasted() const {
  return allocated() - gpu_ns[static_cast<std::size_t>(Bucket::kProductive)] - maybe_wasted();
}

bool RollupRow::HasGpus() const {
  return std::any_of(gpu_ns.begin(), gpu_ns.end(), [](GpuNs sum) { return sum > 0; });
}

GpuNs RollupRow::Of(Bucket bucket) const {
  const auto i = static_cast<std::size_t>(bucket);
  return HasGpus() ? gpu_ns[i] : static_cast<GpuNs>(cpu_ns[i]);
}

GpuNs RollupRow::Gap() const {
  return HasGpus() ? gap_gpu_ns : static_cast<GpuNs>(gap_cpu_ns);
}

GpuNs RollupRow::Wanted() const {
  GpuNs all = 0;
  for (const Bucket bucket : AllBuckets()) {
    if (BucketSide(bucket) != Side::kExcluded) all += Of(bucket);
  }
  return all;
}

GpuNs RollupRow::Up() const {
  GpuNs up = 0;
  for (const Bucket bucket : AllBuckets()) {
    if (IsUp(bucket)) up += Of(bucket);
  }
  return up;
}

std::optional<Range> RollupRow::scheduling_range() const {
  const GpuNs wanted = Wanted();
  if (wanted == 0) return std::nullopt;
  return Range{Ratio(Up() - Gap(), wanted), Ratio(Up(), wanted)};
}

std::optional<double> RollupRow::scheduling() const {
  if (Gap() > 0 || Wanted() == 0) return std::nullopt;
  return Ratio(Up(), Wanted());
}

std::optional<Range> RollupRow::ProgressOf(GpuNs whole) const {
  if (whole == 0) return std::nullopt;
  const GpuNs productive = Of(Bucket::kProductive);
  const GpuNs open = Of(Bucket::kAtRisk) + Of(Bucket::kUnobserved);
  return Range{Ratio(productive, whole), Ratio(productive + open, whole)};
}

std::optional<Range> RollupRow::runtime_range() const {
  return ProgressOf(Up());
}

std::optional<Range> RollupRow::sg_rg_range() const {
  return ProgressOf(Wanted());
}

std::optional<double> RollupRow::runtime() const {
  const GpuNs steps = Of(Bucket::kProductive) + Of(Bucket::kAtRisk) + Of(Bucket::kLostWork);
  if (Up() == 0 || (steps == 0 && Of(Bucket::kUnobserved) > 0)) return std::nullopt;
  return Ratio(Of(Bucket::kProductive), Up());
}

std::optional<double> RollupRow::sg_rg() const {
  if (Wanted() == 0) return std::nullopt;
  if (Up() > 0 && !runtime()) return std::nullopt;
  return Ratio(Of(Bucket::kProductive), Wanted());
}

void RollupRow::Add(const RollupRow& other) {
  runs += other.runs;
  interruptions += other.interruptions;
  for (std::size_t i = 0; i < kBucketCount; ++i) {
    ns[i] += other.ns[i];
    gpu_ns[i] += other.gpu_ns[i];
    cpu_ns[i] += other.cpu_ns[i];
  }
  gap_gpu_ns += other.gap_gpu_ns;
  gap_cpu_ns += other.gap_cpu_ns;
  node_ns += other.node_ns;
  node_failures += other.node_failures;
  AddWait(other.gpu_wait, gpu_wait);
  AddWait(other.cpu_wait, cpu_wait);
  gpu_use.Add(other.gpu_use);
  productive_gpu_use.Add(other.productive_gpu_use);
  for (const auto& [evidence, time] : other.told_by) told_by[evidence] += time;
  rated_ += other.rated_;
  rate_ += other.rate_;
}

void RollupRow::AddRated(GpuNs productive, double program_goodput) {
  rated_ += productive;
  rate_ += static_cast<double>(productive) * program_goodput;
}

void RollupRow::Rate() {
  const GpuNs productive = gpu_ns[static_cast<std::size_t>(Bucket::kProductive)];
  program = rated_ > 0 ? std::optional(rate_ / static_cast<double>(rated_)) : std::nullopt;
  program_share = productive > 0 ? std::optional(Ratio(rated_, productive)) : std::nullopt;
  mpg.reset();
  if (program && rated_ == productive && scheduling() && runtime())
    mpg = *scheduling() * *runtime() * *program;
}

Rollup::Rollup(std::vector<RollupKey> keys, std::vector<Ns> edges)
    : keys_(std::move(keys)), edges_(std::move(edges)) {}

bool Rollup::By(RollupBy by) const {
  return std::any_of(keys_.begin(), keys_.end(), [&](const RollupKey& key) { return key.by == by; });
}

std::vector<std::string> GroupParts(const std::string& group) {
  return absl::StrSplit(group, kBetweenGroups);
}

const Interruption* InterruptionOf(const Timeline& timeline, const Interval& interval) {
  // A step that failed was not interrupted: the program went on.
  if (interval.part == kFailedStep) return nullptr;
  // Lost before the interruption: the work it undid, and the shutdown.
  const bool before = interval.bucket == Bucket::kLostWork || interval.bucket == Bucket::kDrain ||
                      interval.bucket == Bucket::kTeardown || interval.bucket == Bucket::kStall;
  const auto& all = timeline.interruptions;
  const auto next = std::lower_bound(all.begin(), all.end(), before ? interval.end : interval.begin + 1,
                                     [](const Interruption& i, Ns t) { return i.time < t; });
  if (before) {
    // A stall that the program recovered from was not an interruption.
    const bool got_over =
        interval.bucket == Bucket::kStall && (next == all.end() || next->time > interval.end + kSecond);
    return next == all.end() || got_over ? nullptr : &*next;
  }
  if (next == all.begin()) return nullptr;
  const Interruption& last = *std::prev(next);
  const bool waits = BucketSide(interval.bucket) == Side::kScheduling;
  const bool starts = interval.bucket == Bucket::kLaunch || interval.bucket == Bucket::kStartup;
  if (!waits && !starts) return nullptr;
  // Until training resumed; a later launch belongs to another start.
  if (starts && last.t_re && last.t_rm && interval.begin > last.time + *last.t_re + *last.t_rm)
    return nullptr;
  return &last;
}

std::string Rollup::GroupOf(const RollupSubject& subject, const Timeline& timeline, const Interval& interval,
                            const Interval& whole) {
  std::string group;
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    if (i > 0) group.push_back(kBetweenGroups);
    group += GroupBy(keys_[i], subject, timeline, interval, whole);
  }
  return group;
}

std::string Rollup::GroupOf(const RollupSubject& subject, const Timeline& timeline,
                            const Interruption& interruption) {
  Interval at;
  at.begin = interruption.time;
  at.end = interruption.time;
  at.bucket = Bucket::kProvisioning;  // an allocation that lacked machines ended while it waited for them
  at.attempt = interruption.attempt;
  std::string group;
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    if (i > 0) group.push_back(kBetweenGroups);
    const RollupBy by = keys_[i].by;
    group += by == RollupBy::kCause      ? interruption.cause
             : by == RollupBy::kRecovery ? OrNone(interruption.recovery)
             : by == RollupBy::kNode     ? OrNone(interruption.node)
                                         : GroupBy(keys_[i], subject, timeline, at, at);
  }
  return group;
}

std::string Rollup::GroupBy(const RollupKey& key, const RollupSubject& subject, const Timeline& timeline,
                            const Interval& interval, const Interval& whole) {
  switch (key.by) {
    case RollupBy::kUser:
      return OrNone(subject.user);
    case RollupBy::kAccount:
      return OrNone(subject.account);
    case RollupBy::kPartition:
      return OrNone(subject.partition);
    case RollupBy::kRun:
      return OrNone(subject.run);
    case RollupBy::kTag: {
      const auto found = subject.tags.find(key.tag);
      return found == subject.tags.end() ? kNone : OrNone(found->second);
    }
    case RollupBy::kDay:
      return DayOf(interval.begin);
    case RollupBy::kCause: {
      const Interruption* interruption = InterruptionOf(timeline, whole);
      return interruption == nullptr ? kNone : interruption->cause;
    }
    case RollupBy::kRecovery: {
      const Interruption* interruption = InterruptionOf(timeline, whole);
      return interruption == nullptr ? kNone : OrNone(interruption->recovery);
    }
    case RollupBy::kReservation:
      return ProvisionOfAttempt(subject, timeline, interval.attempt).name();
    case RollupBy::kStockout: {
      const MachineLack* const lack = LackOf(machine_waits_, whole);
      return lack == nullptr ? kNone : LackName(*lack);
    }
    case RollupBy::kConsumption:
      return ProvisionOfAttempt(subject, timeline, interval.attempt).kind;
    case RollupBy::kAll:
    case RollupBy::kNode:
      break;
  }
  return "all";
}

const std::vector<std::string>& Rollup::NodesOf(const Timeline& timeline, int attempt) {
  const auto [found, fresh] = nodes_.try_emplace(attempt);
  if (fresh)
    found->second = ExpandHostList(timeline.attempts[static_cast<std::size_t>(attempt)].facts->node_list);
  return found->second;
}

// A wait between jobs belongs to the next attempt.
const Provision& Rollup::ProvisionOfAttempt(const RollupSubject& subject, const Timeline& timeline,
                                            int attempt) {
  static const Provision kNothingKnown;
  if (attempt < 0) return kNothingKnown;
  const auto [found, fresh] = provisions_.try_emplace(attempt);
  if (!fresh) return found->second;
  const AttemptFacts& facts = *timeline.attempts[static_cast<std::size_t>(attempt)].facts;
  found->second = ProvisionOfFacts(facts, NodesOf(timeline, attempt), subject.partition, subject.cluster,
                                   subject.node_features);
  return found->second;
}

void Rollup::AddEvidence(const Key& key, const RollupSubject& subject, const Timeline& timeline, int attempt,
                         const Stretch& stretch) {
  if (!HoldsNodes(stretch.bucket) || stretch.gap || stretch.gpu_ns == 0) return;
  const std::string evidence(ProvisionOfAttempt(subject, timeline, attempt).evidence);
  RowOf(key).told_by[evidence] += stretch.gpu_ns;
  total_.told_by[evidence] += stretch.gpu_ns;
}

void Rollup::AddGpuUse(const Key& key, const Timeline& timeline, const Interval& interval) {
  if (interval.attempt < 0) return;
  const GpuUseSeries& series = timeline.attempts[static_cast<std::size_t>(interval.attempt)].facts->gpu_use;
  if (series.empty()) return;
  const GpuUseSum sum = series.Sum(interval.begin, interval.end);
  for (RollupRow* into : {&RowOf(key), &total_}) {
    into->gpu_use.Add(sum);
    if (interval.bucket == Bucket::kProductive) into->productive_gpu_use.Add(sum);
  }
}

void Rollup::AddTo(const Key& key, const Stretch& stretch) {
  RollupRow& row = RowOf(key);
  const auto i = static_cast<std::size_t>(stretch.bucket);
  const Ns ns = stretch.end - stretch.begin;
  for (RollupRow* into : {&row, &total_}) {
    into->ns[i] += ns;
    if (stretch.has_gpus) {
      into->gpu_ns[i] += stretch.gpu_ns;
      if (stretch.gap) into->gap_gpu_ns += stretch.gpu_ns;
      if (stretch.bucket == Bucket::kProductive && program_) into->AddRated(stretch.gpu_ns, *program_);
    } else {
      into->cpu_ns[i] += ns;
      if (stretch.gap) into->gap_cpu_ns += ns;
    }
  }
  if (of_this_run_.insert(key).second) ++row.runs;
  if (stretch.bucket == Bucket::kProductive)
    productive_[key.first] += stretch.has_gpus ? stretch.gpu_ns : static_cast<GpuNs>(ns);
}

// Each node gets its share of an allocation; waiting belongs to no node.
void Rollup::AddByNode(std::size_t window, const Timeline& timeline, const Interval& interval,
                       Stretch stretch) {
  const bool held = HoldsNodes(stretch.bucket) && interval.attempt >= 0;
  const std::vector<std::string> nobody{kNone};
  const bool known = held && !NodesOf(timeline, interval.attempt).empty();
  const std::vector<std::string>& nodes = known ? NodesOf(timeline, interval.attempt) : nobody;
  const auto count = static_cast<std::int64_t>(nodes.size());
  Ns ns_left = stretch.end - stretch.begin;
  GpuNs gpu_ns_left = stretch.gpu_ns;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t rest = count - i;
    const Ns ns = (ns_left + rest - 1) / rest;
    const GpuNs gpu_ns = (gpu_ns_left + rest - 1) / rest;
    AddTo({window, nodes[static_cast<std::size_t>(i)]},
          {0, ns, stretch.bucket, gpu_ns, stretch.has_gpus, stretch.gap});
    if (known) rows_[{window, nodes[static_cast<std::size_t>(i)]}].node_ns += stretch.end - stretch.begin;
    ns_left -= ns;
    gpu_ns_left -= gpu_ns;
  }
}

void Rollup::AddWithin(std::size_t window, const RollupSubject& subject, const Timeline& timeline,
                       const GpuWeights& weights, const Interval& interval) {
  Interval rest = interval;
  while (rest.begin < rest.end) {
    Interval part = rest;
    if (By(RollupBy::kDay)) part.end = std::min(rest.end, NextMidnight(rest.begin));
    if (!By(RollupBy::kNode)) AddGpuUse({window, GroupOf(subject, timeline, part, interval)}, timeline, part);
    const GpuWeights::Shares shares = weights.Split(part, part.begin, part.end);
    for (const GpuWeights::Share& share : shares) {
      // The seconds are in the interval's own bucket.
      const Ns end = &share == &shares.own() ? part.end : part.begin;
      const Stretch stretch{part.begin,         end,
                            share.bucket,       share.gpu_ns,
                            weights.has_gpus(), part.bucket == Bucket::kUnobserved && part.part == "gap"};
      if (By(RollupBy::kNode)) {
        AddByNode(window, timeline, part, stretch);
      } else {
        // The whole interval decides what the time was lost to, even if a window cuts it.
        const Key key{window, GroupOf(subject, timeline, part, interval)};
        AddTo(key, stretch);
        if (By(RollupBy::kConsumption)) AddEvidence(key, subject, timeline, part.attempt, stretch);
      }
    }
    rest.begin = part.end;
  }
}

void Rollup::AddInterval(const RollupSubject& subject, const Timeline& timeline, const GpuWeights& weights,
                         const Interval& interval) {
  if (edges_.empty()) {
    AddWithin(0, subject, timeline, weights, interval);
    return;
  }
  auto edge = std::upper_bound(edges_.begin(), edges_.end(), interval.begin);
  if (edge == edges_.begin()) edge = std::next(edge);
  for (; edge != edges_.end() && *std::prev(edge) < interval.end; ++edge) {
    Interval part = interval;
    part.begin = std::max(part.begin, *std::prev(edge));
    part.end = std::min(part.end, *edge);
    AddWithin(static_cast<std::size_t>(edge - edges_.begin()) - 1, subject, timeline, weights, part);
  }
}

void Rollup::Add(const RollupSubject& subject, const Timeline& timeline) {
  of_this_run_.clear();
  productive_.clear();
  nodes_.clear();
  provisions_.clear();
  program_ = subject.program;
  machine_waits_ = By(RollupBy::kStockout) ? MachineWaits(timeline) : std::vector<MachineWait>();
  const GpuWeights weights(timeline);
  for (const Interval& interval : timeline.intervals) AddInterval(subject, timeline, weights, interval);
  if (!of_this_run_.empty()) ++total_.runs;
  for (const Interruption& interruption : timeline.interruptions) {
    const std::optional<std::size_t> window = WindowAt(interruption.time);
    if (!window) continue;
    RollupRow& row = RowOf({*window, GroupOf(subject, timeline, interruption)});
    ++row.interruptions;
    const bool by_node = By(RollupBy::kNode) && !interruption.node.empty();
    if (by_node && interruption.cause == "node_fail") ++row.node_failures;
    ++total_.interruptions;
  }
  for (const AttemptSummary& attempt : timeline.attempts) {
    if (By(RollupBy::kNode)) AddNetworkTests(*attempt.facts);
  }
  if (By(RollupBy::kNode)) AddHardwareErrors(timeline);
  if (By(RollupBy::kNode) && timeline.rank_wait) AddRankWaits(subject, timeline, weights);
}

RollupRow& Rollup::RowOf(const Key& key) {
  const auto [row, fresh] = rows_.try_emplace(key);
  if (fresh) row->second.group = key.second;
  return row->second;
}

std::optional<std::size_t> Rollup::WindowAt(Ns t) const {
  if (edges_.empty()) return 0;
  const auto edge = std::upper_bound(edges_.begin(), edges_.end(), t);
  if (edge == edges_.begin() || edge == edges_.end()) return std::nullopt;
  return static_cast<std::size_t>(edge - edges_.begin()) - 1;
}

void Rollup::AddNetworkTests(const AttemptFacts& attempt) {
  for (const CollectiveTest& test : attempt.collectives) {
    const std::optional<std::size_t> window = WindowAt(test.t);
    // A test within one node does not measure the network.
    if (!window || test.nodes.size() < 2) continue;
    for (const std::string& node : test.nodes) {
      std::optional<NetworkTest>& last = RowOf({*window, node}).network;
      if (!last || last->t <= test.t) last = NetworkTest{test.t, test.bytes, test.busbw};
    }
  }
}

void Rollup::AddHardwareErrors(const Timeline& timeline) {
  std::set<std::string_view> read;
  for (const AttemptSummary& attempt : timeline.attempts)
    read.insert(attempt.facts->kernel_log_nodes.begin(), attempt.facts->kernel_log_nodes.end());
  for (const Key& key : of_this_run_) {
    std::optional<std::int64_t>& count = RowOf(key).hardware_errors;
    if (!count && read.count(key.second) != 0) count = 0;
  }
  for (const AttemptSummary& attempt : timeline.attempts) {
    for (const HardwareError& error : attempt.facts->hardware_errors) {
      const std::optional<std::size_t> window = WindowAt(error.t);
      if (!window || FaultOf(error) != Fault::kHardware ||
          !errors_.emplace(error.node, error.t, error.kind, error.code.value_or(-1), error.device).second)
        continue;
      std::optional<std::int64_t>& count = RowOf({*window, error.node}).hardware_errors;
      count = count.value_or(0) + error.count;
    }
  }
}

void Rollup::AddNodeWait(const Key& key, bool has_gpus, const NodeWait& wait) {
  RollupRow& row = RowOf(key);
  AddWait(wait, has_gpus ? row.gpu_wait : row.cpu_wait);
}

// Every node of the run has a row, which says 0 if nobody waited for it.
void Rollup::AddRankWaits(const RollupSubject& subject, const Timeline& timeline, const GpuWeights& weights) {
  std::set<std::size_t> measured;
  for (const Ns t : timeline.rank_wait->measured) {
    if (const std::optional<std::size_t> window = WindowAt(t)) measured.insert(*window);
  }
  const bool has_gpus = weights.has_gpus();
  const auto add_to_total = [&](const NodeWait& wait) {
    AddWait(wait, has_gpus ? total_.gpu_wait : total_.cpu_wait);
  };
  for (const std::size_t window : measured) add_to_total({{}, productive_[window]});
  for (const Key& key : of_this_run_) {
    if (key.second != kNone && measured.count(key.first) != 0)
      AddNodeWait(key, has_gpus, {{}, productive_[key.first]});
  }
  const std::vector<GpuWait> waits = WaitsOfGpus(timeline, weights);
  std::set<std::size_t> unknown;  // windows with waits for ranks of unknown nodes
  for (std::size_t i = 0; i < waits.size(); ++i) {
    const LateStep& step = timeline.rank_wait->steps[i];
    const std::optional<std::size_t> window = WindowAt(step.t);
    if (!window) continue;
    const std::string node = step.rank < subject.late_nodes.size() ? subject.late_nodes[step.rank] : "";
    const bool fresh = node.empty() && unknown.insert(*window).second;
    AddNodeWait({*window, OrNone(node)}, has_gpus, {waits[i], fresh ? productive_[*window] : 0});
    add_to_total({waits[i], 0});
  }
}

void JudgeNodes(const std::vector<RollupRow*>& rows, std::int64_t judged) {
  Ns node_ns = 0;
  std::int64_t failures = 0;
  for (const RollupRow* row : rows) {
    node_ns += row->node_ns;
    failures += row->node_failures;
  }
  for (RollupRow* row : rows) {
    if (row->node_failures == 0 || node_ns == 0) continue;
    const double share = static_cast<double>(row->node_ns) / static_cast<double>(node_ns);
    row->chance = ChanceOfFailures(row->node_failures, failures, share, std::max<std::int64_t>(judged, 1));
  }
}

namespace {

// The rows of one window: those from `from` on.
void JudgeWindow(std::size_t from, std::vector<RollupRow>& rows) {
  std::vector<RollupRow*> nodes;
  std::int64_t held = 0;
  for (std::size_t i = from; i < rows.size(); ++i) {
    nodes.push_back(&rows[i]);
    if (rows[i].node_ns > 0) ++held;
  }
  JudgeNodes(nodes, held);
}

}  // namespace

std::vector<RollupRow> Rollup::Rows() const {
  std::vector<RollupRow> rows;
  auto next = rows_.begin();
  const std::size_t windows = edges_.empty() ? 1 : edges_.size() - 1;
  for (std::size_t window = 0; window < windows; ++window) {
    const Ns begin = edges_.empty() ? 0 : edges_[window];
    const Ns end = edges_.empty() ? 0 : edges_[window + 1];
    const std::size_t first = rows.size();
    const bool any = next != rows_.end() && next->first.first == window;
    if (!any && !edges_.empty()) {
      RollupRow nothing;
      nothing.group = By(RollupBy::kAll) ? "all" : kNone;
      nothing.begin = begin;
      nothing.end = end;
      rows.push_back(nothing);
    }
    for (; next != rows_.end() && next->first.first == window; ++next) {
      rows.push_back(next->second);
      rows.back().Rate();
      rows.back().begin = begin;
      rows.back().end = end;
    }
    if (By(RollupBy::kNode)) JudgeWindow(first, rows);
  }
  return rows;
}

RollupRow Rollup::Total() const {
  RollupRow total = total_;
  total.group = "total";
  total.Rate();
  if (!edges_.empty()) {
    total.begin = edges_.front();
    total.end = edges_.back();
  }
  return total;
}

std::vector<Ns> WindowEdges(Ns begin, Ns end, Ns step) {
  std::vector<Ns> edges{begin};
  if (step <= 0) return edges;
  const absl::TimeZone zone = absl::LocalTimeZone();
  const absl::Time first = absl::FromUnixNanos(begin);
  const absl::CivilSecond civil = absl::ToCivilSecond(first, zone);
  for (std::int64_t i = 1; edges.back() < end; ++i) {
    Ns next = begin + i * step;
    // A day is not always 24 hours.
    if (step % kDay == 0) {
      const absl::CivilSecond then(civil.year(), civil.month(), civil.day() + i * (step / kDay), civil.hour(),
                                   civil.minute(), civil.second());
      next = absl::ToUnixNanos(absl::FromCivil(then, zone)) + begin % kSecond;
    }
    edges.push_back(std::max(next, edges.back() + 1));
  }
  return edges;
}

}  // namespace goodput
