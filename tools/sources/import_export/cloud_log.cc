#include "tools/sources/import_export/cloud_log.h"

#include <simdjson.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "sql/status_macros.h"
#include "sql/text.h"
#include "tools/sources/import_export/json_stream.h"
#include "tools/sources/import_export/time_order.h"
#include "tools/sources/logs/google_entry.h"

namespace goodput {
namespace {

namespace dom = simdjson::dom;

// A file that is no such log shows it in its first values.
constexpr int kLookedAtValues = 16;
constexpr std::size_t kFlushBytes = std::size_t{1} << 20U;
constexpr std::size_t kMaxPods = 65'536;
constexpr std::string_view kRestartLabel = "k8s-pod/jobset_sigs_k8s_io/restart-attempt";
// The characters of the random part of a pod's name (k8s.io/apimachinery/pkg/util/rand), and their number.
constexpr std::string_view kRandom = "bcdfghjklmnpqrstvwxz2456789";
constexpr std::size_t kRandomLength = 5;
// Pods of one generation are created within this time.
constexpr Ns kOneGeneration = 300 * kSecond;
// A file in descending order: what is added to the order of its entries.
constexpr std::int64_t kDescending = std::int64_t{1} << 40U;

struct CloudEntry {
  Ns t = 0;
  std::string pod;                      // empty: unknown
  std::string container;                // or the task of a Vertex AI job
  std::string text;                     // may have several lines
  std::string id;                       // insertId
  std::optional<std::int64_t> restart;  // of the JobSet
  std::string event;                    // the reason of a Kubernetes event, whose pod is `pod`
};

using Found = simdjson::simdjson_result<dom::element>;

// Empty if it is missing or no text.
std::string TextOf(const Found& found) {
  std::string_view text;
  return found.get_string().get(text) == simdjson::SUCCESS ? std::string(text) : std::string();
}

bool IsThere(const Found& found) {
  return found.error() == simdjson::SUCCESS;
}

// A structured payload: its message, or all of it if it has none.
void ReadPayload(const dom::object& payload, CloudEntry& entry) {
  const Found object = payload["involvedObject"];
  if (IsThere(object) && IsThere(payload["reason"])) {
    entry.event = TextOf(payload["reason"]);
    if (TextOf(object["kind"]) == "Pod") entry.pod = TextOf(object["name"]);
    return;
  }
  entry.text = TextOf(payload["message"]);
  if (entry.text.empty()) entry.text = TextOf(payload["msg"]);
  if (entry.text.empty()) entry.text = simdjson::minify(payload);
}

class CloudEntryParser {
 public:
  // False: no entry with a time and text.
  bool Parse(std::string_view text, CloudEntry& entry) {
    dom::element root;
    dom::object object;
    if (parser_.parse(text.data(), text.size(), false).get(root) != simdjson::SUCCESS ||
        root.get_object().get(object) != simdjson::SUCCESS)
      return false;
    entry = {};
    absl::Time time;
    if (!absl::ParseTime(absl::RFC3339_full, TextOf(object["timestamp"]), &time, nullptr)) return false;
    entry.t = absl::ToUnixNanos(time);
    entry.id = TextOf(object["insertId"]);
    entry.pod = TextOf(object["resource"]["labels"]["pod_name"]);
    std::int64_t restart = 0;
    if (absl::SimpleAtoi(TextOf(object["labels"][kRestartLabel]), &restart)) entry.restart = restart;
    entry.text = TextOf(object["textPayload"]);
    dom::object payload;
    if (entry.text.empty() && object["jsonPayload"].get_object().get(payload) == simdjson::SUCCESS)
      ReadPayload(payload, entry);
    return !entry.text.empty() || !entry.event.empty();
  }

 private:
  dom::parser parser_;
};

// The name of an indexed job's pod without its random part (JOB-INDEX-RANDOM); empty for other pods.
std::string_view IndexedPod(std::string_view pod) {
  const std::size_t dash = pod.rfind('-');
  if (dash == std::string_view::npos || pod.size() - dash - 1 != kRandomLength ||
      pod.find_first_not_of(kRandom, dash + 1) != std::string_view::npos)
    return "";
  const std::string_view base = pod.substr(0, dash);
  const std::size_t index = base.rfind('-');
  const bool digits = index != std::string_view::npos && index + 1 < base.size() &&
                      base.find_first_not_of("0123456789", index + 1) == std::string_view::npos;
  return digits ? base : "";
}

// Whether an entry is the first of a new generation of pods.
class Generations {
 public:
  bool Begins(const CloudEntry& entry) {
    if (entry.pod.empty()) return false;
    if (entry.restart) {
      const bool begins = restart_ && *entry.restart > *restart_;
      if (!restart_ || begins) restart_ = entry.restart;
      return begins;
    }
    const std::string base(IndexedPod(entry.pod));
    // The last lines of an earlier pod may be late.
    if (base.empty() || gone_.count(entry.pod) != 0) return false;
    if (pods_.size() > kMaxPods || gone_.size() > kMaxPods) *this = {};
    const auto [known, first] = pods_.try_emplace(base, entry.pod);
    if (first || known->second == entry.pod) return false;
    gone_.insert(std::exchange(known->second, entry.pod));
    const bool begins = anew_.empty() || anew_.count(base) != 0 || entry.t - begun_ > kOneGeneration;
    if (begins) {
      anew_.clear();
      begun_ = entry.t;
    }
    anew_.insert(base);
    return begins;
  }

