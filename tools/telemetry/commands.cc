// `sgoodput telemetry`: sends runs as telemetry, and shows what was sent.
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "sql/status_macros.h"
#include "sql/text.h"
#include "tools/accounting/runs/only_cluster.h"
#include "tools/base/config.h"
#include "tools/base/format.h"
#include "tools/base/http_client.h"
#include "tools/base/parse_time.h"
#include "tools/sources/telemetry/sender.h"
#include "tools/telemetry/options.h"

namespace goodput {
namespace {

// As sgoodput's.
constexpr int kSent = 0;
constexpr int kNotAll = 1;
constexpr int kBadUsage = 2;

constexpr absl::Duration kPause = absl::Minutes(1);
// Telemetry that was not delivered for this long has a problem.
constexpr Ns kStale = 300 * kSecond;

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "sgoodput: telemetry: %s\n", Printable(Message(status)).c_str());
  return kBadUsage;
}

void Say(const std::string& line) {
  std::fputs(Wrap(Printable(line), "").c_str(), stdout);
  std::fflush(stdout);
}

void Warn(const std::string& problem) {
  std::fprintf(stderr, "sgoodput: telemetry: %s\n", Printable(problem).c_str());
}

struct Setup {
  Config config;
  TelemetrySettings settings;
};

absl::StatusOr<Setup> SetUp(const TelemetryOptions& options) {
  Setup setup;
  ASSIGN_OR_RETURN(setup.config, LoadConfig(options.config));
  TelemetrySettings& settings = setup.settings;
  settings.database = options.db.empty() ? setup.config.database : options.db;
  settings.state_file = options.state;
  if (settings.state_file.empty())
    settings.state_file = std::filesystem::path(settings.database).parent_path() / "telemetry.state";
  settings.peaks = setup.config.peaks;
  return setup;
}

absl::StatusOr<Setup> SetUpToSend(const TelemetryOptions& options) {
  ASSIGN_OR_RETURN(Setup setup, SetUp(options));
  if (geteuid() == 0)
    return absl::PermissionDeniedError(
        "do not run it as root, but as the owner of the database: sudo -u goodput sgoodput telemetry send");
  ASSIGN_OR_RETURN(const OtlpTargets targets, FindTargets(setup.config, "", std::getenv));
  TelemetrySettings& settings = setup.settings;
  settings.cluster = options.cluster.empty() ? setup.config.cluster : options.cluster;
  if (settings.cluster.empty()) {
    ASSIGN_OR_RETURN(settings.cluster, OnlyCluster(settings.database));
  }
  if (!options.start.empty()) {
    const absl::StatusOr<Ns> start = ParseTimeOption(options.start, absl::Now());
    if (!start.ok()) return Annotate(start.status(), "-S");
    settings.since = *start;
  }
  return setup;
}

HttpAnswer Post(HttpClient& client, const HttpRequest& request) {
  const int id = client.Start(request);
  while (true) {
    for (HttpAnswer& answer : client.Wait(-1, absl::Minutes(1))) {
      if (answer.id == id) return std::move(answer);
    }
  }
}

TelemetryWorld WorldOf(const Config& config, HttpClient& client) {
  TelemetryWorld world;
  world.now = [] { return absl::GetCurrentTimeNanos(); };
  world.sleep = [](absl::Duration time) { absl::SleepFor(time); };
  world.chance = [random = std::mt19937(std::random_device()())]() mutable {
    return std::uniform_real_distribution<double>(0, 1)(random);
  };
  world.post = [&client](const HttpRequest& request) { return Post(client, request); };
  world.targets = [config]() -> absl::StatusOr<OtlpTargets> {
    ASSIGN_OR_RETURN(const std::string headers, ReadHeadersFile(config.otlp_headers_file));
    return FindTargets(config, headers, std::getenv);
  };
  return world;
}

void SayPass(const TelemetryPass& pass, const std::string& cluster) {
  Say(Cat("Cluster ", cluster, ": ", Counted(pass.runs, "ended run"), "; sent ",
          Counted(pass.points, "point"), " and ", Counted(pass.spans, "span"), ", rejected ", pass.rejected,
          ", refused ", pass.refused, ", waiting ", pass.waiting));
}

