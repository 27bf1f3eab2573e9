#include "tools/reader/reader.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "sql/status_macros.h"
#include "sql/text.h"
#include "tools/accounting/metrics/exposition.h"
#include "tools/base/format.h"
#include "tools/reader/host_names.h"
#include "tools/reader/munge.h"
#include "tools/web/assets.h"

namespace goodput {
namespace {

constexpr std::string_view kMunge = "MUNGE ";
constexpr std::string_view kBearer = "Bearer ";
constexpr const char* kOpenMetrics = "application/openmetrics-text; version=1.0.0; charset=utf-8";
constexpr const char* kPrometheusText = "text/plain; version=0.0.4; charset=utf-8";
const UrlParameters kNowOfThePage = {{"allusers", "1"}, {"wrong", "1"}};  // tools/web/now.js

bool TakeScheme(const std::string& header, std::string_view scheme, std::string& rest) {
  if (header.size() <= scheme.size() ||
      !absl::EqualsIgnoreCase(ToAbsl(std::string_view(header).substr(0, scheme.size())), ToAbsl(scheme)))
    return false;
  rest = header.substr(scheme.size());
  return true;
}

HttpReply Refusal(const absl::Status& why) {
  HttpReply reply = ErrorReply(absl::IsPermissionDenied(why) ? 401 : 503, Message(why));
  if (reply.code == 401) {
    reply.headers.emplace_back("WWW-Authenticate", "MUNGE, Bearer");
  } else {
    reply.headers.emplace_back("Retry-After", "5");
  }
  return reply;
}

// The page may contact only this server, and no other site may embed it or add scripts.
constexpr const char* kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

// The page itself, which contains no data.
std::optional<HttpReply> PageOf(const std::string& path) {
  if (path.empty()) return std::nullopt;
  const std::string_view name = path == "/" ? "index.html" : std::string_view(path).substr(1);
  for (const WebAsset& asset : WebAssets()) {
    if (asset.name != name) continue;
    HttpReply reply;
    reply.type = std::string(asset.type);
    reply.body = std::string(asset.body);
    reply.headers = {{"Content-Security-Policy", kPolicy}, {"Referrer-Policy", "no-referrer"}};
    return reply;
  }
  return std::nullopt;
}

// Viewers with the same rights see the same.
std::string KeyOf(const Viewer& viewer) {
  return viewer.all ? "all" : ViewerText(viewer);
}

HttpReply Busy() {
  HttpReply reply = ErrorReply(503, "busy: too many concurrent queries; try again");
  reply.headers.emplace_back("Retry-After", "2");
  return reply;
}

}  // namespace

Reader::Reader(Options options, Control& control)
    : options_(std::move(options)),
      control_(control),
      metrics_(absl::Seconds(10), kSystemClock, NeverLower),
      now_(absl::Seconds(5)),
      queue_(options_.at_once, options_.most_waiting, options_.patience),
      health_(1, options_.most_waiting, options_.patience) {}

void Reader::Answer(HttpQuestion question, std::function<void(HttpReply)> done) {
  // A browser does not reach the Unix socket.
  if (!question.peer && !NamesThisServer(question.host, options_.names)) {
    return done(ErrorReply(421, Cat("this server is not called ", Printable(question.host),
                                    "; use its address, or add the name to listen_names in goodput.conf")));
  }
  if (std::optional<HttpReply> page = PageOf(question.path)) return done(*std::move(page));
  const std::string asker = question.peer ? Cat("user ", *question.peer) : question.address;
  WorkQueue& queue = question.path == "/healthz" ? health_ : queue_;
  queue.Add(asker, [this, question = std::move(question), done = std::move(done)](bool in_time) {
    done(in_time ? AnswerNow(question) : Busy());
  });
}

HttpReply Reader::AnswerNow(const HttpQuestion& question) {
  if (question.path == "/healthz") return Health();
  absl::StatusOr<CommandQuestion> asked = CommandQuestion{};
  if (question.path != "/metrics") {
    asked = ReadQuestion(question.path, question.parameters);
    if (!asked.ok()) return ErrorReply(absl::IsNotFound(asked.status()) ? 404 : 400, Message(asked.status()));
  }
  const absl::StatusOr<Viewer> viewer = ViewerOf(question);
  if (!viewer.ok()) return Refusal(viewer.status());
  if (question.path == "/metrics") return Metrics(question, *viewer);
  if (asked->of_everybody && !viewer->all)
    return ErrorReply(403, "PrivateData: only operators may query sums over the cluster");
  // The page's first screen asks this every few seconds, in each browser.
  if (question.path == "/v1/now" && question.parameters == kNowOfThePage)
    return now_.Get(KeyOf(*viewer), [&] { return Ask(*asked, *viewer); });
  return Ask(*asked, *viewer);
}

absl::StatusOr<Viewer> Reader::ViewerOf(const HttpQuestion& question) {
  std::string proof;
  // Credentials are always checked, on either socket.
  if (TakeScheme(question.authorization, kMunge, proof)) {
    ASSIGN_OR_RETURN(const std::string socket, control_.MungeSocket());
    ASSIGN_OR_RETURN(const Credential credential, ReadCredential(proof, socket));
    if (credential.payload != CredentialPayload(question.target))
      return absl::PermissionDeniedError("the credential was made for another request");
    return control_.ViewerOf(credential.uid);
  }
  if (TakeScheme(question.authorization, kBearer, proof)) {
    ASSIGN_OR_RETURN(const uid_t uid, control_.UserOfToken(proof));
    return control_.ViewerOf(uid);
  }
  if (!question.authorization.empty())
    return absl::PermissionDeniedError("Authorization must be MUNGE CREDENTIAL or Bearer TOKEN");
  return control_.ViewerOf(question.peer);
}

HttpReply Reader::Ask(const CommandQuestion& asked, const Viewer& viewer) {
  std::vector<std::string> arguments = asked.arguments;
  // These are options of the subcommand, so they follow its name, which is first if there is one.
  const bool named = !arguments.empty() && !absl::StartsWith(arguments.front(), "-");
  arguments.insert(arguments.begin() + (named ? 1 : 0), options_.arguments.begin(), options_.arguments.end());
  std::vector<std::pair<std::string, std::string>> environment = {{kViewerVariable, ViewerText(viewer)}};
  if (!asked.time_zone.empty()) environment.emplace_back("TZ", asked.time_zone);
  return ReplyOf(RunBounded(options_.sgoodput, arguments, environment, options_.limits), asked.text);
}

HttpReply Reader::Metrics(const HttpQuestion& question, const Viewer& viewer) {
  const std::string who = ViewerText(viewer);
  HttpReply reply = metrics_.Get(KeyOf(viewer), [&] {
    std::vector<std::string> arguments = {"metrics", "--no-refresh"};
    arguments.insert(arguments.end(), options_.arguments.begin(), options_.arguments.end());
    const absl::StatusOr<CommandResult> result =
        RunBounded(options_.sgoodput, arguments, {{kViewerVariable, who}}, options_.limits);
    if (!result.ok()) return ErrorReply(503, Message(result.status()));
    if (result->exit_code != 0) return ErrorReply(503, Cat("no metrics: ", result->err));
    HttpReply text;
    text.body = result->out;
    return text;
  });
  if (reply.code != 200) return reply;
  std::string all = std::move(reply.body);
  constexpr std::string_view kEnd = "# EOF\n";
  const absl::StatusOr<std::string> own = control_.Metrics();
  if (own.ok() && all.size() >= kEnd.size()) all.insert(all.size() - kEnd.size(), *own);
  const bool open = absl::StrContains(question.accept, "application/openmetrics-text");
  reply.type = open ? kOpenMetrics : kPrometheusText;
  reply.body = open ? std::move(all) : AsPrometheusText(all);
  return reply;
}

HttpReply Reader::Health() {
  const absl::StatusOr<std::string> health = control_.Health();
  HttpReply reply;
  if (!health.ok()) {
    // goodputd reports problems as JSON; any other error is the problem itself.
    const std::string words = Message(health.status());
    if (words.empty() || words.front() != '{') return ErrorReply(503, words);
    reply.code = 503;
    reply.body = words + "\n";
    return reply;
  }
  reply.body = *health + "\n";
  return reply;
}

}  // namespace goodput
