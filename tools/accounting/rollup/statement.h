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
  // The allocated time at the price of another consumption model, if one is asked for: arithmetic by the list
  // of prices. Whether its machines would have been there, when, and what the run had made of them is another
  // question.
  PricedTime as;
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
  // GPU types for which the list has no price of the other model, with the first day that lacks one.
  std::map<std::string, absl::CivilDay> without_price;
};

// `rows`: by GPU type ("" if unknown), rows whose groups are (GROUP, how the machines were obtained). `as`:
// the other consumption model, as in a price; empty: none. `zone`: in which prices begin at midnight.
CostStatement MakeStatement(const std::map<std::string, std::vector<RollupRow>>& rows,
                            const std::vector<GpuPrice>& prices, const std::string& as = "",
                            absl::TimeZone zone = absl::LocalTimeZone());

// Borders of the windows within [begin, end): both, and where a price begins.
std::vector<Ns> PriceWindows(Ns begin, Ns end, const std::vector<GpuPrice>& prices,
                             absl::TimeZone zone = absl::LocalTimeZone());

// What to do about time in that bucket, in a few words.
std::string_view RemedyFor(Bucket bucket);

}  // namespace goodput
