// Reads the entries of a log, by time. Google's goodput library reads the same entries: the filter is its
// own.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tools/sources/google_cloud/log_name.h"
#include "tools/sources/google_cloud/logging_service.h"

namespace goodput {

struct LogQuestion {
  LogName log;
  std::string job_name;  // empty: of all jobs
  absl::Time after;
  absl::Time until;
};

// Entries are ordered by these two; both as the service wrote them.
struct LogPosition {
  std::string timestamp;
  std::string insert_id;
};

// `behind`: only entries after this one.
std::string LogFilter(const LogQuestion& question, const std::optional<LogPosition>& behind);

struct ReadEntriesReport {
  std::int64_t entries = 0;
  std::int64_t repeated = 0;  // not counted in `entries`
  std::int64_t calls = 0;
};

class EntryReader {
 public:
  EntryReader(LoggingService& service, LogQuestion question)
      : service_(service), question_(std::move(question)) {}

  // An entry that an earlier reading wrote, one line; the reading begins at the last of them, less
  // kOverlap, since entries arrive late, and leaves out those that are known. InvalidArgument: of another log
  // or job.
  absl::Status Know(std::string_view line);
  // Calls `write` with each entry, as one line of JSON. An error it returns ends the reading.
  absl::StatusOr<ReadEntriesReport> Read(
      const std::function<absl::Status(std::string_view line)>& write,
      const std::function<void(const ReadEntriesReport&, const std::string& timestamp)>& progress);

  // The library sends its entries every 2 s; twice that, and half a minute for the way.
  static constexpr absl::Duration kOverlap = absl::Seconds(34);

 private:
  struct Page;
  std::string Body() const;
  absl::StatusOr<std::string> NextPage();
  bool IsNew(absl::Time at, const LogPosition& position);

  LoggingService& service_;
  LogQuestion question_;
  std::optional<LogPosition> behind_;        // the last entry
  std::optional<LogPosition> asked_behind_;  // in the filter
  std::string page_token_;
  int page_size_ = 1000;
  absl::Time last_ = absl::InfinitePast();
  // Those within kOverlap of the last.
  std::set<std::pair<absl::Time, std::string>> recent_;
  ReadEntriesReport report_;
};

}  // namespace goodput
