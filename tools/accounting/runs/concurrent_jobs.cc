#include "tools/accounting/runs/concurrent_jobs.h"

#include <algorithm>
#include <map>

#include "absl/strings/numbers.h"
#include "sql/text.h"

namespace goodput {
namespace {

// Accounting rounds both the end of one job and the start of the next.
constexpr Ns kRounding = kSecond;

using Spans = std::vector<TimeSpan>;

bool Overlap(const Spans& a, const Spans& b) {
  return std::any_of(a.begin(), a.end(), [&](const TimeSpan& one) {
    return std::any_of(b.begin(), b.end(), [&](const TimeSpan& other) {
      return std::min(one.end, other.end) - std::max(one.begin, other.begin) > kRounding;
    });
  });
}

bool IsOneJob(const RunFacts& facts) {
  return std::all_of(facts.attempts.begin(), facts.attempts.end(), [&](const AttemptFacts& attempt) {
    return attempt.job_id == facts.attempts.front().job_id;
  });
}

}  // namespace

std::vector<std::vector<std::int64_t>> SplitConcurrentJobs(const RunFacts& facts) {
  std::map<std::int64_t, Spans> spans_of;
  for (const AttemptFacts& attempt : facts.attempts) {
    Spans& spans = spans_of[attempt.job_id];
    if (attempt.start) spans.push_back({*attempt.start, attempt.end.value_or(facts.now)});
  }
  std::vector<std::int64_t> jobs;
  jobs.reserve(spans_of.size());
  for (const auto& [job, spans] : spans_of) jobs.push_back(job);
  const auto first_start = [&](std::int64_t job) {
    Ns first = INT64_MAX;
    for (const TimeSpan& span : spans_of[job]) first = std::min(first, span.begin);
    return first;
  };
  std::stable_sort(jobs.begin(), jobs.end(),
                   [&](std::int64_t a, std::int64_t b) { return first_start(a) < first_start(b); });
  std::vector<std::vector<std::int64_t>> strands;
  std::vector<Spans> taken;
  for (const std::int64_t job : jobs) {
    const Spans& spans = spans_of[job];
    std::size_t i = 0;
    while (i < strands.size() && Overlap(taken[i], spans)) ++i;
    if (i == strands.size()) {
      strands.emplace_back();
      taken.emplace_back();
    }
    strands[i].push_back(job);
    taken[i].insert(taken[i].end(), spans.begin(), spans.end());
  }
  return strands;
}

absl::StatusOr<std::vector<Run>> LoadConcurrentRuns(Database& db, const std::vector<JobKey>& jobs, Ns now,
                                                    ClusterReader& cluster) {
  absl::StatusOr<Run> whole = LoadRun(db, jobs, now, cluster);
  if (!whole.ok()) return whole.status();
  std::vector<Run> runs;
  if (IsOneJob(whole->facts)) {
    runs.push_back(*std::move(whole));
    return runs;
  }
  const std::vector<std::vector<std::int64_t>> strands = SplitConcurrentJobs(whole->facts);
  if (strands.size() < 2) {
    runs.push_back(*std::move(whole));
    return runs;
  }
  for (const std::vector<std::int64_t>& strand : strands) {
    std::vector<JobKey> keys;
    for (const JobKey& job : jobs) {
      if (std::find(strand.begin(), strand.end(), job.job_id) != strand.end()) keys.push_back(job);
    }
    absl::StatusOr<Run> run = LoadRun(db, keys, now, cluster);
    if (!run.ok()) return run.status();
    if (!runs.empty()) run->info.run = Cat(run->info.run, "#", runs.size() + 1);
    runs.push_back(*std::move(run));
  }
  return runs;
}

std::pair<std::string, std::size_t> StrandOfName(const std::string& text) {
  const std::size_t hash = text.rfind('#');
  std::uint32_t number = 0;
  if (hash == std::string::npos || hash == 0 || !absl::SimpleAtoi(text.substr(hash + 1), &number) ||
      number < 2)
    return {text, 0};
  return {text.substr(0, hash), number - 1};
}

}  // namespace goodput
