// Formats of `sgoodput export` besides Google's, which import_test reads again.
#include <gtest/gtest.h>

#include <csignal>
#include <cstdint>
#include <functional>
#include <string>

#include "simdjson.h"
#include "tests/unit/run_builder.h"
#include "tools/sources/import_export/export_formats.h"
#include "tools/sources/import_export/folded_export.h"
#include "tools/sources/import_export/summary_export.h"
#include "tools/sources/import_export/trace_export.h"

namespace goodput {
namespace {

// Trains from 15 to 115 with a save at 65, loses its node at 115, waits, and trains again.
Timeline Interrupted(RunBuilder& run) {
  AttemptBuilder& first = run.Attempt().Submitted(0).Started(10).Ready(12);
  first.Srun(0, 15, 115, 0).Steps(0, 9, 15, 10).Ended(116, "NODE_FAIL");
  run.Attempt()
      .Submitted(116)
      .Started(120)
      .Ready(122)
      .Srun(0, 125, 145, 0)
      .Steps(0, 1, 125, 10)
      .Ended(146, "COMPLETED");
  return run.Build();
}

std::string Exported(const std::function<absl::Status(const WriteText&)>& write) {
  std::string text;
  const absl::Status status = write([&](std::string_view piece) {
    text.append(piece);
    return absl::OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status;
  return text;
}

TEST(FoldedExport, HasOneLineForEachCauseAndSumsToTheWallTime) {
  RunBuilder run;
  const Timeline timeline = Interrupted(run);
  const std::string text =
      Exported([&](const WriteText& write) { return ExportFoldedStacks(timeline, "a;b\nc", write); });
  std::int64_t sum = 0;
  for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) {
    const std::string line = text.substr(at, text.find('\n', at) - at);
    EXPECT_EQ(line.rfind("a_b_c;", 0), 0U) << line;
    sum += std::stoll(line.substr(line.rfind(' ') + 1));
  }
  EXPECT_EQ(sum, 146'000);
  EXPECT_NE(text.find("a_b_c;scheduling;provisioning 4000\n"), std::string::npos) << text;
}

TEST(SummaryExport, LeavesOutWhatIsNotKnownAndAddsUp) {
  RunBuilder run;
  const Timeline timeline = Interrupted(run);
  const std::string text =
      Exported([&](const WriteText& write) { return ExportWandbSummary(timeline, write); });
  simdjson::dom::parser parser;
  simdjson::dom::object summary;
  ASSERT_EQ(parser.parse(text).get_object().get(summary), simdjson::SUCCESS) << text;
  double seconds = 0;
  for (const auto [key, value] : summary) {
    if (key.substr(0, 16) == "goodput/seconds/") seconds += value.get_double().value();
  }
  EXPECT_DOUBLE_EQ(seconds, 146);
  EXPECT_DOUBLE_EQ(summary["goodput/wall_seconds"].get_double().value(), 146);
  EXPECT_DOUBLE_EQ(summary["goodput/seconds/provisioning"].get_double().value(), 4);

  RunBuilder pending;
  pending.Attempt().Submitted(0).Eligible(0).State("PENDING");
  pending.Now(10);
  const Timeline waits = pending.Build();
  const std::string nothing =
      Exported([&](const WriteText& write) { return ExportWandbSummary(waits, write); });
  EXPECT_EQ(nothing.find("goodput/runtime"), std::string::npos) << nothing;

  const std::string batch =
      Exported([&](const WriteText& write) { return ExportMlflowBatch(timeline, "run \"7\"", write); });
  simdjson::dom::element body;
  ASSERT_EQ(parser.parse(batch).get(body), simdjson::SUCCESS) << batch;
  EXPECT_EQ(body["tags"].at(0)["value"].get_string().value(), "run \"7\"");
  for (const simdjson::dom::element metric : body["metrics"])
    EXPECT_EQ(metric["timestamp"].get_int64().value(), At(146) / 1'000'000);
}

TEST(TraceExport, IsJsonWhoseBucketsPartitionTheWallTime) {
  RunBuilder run;
  const Timeline timeline = Interrupted(run);
  const std::string text =
      Exported([&](const WriteText& write) { return ExportTrace(timeline, "run \"7\"\n", write); });
  simdjson::dom::parser parser;
  simdjson::dom::element document;
  ASSERT_EQ(parser.parse(text).get(document), simdjson::SUCCESS) << text;
  EXPECT_EQ(document["otherData"]["begin_ns"].get_int64().value(), At(0));
  double end_us = 0;
  int attempts = 0;
  int interruptions = 0;
  for (const simdjson::dom::element event : document["traceEvents"]) {
    const std::string_view phase = event["ph"].get_string().value();
    if (phase == "M") continue;
    const std::int64_t row = event["tid"].get_int64().value();
    if (row == 0) {
      EXPECT_DOUBLE_EQ(event["ts"].get_double().value(), end_us) << "no gap and no overlap";
      end_us += event["dur"].get_double().value();
    }
    if (row == 1) ++attempts;
    if (row == 5) ++interruptions;
  }
  EXPECT_DOUBLE_EQ(end_us, 146e6);
  EXPECT_EQ(attempts, 2);
  EXPECT_EQ(interruptions, 1);
}

TEST(ExportFormats, AreFoundByName) {
  ASSERT_NE(FindExportFormat("trace"), nullptr);
  EXPECT_TRUE(FindExportFormat("spool")->is_records);
  EXPECT_EQ(FindExportFormat("xml"), nullptr);
  EXPECT_EQ(ExportFormatNames().front(), "google-goodput");
}

TEST(ExportFormats, StopAtTheFirstErrorOfTheirWriter) {
  RunBuilder run;
  const Timeline timeline = Interrupted(run);
  const WriteText full = [](std::string_view) { return absl::ResourceExhaustedError("disk full"); };
  EXPECT_EQ(ExportTrace(timeline, "r", full).message(), "disk full");
  EXPECT_EQ(ExportFoldedStacks(timeline, "r", full).message(), "disk full");
}

}  // namespace
}  // namespace goodput
