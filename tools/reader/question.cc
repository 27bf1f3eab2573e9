#include "tools/reader/question.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/match.h"
#include "sql/status_macros.h"
#include "sql/text.h"

namespace goodput {
namespace {

constexpr std::size_t kLongestValue = 4096;
constexpr std::size_t kLongestZone = 64;

enum class Kind { kValue, kFlag, kWord };  // --name=VALUE, --name, or a positional argument

struct Subcommand {
  const char* name;  // of sgoodput; empty: the list
  bool selects;      // has -u, -S and so on: without any of them, all users' runs are meant
  bool has_json;
  std::map<std::string_view, Kind> parameters;
};

std::map<std::string_view, Kind> Joined(std::initializer_list<std::map<std::string_view, Kind>> parts) {
  std::map<std::string_view, Kind> all;
  for (const auto& part : parts) all.insert(part.begin(), part.end());
  return all;
}

const std::map<std::string_view, Subcommand>& Subcommands() {
  using Map = std::map<std::string_view, Kind>;
  static const Map owners = {{"user", Kind::kValue},      {"accounts", Kind::kValue},
                             {"partition", Kind::kValue}, {"clusters", Kind::kValue},
                             {"allusers", Kind::kFlag},   {"allclusters", Kind::kFlag}};
  static const Map select = Joined({owners,
                                    {{"jobs", Kind::kValue},
                                     {"state", Kind::kValue},
                                     {"nodelist", Kind::kValue},
                                     {"name", Kind::kValue},
                                     {"exclude", Kind::kValue},
                                     {"allocations", Kind::kFlag},
                                     {"starttime", Kind::kValue},
                                     {"endtime", Kind::kValue},
                                     {"truncate", Kind::kFlag}}});
  static const Map target = {{"job", Kind::kWord},
                             {"run", Kind::kValue},
                             {"user", Kind::kValue},
                             {"cluster", Kind::kValue},
                             {"submitted", Kind::kValue}};
  static const Map stalls = {{"stall-factor", Kind::kValue}};
  static const Map table = {{"parsable2", Kind::kFlag}, {"noheader", Kind::kFlag}};
  static const std::map<std::string_view, Subcommand> all = {
      {"list",
       {"", true, true,
        Joined({select,
                stalls,
                table,
                {{"format", Kind::kValue},
                 {"csv", Kind::kFlag},
                 {"brief", Kind::kFlag},
                 {"long", Kind::kFlag},
                 {"sort", Kind::kValue},
                 {"parsable", Kind::kFlag},
                 {"limit", Kind::kValue},
                 {"after", Kind::kValue},
                 {"reverse", Kind::kFlag}}})}},
      {"show",
       {"show", false, true,
        Joined({target,
                stalls,
                {{"explain", Kind::kValue},
                 {"sensitivity", Kind::kFlag},
                 {"all", Kind::kFlag},
                 {"exclude", Kind::kValue},
                 {"timeline", Kind::kFlag},
                 {"chain", Kind::kFlag}}})}},
      {"now",
       {"now", true, true,
        Joined({owners, stalls, {{"all", Kind::kFlag}, {"wrong", Kind::kFlag}, {"csv", Kind::kFlag}}})}},
      {"watch", {"watch", false, false, Joined({target, stalls, {{"once", Kind::kFlag}}})}},
      {"check",
       {"check", false, false,
        Joined({target,
                stalls,
                {{"sg", Kind::kValue},
                 {"rg", Kind::kValue},
                 {"goodput", Kind::kValue},
                 {"mpg", Kind::kValue},
                 {"no-progress", Kind::kValue},
                 {"idle", Kind::kValue},
                 {"at-risk", Kind::kValue},
                 {"window", Kind::kValue}}})}},
      {"attempts", {"attempts", false, true, Joined({target, stalls, table})}},
      {"report",
       {"report", true, true,
        Joined({select,
                stalls,
                table,
                {{"by", Kind::kValue},
                 {"csv", Kind::kFlag},
                 {"sort", Kind::kValue},
                 {"window", Kind::kValue},
                 {"gpu-hour", Kind::kValue},
                 {"suspects", Kind::kFlag},
                 {"fleet", Kind::kFlag}}})}},
      {"advise",
       {"advise", false, true,
        Joined({target,
                {{"mttf", Kind::kValue},
                 {"nodes", Kind::kValue},
                 {"failures-per-node-day", Kind::kValue},
                 {"save", Kind::kValue},
                 {"restart", Kind::kValue},
                 {"interval", Kind::kValue},
                 {"gpus", Kind::kValue},
                 {"gpu-hour", Kind::kValue}}})}},
      {"diff",
       {"diff", false, true,
        Joined({stalls, {{"a", Kind::kWord}, {"b", Kind::kWord}, {"cluster", Kind::kValue}}})}},
      {"export", {"export", false, false, Joined({target, {{"format", Kind::kValue}}})}},
  };
  return all;
}

absl::Status CheckValue(std::string_view name, std::string_view value) {
  if (value.size() > kLongestValue)
    return absl::InvalidArgumentError(Cat(name, ": longer than ", kLongestValue, " bytes"));
  const bool clean = std::all_of(value.begin(), value.end(),
                                 [](char c) { return static_cast<unsigned char>(c) >= 0x20 && c != 0x7F; });
  return clean ? absl::OkStatus() : absl::InvalidArgumentError(Cat(name, ": contains control characters"));
}

// A name such as Europe/Berlin or EST5EDT: no path to another file.
absl::Status CheckZone(std::string_view zone) {
  constexpr std::string_view kAllowed =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+-/,.<>";
  const bool good = !zone.empty() && zone.size() <= kLongestZone && zone.front() != '/' &&
                    zone.find("..") == std::string_view::npos &&
                    zone.find_first_not_of(kAllowed) == std::string_view::npos;
  return good ? absl::OkStatus() : absl::InvalidArgumentError("tz: use a zone such as Europe/Berlin");
}

absl::StatusOr<bool> ReadFlag(std::string_view name, std::string_view value) {
  if (value.empty() || value == "1" || value == "true") return true;
  if (value == "0" || value == "false") return false;
  return absl::InvalidArgumentError(Cat(name, ": must be 1 or 0"));
}

// The parameters about the form of the answer that every query has. True: it was one of these.
absl::StatusOr<bool> TakeForm(std::string_view name, std::string_view value, CommandQuestion& question,
                              std::string& color) {
  if (name == "as") {
    if (value != "text" && value != "json") return absl::InvalidArgumentError("as: must be text or json");
    question.text = value == "text";
    return true;
  }
  if (name == "tz") {
    RETURN_IF_ERROR(CheckZone(value));
    question.time_zone = std::string(value);
    return true;
  }
  if (name == "color") {
    if (value != "always" && value != "never")
      return absl::InvalidArgumentError("color: must be always or never");
    color = std::string(value);
    return true;
  }
  return false;
}

}  // namespace

absl::StatusOr<CommandQuestion> ReadQuestion(std::string_view path, const UrlParameters& parameters) {
  constexpr std::string_view kPrefix = "/v1/";
  const bool prefixed = path.substr(0, kPrefix.size()) == kPrefix;
  const auto found = prefixed ? Subcommands().find(path.substr(kPrefix.size())) : Subcommands().end();
  if (found == Subcommands().end()) {
    return absl::NotFoundError(
        "not found; use /, /v1/list, show, now, check, attempts, report, advise, diff or export, "
        "/metrics or /healthz");
  }
  const Subcommand& subcommand = found->second;
  CommandQuestion question;
  std::string color = "never";
  std::vector<std::string> options;
  std::map<std::string_view, std::string> words;
  std::set<std::string_view> given;
  for (const auto& [name, value] : parameters) {
    RETURN_IF_ERROR(CheckValue(name, value));
    ASSIGN_OR_RETURN(const bool form, TakeForm(name, value, question, color));
    if (form) continue;
    const auto known = subcommand.parameters.find(name);
    if (known == subcommand.parameters.end())
      return absl::InvalidArgumentError(Cat("unknown parameter '", name, "' for ", found->first));
    // Treated as absent; on a command line, an option without its value would take the next argument as its
    // value.
    if (known->second == Kind::kValue && value.empty()) continue;
    const bool again = !given.insert(known->first).second;
    switch (known->second) {
      case Kind::kValue:
        options.push_back(Cat("--", name, "=", value));
        break;
      case Kind::kFlag: {
        ASSIGN_OR_RETURN(const bool on, ReadFlag(name, value));
        if (on && !again) options.push_back(Cat("--", name));
        if (on && name == "fleet") question.of_everybody = true;
        break;
      }
      case Kind::kWord:
        if (value.empty() || again)
          return absl::InvalidArgumentError(Cat(name, ": must be given once and must not be empty"));
        words[known->first] = value;
        break;
    }
  }
  if (*subcommand.name != '\0') question.arguments.emplace_back(subcommand.name);
  question.arguments.insert(question.arguments.end(), options.begin(), options.end());
  // sgoodput's own default is the user who runs it.
  if (subcommand.selects && given.count("user") + given.count("jobs") + given.count("allusers") == 0)
    question.arguments.emplace_back("--allusers");
  // A client that watches repeats the query itself.
  if (found->first == "watch" && given.count("once") == 0) question.arguments.emplace_back("--once");
  if (!question.text && subcommand.has_json) question.arguments.emplace_back("--json");
  question.arguments.push_back(Cat("--color=", color));
  question.arguments.emplace_back("--no-refresh");
  if (!words.empty()) question.arguments.emplace_back("--");
  for (const auto& [name, word] : words) question.arguments.push_back(word);
  return question;
}

std::vector<QuestionParameter> QuestionParameters(std::string_view subcommand) {
  std::vector<QuestionParameter> parameters;
  const auto found = Subcommands().find(subcommand);
  if (found == Subcommands().end()) return parameters;
  for (const auto& [name, kind] : found->second.parameters) parameters.push_back({name, kind == Kind::kFlag});
  return parameters;
}

}  // namespace goodput