 private:
  std::optional<std::int64_t> restart_;
  std::map<std::string, std::string> pods_;  // the latest, by name without the random part
  std::set<std::string> gone_;               // earlier ones
  std::set<std::string> anew_;               // created anew in this generation
  Ns begun_ = 0;
};

std::string StampText(Ns t) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E9SZ", absl::FromUnixNanos(t), absl::UTCTimeZone());
}

// Writes entries, which come in the order of time.
class LineWriter {
 public:
  explicit LineWriter(Input& into) : into_(into) {}

  absl::Status Take(const CloudEntry& entry) {
    if (!IsNew(entry)) return absl::OkStatus();
    const std::string stamp = StampText(entry.t);
    if (generations_.Begins(entry)) text_ += Cat(stamp, " kubernetes: generation ", ++generation_, "\n");
    if (!entry.event.empty()) TakeEvent(entry, stamp);
    for (const absl::string_view line : absl::StrSplit(ToAbsl(entry.text), '\n', absl::SkipEmpty()))
      text_ += Cat(stamp, " ", std::string_view(line.data(), line.size()), "\n");
    return text_.size() < kFlushBytes ? absl::OkStatus() : Flush();
  }
  absl::Status Flush() {
    absl::Status status = into_.Append(text_);
    text_.clear();
    return status;
  }

 private:
  // Overlapping exports have entries twice.
  bool IsNew(const CloudEntry& entry) {
    if (entry.t != last_) ids_.clear();
    last_ = entry.t;
    return entry.id.empty() || ids_.insert(entry.id).second;
  }
  // Events repeat; the first of a pod counts.
  void TakeEvent(const CloudEntry& entry, const std::string& stamp) {
    const std::string event = Cat(OneLine(entry.event), " pod/", OneLine(entry.pod));
    if (events_.size() > kMaxPods) events_.clear();
    if (!events_.insert(event).second) return;
    text_ += Cat(stamp, " kubernetes: ", event, "\n");
    if (entry.event == "Scheduled")
      text_ += Cat(stamp, " kubernetes: Launching pod/", OneLine(entry.pod), "\n");
  }
  static std::string OneLine(std::string text) {
    std::replace_if(
        text.begin(), text.end(), [](char c) { return c == '\n' || c == '\r' || c == ' '; }, '_');
    return text;
  }

  Input& into_;
  std::string text_;
  Generations generations_;
  int generation_ = 1;
  Ns last_ = 0;
  std::set<std::string> ids_;  // of entries at that time
  std::set<std::string> events_;
};

}  // namespace

absl::StatusOr<bool> IsCloudLog(const Input& input) {
  char first = '\0';
  for (std::int64_t at = 0; at < input.size(); ++at) {
    ASSIGN_OR_RETURN(const std::size_t got, input.Read(at, &first, 1));
    if (got == 0 || std::string_view(" \t\r\n\xef\xbb\xbf").find(first) == std::string_view::npos) break;
  }
  if (first != '[' && first != '{') return false;
  EntryStream stream(input);
  CloudEntryParser parser;
  EntryText text;
  CloudEntry entry;
  for (int i = 0; i < kLookedAtValues; ++i) {
    ASSIGN_OR_RETURN(const bool more, stream.Next(text));
    if (!more) break;
    if (text.problem.empty() && parser.Parse(text.text, entry)) return true;
  }
  return false;
}

absl::StatusOr<CloudLog> ReadCloudLog(const Input& input) {
  ASSIGN_OR_RETURN(Input lines, Input::Unnamed(input));
  CloudLog log{std::move(lines)};
  EntryStream stream(input);
  CloudEntryParser parser;
  TimeOrder order;
  EntryText text;
  CloudEntry entry;
  Ns last = 0;
  std::optional<bool> descends;
  while (true) {
    ASSIGN_OR_RETURN(const bool more, stream.Next(text));
    if (!more) break;
    if (!text.problem.empty() || !parser.Parse(text.text, entry)) {
      ++log.other;
      continue;
    }
    // gcloud prints in descending order by default: of entries with the same time, the later ones are older.
    if (log.entries > 0 && !descends && entry.t != last) descends = entry.t < last;
    last = entry.t;
    order.Add({entry.t, descends.value_or(false) ? kDescending - log.entries : 0, text.offset,
               static_cast<std::int64_t>(text.text.size())});
    ++log.entries;
  }
  if (log.entries == 0)
    return absl::InvalidArgumentError(Cat(input.name(), ": no entry has a timestamp and text"));
  order.Sort();
  LineWriter writer(log.lines);
  EntryPlace place;
  std::string bytes;
  while (order.Next(place)) {
    const auto length = static_cast<std::size_t>(place.length);
    bytes.resize(length + GoogleEntryParser::kPadding);
    ASSIGN_OR_RETURN(const std::size_t got, input.Read(place.offset, bytes.data(), length));
    if (got < length || !parser.Parse(std::string_view(bytes).substr(0, length), entry) || entry.t != place.t)
      return absl::AbortedError(Cat(input.name(), ": changed while it was read"));
    RETURN_IF_ERROR(writer.Take(entry));
  }
  RETURN_IF_ERROR(writer.Flush());
  return log;
}

absl::StatusOr<Input> OpenLines(Input input) {
  ASSIGN_OR_RETURN(const bool cloud, IsCloudLog(input));
  if (!cloud) return input;
  ASSIGN_OR_RETURN(CloudLog log, ReadCloudLog(input));
  return std::move(log.lines);
}

}  // namespace goodput
