#include "tools/sources/google_cloud/metadata_server.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "sql/status_macros.h"
#include "sql/text.h"

namespace goodput {
namespace {

constexpr const char* kMetadataHost = "GCE_METADATA_HOST";
constexpr const char* kUsualMetadataHost = "169.254.169.254";
constexpr int kMetadataTries = 3;
constexpr absl::Duration kMetadataApart = absl::Milliseconds(500);
constexpr absl::Duration kMetadataTimeout = absl::Seconds(5);

bool IsHost(std::string_view text) {
  constexpr std::size_t kLongestHost = 255;
  return !text.empty() && text.size() <= kLongestHost && std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '-' || c == '_' ||
           c == ':' || c == '[' || c == ']';
  });
}

// It becomes a part of a request.
bool IsWord(std::string_view text) {
  constexpr std::size_t kLongest = 128;
  return !text.empty() && text.size() <= kLongest && std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '.' || c == ':';
  });
}

absl::StatusOr<std::string> WordOfMachine(const CloudWorld& world, std::string_view what,
                                          std::string_view instead) {
  ASSIGN_OR_RETURN(const std::string host, MetadataHost(world));
  const HttpAnswer answer = AskMetadataServer(world, host, what);
  // A zone is projects/NUMBER/zones/ZONE.
  const std::string word =
      IsMetadata(answer)
          ? std::string(absl::StripAsciiWhitespace(answer.body.substr(answer.body.rfind('/') + 1)))
          : std::string();
  if (IsWord(word)) return word;
  return absl::InvalidArgumentError(
      Cat("the metadata server of Google Cloud (", host, ") ",
          IsMetadata(answer) ? std::string("has no usable answer") : HowItAnswered(answer), " about ", what,
          "; ", instead));
}

}  // namespace

absl::StatusOr<std::string> MetadataHost(const CloudWorld& world) {
  std::string host = world.variable(kMetadataHost).value_or(kUsualMetadataHost);
  if (!IsHost(host)) return absl::InvalidArgumentError(Cat(kMetadataHost, ": not a host"));
  return host;
}

HttpAnswer AskMetadataServer(const CloudWorld& world, const std::string& host, std::string_view what) {
  HttpRequest request;
  request.url = Cat("http://", host, "/computeMetadata/v1/", what);
  request.headers = {"Metadata-Flavor: Google"};
  request.timeout = kMetadataTimeout;
  HttpAnswer answer;
  for (int tries = 0; tries < kMetadataTries; ++tries) {
    if (tries > 0) world.sleep(kMetadataApart * tries);
    answer = world.send(request);
    if (answer.status.ok() && answer.headers["metadata-flavor"] != "Google") break;
    if (answer.status.ok() && answer.code != 429 && answer.code < 500) break;
  }
  return answer;
}

bool IsMetadata(const HttpAnswer& answer) {
  const auto flavor = answer.headers.find("metadata-flavor");
  return answer.status.ok() && answer.code == 200 && flavor != answer.headers.end() &&
         flavor->second == "Google";
}

std::string HowItAnswered(const HttpAnswer& answer) {
  return answer.status.ok() ? Cat("answers with ", answer.code)
                            : Cat("does not answer: ", Message(answer.status));
}

absl::StatusOr<std::string> ZoneOfMachine(const CloudWorld& world) {
  return WordOfMachine(world, "instance/zone", "name the zone with --location");
}

absl::StatusOr<std::string> ProjectOfMachine(const CloudWorld& world) {
  return WordOfMachine(world, "project/project-id", "name the project instead of -");
}

}  // namespace goodput