// The parts of a pass that did not fit into one.
absl::StatusOr<TelemetryPass> WholePass(TelemetrySender& sender) {
  ASSIGN_OR_RETURN(TelemetryPass all, sender.Pass());
  while (all.more && !all.failed) {
    ASSIGN_OR_RETURN(TelemetryPass next, sender.Pass());
    next.points += all.points;
    next.spans += all.spans;
    next.rejected += all.rejected;
    next.refused += all.refused;
    next.problems.insert(all.problems.begin(), all.problems.end());
    all = std::move(next);
  }
  return all;
}

// A problem is said once, until it is over, even if a server gives another reason each time.
class Problems {
 public:
  void Say(const std::map<std::string, std::string>& now) {
    for (const auto& [what, problem] : now) {
      if (said_.count(what) == 0) Warn(problem);
    }
    said_ = now;
  }

 private:
  std::map<std::string, std::string> said_;
};

// Sends until it is killed, which it may be at any time.
int SendForever(TelemetrySender& sender, const std::string& cluster) {
  Problems problems;
  for (bool begun = false; true; begun = true) {
    const absl::Time began = absl::Now();
    const absl::StatusOr<TelemetryPass> pass = WholePass(sender);
    const std::string error = Message(pass.status());
    problems.Say(pass.ok() ? pass->problems : std::map<std::string, std::string>{{error, error}});
    if (pass.ok() && !begun) SayPass(*pass, cluster);
    absl::SleepFor(kPause - std::min(kPause, absl::Now() - began));
  }
}

std::string LineOf(const std::string& what, const std::string& items, const SentCounts& counts, Ns now) {
  std::string line =
      Cat(what, ": ", items, " sent ", counts.sent, ", rejected ", counts.rejected, ", refused ",
          counts.refused, "; last delivery ",
          counts.delivered == 0 ? "never" : Cat(FormatDuration(now - counts.delivered), " ago"));
  if (!counts.problem.empty()) line += Cat("; ", counts.problem);
  return line;
}

Ns WrittenAt(const std::string& file) {
  struct stat info {};
  if (stat(file.c_str(), &info) != 0) return 0;
  return info.st_mtim.tv_sec * kSecond + info.st_mtim.tv_nsec;
}

}  // namespace

int RunTelemetrySend(const TelemetryOptions& options) {
  const absl::StatusOr<Setup> setup = SetUpToSend(options);
  if (!setup.ok()) return Fail(setup.status());
  HttpClient client(Reach::kInternet);
  TelemetrySender sender(setup->settings, WorldOf(setup->config, client));
  std::string said;
  if (const absl::Status status = sender.Open(said); !status.ok()) return Fail(status);
  if (!said.empty()) Warn(said);
  if (!options.once) return SendForever(sender, setup->settings.cluster);
  const absl::StatusOr<TelemetryPass> pass = WholePass(sender);
  if (!pass.ok()) return Fail(pass.status());
  Problems().Say(pass->problems);
  SayPass(*pass, setup->settings.cluster);
  return pass->failed || pass->rejected + pass->refused > 0 ? kNotAll : kSent;
}

int RunTelemetryStatus(const TelemetryOptions& options) {
  const absl::StatusOr<Setup> setup = SetUp(options);
  if (!setup.ok()) return Fail(setup.status());
  const absl::StatusOr<OtlpTargets> targets = FindTargets(setup->config, "", std::getenv);
  if (!targets.ok()) return Fail(targets.status());
  const std::string& file = setup->settings.state_file;
  const absl::StatusOr<std::optional<SentState>> state = LoadSentState(file);
  if (!state.ok()) return Fail(Annotate(state.status(), file));
  if (!*state) {
    Say(Cat("Nothing was sent so far: there is no ", file));
    return kNotAll;
  }
  const Ns now = absl::GetCurrentTimeNanos();
  bool good = true;
  const auto say = [&](const std::string& what, const std::string& items, const SentCounts& counts) {
    Say(LineOf(what, items, counts, now));
    good = good && counts.problem.empty();
  };
  if (targets->metrics) say(Cat("Metrics to ", targets->metrics->url), "points", (*state)->metrics);
  if (targets->traces) {
    say(Cat("Traces to ", targets->traces->url), "spans", (*state)->traces);
    Say(Cat("Ended attempts and runs that are not sent yet: ", (*state)->waiting));
  }
  // Metrics are sent each minute, unless no run had GPUs: then the last pass counts, which wrote the file.
  const bool has_metrics = targets->metrics && (*state)->metrics.sent > 0;
  const Ns last = has_metrics ? (*state)->metrics.delivered : WrittenAt(file);
  return good && now - last < kStale ? kSent : kNotAll;
}

}  // namespace goodput
