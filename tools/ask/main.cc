// goodput-ask URL TARGET: sends a query to goodputd's reader, prints what sgoodput printed there on stdout
// and stderr, and exits with its status. sgoodput --url executes this program; it is separate because of
// libcurl.
#include <sys/stat.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/numbers.h"
#include "simdjson.h"
#include "sql/text.h"
#include "tools/base/http_client.h"
#include "tools/base/subprocess.h"
#include "tools/reader/munge.h"
#include "tools/reader/rights.h"

namespace {

constexpr int kBadUsage = 2;
constexpr int kOk = 200;
constexpr int kUnauthorized = 401;
// Not an answer of sgoodput, but of goodputd itself.
constexpr std::string_view kMetrics = "/metrics";
constexpr std::string_view kHttp = "http://";
constexpr std::string_view kUnix = "unix:";
// The reader answers within a minute, or returns an error.
constexpr absl::Duration kTimeout = absl::Seconds(150);
constexpr std::size_t kMaxBytes = std::size_t{256} << 20U;

int Fail(const std::string& url, const std::string& what) {
  std::fprintf(stderr, "sgoodput: %s: %s\n", url.c_str(), what.c_str());
  return kBadUsage;
}

absl::StatusOr<goodput::HttpRequest> RequestOf(const std::string& url, const std::string& target) {
  goodput::HttpRequest request;
  std::string base = url;
  while (!base.empty() && base.back() == '/') base.pop_back();
  if (base.compare(0, kUnix.size(), kUnix) == 0) {
    request.unix_socket = base.substr(kUnix.size());
    if (request.unix_socket.empty() || request.unix_socket.front() != '/')
      return absl::InvalidArgumentError("a socket must be unix:/PATH");
    base = "http://localhost";
  } else if (base.compare(0, kHttp.size(), kHttp) != 0 || base.size() == kHttp.size()) {
    return absl::InvalidArgumentError("the URL must be http://HOST:PORT or unix:/PATH");
  }
  request.url = base + target;
  request.timeout = kTimeout;
  request.answer_timeout = kTimeout;
  request.max_bytes = kMaxBytes;
  return request;
}

goodput::HttpAnswer Get(goodput::HttpClient& client, const goodput::HttpRequest& request) {
  client.Start(request);
  while (true) {
    std::vector<goodput::HttpAnswer> answers = client.Wait(-1, kTimeout + absl::Seconds(10));
    if (!answers.empty()) return std::move(answers.front());
  }
}

// "Authorization: ...": a token if there is one, otherwise MUNGE. Empty: neither.
std::string Proof(const std::string& target, std::string& why_not) {
  if (const char* token = std::getenv("SLURM_JWT"); token != nullptr && *token != '\0')
    return goodput::Cat("Authorization: Bearer ", token);
  // The cluster may have its own munged.
  std::string socket;
  const absl::StatusOr<goodput::CommandResult> config = goodput::RunCommand({"scontrol", "show", "config"});
  if (config.ok() && config->exit_code == 0) {
    const auto policy = goodput::ParsePrivacyPolicy(config->out);
    if (policy.ok()) socket = policy->munge_socket;
  }
  const absl::StatusOr<std::string> credential =
      goodput::MakeCredential(goodput::CredentialPayload(target), socket);
  if (credential.ok()) return goodput::Cat("Authorization: MUNGE ", *credential);
  why_not = goodput::Message(credential.status());
  return "";
}

std::string Decoded(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escape = text[i] == '%' && i + 2 < text.size();
    decoded.push_back(
        escape ? static_cast<char>(std::strtol(std::string(text.substr(i + 1, 2)).c_str(), nullptr, 16))
               : text[i]);
    if (escape) i += 2;
  }
  return decoded;
}

std::string ErrorIn(const goodput::HttpAnswer& answer) {
  simdjson::dom::parser parser;
  simdjson::dom::element document;
  std::string_view error;
  if (parser.parse(simdjson::padded_string(answer.body)).get(document) == simdjson::SUCCESS &&
      document["error"].get(error) == simdjson::SUCCESS) {
    return std::string(error);
  }
  return goodput::Cat("HTTP status ", answer.code, "; is it goodputd?");
}

int Ask(const std::string& url, const std::string& target) {
  absl::StatusOr<goodput::HttpRequest> request = RequestOf(url, target);
  if (!request.ok()) return Fail(url, goodput::Message(request.status()));
  goodput::HttpClient client;
  goodput::HttpAnswer answer = Get(client, *request);
  std::string why_not;
  if (answer.status.ok() && answer.code == kUnauthorized) {
    const std::string proof = Proof(target, why_not);
    if (!proof.empty()) {
      request->headers.push_back(proof);
      answer = Get(client, *request);
    }
  }
  if (!answer.status.ok()) return Fail(url, goodput::Message(answer.status));
  if (target == kMetrics && answer.code == kOk) {
    std::fwrite(answer.body.data(), 1, answer.body.size(), stdout);
    return std::fflush(stdout) == 0 ? 0 : Fail(url, "cannot write the answer");
  }
  const auto exit_status = answer.headers.find("goodput-exit");
  int code = kBadUsage;
  if (exit_status == answer.headers.end() || !absl::SimpleAtoi(exit_status->second, &code))
    return Fail(url, ErrorIn(answer) + (why_not.empty() ? "" : goodput::Cat(" (", why_not, ")")));
  const auto messages = answer.headers.find("goodput-messages");
  if (messages != answer.headers.end()) std::fputs(Decoded(messages->second).c_str(), stderr);
  const bool only_error = answer.headers.count("goodput-body") != 0;
  if (!only_error) std::fwrite(answer.body.data(), 1, answer.body.size(), stdout);
  if (std::fflush(stdout) != 0) return Fail(url, "cannot write the answer");
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("goodput-ask is what sgoodput --url runs; see sgoodput(1)\n", stderr);
    return kBadUsage;
  }
  return Ask(argv[1], argv[2]);
}
