// Fuzzes queries: any URL as a query, any text as the name by which the client calls this server or as
// Slurm's answer about rights, any two texts as metrics.
#include "tools/reader/question.h"

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "tests/fuzz/target.h"
#include "tools/accounting/metrics/exposition.h"
#include "tools/base/viewer.h"
#include "tools/reader/host_names.h"
#include "tools/reader/rights.h"

namespace {

// No parameter becomes an option that is not listed, or a second argument.
void CheckArguments(const std::vector<std::string>& arguments) {
  static const std::set<std::string> subcommands = {"show",   "now",    "watch", "check", "attempts",
                                                    "report", "advise", "diff",  "export"};
  static const std::set<std::string> never = {"--db", "--config", "--url", "--spool", "--output", "--html"};
  bool words = false;
  std::size_t count = 0;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    for (const char c : argument) REQUIRE(static_cast<unsigned char>(c) >= 0x20);
    if (words) {
      ++count;
    } else if (argument == "--") {
      words = true;
    } else if (i == 0 && argument.rfind("--", 0) != 0) {
      REQUIRE(subcommands.count(argument) == 1);
    } else {
      REQUIRE(argument.rfind("--", 0) == 0);
      REQUIRE(argument.find('=') != argument.size() - 1);
      REQUIRE(never.count(argument.substr(0, argument.find('='))) == 0);
    }
  }
  REQUIRE(count <= 2);
}

}  // namespace

FUZZ_TARGET(question) {
  using namespace goodput;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const std::vector<std::string> lines = absl::StrSplit(text, '\n');
  UrlParameters parameters;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const std::vector<std::string> words = absl::StrSplit(lines[i], absl::MaxSplits('=', 1));
    parameters.emplace_back(words.front(), words.size() == 2 ? words[1] : "");
  }
  const absl::StatusOr<CommandQuestion> question = ReadQuestion(lines.front(), parameters);
  if (question.ok()) {
    CheckArguments(question->arguments);
  } else {
    REQUIRE(!question.status().message().empty());
  }

  // A name that begins with another site's is none of ours.
  if (!text.empty()) REQUIRE(!NamesThisServer("evil.example." + text, {"controller"}));
  NamesThisServer(text, {"controller"});

  const Viewer viewer = ParseViewer(text);
  if (!viewer.all) REQUIRE(!viewer.Sees("", ""));
  const Viewer again = ParseViewer(ViewerText(viewer));
  REQUIRE(again.all == viewer.all && again.user == viewer.user && again.accounts == viewer.accounts);
  const absl::StatusOr<PrivacyPolicy> policy = ParsePrivacyPolicy(text);
  if (policy.ok()) REQUIRE(!policy->user_claim.empty());
  ParseAccountingRole(text, "ada");
  const absl::StatusOr<std::string> user = UserOfToken(text, "sun");
  if (user.ok()) REQUIRE(!user->empty());

  const std::string before = text.substr(0, size / 2);
  const std::string now = text.substr(size / 2);
  REQUIRE(NeverLower("", now) == now);
  NeverLower(before, now);
  AsPrometheusText(text);
  return 0;
}
