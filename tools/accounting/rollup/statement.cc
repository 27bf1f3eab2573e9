#include "tools/accounting/rollup/statement.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/time/time.h"

namespace goodput {
namespace {

constexpr double kHourNs = 3600e9;

// Allocated time that could have been progress.
bool IsLoss(Bucket bucket) {
  return BucketSide(bucket) == Side::kRuntime || bucket == Bucket::kProvisioning ||
         bucket == Bucket::kSuspended;
}

}  // namespace

void PricedTime::Add(GpuNs time, const std::optional<double>& price) {
  gpu_ns += time;
  if (price) {
    money += static_cast<double>(time) / kHourNs * *price;
  } else {
    unpriced += time;
  }
}

void PricedTime::Add(const PricedTime& other) {
  gpu_ns += other.gpu_ns;
  unpriced += other.unpriced;
  money += other.money;
}

void StatementRow::Add(const StatementRow& other) {
  paid.Add(other.paid);
  progress.Add(other.progress);
  lost.Add(other.lost);
  unknown.Add(other.unknown);
  as.Add(other.as);
  for (const auto& [bucket, time] : other.losses) losses[bucket].Add(time);
}

std::optional<double> StatementRow::ShareOf(const PricedTime& time) const {
  if (paid.gpu_ns == 0) return std::nullopt;
  return static_cast<double>(time.gpu_ns) / static_cast<double>(paid.gpu_ns);
}

std::vector<Bucket> StatementRow::LargestLosses(std::size_t most) const {
  std::vector<Bucket> order;
  for (const auto& [bucket, time] : losses) {
    if (time.gpu_ns > 0) order.push_back(bucket);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](Bucket a, Bucket b) { return losses.at(a).gpu_ns > losses.at(b).gpu_ns; });
  order.resize(std::min(order.size(), most));
  return order;
}

CostStatement MakeStatement(const std::map<std::string, std::vector<RollupRow>>& rows,
                            const std::vector<GpuPrice>& prices, const std::string& as, absl::TimeZone zone) {
  std::map<std::string, StatementRow> groups;
  CostStatement statement;
  for (const auto& [type, of_type] : rows) {
    for (const RollupRow& row : of_type) {
      const std::vector<std::string> parts = GroupParts(row.group);
      const std::string& group = parts.front();
      const std::string consumption = parts.size() > 1 ? parts[1] : "-";
      const absl::CivilDay day = absl::ToCivilDay(absl::FromUnixNanos(row.begin), zone);
      const std::optional<double> price = FindGpuPrice(prices, type, consumption, day);
      StatementRow& into = groups[group];
      into.group = group;
      into.paid.Add(row.allocated(), price);
      if (!as.empty() && row.allocated() > 0) {
        const std::optional<double> other = FindGpuPrice(prices, type, as, day);
        into.as.Add(row.allocated(), other);
        if (!other) {
          absl::CivilDay& first = statement.without_price.emplace(type, day).first->second;
          first = std::min(first, day);
        }
      }
      into.progress.Add(row.gpu_ns[static_cast<std::size_t>(Bucket::kProductive)], price);
      into.lost.Add(row.wasted(), price);
      into.unknown.Add(row.maybe_wasted(), price);
      for (const Bucket bucket : AllBuckets()) {
        const GpuNs time = row.gpu_ns[static_cast<std::size_t>(bucket)];
        if (IsLoss(bucket) && time > 0) into.losses[bucket].Add(time, price);
      }
    }
  }
  for (auto& [name, row] : groups) {
    if (row.paid.gpu_ns == 0) continue;
    statement.total.Add(row);
    statement.rows.push_back(std::move(row));
  }
  std::stable_sort(
      statement.rows.begin(), statement.rows.end(),
      [](const StatementRow& a, const StatementRow& b) { return a.paid.gpu_ns > b.paid.gpu_ns; });
  return statement;
}

std::vector<Ns> PriceWindows(Ns begin, Ns end, const std::vector<GpuPrice>& prices, absl::TimeZone zone) {
  std::set<Ns> edges{begin, end};
  for (const GpuPrice& price : prices) {
    const Ns from = absl::ToUnixNanos(absl::FromCivil(price.from, zone));
    if (from > begin && from < end) edges.insert(from);
  }
  return {edges.begin(), edges.end()};
}

std::string_view RemedyFor(Bucket bucket) {
  switch (bucket) {
    case Bucket::kLostWork:
      return "save more often, and on the signal: sgoodput advise";
    case Bucket::kStall:
      return "find what hangs: sgoodput now, show --explain stall";
    case Bucket::kStartup:
      return "cache compiled code and data, restore in parallel";
    case Bucket::kLaunch:
      return "have images and software on the nodes";
    case Bucket::kCheckpointSave:
      return "save asynchronously";
    case Bucket::kOverhead:
      return "evaluate less often, or elsewhere";
    case Bucket::kDrain:
      return "stop after the save that the signal asks for";
    case Bucket::kProvisioning:
      return "keep nodes booted, or boot from smaller images";
    case Bucket::kSuspended:
      return "ask who suspends jobs";
    case Bucket::kTeardown:
      return "exit at once; check what the epilog does";
    case Bucket::kStandby:
      return "keep fewer spares, if they are rarely needed";
    case Bucket::kIdleMember:
      return "replace lost members sooner, or give idle GPUs back";
    default:
      return "";
  }
}

}  // namespace goodput
