#include "tools/sgoodput/remote.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>
#include <string_view>

#include "sql/text.h"
#include "tools/base/config.h"
#include "tools/base/format.h"
#include "tools/base/http_reply.h"
#include "tools/base/installed_program.h"
#include "tools/sgoodput/session.h"

namespace goodput {
namespace {

const std::set<std::string>& Askable() {
  static const std::set<std::string> names = {"list", "show",   "attempts", "report", "advise",
                                              "diff", "export", "metrics",  "now",    "check"};
  return names;
}

std::string AskProgram() {
  if (const char* named = std::getenv("GOODPUT_ASK"); named != nullptr) return named;
  return InstalledProgram("ask", "goodput-ask");
}

// Times without a zone are in this machine's zone; empty: the zone has no name.
std::string TimeZone() {
  if (const char* zone = std::getenv("TZ"); zone != nullptr) {
    return *zone == ':' ? zone + 1 : zone;
  }
  std::error_code error;
  const std::string link = std::filesystem::read_symlink("/etc/localtime", error).string();
  constexpr std::string_view kFolder = "zoneinfo/";
  const std::size_t at = link.find(kFolder);
  return at == std::string::npos ? "" : link.substr(at + kFolder.size());
}

bool Has(const RemoteQuestion& question, std::string_view name) {
  return std::any_of(question.parameters.begin(), question.parameters.end(),
                     [&](const auto& parameter) { return parameter.first == name; });
}

std::string TargetOf(const CommonOptions& common, const RemoteQuestion& question) {
  if (question.subcommand == "metrics") return "/metrics";
  std::string target = Cat("/v1/", question.subcommand);
  char separator = '?';
  const auto add = [&](std::string_view name, std::string_view value) {
    target += Cat(std::string(1, separator), name, "=", PercentEncoded(value));
    separator = '&';
  };
  add("as", common.json ? "json" : "text");
  if (UseColor(common.color)) add("color", "always");
  if (const std::string zone = TimeZone(); !zone.empty()) add("tz", zone);
  // Options that are translated above, and those that concern only this machine.
  static const std::set<std::string> ours = {"json", "color", "url", "config", "db", "no-refresh"};
  for (const auto& [name, value] : question.parameters) {
    if (ours.count(name) == 0) add(name, value);
  }
  // As without --url, the default is the user's own runs.
  const bool selects = question.subcommand == "list" || question.subcommand == "report";
  // A fleet covers all users.
  if (selects && geteuid() != 0 && !Has(question, "user") && !Has(question, "allusers") &&
      !Has(question, "jobs") && !Has(question, "fleet"))
    add("user", UserName());
  return target;
}

// The socket for users of this host, who may not read the database themselves.
std::optional<std::string> LocalReader(const Config& config) {
  if (config.query_socket.empty()) return std::nullopt;
  if (access(config.database.c_str(), R_OK) == 0 || errno != EACCES) return std::nullopt;
  struct stat file {};
  if (stat(config.query_socket.c_str(), &file) != 0 || !S_ISSOCK(file.st_mode)) return std::nullopt;
  return Cat("unix:", config.query_socket);
}

}  // namespace

std::optional<std::string> RemoteUrl(const CommonOptions& common) {
  if (!common.url.empty()) return common.url;
  if (!common.db.empty()) return std::nullopt;
  const absl::StatusOr<Config> config = LoadConfig(common.config);
  // Code that needs the configuration reports what is wrong with it.
  if (!config.ok()) return std::nullopt;
  return config->url.empty() ? LocalReader(*config) : config->url;
}

absl::StatusOr<CommandResult> AskAndWait(const std::string& url, const CommonOptions& common,
                                         const RemoteQuestion& question) {
  constexpr std::size_t kLargestAnswer = std::size_t{256} << 20U;
  return RunCommand({AskProgram(), url, TargetOf(common, question)}, {absl::Minutes(2), kLargestAnswer, {}});
}

RemoteQuestion QuestionAbout(const std::string& subcommand, const TargetOptions& target) {
  RemoteQuestion question;
  question.subcommand = subcommand;
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) question.parameters.emplace_back(name, value);
  };
  add("job", target.job);
  add("run", target.run);
  add("user", target.user);
  add("cluster", target.cluster);
  add("submitted", target.submitted);
  if (target.chain) add("chain", "1");
  return question;
}

std::optional<int> AskRemotely(const CommonOptions& common, const RemoteQuestion& question) {
  std::string url = common.url;
  if (!url.empty() && !common.db.empty())
    return Fail(absl::InvalidArgumentError("--url and --db cannot be used together"));
  const bool asked_for = !url.empty();
  if (!common.db.empty() || !question.needs_run) {
    if (!asked_for) return std::nullopt;
  } else if (!asked_for) {
    const std::optional<std::string> found = RemoteUrl(common);
    if (!found) return std::nullopt;
    url = *found;
  }
  // These send several queries, or process the answer.
  if (question.subcommand == "watch" || question.subcommand == "doctor" ||
      (question.subcommand == "show" && Has(question, "html")))
    return std::nullopt;
  if (Askable().count(question.subcommand) == 0) {
    if (!asked_for && question.subcommand != "ingest" && question.subcommand != "import" &&
        question.subcommand != "backfill")
      return std::nullopt;
    return Fail(absl::InvalidArgumentError(Cat(
        question.subcommand, " is not available from ", url,
        ": run it where the database is, as a user who may write to it, or use your own with --db FILE")));
  }
  if (question.subcommand == "now" && Has(question, "iterate"))
    return Fail(absl::InvalidArgumentError("-i cannot be used with --url: use watch(1)"));
  if (question.subcommand == "export" && Has(question, "output"))
    return Fail(absl::InvalidArgumentError("-o cannot be used with --url: redirect the output with > FILE"));
  const std::string program = AskProgram();
  const std::string target = TargetOf(common, question);
  execl(program.c_str(), "goodput-ask", url.c_str(), target.c_str(), nullptr);
  return Fail(absl::InternalError(Cat("cannot run ", program, ": ", std::strerror(errno))));
}

}  // namespace goodput
