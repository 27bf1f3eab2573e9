// The timeline of the web page, and the self-contained page.
#include <gtest/gtest.h>

#include <random>

#include "tools/accounting/timeline/coarse.h"
#include "tools/web/single_page.h"

namespace goodput {
namespace {

Interval In(Bucket bucket, Ns begin, Ns end) {
  Interval interval;
  interval.begin = begin;
  interval.end = end;
  interval.bucket = bucket;
  return interval;
}

Ns Sum(const Cell& cell) {
  Ns sum = 0;
  for (const Ns ns : cell.ns) sum += ns;
  return sum;
}

TEST(CoarseTimeline, FewIntervalsStayAsTheyAreAndNeighborsOfOneBucketAreOne) {
  const std::vector<Cell> cells = CoarseTimeline(
      std::vector<Interval>{In(Bucket::kQueueResources, 0, 10), In(Bucket::kProductive, 10, 20),
                            In(Bucket::kProductive, 20, 50), In(Bucket::kLostWork, 50, 51)},
      100);
  ASSERT_EQ(cells.size(), 3u);
  EXPECT_EQ(cells[1].begin, 10);
  EXPECT_EQ(cells[1].end, 50);
  EXPECT_EQ(cells[1].ns[static_cast<std::size_t>(Bucket::kProductive)], 40);
  EXPECT_EQ(cells[2].ns[static_cast<std::size_t>(Bucket::kLostWork)], 1);
}

TEST(CoarseTimeline, ShortIntervalsAreMergedOnlyIfThereAreTooMany) {
  const std::vector<Interval> three = {In(Bucket::kProductive, 0, 1000), In(Bucket::kStall, 1000, 1001),
                                       In(Bucket::kOverhead, 1001, 1002)};
  EXPECT_EQ(CoarseTimeline(three, 100).size(), 3U);
}

TEST(CoarseTimeline, NothingIsNothing) {
  EXPECT_TRUE(CoarseTimeline({}, 10).empty());
}

TEST(CoarseTimeline, ManyIntervalsBecomeFewCellsThatHoldEveryNanosecond) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 200; ++round) {
    const std::size_t most = 4 + random() % 60;
    std::vector<Interval> intervals;
    std::array<Ns, kBucketCount> told{};
    Ns t = 1'000'000'000'000;
    const std::size_t count = 1 + random() % 500;
    for (std::size_t i = 0; i < count; ++i) {
      const auto bucket = static_cast<Bucket>(random() % kBucketCount);
      const Ns length = 1 + static_cast<Ns>(random() % (random() % 5 == 0 ? 1'000'000 : 100));
      intervals.push_back(In(bucket, t, t + length));
      told[static_cast<std::size_t>(bucket)] += length;
      t += length;
    }
    const std::vector<Cell> cells = CoarseTimeline(intervals, most);
    EXPECT_LE(cells.size(), most) << "round " << round;
    Ns at = intervals.front().begin;
    for (const Cell& cell : cells) {
      EXPECT_EQ(cell.begin, at);
      EXPECT_EQ(Sum(cell), cell.end - cell.begin);
      at = cell.end;
      for (std::size_t i = 0; i < told.size(); ++i) told[i] -= cell.ns[i];
    }
    EXPECT_EQ(at, t);
    for (const Ns left : told) EXPECT_EQ(left, 0);
  }
}

// An interval that is long enough to be visible is never merged with its neighbours.
TEST(CoarseTimeline, ALongStretchStaysACellOfItsOwn) {
  std::vector<Interval> intervals;
  for (Ns t = 0; t < 1000; ++t)
    intervals.push_back(In(t % 2 == 0 ? Bucket::kProductive : Bucket::kOverhead, t, t + 1));
  intervals.push_back(In(Bucket::kStall, 1000, 2000));
  for (Ns t = 2000; t < 3000; ++t)
    intervals.push_back(In(t % 2 == 0 ? Bucket::kProductive : Bucket::kOverhead, t, t + 1));
  int stalls = 0;
  for (const Cell& cell : CoarseTimeline(intervals, 20)) {
    const Ns stalled = cell.ns[static_cast<std::size_t>(Bucket::kStall)];
    if (stalled == 0) continue;
    ++stalls;
    EXPECT_EQ(stalled, Sum(cell));
  }
  EXPECT_EQ(stalls, 1);
}

TEST(SinglePage, HasEverythingInItAndMayLoadNothing) {
  const std::string page = SinglePage(WebAssets(), R"({"jobs":[]})");
  EXPECT_EQ(page.find("href=\"style.css\""), std::string::npos);
  EXPECT_EQ(page.find("<script src="), std::string::npos);
  EXPECT_NE(page.find("default-src 'none'"), std::string::npos);
  for (const WebAsset& asset : WebAssets()) {
    if (asset.name == "index.html") continue;
    EXPECT_NE(page.find(asset.body), std::string::npos) << asset.name;
  }
}

TEST(SinglePage, NoNameOfAJobBecomesPartOfThePage) {
  const std::string page =
      SinglePage(WebAssets(), R"({"name":"</script><script>alert(1)</script><!--","x":"a<b"})");
  EXPECT_EQ(page.find("alert(1)</script>"), std::string::npos);
  EXPECT_NE(page.find("\\u003c/script>\\u003cscript>alert(1)"), std::string::npos);
  EXPECT_NE(page.find(R"("x":"a\u003cb")"), std::string::npos);
}

TEST(WebAssets, ThePageNamesEveryOneOfThem) {
  ASSERT_EQ(WebAssets().front().name, "index.html");
  for (const WebAsset& asset : WebAssets()) {
    if (asset.name == "index.html") continue;
    const std::string quoted = "\"" + std::string(asset.name) + "\"";
    EXPECT_NE(WebAssets().front().body.find(quoted), std::string_view::npos) << asset.name;
  }
}

}  // namespace
}  // namespace goodput
