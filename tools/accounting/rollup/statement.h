// What a period cost, what became progress, and the largest avoidable losses, by group.
//
// Pure. Built from rows of a Rollup by group and reservation, whose windows end where prices change, so that
// each row has one price.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "tools/accounting/rollup/rollup.h"
#include "tools/base/gpu_prices.h"

namespace goodput {

// GPU time and its price; of a part of it the price may be unknown.
struct PricedTime {
  GpuNs gpu_ns = 0;
  GpuNs unpriced = 0;
  double money = 0;  // of the rest

  void Add(GpuNs time, const std::optional<double>& price);
  void Add(const PricedTime& other);
};

struct StatementRow {
  std::string group;
  PricedTime paid;      // allocated
  PricedTime progress;  // productive
  PricedTime lost;      // known not to have become progress
  PricedTime unknown;   // steps that no checkpoint covers, and what nothing observed
  std::map<Bucket, PricedTime> losses;

  void Add(const StatementRow& other);
  // Of the allocated time; absent if there is none.
  std::optional<double> ShareOf(const PricedTime& time) const;
  // The largest losses, largest first.
  std::vector<Bucket> LargestLosses(std::size_t most) const;
};

struct CostStatement {
  std::vector<StatementRow> rows;  // by what was paid for, most first
  StatementRow total;
};

// `rows`: by GPU type ("" if unknown), rows whose groups are (GROUP, how the machines were obtained). `zone`:
// in which prices begin at midnight.
CostStatement MakeStatement(const std::map<std::string, std::vector<RollupRow>>& rows,
                            const std::vector<GpuPrice>& prices, absl::TimeZone zone = absl::LocalTimeZone());

// Borders of the windows within [begin, end): both, and where a price begins.
std::vector<Ns> PriceWindows(Ns begin, Ns end, const std::vector<GpuPrice>& prices,
                             absl::TimeZone zone = absl::LocalTimeZone());

// What to do about time in that bucket, in a few words.
std::string_view RemedyFor(Bucket bucket);

}  // namespace goodput
