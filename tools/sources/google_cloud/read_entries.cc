#include "tools/sources/google_cloud/read_entries.h"

#include <simdjson.h>

#include <algorithm>

#include "spank/json_text.h"
#include "sql/status_macros.h"
#include "sql/text.h"

namespace goodput {
namespace {

namespace dom = simdjson::dom;

constexpr int kLeastPage = 10;

// A quoted text of the filter language, whose escapes are those of JSON.
std::string Quoted(std::string_view text) {
  return QuotedJson(text);
}

struct Entry {
  LogPosition position;
  absl::Time at;
};

absl::StatusOr<Entry> ReadEntry(const dom::element& json) {
  Entry entry;
  std::string_view text;
  if (json["timestamp"].get(text) != simdjson::SUCCESS)
    return absl::DataLossError("an entry without a timestamp");
  entry.position.timestamp = text;
  if (!absl::ParseTime(absl::RFC3339_full, entry.position.timestamp, &entry.at, nullptr))
    return absl::DataLossError("an entry whose timestamp is not RFC 3339");
  if (json["insertId"].get(text) == simdjson::SUCCESS) entry.position.insert_id = text;
  return entry;
}

}  // namespace

std::string LogFilter(const LogQuestion& question, const std::optional<LogPosition>& behind) {
  std::string filter = Cat("logName=", Quoted(question.log.Text()), " AND severity=INFO");
  if (!question.job_name.empty()) filter += Cat(" AND jsonPayload.job_name=", Quoted(question.job_name));
  if (behind) {
    const std::string at = Quoted(behind->timestamp);
    filter += Cat(" AND (timestamp > ", at, " OR (timestamp = ", at, " AND insertId > ",
                  Quoted(behind->insert_id), "))");
  } else {
    filter += Cat(" AND timestamp>", Quoted(ServiceTime(question.after)));
  }
  return Cat(filter, " AND timestamp<=", Quoted(ServiceTime(question.until)));
}

std::string EntryReader::Body() const {
  std::string body = Cat("{\"resourceNames\":[", QuotedJson(Cat("projects/", question_.log.project)),
                         "],\"filter\":", QuotedJson(LogFilter(question_, asked_behind_)),
                         ",\"orderBy\":\"timestamp asc\",\"pageSize\":", page_size_);
  if (!page_token_.empty()) body += Cat(",\"pageToken\":", QuotedJson(page_token_));
  return body + "}";
}

absl::Status EntryReader::Know(std::string_view line) {
  dom::parser parser;
  dom::element json;
  if (parser.parse(line.data(), line.size()).get(json) != simdjson::SUCCESS)
    return absl::InvalidArgumentError("not an entry of Cloud Logging");
  const absl::StatusOr<Entry> entry = ReadEntry(json);
  std::string_view log;
  if (!entry.ok() || json["logName"].get(log) != simdjson::SUCCESS)
    return absl::InvalidArgumentError("not an entry of Cloud Logging");
  if (log != question_.log.Text()) return absl::InvalidArgumentError(Cat("has entries of the log ", log));
  std::string_view job;
  if (!question_.job_name.empty() && json["jsonPayload"]["job_name"].get(job) == simdjson::SUCCESS &&
      job != question_.job_name)
    return absl::InvalidArgumentError(Cat("has entries of the job ", job));
  IsNew(entry->at, entry->position);
  question_.after = last_ - kOverlap;
  return absl::OkStatus();
}

bool EntryReader::IsNew(absl::Time at, const LogPosition& position) {
  last_ = std::max(last_, at);
  while (!recent_.empty() && recent_.begin()->first < last_ - kOverlap) recent_.erase(recent_.begin());
  return at < last_ - kOverlap || recent_.emplace(at, position.insert_id).second;
}

// A page token lasts a day, and belongs to the same filter and page size. Without it, the next page begins
// behind the last entry.
absl::StatusOr<std::string> EntryReader::NextPage() {
  while (true) {
    ++report_.calls;
    absl::StatusOr<std::string> answer = service_.List(Body());
    const bool too_long = absl::IsOutOfRange(answer.status()) && page_size_ > kLeastPage;
    if (too_long) page_size_ /= 10;
    if (!too_long && (!absl::IsInvalidArgument(answer.status()) || page_token_.empty())) return answer;
    page_token_.clear();
    asked_behind_ = behind_;
  }
}

absl::StatusOr<ReadEntriesReport> EntryReader::Read(
    const std::function<absl::Status(std::string_view line)>& write,
    const std::function<void(const ReadEntriesReport&, const std::string& timestamp)>& progress) {
  dom::parser parser;
  std::string line;
  while (true) {
    ASSIGN_OR_RETURN(const std::string answer, NextPage());
    dom::element page;
    if (parser.parse(answer).get(page) != simdjson::SUCCESS)
      return absl::DataLossError("Cloud Logging, entries:list: the answer is not JSON");
    dom::array entries;
    if (page["entries"].get(entries) == simdjson::SUCCESS) {
      for (const dom::element json : entries) {
        ASSIGN_OR_RETURN(const Entry entry, ReadEntry(json));
        behind_ = entry.position;
        if (!IsNew(entry.at, entry.position)) {
          ++report_.repeated;
          continue;
        }
        line = simdjson::minify(json);
        line += '\n';
        RETURN_IF_ERROR(write(line));
        ++report_.entries;
      }
    }
    if (behind_) progress(report_, behind_->timestamp);
    std::string_view token;
    page_token_.clear();
    if (page["nextPageToken"].get(token) == simdjson::SUCCESS) page_token_ = token;
    if (page_token_.empty()) return report_;
  }
}

}  // namespace goodput
