// Measures how long the controller takes to check the shared spool of a large cluster.
//
//   many_folders SHARED DATABASE FOLDERS FILES
//
// Writes FOLDERS node folders with FILES files of two records each, where only the last file of each folder
// was modified today. Ingests them for the first time, without changes, after every folder's last file gained
// a record, and with a new process. Prints seconds: first, nothing new, one new each, anew.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "spank/event.h"
#include "sql/ingest/ingest.h"

namespace goodput {
namespace {

std::int64_t later_ns = 0;
constexpr Clock kLater = {[]() noexcept { return kSystemClock.real_ns() + later_ns; },
                          []() noexcept { return kSystemClock.mono_ns() + later_ns; }};

std::string FileOf(const std::string& folder, int file) {
  return folder + "/boot.20260101" + std::to_string(10 + file) + "Z.jsonl";
}

void Append(const std::string& node, const std::string& path) {
  RecordBuilder record(kind::kTaskStart, {1'767'225'600'000'000'000, 1, node, 42});
  record.Text(key::kCluster, "c1");
  record.Int(key::kJob, 7);
  std::ofstream(path, std::ios::app) << record.Finish();
}

double Seconds(Database& db, const std::string& root, SpoolMemory* memory, std::int64_t expected) {
  IngestOptions options;
  options.shared = true;
  options.owner = geteuid();
  options.clock = kLater;
  options.memory = memory;
  const auto began = std::chrono::steady_clock::now();
  const auto report = IngestSpool(db, root, options);
  const auto took = std::chrono::steady_clock::now() - began;
  if (!report.ok() || report->records != expected || !report->problems.empty()) {
    std::fprintf(stderr, "%lld records taken, not %lld\n",
                 static_cast<long long>(report.ok() ? report->records : -1),
                 static_cast<long long>(expected));
    std::exit(1);
  }
  return std::chrono::duration<double>(took).count();
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

int Run(const std::string& root, const std::string& database, int folders, int files) {
  for (int folder = 0; folder < folders; ++folder) {
    const std::string node = "n" + std::to_string(folder);
    mkdir((root + "/" + node).c_str(), 0700);
    for (int file = 0; file < files; ++file) {
      const std::string path = FileOf(root + "/" + node, file);
      Append(node, path);
      Append(node, path);
      const timespec yesterday{kSystemClock.real_ns() / 1'000'000'000 - 86400, 0};
      const std::array<timespec, 2> times{yesterday, yesterday};
      if (file + 1 < files) utimensat(AT_FDCWD, path.c_str(), times.data(), 0);
    }
  }
  absl::StatusOr<Database> db = Database::Open(database, Database::Mode::kReadWrite);
  if (!db.ok()) return 1;
  SpoolMemory memory;
  const double first = Seconds(*db, root, &memory, std::int64_t{2} * folders * files);
  // The folders' last change must be in the past, as usual except for seconds per hour.
  later_ns += 10'000'000'000;
  Seconds(*db, root, &memory, 0);
  std::vector<double> same;
  std::vector<double> grown;
  for (int round = 0; round < 5; ++round) {
    same.push_back(Seconds(*db, root, &memory, 0));
    for (int folder = 0; folder < folders; ++folder) {
      const std::string node = "n" + std::to_string(folder);
      Append(node, FileOf(root + "/" + node, files - 1));
    }
    grown.push_back(Seconds(*db, root, &memory, folders));
  }
  const double anew = Seconds(*db, root, nullptr, 0);
  std::printf("%.4f %.4f %.4f %.4f\n", first, Median(same), Median(grown), anew);
  return 0;
}

}  // namespace
}  // namespace goodput

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fputs("usage: many_folders SHARED DATABASE FOLDERS FILES\n", stderr);
    return 2;
  }
  return goodput::Run(argv[1], argv[2], std::atoi(argv[3]), std::atoi(argv[4]));
}
