#include "tools/sources/google_cloud/write_entries.h"

#include <simdjson.h>

#include <array>
#include <utility>

#include "absl/strings/cord.h"
#include "spank/json_text.h"
#include "sql/status_macros.h"
#include "sql/text.h"
#include "tools/base/format.h"
#include "tools/sources/google_cloud/error_details.h"
#include "tools/sources/google_cloud/signature.h"

namespace goodput {
namespace {

constexpr absl::Duration kMostAhead = absl::Hours(24);
// Of the 256 KB of an entry, the rest is for its other fields.
constexpr std::size_t kMostEntryBytes = 250'000;
constexpr std::size_t kDigestBytes = 16;
constexpr std::size_t kPositionDigits = 4;
constexpr std::size_t kMostReason = 200;
constexpr std::string_view kDigits = "0123456789abcdefghijklmnopqrstuv";

// Five bits a digit, and in the order of the bytes.
std::string Base32(std::string_view bytes) {
  std::string text;
  unsigned bits = 0;
  unsigned held = 0;
  for (const char byte : bytes) {
    bits = (bits << 8U) | static_cast<unsigned char>(byte);
    for (held += 8; held >= 5; held -= 5) text += kDigits[(bits >> (held - 5U)) & 31U];
    bits &= (1U << held) - 1U;
  }
  if (held > 0) text += kDigits[(bits << (5U - held)) & 31U];
  return text;
}

std::string Position(int number) {
  std::string text(kPositionDigits, '0');
  for (std::size_t i = kPositionDigits; i-- > 0; number /= 32)
    text[i] = kDigits[static_cast<std::size_t>(number % 32)];
  return text;
}

struct RefusedEntries {
  std::int64_t count = 0;
  std::string why;
};

RefusedEntries ReadRefused(const std::string& body) {
  RefusedEntries refused;
  simdjson::dom::parser parser;
  for (const simdjson::dom::element& detail : ErrorDetails(parser, body)) {
    simdjson::dom::object entries;
    if (detail["logEntryErrors"].get(entries) != simdjson::SUCCESS) continue;
    refused.count += static_cast<std::int64_t>(entries.size());
    for (const auto& [index, error] : entries) {
      std::string_view why;
      if (refused.why.empty() && error["message"].get(why) == simdjson::SUCCESS) refused.why = why;
    }
  }
  return refused;
}

}  // namespace

EntryWriter::EntryWriter(LoggingService& service, WriteEntriesOptions options)
    : service_(service), options_(std::move(options)) {
  beginning_ =
      Cat("{\"logName\":", QuotedJson(options_.log.Text()),
          ",\"resource\":{\"type\":\"global\",\"labels\":{\"project_id\":", QuotedJson(options_.log.project),
          "}},\"labels\":{");
  std::string_view comma;
  for (const auto& [name, value] : options_.labels) {
    beginning_ += Cat(comma, QuotedJson(name), ":", QuotedJson(value));
    comma = ",";
  }
  beginning_ += "},\"partialSuccess\":true,\"entries\":[";
}

void EntryWriter::Refuse(std::int64_t count, const std::string& why) {
  report_.refused += count;
  if (report_.why_refused.empty()) report_.why_refused = Printable(why, kMostReason);
}

// Entries of the same time are read in the order of their ids.
std::string EntryWriter::InsertId(absl::Time at, std::string_view line) {
  of_the_same_time_ = at == last_ ? of_the_same_time_ + 1 : 0;
  std::string identity;
  for (const auto& [name, value] : options_.labels) identity += Cat(name, "=", value, "\n");
  const std::string digest = Sha256(identity.append(line));
  return Cat(Position(of_the_same_time_), Base32(std::string_view(digest).substr(0, kDigestBytes)));
}

absl::Status EntryWriter::Take(std::string_view line) {
  if (line.size() > kMostEntryBytes) {
    Refuse(1, "longer than an entry of Cloud Logging may be");
    return absl::OkStatus();
  }
  padded_.assign(line);
  padded_.resize(line.size() + GoogleEntryParser::kPadding);
  GoogleEntry entry;
  ASSIGN_OR_RETURN(const bool taken, parser_.Parse(std::string_view(padded_).substr(0, line.size()), entry));
  if (!taken) return absl::InvalidArgumentError("not an entry of a goodput log");
  // The library reads a log on from the last entry's time, which it knows in microseconds only.
  const absl::Time own = absl::FromUnixMicros(entry.time() / 1000);
  if (own > options_.now + kMostAhead) {
    ++report_.too_new;
    return absl::OkStatus();
  }
  const absl::Time at = std::max(own, last_);
  const std::string id = InsertId(at, line);
  last_ = at;
  if (at < options_.now - options_.retention) {
    ++report_.too_old;
    return absl::OkStatus();
  }
  const std::string timestamp = ServiceTime(at);
  std::string written = Cat("{\"timestamp\":\"", timestamp, "\",\"severity\":\"INFO\",\"insertId\":\"", id,
                            "\",\"jsonPayload\":", line, "}");
  constexpr std::size_t kAround = 3;  // a comma, and the end
  if (entries_ == kMostEntries || body_.size() + written.size() + kAround > kMostBytes)
    RETURN_IF_ERROR(Send());
  body_ += entries_ == 0 ? beginning_ : ",";
  body_ += written;
  ++entries_;
  return absl::OkStatus();
}

absl::Status EntryWriter::Finish() {
  return entries_ == 0 ? absl::OkStatus() : Send();
}

absl::Status EntryWriter::Send() {
  body_ += "]}";
  ++report_.calls;
  absl::Status status = service_.Write(body_).status();
  std::int64_t written = entries_;
  if (!status.ok()) {
    const absl::optional<absl::Cord> payload = status.GetPayload(ToAbsl(LoggingService::kRefusedEntries));
    if (!payload) return status;
    const RefusedEntries refused = ReadRefused(std::string(*payload));
    Refuse(refused.count, refused.why);
    written -= std::min<std::int64_t>(refused.count, written);
  }
  report_.written += written;
  body_.clear();
  entries_ = 0;
  return absl::OkStatus();
}

}  // namespace goodput
