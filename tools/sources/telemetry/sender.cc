#include "tools/sources/telemetry/sender.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "sql/blocks/deflate.h"
#include "sql/status_macros.h"
#include "sql/tables/owners.h"
#include "sql/text.h"
#include "tools/accounting/fleet_rows/fleet_rows.h"
#include "tools/accounting/runs/run_groups.h"

namespace goodput {
namespace {

constexpr Ns kDay = 86'400 * kSecond;
// Records about an end arrive within this time, as a rule; spans are sent only once.
constexpr Ns kSettle = 60 * kSecond;
// Sent groups are remembered for so long.
constexpr Ns kRemember = 7 * kDay;
constexpr Ns kFullPause = 3'600 * kSecond;
constexpr std::int64_t kRecentS = 7'200;
// How long a pass retries one request.
constexpr absl::Duration kPatience = absl::Seconds(40);
// Of spans that are held in memory.
constexpr std::size_t kMostGathered = std::size_t{32} << 20U;

bool LongOver(const std::vector<JobKey>& group, Ns now) {
  return std::all_of(group.begin(), group.end(),
                     [&](const JobKey& job) { return job.over_s < now / kSecond - kRecentS; });
}

std::string NameOf(const std::vector<JobKey>& group) {
  return absl::StrJoin(group, " ", [](std::string* text, const JobKey& job) {
    text->append(Cat(job.job_id, "@", job.from_s));
  });
}

// The metrics in requests that are not too large.
std::vector<std::vector<OtlpMetric>> Split(const std::vector<OtlpMetric>& metrics) {
  std::vector<std::vector<OtlpMetric>> requests;
  std::size_t bytes = kMostRequestBytes;
  for (const OtlpMetric& metric : metrics) {
    bool begun = false;
    for (const std::string& point : metric.points) {
      bytes += point.size() + 16;
      if (bytes > kMostRequestBytes) {
        requests.emplace_back();
        bytes = point.size() + 1000;
        begun = false;
      }
      if (!begun) {
        requests.back().push_back({metric.name, metric.unit, metric.description, metric.is_sum, {}});
        begun = true;
      }
      requests.back().back().points.push_back(point);
    }
  }
  return requests;
}

std::int64_t PointsOf(const std::vector<OtlpMetric>& metrics) {
  std::int64_t points = 0;
  for (const OtlpMetric& metric : metrics) points += static_cast<std::int64_t>(metric.points.size());
  return points;
}

}  // namespace

TelemetrySender::~TelemetrySender() {
  if (lock_ >= 0) close(lock_);
}

absl::Status TelemetrySender::Open(std::string& said) {
  const std::string lock = settings_.state_file + ".lock";
  lock_ = open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (lock_ < 0) return absl::PermissionDeniedError(Cat("cannot write ", lock, ": ", std::strerror(errno)));
  if (flock(lock_, LOCK_EX | LOCK_NB) != 0)
    return absl::FailedPreconditionError(Cat("another sgoodput telemetry send uses ", settings_.state_file));
  absl::StatusOr<std::optional<SentState>> state = LoadSentState(settings_.state_file);
  if (absl::IsDataLoss(state.status())) {
    said =
        Cat(settings_.state_file, " is damaged; it begins again: spans of the last day are sent once more");
  } else if (!state.ok()) {
    return state.status();
  } else if (*state) {
    state_ = **std::move(state);
  }
  if (settings_.since) {
    state_.since = *settings_.since;
  } else if (state_.since == 0) {
    state_.since = world_.now() - kDay;
  }
  return absl::OkStatus();
}

OtlpAttributes TelemetrySender::Resource(const OtlpTargets& targets) const {
  OtlpAttributes resource = TelemetryResource(settings_.cluster);
  for (const OtlpAttribute& more : targets.resource) {
    const bool ours = std::any_of(resource.begin(), resource.end(),
                                  [&](const OtlpAttribute& known) { return known.key == more.key; });
    if (!ours) resource.push_back(more);
  }
  return resource;
}

absl::StatusOr<TelemetryPass> TelemetrySender::Pass() {
  ASSIGN_OR_RETURN(const OtlpTargets targets, world_.targets());
  TelemetryPass pass;
  Gathered gathered;
  RETURN_IF_ERROR(Gather(targets, pass, gathered));
  if (targets.metrics) RETURN_IF_ERROR(SendMetrics(targets, gathered.shares, pass));
  if (targets.traces) RETURN_IF_ERROR(SendTraces(targets, gathered.batches, pass));
  // Who asks for a time before that may do so again.
  const bool may_forget = targets.traces && !pass.more && !pass.failed && !settings_.since;
  Forget(may_forget ? world_.now() - kRemember : 0, state_);
  state_.waiting = pass.waiting;
  RETURN_IF_ERROR(Save());
  return pass;
}

absl::Status TelemetrySender::Gather(const OtlpTargets& targets, TelemetryPass& pass, Gathered& gathered) {
  // Opened for each pass: it may have been upgraded, moved or replaced.
  ASSIGN_OR_RETURN(Database db, Database::Open(settings_.database, Database::Mode::kReadOnly));
  const Snapshot snapshot(db);
  RETURN_IF_ERROR(snapshot.status());
  ASSIGN_OR_RETURN(std::vector<JobKey> jobs, KnownJobs(db));
  // Imported runs name no cluster: they belong to the one whose database has them.
  jobs.erase(std::remove_if(
                 jobs.begin(), jobs.end(),
                 [&](const JobKey& job) { return !job.cluster.empty() && job.cluster != settings_.cluster; }),
             jobs.end());
  const absl::StatusOr<std::map<JobKey, std::string>> names = RunNames(db, jobs);
  if (!names.ok()) return names.status();
  std::vector<JobKey> named;
  for (const auto& [job, name] : *names) named.push_back(job);
  const absl::StatusOr<std::map<JobKey, Owner>> owners = OwnersOf(db, named);
  if (!owners.ok()) return owners.status();
  ClusterReader cluster(db);
  seen_.clear();
  const Ns now = world_.now();
  if (now - full_ > kFullPause || now < full_) {
    old_.clear();
    full_ = now;
  }
  for (const std::vector<JobKey>& group : GroupByRun(jobs, *names, *owners))
    RETURN_IF_ERROR(LookAt(targets, group, db, cluster, pass, gathered));
  return absl::OkStatus();
}

absl::Status TelemetrySender::LookAt(const OtlpTargets& targets, const std::vector<JobKey>& group,
                                     Database& db, ClusterReader& cluster, TelemetryPass& pass,
                                     Gathered& gathered) {
  const std::string name = NameOf(group);
  if (const auto known = old_.find(name); known != old_.end()) {
    const OldRuns& runs = known->second;
    gathered.shares.insert(gathered.shares.end(), runs.shares.begin(), runs.shares.end());
    pass.runs += static_cast<std::int64_t>(runs.shares.size());
    seen_.insert(runs.keys.begin(), runs.keys.end());
    return absl::OkStatus();
  }
  const absl::StatusOr<std::vector<Report>> reports =
      MakeReports(db, cluster, group, {{}, world_.now(), settings_.peaks});
  // Too little is recorded of it so far.
  if (absl::IsNotFound(reports.status())) return absl::OkStatus();
  if (!reports.ok()) return reports.status();
  OldRuns runs;
  bool all_sent = true;
  for (const Report& report : *reports) {
    const std::vector<UnitKey> jobs = JobsOfReport(report);
    // Every component of a heterogeneous job leads to the whole job.
    if (jobs.empty() || !seen_.insert(jobs.front()).second) continue;
    runs.keys.push_back(jobs.front());
    if (targets.traces && !Take(*targets.traces, report, pass, gathered)) all_sent = false;
    if (report.timeline.running) {
      all_sent = false;
    } else {
      runs.shares.push_back(ShareOf(report));
    }
  }
  pass.runs += static_cast<std::int64_t>(runs.shares.size());
  gathered.shares.insert(gathered.shares.end(), runs.shares.begin(), runs.shares.end());
  if (all_sent && LongOver(group, world_.now())) old_[name] = std::move(runs);
  return absl::OkStatus();
}

// Returns whether all was sent before.
bool TelemetrySender::Take(const OtlpTarget& target, const Report& report, TelemetryPass& pass,
                           Gathered& gathered) {
  bool all_sent = true;
  for (SpanGroup& group : SpansOfRun(report.run.info, report.timeline)) {
    if (group.end < state_.since || state_.groups.count(group.key) != 0) continue;
    all_sent = false;
    ++pass.waiting;
    if (group.end > world_.now() - kSettle) continue;
    if (gathered.bytes > kMostGathered) {
      pass.more = true;
    } else {
      AddGroup(target, std::move(group), gathered);
    }
  }
  return all_sent;
}

void TelemetrySender::AddGroup(const OtlpTarget& target, SpanGroup group, Gathered& gathered) {
  for (const OtlpSpan& span : group.spans) {
    std::string encoded = EncodeSpan(span, target.protocol);
    const std::size_t size = encoded.size() + 16;
    std::vector<Batch>& batches = gathered.batches;
    if (batches.empty() || batches.back().bytes + size > kMostRequestBytes) batches.emplace_back();
    batches.back().bytes += size;
    gathered.bytes += size;
    batches.back().spans.push_back(std::move(encoded));
  }
  if (!gathered.batches.empty())
    gathered.batches.back().groups.emplace_back(std::move(group.key), group.end / kSecond);
}

void TelemetrySender::SetSums(const std::vector<RunShare>& shares) {
  Ns earliest = world_.now();
  for (const RunShare& share : shares) earliest = std::min(earliest, share.begin);
  // Another database, or one that lost its history: the sums begin again, as OpenTelemetry calls it, with a
  // new start. A corrected time of the first run is none.
  const bool lost = state_.start != 0 && earliest > state_.earliest + kDay;
  if (state_.start == 0 || lost) {
    state_.start = lost ? state_.last_point : std::max<Ns>(1, earliest);
    state_.earliest = earliest;
    state_.sums.clear();
  }
  RaiseSums(shares, state_.sums);
  // Even if the clock was set back.
  state_.last_point = std::max(world_.now(), state_.last_point + 1);
}

absl::Status TelemetrySender::SendMetrics(const OtlpTargets& targets, const std::vector<RunShare>& shares,
                                          TelemetryPass& pass) {
  if (world_.now() < metrics_pause_.until) {
    pass.failed = true;
    return absl::OkStatus();
  }
  if (shares.empty() && state_.start == 0) return absl::OkStatus();
  const OtlpTarget& target = *targets.metrics;
  SetSums(shares);
  RETURN_IF_ERROR(Save());
  const std::vector<OtlpMetric> metrics = MetricsOf(state_.sums, MeanRatios(shares, world_.now(), kDay),
                                                    state_.start, state_.last_point, target.protocol);
  for (const std::vector<OtlpMetric>& request : Split(metrics)) {
    const std::string body = MetricsRequest(Resource(targets), request, target.protocol);
    const Delivery delivery = Send(target, body, PointsOf(request), metrics_pause_, state_.metrics, pass);
    if (delivery.what == Delivery::What::kDelivered) pass.points += PointsOf(request);
    // The next pass has newer sums.
    if (delivery.what == Delivery::What::kRetry) break;
  }
  return absl::OkStatus();
}

absl::Status TelemetrySender::SendTraces(const OtlpTargets& targets, const std::vector<Batch>& batches,
                                         TelemetryPass& pass) {
  if (world_.now() < traces_pause_.until) {
    pass.failed = true;
    return absl::OkStatus();
  }
  const OtlpTarget& target = *targets.traces;
  for (const Batch& batch : batches) {
    const std::string body = TraceRequest(Resource(targets), batch.spans, target.protocol);
    const auto items = static_cast<std::int64_t>(batch.spans.size());
    const Delivery delivery = Send(target, body, items, traces_pause_, state_.traces, pass);
    // A refused request would be refused again: later ones must not wait for it.
    if (delivery.what == Delivery::What::kRetry) break;
    if (delivery.what == Delivery::What::kDelivered) pass.spans += items;
    for (const auto& [key, end_s] : batch.groups) state_.groups[key] = end_s;
    pass.waiting -= static_cast<std::int64_t>(batch.groups.size());
    RETURN_IF_ERROR(Save());
  }
  return absl::OkStatus();
}

Delivery TelemetrySender::Send(const OtlpTarget& target, const std::string& body, std::int64_t items,
                               Pause& pause, SentCounts& counts, TelemetryPass& pass) {
  HttpRequest request;
  request.url = target.url;
  request.headers = target.headers;
  request.headers.push_back(Cat("Content-Type: ", ContentType(target.protocol)));
  // Without it, libcurl asks the server whether to send a large body.
  request.headers.emplace_back("Expect:");
  if (target.gzip) request.headers.emplace_back("Content-Encoding: gzip");
  request.body = target.gzip ? Deflate(body, DeflateFor::kGzip) : body;
  request.timeout = target.timeout;
  Delivery delivery;
  absl::Duration waited;
  for (int tries = 1; true; ++tries) {
    const Ns now = world_.now();
    delivery = JudgeAnswer(world_.post(request), target.protocol, absl::FromUnixNanos(now));
    if (delivery.what != Delivery::What::kRetry) break;
    // A server that asks for no wait at all must not be asked in a loop.
    const absl::Duration wait =
        std::max(delivery.retry_after.value_or(absl::ZeroDuration()), Backoff(tries, world_.chance()));
    if (waited + wait > kPatience) {
      if (delivery.retry_after) pause.until = now + absl::ToInt64Nanoseconds(wait);
      break;
    }
    world_.sleep(wait);
    waited += wait;
  }
  counts.problem.clear();
  if (!delivery.problem.empty()) {
    const std::string what = Cat(target.url, ": ", delivery.problem);
    counts.problem = delivery.reason.empty() ? what : Cat(what, ": ", delivery.reason);
    pass.problems[what] = counts.problem;
  }
  if (delivery.what == Delivery::What::kDelivered) {
    counts.delivered = world_.now();
    counts.sent += items;
    counts.rejected += delivery.rejected;
    pass.rejected += delivery.rejected;
  } else if (delivery.what == Delivery::What::kRetry) {
    pass.failed = true;
  } else {
    counts.refused += items;
    pass.refused += items;
  }
  return delivery;
}

}  // namespace goodput
