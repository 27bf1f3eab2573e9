#include "tools/goodputd/host/metadata_watch.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/ascii.h"
#include "sql/text.h"

namespace goodput {
namespace {

struct KeyFacts {
  std::string_view path;
  std::string_view notice;
  std::string_view nothing;
};
constexpr std::array<KeyFacts, 5> kKeys{{{"maintenance-event", "maintenance", "NONE"},
                                         {"preempted", "preempted", "FALSE"},
                                         {"upcoming-maintenance", "upcoming_maintenance", "NONE"},
                                         {"scheduling/", "provisioning", ""},
                                         {"zone", "zone", ""}}};

constexpr absl::Duration kServerWaits = absl::Seconds(60);
constexpr absl::Duration kSlack = absl::Seconds(10);
// A response that came sooner was not waited for.
constexpr absl::Duration kAtOnce = absl::Seconds(1);
constexpr std::size_t kMaxWord = 64;
constexpr std::size_t kMaxEtag = 128;
constexpr int kOk = 200;
constexpr int kNotFound = 404;
constexpr int kUnavailable = 503;

const KeyFacts& Facts(HostKey key) {
  return kKeys[static_cast<std::size_t>(key)];
}

bool IsAlnum(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c));
}

// Only an ETag that is safe in a URL.
std::string UsableEtag(const HttpAnswer& answer) {
  const auto found = answer.headers.find("etag");
  if (found == answer.headers.end() || found->second.size() > kMaxEtag) return "";
  const bool plain = std::all_of(found->second.begin(), found->second.end(),
                                 [](char c) { return IsAlnum(c) || c == '-' || c == '_' || c == '.'; });
  return plain ? found->second : "";
}

std::optional<std::int64_t> Seconds(const simdjson::dom::object& object, std::string_view name) {
  std::string_view text;
  absl::Time time;
  std::string error;
  if (object[name].get(text) != simdjson::SUCCESS ||
      !absl::ParseTime(absl::RFC3339_full, ToAbsl(text), &time, &error))
    return std::nullopt;
  return absl::ToUnixSeconds(time);
}

// Capital letters, like all values of the server.
bool IsWord(std::string_view text) {
  return !text.empty() && text.size() <= kMaxWord && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

absl::StatusOr<NoticeKind> ParseUpcoming(std::string_view body) {
  const absl::Status strange = absl::InvalidArgumentError("not a description of maintenance");
  simdjson::dom::parser parser;
  const simdjson::padded_string padded(body.data(), body.size());
  simdjson::dom::object object;
  if (parser.parse(padded).get(object) != simdjson::SUCCESS) return strange;
  NoticeKind word;
  if (object.size() == 0) {
    word.value = NothingToExpect(HostKey::kUpcomingMaintenance);
    return word;
  }
  word.window_s = Seconds(object, "window_start_time");
  word.window_end_s = Seconds(object, "window_end_time");
  std::string_view type;
  std::string_view state;
  if (object["type"].get(type) == simdjson::SUCCESS && IsWord(type)) word.value = std::string(type);
  if (object["maintenance_status"].get(state) == simdjson::SUCCESS && IsWord(state))
    word.value += Cat(word.value.empty() ? "" : "/", state);
  if (word.value.empty() || !word.window_s) return strange;
  if (word.window_end_s && *word.window_end_s < *word.window_s) word.window_end_s.reset();
  return word;
}

// {"preemptible":"TRUE","provisioningModel":"SPOT",...}
absl::StatusOr<NoticeKind> ParseScheduling(std::string_view body) {
  simdjson::dom::parser parser;
  const simdjson::padded_string padded(body.data(), body.size());
  simdjson::dom::object object;
  if (parser.parse(padded).get(object) != simdjson::SUCCESS)
    return absl::InvalidArgumentError("not a description of scheduling");
  std::string_view word;
  if (object["provisioningModel"].get(word) == simdjson::SUCCESS && IsWord(word))
    return NoticeKind{std::string(word), std::nullopt, std::nullopt};
  if (object["preemptible"].get(word) != simdjson::SUCCESS || (word != "TRUE" && word != "FALSE"))
    return absl::InvalidArgumentError("it does not say whether the machine is preemptible");
  return NoticeKind{word == "TRUE" ? "SPOT" : "NOT_SPOT", std::nullopt, std::nullopt};
}

// projects/NUMBER/zones/us-central1-a
absl::StatusOr<NoticeKind> ParseZone(std::string_view body) {
  const std::string_view name = body.substr(body.rfind('/') + 1);
  const bool plain = !name.empty() && name.size() <= kMaxWord && name.size() < body.size() &&
                     std::all_of(name.begin(), name.end(), [](char c) {
                       return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
                     });
  if (!plain) return absl::InvalidArgumentError("not the name of a zone");
  return NoticeKind{std::string(name), std::nullopt, std::nullopt};
}

}  // namespace

