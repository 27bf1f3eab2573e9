// What many runs share gives each the same as its own query.
#include "sql/tables/cluster_reader.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "sql/database.h"
#include "sql/ingest/ingest.h"
#include "sql/tables/lost_records.h"
#include "sql/text.h"
#include "tests/spank/temp_folder.h"

namespace goodput {
namespace {

constexpr std::int64_t kNsOfADay = 86'400'000'000'000;
constexpr std::int64_t kFirstDay = 1'767'225'600'000'000'000;

using Losses = std::vector<std::tuple<std::string, std::int64_t, std::int64_t, std::int64_t>>;

Losses LossesOf(const absl::StatusOr<std::vector<LostRecords>>& lost) {
  EXPECT_TRUE(lost.ok()) << lost.status();
  Losses found;
  for (const LostRecords& of : *lost) found.emplace_back(of.node, of.since_ns, of.until_ns, of.count);
  return found;
}

TEST(ClusterReaderTest, LostRecordsAreThoseOfEachTimeWhateverWasAskedBefore) {
  const TempFolder folder;
  absl::StatusOr<Database> opened = Database::Open(folder.path() + "/db", Database::Mode::kReadWrite);
  ASSERT_TRUE(opened.ok()) << opened.status();
  Database db = *std::move(opened);
  // A loss of one day each, on day 0, 10, 20 ... 90; the last of 50 days, more than is looked for.
  for (const std::string cluster : {"c", "other"}) {
    const std::string node = "of-" + cluster;
    std::filesystem::create_directories(folder.path() + "/spool/" + node);
    std::ofstream spool(folder.path() + "/spool/" + node + "/boot.2026010100Z.jsonl");
    for (std::int64_t day = 0; day < 100; day += 10) {
      const std::int64_t until = kFirstDay + (day + (day == 90 ? 50 : 1)) * kNsOfADay;
      spool << Cat("\n{\"v\":1,\"t\":", until, ",\"m\":5,\"node\":\"", node,
                   "\",\"stepd\":1,\"kind\":\"lost\",\"cluster\":\"", cluster, "\",\"count\":", day + 1,
                   ",\"since_ns\":", kFirstDay + day * kNsOfADay, "}\n");
    }
  }
  for (const std::string cluster : {"c", "other"})
    ASSERT_TRUE(IngestSpool(db, folder.path() + "/spool", {cluster}).ok());

  const auto of_day = [](std::int64_t day) { return kFirstDay + day * kNsOfADay; };
  const std::vector<std::pair<std::int64_t, std::int64_t>> windows = {
      {30, 60},  {35, 36},   {0, 200},   {0, 0},     {25, 45}, {95, 96},
      {91, 140}, {100, 101}, {120, 139}, {150, 200}, {-9, -1}};
  ClusterReader reader(db);
  std::size_t found = 0;
  for (const auto& [from, to] : windows) {
    for (const std::string cluster : {"c", "other", "unknown"}) {
      const Losses own = LossesOf(LoadLostRecords(db, cluster, of_day(from), of_day(to)));
      EXPECT_EQ(LossesOf(reader.LostBetween(cluster, of_day(from), of_day(to))), own)
          << cluster << from << " " << to;
      found += own.size();
    }
  }
  EXPECT_GT(found, 20U);
  EXPECT_EQ(*reader.AnyImportedMarks(), false);
}

}  // namespace
}  // namespace goodput
