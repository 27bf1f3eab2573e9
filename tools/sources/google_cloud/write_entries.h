// Writes a log of Google's goodput library, as `sgoodput export` makes it, to Cloud Logging.
//
// An entry's timestamp is the event's time in microseconds, but not before that of the entry before it, since
// the library's calculator follows the order of the log. Its insertId follows from its time and content, so
// that an entry that is written twice is one entry in the log.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "tools/sources/google_cloud/log_name.h"
#include "tools/sources/google_cloud/logging_service.h"
#include "tools/sources/logs/google_entry.h"

namespace goodput {

struct WriteEntriesOptions {
  LogName log;
  std::map<std::string, std::string> labels;  // of every entry
  absl::Duration retention = absl::Hours(24 * 30);
  absl::Time now;
};

struct WriteEntriesReport {
  std::int64_t written = 0;
  std::int64_t too_old = 0;  // the service would drop them: older than the retention
  std::int64_t too_new = 0;  // more than a day ahead
  std::int64_t refused = 0;  // by the service, or longer than it takes
  std::string why_refused;   // the first of them
  std::int64_t calls = 0;
};

class EntryWriter {
 public:
  EntryWriter(LoggingService& service, WriteEntriesOptions options);

  // One entry, by time, without a newline. Sends a request when there is enough for one.
  absl::Status Take(std::string_view line);
  // Sends the rest.
  absl::Status Finish();
  const WriteEntriesReport& report() const { return report_; }

  static constexpr int kMostEntries = 1000;
  static constexpr std::size_t kMostBytes = 5'000'000;  // the service takes 10 MB

 private:
  absl::Status Send();
  void Refuse(std::int64_t count, const std::string& why);
  std::string InsertId(absl::Time at, std::string_view line);

  LoggingService& service_;
  WriteEntriesOptions options_;
  GoogleEntryParser parser_;
  std::string padded_;
  std::string beginning_;  // of each request
  std::string body_;
  int entries_ = 0;
  absl::Time last_ = absl::InfinitePast();
  int of_the_same_time_ = 0;
  WriteEntriesReport report_;
};

}  // namespace goodput