bool IsMachineFact(HostKey key) {
  return key == HostKey::kScheduling || key == HostKey::kZone;
}

std::string_view NoticeName(HostKey key) {
  return Facts(key).notice;
}

std::string_view NothingToExpect(HostKey key) {
  return Facts(key).nothing;
}

absl::StatusOr<NoticeKind> ParseNotice(HostKey key, std::string_view body) {
  if (key == HostKey::kUpcomingMaintenance) return ParseUpcoming(body);
  if (key == HostKey::kScheduling) return ParseScheduling(body);
  const absl::string_view stripped = absl::StripAsciiWhitespace(ToAbsl(body));
  const std::string_view word(stripped.data(), stripped.size());
  if (key == HostKey::kZone) return ParseZone(word);
  const bool known = key == HostKey::kPreempted ? word == "TRUE" || word == "FALSE" : IsWord(word);
  if (!known) return absl::InvalidArgumentError("an unknown value");
  return NoticeKind{std::string(word), std::nullopt, std::nullopt};
}

bool IsMetadataHost(std::string_view host) {
  constexpr std::size_t kMaxHost = 255;
  return !host.empty() && host.size() <= kMaxHost && std::all_of(host.begin(), host.end(), [](char c) {
    return IsAlnum(c) || c == '.' || c == '-' || c == ':' || c == '[' || c == ']';
  });
}

MetadataWatch::MetadataWatch(HostKey key, std::string host)
    : key_(key),
      host_(std::move(host)),
      backoff_(key == HostKey::kUpcomingMaintenance ? kLongestWaitForUpcoming : kLongestWait) {}

HttpRequest MetadataWatch::NextRequest() const {
  HttpRequest request;
  std::string query;
  if (key_ == HostKey::kUpcomingMaintenance || key_ == HostKey::kScheduling)
    query = "alt=json&recursive=true";
  if (!etag_.empty()) {
    query +=
        Cat(query.empty() ? "" : "&", "wait_for_change=true&timeout_sec=", absl::ToInt64Seconds(kServerWaits),
            "&last_etag=", etag_);
    request.timeout = kServerWaits + kSlack;
  }
  request.url = Cat("http://", host_, "/computeMetadata/v1/instance/", Facts(key_).path,
                    query.empty() ? "" : "?", query);
  request.headers = {"Metadata-Flavor: Google"};
  return request;
}

MetadataWatch::Outcome MetadataWatch::Take(const HttpAnswer& answer) {
  Outcome outcome;
  const auto trouble = [&](std::string why) {
    outcome.trouble = std::move(why);
    outcome.wait = backoff_.Next();
    return outcome;
  };
  if (!answer.status.ok()) return trouble(Message(answer.status));
  const auto flavor = answer.headers.find("metadata-flavor");
  if (flavor == answer.headers.end() || flavor->second != "Google")
    return trouble("the server there is not a metadata server");
  outcome.of_server = true;
  const bool none =
      key_ == HostKey::kUpcomingMaintenance && (answer.code == kNotFound || answer.code == kUnavailable);
  if (none) {
    // This kind of machine does not have it, or nothing was ever planned: there is nothing to wait for.
    etag_.clear();
    outcome.change = Hear({std::string(NothingToExpect(key_)), std::nullopt, std::nullopt});
    outcome.wait = backoff_.Next();
    return outcome;
  }
  if (IsMachineFact(key_)) {
    // A server that does not know it, or says it in another way, still has notices.
    absl::StatusOr<NoticeKind> fact = absl::NotFoundError("");
    if (answer.code == kOk) fact = ParseNotice(key_, answer.body);
    if (fact.ok()) outcome.change = Hear(*std::move(fact));
    outcome.wait = answer.code == kOk || answer.code == kNotFound ? kFactsLast : backoff_.Next();
    return outcome;
  }
  if (answer.code != kOk) return trouble(Cat("HTTP status ", answer.code));
  absl::StatusOr<NoticeKind> word = ParseNotice(key_, answer.body);
  if (!word.ok()) return trouble(Cat("invalid reply for ", Facts(key_).path, ": ", Message(word.status())));
  etag_ = UsableEtag(answer);
  const bool first = !said_;
  outcome.change = Hear(*std::move(word));
  if (answer.took >= kAtOnce || (first && !etag_.empty())) {
    backoff_.Reset();
  } else if (outcome.change) {
    backoff_.Reset();
    outcome.wait = Backoff::kFirst;
  } else {
    // The server does not wait, or there is no ETag to wait with.
    outcome.wait = backoff_.Next();
  }
  return outcome;
}

std::optional<NoticeKind> MetadataWatch::Hear(NoticeKind word) {
  if (said_ && *said_ == word) return std::nullopt;
  said_ = std::move(word);
  return said_;
}

}  // namespace goodput
