// Measures how long it takes to ingest one more training step and to report on the run again.
//
//   one_more_step SPOOL DATABASE STEPS
//
// Writes and ingests a spool of STEPS steps. Then, 200 times, appends a mark, ingests it, and makes the run's
// report from the database. Prints medians in microseconds: ingest, report.
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string>
#include <vector>

#include "spank/event.h"
#include "sql/ingest/ingest.h"
#include "tools/accounting/runs/load_run.h"
#include "tools/accounting/timeline/goodput.h"

namespace goodput {
namespace {

constexpr std::int64_t kBegan = 1'767'225'600'000'000'000;
constexpr std::int64_t kHourNs = 3'600'000'000'000;
constexpr int kTries = 200;

class SpoolWriter {
 public:
  explicit SpoolWriter(std::string folder) : folder_(std::move(folder)) {}
  void Step(std::int64_t step) {
    t_ += 500'000'000 + (step * 7919 % 10'007) * 500;
    RecordBuilder record(kind::kMark, {t_, t_ - kBegan, "n1", 42});
    record.Text(key::kCluster, "c1");
    record.Int(key::kJob, 7);
    record.Text(key::kSlurmStep, "0");
    record.Int(key::kTask, 0);
    record.Text(key::kMark, "step");
    record.Text(key::kEdge, "begin");
    record.Int(key::kTrainStep, step);
    Write(std::string(record.Finish()));
  }
  void Flush() { out_.flush(); }
  std::int64_t now() const { return t_; }

 private:
  // One file per hour, as the plugin and the daemon write them.
  void Write(const std::string& record) {
    const std::int64_t hour = t_ / kHourNs;
    if (hour != hour_) {
      hour_ = hour;
      const std::time_t seconds = hour * 3600;
      std::tm utc{};
      gmtime_r(&seconds, &utc);
      char name[32];
      std::strftime(name, sizeof name, "/boot.%Y%m%d%HZ.jsonl", &utc);
      out_.close();
      out_.open(folder_ + name, std::ios::app | std::ios::binary);
    }
    out_ << record;
  }
  std::string folder_;
  std::ofstream out_;
  std::int64_t hour_ = -1;
  std::int64_t t_ = kBegan + 20 * kSecond;
};

double Microseconds(std::chrono::steady_clock::duration d) {
  return std::chrono::duration<double, std::micro>(d).count();
}

double MedianOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

int Measure(const std::string& spool, const std::string& path, std::int64_t steps) {
  mkdir(spool.c_str(), 0700);
  mkdir((spool + "/n1").c_str(), 0700);
  SpoolWriter writer(spool + "/n1");
  for (std::int64_t step = 0; step < steps; ++step) writer.Step(step);
  writer.Flush();
  absl::StatusOr<Database> db = Database::Open(path, Database::Mode::kReadWrite);
  if (!db.ok() || !IngestSpool(*db, spool, {"c1"}).ok()) return 1;
  AccountingRow row;
  row.cluster = "c1";
  row.job_id = 7;
  row.job_id_text = "7";
  row.submit_s = row.start_s.emplace(kBegan / kSecond);
  row.state = "RUNNING";
  if (!StoreAccounting(*db, {row}, 1).ok()) return 1;
  std::vector<double> ingests;
  std::vector<double> reports;
  for (int i = 0; i < kTries; ++i) {
    writer.Step(steps + i);
    writer.Flush();
    const auto begin = std::chrono::steady_clock::now();
    if (!IngestSpool(*db, spool, {"c1"}).ok()) return 1;
    const auto ingested = std::chrono::steady_clock::now();
    const Snapshot snapshot(*db);
    const absl::StatusOr<Run> run = LoadRun(*db, {{"c1", 7}}, writer.now() + kSecond / 10);
    if (!run.ok()) return 1;
    const Timeline timeline = BuildTimeline(run->facts);
    const Account account = TakeAccount(timeline);
    const auto done = std::chrono::steady_clock::now();
    if (timeline.steps.executed != steps + i + 1 || !account.goodput.sg_rg) return 2;
    ingests.push_back(Microseconds(ingested - begin));
    reports.push_back(Microseconds(done - ingested));
  }
  std::printf("%.1f %.1f\n", MedianOf(ingests), MedianOf(reports));
  return 0;
}

}  // namespace
}  // namespace goodput

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  return goodput::Measure(argv[1], argv[2], std::atoll(argv[3]));
}
