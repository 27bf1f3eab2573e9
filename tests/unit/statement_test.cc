// Prices of GPU-hours, and statements.
#include "tools/accounting/rollup/statement.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sql/text.h"
#include "tests/unit/run_builder.h"
#include "tools/base/gpu_prices.h"

namespace goodput {
namespace {

std::vector<GpuPrice> List(const std::vector<const char*>& lines) {
  std::vector<GpuPrice> prices;
  for (const char* const line : lines) {
    const absl::StatusOr<GpuPrice> price = ParseGpuPrice(line);
    EXPECT_TRUE(price.ok()) << price.status();
    if (price.ok()) prices.push_back(*price);
  }
  return prices;
}

TEST(GpuPrices, TheMostExactLineCounts) {
  const std::vector<GpuPrice> prices =
      List({"* * 2020-01-01 9", "h100 * 2020-01-01 8", "h100 reserved 2020-01-01 5",
            "h100 reserved 2026-02-01 4", "h100 reserved:big 2026-02-01 3"});
  const absl::CivilDay january(2026, 1, 31);
  const absl::CivilDay february(2026, 2, 1);
  EXPECT_EQ(FindGpuPrice(prices, "a100", "spot", january), 9);
  EXPECT_EQ(FindGpuPrice(prices, "h100", "spot", january), 8);
  EXPECT_EQ(FindGpuPrice(prices, "h100", "reserved", january), 5);
  EXPECT_EQ(FindGpuPrice(prices, "h100", "reserved:small", february), 4);
  EXPECT_EQ(FindGpuPrice(prices, "h100", "reserved:big", january), 5);
  EXPECT_EQ(FindGpuPrice(prices, "h100", "reserved:big", february), 3);
  EXPECT_FALSE(FindGpuPrice(prices, "h100", "reserved", absl::CivilDay(2019, 1, 1)));
  EXPECT_FALSE(FindGpuPrice(List({"h100 spot 2020-01-01 1"}), "h100", "-", january)) << "it is not known how";
}

TEST(GpuPrices, SayWhatIsWrong) {
  for (const char* const line :
       {"", "h100 reserved 2026-01-01", "h100 reserved 2026-01-01 3 USD", "h100 cheap 2026-01-01 3",
        "h100 spot 2026-13-01 3", "h100 spot 2026-01-01 -3", "h100 spot 2026-01-01 nan"}) {
    EXPECT_FALSE(ParseGpuPrice(line).ok()) << line;
  }
}

constexpr GpuNs kHour = GpuNs{3600} * kSecond;

// A row in which buckets take so many GPU-hours.
RollupRow Row(const std::string& group, const std::string& consumption, Ns begin,
              const std::vector<std::pair<Bucket, int>>& hours) {
  RollupRow row;
  row.group = Cat(group, "\x1f", consumption);
  row.begin = begin;
  for (const auto& [bucket, count] : hours) row.gpu_ns[static_cast<std::size_t>(bucket)] = kHour * count;
  return row;
}

TEST(Statement, PricesWhatWasAllocatedAndOrdersTheLosses) {
  const Ns january = absl::ToUnixNanos(absl::FromCivil(absl::CivilDay(2026, 1, 1), absl::LocalTimeZone()));
  const Ns february = absl::ToUnixNanos(absl::FromCivil(absl::CivilDay(2026, 2, 1), absl::LocalTimeZone()));
  const std::vector<GpuPrice> prices = List({"h100 spot 2026-01-01 2", "h100 spot 2026-02-01 3"});
  std::map<std::string, std::vector<RollupRow>> rows;
  rows["h100"] = {Row("ml", "spot", january,
                      {{Bucket::kQueueResources, 50},
                       {Bucket::kProductive, 70},
                       {Bucket::kLostWork, 20},
                       {Bucket::kStartup, 10}}),
                  Row("ml", "spot", february,
                      {{Bucket::kProductive, 10}, {Bucket::kStartup, 15}, {Bucket::kProvisioning, 5}}),
                  Row("bio", "on-demand", january,
                      {{Bucket::kProductive, 5}, {Bucket::kAtRisk, 3}, {Bucket::kUnobserved, 2}})};
  const CostStatement statement = MakeStatement(rows, prices);
  ASSERT_EQ(statement.rows.size(), 2U);
  const StatementRow& ml = statement.rows[0];
  EXPECT_EQ(ml.group, "ml");
  EXPECT_EQ(ml.paid.gpu_ns, 130 * kHour) << "waiting is not paid for";
  EXPECT_DOUBLE_EQ(ml.paid.money, 100 * 2 + 30 * 3);
  EXPECT_DOUBLE_EQ(ml.progress.money, 70 * 2 + 10 * 3);
  EXPECT_EQ(ml.lost.gpu_ns, 50 * kHour);
  EXPECT_EQ(ml.LargestLosses(2), (std::vector<Bucket>{Bucket::kStartup, Bucket::kLostWork}));
  EXPECT_DOUBLE_EQ(ml.losses.at(Bucket::kStartup).money, 10 * 2 + 15 * 3);
  GpuNs losses = 0;
  for (const auto& [bucket, time] : ml.losses) losses += time.gpu_ns;
  EXPECT_EQ(losses, ml.lost.gpu_ns);
  EXPECT_EQ(ml.paid.unpriced, 0);
  const StatementRow& bio = statement.rows[1];
  EXPECT_EQ(bio.paid.unpriced, 10 * kHour) << "no price for on-demand machines";
  EXPECT_EQ(bio.unknown.gpu_ns, 5 * kHour);
  EXPECT_DOUBLE_EQ(*bio.ShareOf(bio.unknown), 0.5);
  EXPECT_EQ(statement.total.paid.gpu_ns, 140 * kHour);
}

TEST(Statement, AnotherModelIsArithmeticWithItsPrices) {
  const std::vector<GpuPrice> prices =
      List({"h100 spot 2020-01-01 1", "h100 reserved 2020-01-01 3", "a100 spot 2020-01-01 0.5"});
  const std::map<std::string, std::vector<RollupRow>> rows{
      {"h100",
       {Row("vision", "spot", kRunBegan, {{Bucket::kProductive, 60}, {Bucket::kQueueResources, 500}}),
        Row("text", "reserved:llm", kRunBegan, {{Bucket::kProductive, 10}})}}};
  CostStatement statement = MakeStatement(rows, prices, "reserved");
  ASSERT_EQ(statement.rows.size(), 2U);
  EXPECT_DOUBLE_EQ(statement.rows[0].paid.money, 60);
  EXPECT_DOUBLE_EQ(statement.rows[0].as.money, 180) << "waiting is not paid for";
  EXPECT_DOUBLE_EQ(statement.total.as.money, 210);
  EXPECT_EQ(statement.total.as.unpriced, 0);
  EXPECT_TRUE(statement.without_price.empty());
  // A missing price is named and costs nothing that could be shown.
  statement = MakeStatement(
      {{"h100", rows.at("h100")}, {"a100", {Row("vision", "spot", kRunBegan, {{Bucket::kProductive, 4}})}}},
      prices, "reserved");
  EXPECT_EQ(statement.without_price.count("a100"), 1U);
  EXPECT_EQ(statement.total.as.unpriced, 4 * kHour);
  EXPECT_EQ(MakeStatement(rows, prices).total.as.gpu_ns, 0) << "nobody asked";
}

TEST(Statement, WindowsEndWherePricesChange) {
  const auto at = [](int month, int day) {
    return absl::ToUnixNanos(absl::FromCivil(absl::CivilDay(2026, month, day), absl::LocalTimeZone()));
  };
  const std::vector<GpuPrice> prices =
      List({"h100 spot 2026-01-01 2", "h100 spot 2026-02-10 3", "* * 2026-02-10 4", "* * 2026-03-01 4"});
  EXPECT_EQ(PriceWindows(at(2, 1), at(3, 1), prices), (std::vector<Ns>{at(2, 1), at(2, 10), at(3, 1)}));
}

}  // namespace
}  // namespace goodput
