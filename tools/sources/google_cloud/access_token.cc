#include "tools/sources/google_cloud/access_token.h"

#include <simdjson.h>

#include <algorithm>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_split.h"
#include "spank/json_text.h"
#include "sql/status_macros.h"
#include "sql/text.h"
#include "tools/sources/google_cloud/metadata_server.h"
#include "tools/sources/google_cloud/signature.h"

namespace goodput {
namespace {

constexpr const char* kKeyFile = "GOOGLE_APPLICATION_CREDENTIALS";
constexpr std::size_t kMostKeyBytes = std::size_t{64} << 10U;
constexpr std::size_t kMostTokenBytes = std::size_t{16} << 10U;
// As Google's libraries do; the metadata server gives out a new token by then.
constexpr absl::Duration kRenewBefore = absl::Seconds(225);
constexpr absl::Duration kSignedFor = absl::Hours(1);
constexpr std::int64_t kLongestValidS = 86'400;

constexpr const char* kOtherWays =
    "use the key of a service account, or run on a machine with a service account (to read a log, gcloud "
    "logging read LOG --format=json | sgoodput import - works, too)";

// It becomes a line of a request.
bool IsToken(std::string_view text) {
  return !text.empty() && text.size() <= kMostTokenBytes &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < '\x7f'; });
}

std::string TextOf(const simdjson::dom::element& json, std::string_view name) {
  std::string_view text;
  return json[name].get(text) == simdjson::SUCCESS ? std::string(text) : std::string();
}

}  // namespace

absl::StatusOr<ServiceAccountKey> ParseServiceAccountKey(const std::string& json) {
  simdjson::dom::parser parser;
  simdjson::dom::element parsed;
  if (parser.parse(json).get(parsed) != simdjson::SUCCESS)
    return absl::InvalidArgumentError("not the JSON of a service account key");
  const std::string type = TextOf(parsed, "type");
  if (type != "service_account") {
    return absl::InvalidArgumentError(Cat(
        type.empty() ? "not a service account key"
                     : Cat("credentials of type ", absl::CEscape(type.substr(0, 40)), " are not supported"),
        "; ", kOtherWays));
  }
  ServiceAccountKey key{TextOf(parsed, "client_email"), TextOf(parsed, "private_key_id"),
                        TextOf(parsed, "private_key")};
  if (key.email.empty() || key.private_key.empty())
    return absl::InvalidArgumentError("a service account key without client_email or private_key");
  return key;
}

absl::StatusOr<std::string> SignedToken(const ServiceAccountKey& key, std::string_view audience,
                                        absl::Time now) {
  std::string header = R"({"alg":"RS256","typ":"JWT")";
  if (!key.key_id.empty()) header += Cat(",\"kid\":", QuotedJson(key.key_id));
  const std::int64_t issued = absl::ToUnixSeconds(now);
  const std::string email = QuotedJson(key.email);
  const std::string claims =
      Cat("{\"iss\":", email, ",\"sub\":", email, ",\"aud\":", QuotedJson(audience), ",\"iat\":", issued,
          ",\"exp\":", issued + absl::ToInt64Seconds(kSignedFor), "}");
  const std::string text =
      Cat(absl::WebSafeBase64Escape(header + "}"), ".", absl::WebSafeBase64Escape(claims));
  ASSIGN_OR_RETURN(const std::string signature, SignRs256(key.private_key, text));
  return Cat(text, ".", absl::WebSafeBase64Escape(signature));
}

absl::StatusOr<std::string> AccessToken::Get() {
  if (token_.empty() || world_.now() >= renew_at_) RETURN_IF_ERROR(Renew());
  return token_;
}

std::string AccessToken::WhoseName() const {
  const std::optional<std::string> file = world_.variable(kKeyFile);
  return file ? Cat("the service account key ", *file) : "the service account of this machine";
}

absl::Status AccessToken::SignOne(const std::string& file) {
  const auto problem = [&](const absl::Status& status) {
    return absl::UnauthenticatedError(Cat(kKeyFile, "=", file, ": ", Message(status)));
  };
  const absl::StatusOr<std::string> json = world_.read_file(file, kMostKeyBytes);
  if (!json.ok()) return problem(json.status());
  const absl::StatusOr<ServiceAccountKey> key = ParseServiceAccountKey(*json);
  if (!key.ok()) return problem(key.status());
  absl::StatusOr<std::string> token = SignedToken(*key, audience_, world_.now());
  if (!token.ok()) return problem(token.status());
  token_ = *std::move(token);
  renew_at_ = world_.now() + kSignedFor - kRenewBefore;
  return absl::OkStatus();
}

absl::StatusOr<std::string> AccessToken::AskMetadata(std::string_view what) {
  ASSIGN_OR_RETURN(const std::string host, MetadataHost(world_));
  HttpAnswer answer = AskMetadataServer(world_, host, Cat("instance/service-accounts/default/", what));
  if (IsMetadata(answer)) return std::move(answer.body);
  if (answer.status.ok() && answer.code == 404) {
    return absl::UnauthenticatedError(
        "this machine has no service account; create it with one and the scope cloud-platform, or set "
        "GOOGLE_APPLICATION_CREDENTIALS to the key of a service account");
  }
  return absl::UnauthenticatedError(Cat(
      "no credentials: GOOGLE_APPLICATION_CREDENTIALS is not set, and the metadata server of Google Cloud (",
      host, ") ", HowItAnswered(answer), "; ", kOtherWays));
}

absl::Status AccessToken::Renew() {
  token_.clear();
  if (const std::optional<std::string> file = world_.variable(kKeyFile)) return SignOne(*file);
  ASSIGN_OR_RETURN(const std::string body, AskMetadata("token"));
  simdjson::dom::parser parser;
  simdjson::dom::element parsed;
  std::int64_t valid_s = 0;
  std::string token;
  if (parser.parse(body).get(parsed) == simdjson::SUCCESS) {
    token = TextOf(parsed, "access_token");
    if (parsed["expires_in"].get(valid_s) != simdjson::SUCCESS) valid_s = 0;
  }
  if (!IsToken(token) || valid_s <= 0)
    return absl::UnauthenticatedError("the metadata server's answer is not a token");
  token_ = std::move(token);
  renew_at_ = world_.now() + absl::Seconds(std::min(valid_s, kLongestValidS)) - kRenewBefore;
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> AccessToken::Scopes() {
  if (world_.variable(kKeyFile)) return std::vector<std::string>();
  ASSIGN_OR_RETURN(const std::string body, AskMetadata("scopes"));
  return std::vector<std::string>(absl::StrSplit(body, '\n', absl::SkipWhitespace()));
}

}  // namespace goodput
