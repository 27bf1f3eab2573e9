#include "tools/accounting/runs/chain.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "sql/status_macros.h"
#include "sql/text.h"

namespace goodput {
namespace {

// With more jobs of one name, runs cannot be told apart.
constexpr std::size_t kMostJobs = 2000;
// A message with more ids would be too long.
constexpr std::size_t kMostNamed = 8;

enum class Link : std::uint8_t { kNone, kDependency, kSingleton, kName };

bool Waits(const JobOutline& job, const JobOutline& for_job) {
  return std::any_of(job.dependencies.begin(), job.dependencies.end(), [&](const std::string& text) {
    const std::vector<std::int64_t> after = ReadDependency(text).after;
    return std::find(after.begin(), after.end(), for_job.job.job_id) != after.end();
  });
}

bool IsSingleton(const JobOutline& job) {
  return std::any_of(job.dependencies.begin(), job.dependencies.end(),
                     [](const std::string& text) { return ReadDependency(text).singleton; });
}

bool SameLook(const JobOutline& a, const JobOutline& b) {
  return std::tie(a.user, a.account, a.name, a.partition) == std::tie(b.user, b.account, b.name, b.partition);
}

// `before` was submitted first.
Link LinkOf(const JobOutline& before, const JobOutline& after) {
  if (before.job.cluster != after.job.cluster || before.user != after.user || before.run != after.run)
    return Link::kNone;
  if (Waits(after, before)) return Link::kDependency;
  if (before.name != after.name) return Link::kNone;
  if (IsSingleton(after)) return Link::kSingleton;
  const bool had_started = before.start_s && after.submit_s >= *before.start_s;
  const bool was_over = before.end_s && after.submit_s >= *before.end_s;
  return SameLook(before, after) && (had_started || was_over) ? Link::kName : Link::kNone;
}

std::string InWords(const std::vector<JobOutline>& members, const std::map<Link, int>& links) {
  if (members.size() < 2) return "no other known job seems to belong to the same run";
  std::string text = Cat(members.size(), " jobs as one run (");
  for (std::size_t i = 0; i < members.size() && i < kMostNamed; ++i)
    text += Cat(i > 0 ? ", " : "", members[i].job.job_id);
  if (members.size() > kMostNamed) text += Cat(" and ", members.size() - kMostNamed, " more");
  text += "), joined ";
  const auto count = [&](Link link) {
    const auto found = links.find(link);
    return found == links.end() ? 0 : found->second;
  };
  std::vector<std::string> reasons;
  if (const int n = count(Link::kDependency); n > 0) reasons.push_back(Cat(n, " by dependency"));
  if (const int n = count(Link::kSingleton); n > 0) reasons.push_back(Cat(n, " as singleton"));
  if (const int n = count(Link::kName); n > 0) {
    reasons.push_back(Cat(n, " by name '", members.front().name,
                          "', user, account and partition, submitted after the previous one had started"));
  }
  for (std::size_t i = 0; i < reasons.size(); ++i) text += Cat(i > 0 ? ", " : "", reasons[i]);
  return text;
}

// The jobs of a cluster that had this id.
absl::StatusOr<std::vector<JobKey>> KeysOf(Database& db, const std::string& cluster, std::int64_t job_id) {
  absl::StatusOr<std::vector<JobKey>> keys = KnownJobs(db, job_id);
  if (!keys.ok()) return keys.status();
  keys->erase(
      std::remove_if(keys->begin(), keys->end(), [&](const JobKey& key) { return key.cluster != cluster; }),
      keys->end());
  return keys;
}

}  // namespace

Dependency ReadDependency(std::string_view text) {
  Dependency dependency;
  for (absl::string_view one : absl::StrSplit(ToAbsl(text), absl::ByAnyChar(",?"), absl::SkipEmpty())) {
    one = one.substr(0, one.find('('));
    if (one == "singleton") dependency.singleton = true;
    const std::vector<absl::string_view> words = absl::StrSplit(one, ':');
    if (words[0] != "afterok" && words[0] != "afterany" && words[0] != "afternotok" &&
        words[0] != "aftercorr")
      continue;
    for (std::size_t i = 1; i < words.size(); ++i) {
      std::int64_t job = 0;
      if (absl::SimpleAtoi(words[i].substr(0, words[i].find_first_of("_+")), &job))
        dependency.after.push_back(job);
    }
  }
  return dependency;
}

Chain InferChain(const std::vector<JobOutline>& jobs, const JobKey& of) {
  std::vector<const JobOutline*> by_submit;
  by_submit.reserve(jobs.size());
  for (const JobOutline& job : jobs) by_submit.push_back(&job);
  std::sort(by_submit.begin(), by_submit.end(), [](const JobOutline* a, const JobOutline* b) {
    return std::tie(a->submit_s, a->job.job_id) < std::tie(b->submit_s, b->job.job_id);
  });
  std::vector<bool> in(by_submit.size(), false);
  std::deque<std::size_t> reached;
  for (std::size_t i = 0; i < by_submit.size(); ++i) {
    if (!(by_submit[i]->job == of)) continue;
    in[i] = true;
    reached.push_back(i);
  }
  std::map<Link, int> links;
  for (; !reached.empty(); reached.pop_front()) {
    const std::size_t i = reached.front();
    for (std::size_t j = 0; j < by_submit.size(); ++j) {
      if (in[j]) continue;
      const Link link = LinkOf(*by_submit[std::min(i, j)], *by_submit[std::max(i, j)]);
      if (link == Link::kNone) continue;
      in[j] = true;
      ++links[link];
      reached.push_back(j);
    }
  }
  std::vector<JobOutline> members;
  for (std::size_t i = 0; i < by_submit.size(); ++i) {
    if (in[i]) members.push_back(*by_submit[i]);
  }
  Chain chain;
  for (const JobOutline& member : members) chain.jobs.push_back(member.job);
  chain.inferred = InWords(members, links);
  return chain;
}

absl::StatusOr<Chain> FindChain(Database& db, const JobKey& of) {
  absl::StatusOr<JobOutline> first = LoadOutline(db, of);
  if (!first.ok()) return first.status();
  ASSIGN_OR_RETURN(const std::vector<WaitingJob> waited, JobsThatWaited(db, of.cluster, first->user));
  std::multimap<std::int64_t, std::int64_t> waited_for;  // job -> jobs that waited for it
  for (const WaitingJob& job : waited) {
    for (const std::int64_t id : ReadDependency(job.dependency).after) waited_for.emplace(id, job.job_id);
  }

  std::vector<JobOutline> found;
  std::set<JobKey> seen{of};
  const auto load = [&](std::int64_t id) -> absl::Status {
    ASSIGN_OR_RETURN(const std::vector<JobKey> keys, KeysOf(db, of.cluster, id));
    for (const JobKey& key : keys) {
      if (!seen.insert(key).second) continue;
      absl::StatusOr<JobOutline> outline = LoadOutline(db, key);
      if (outline.ok()) {
        found.push_back(*std::move(outline));
      } else if (!absl::IsNotFound(outline.status())) {
        return outline.status();
      }
    }
    return absl::OkStatus();
  };
  found.push_back(*std::move(first));
  std::set<std::string> names;
  // `found` grows in the loop.
  for (std::size_t i = 0; i < found.size(); ++i) {
    std::vector<std::int64_t> ids;
    if (names.insert(found[i].name).second) {
      absl::StatusOr<std::vector<std::int64_t>> named =
          JobsNamed(db, of.cluster, found[i].user, found[i].name);
      if (!named.ok()) return named.status();
      ids = *std::move(named);
    }
    for (const std::string& text : found[i].dependencies) {
      const std::vector<std::int64_t> after = ReadDependency(text).after;
      ids.insert(ids.end(), after.begin(), after.end());
    }
    const auto [from, to] = waited_for.equal_range(found[i].job.job_id);
    for (auto waiting = from; waiting != to; ++waiting) ids.push_back(waiting->second);
    if (found.size() + ids.size() > kMostJobs) {
      return absl::InvalidArgumentError(
          Cat("more than ", kMostJobs, " jobs may belong to the same run, by name '", found[i].name,
              "' or by dependency: too many to infer it; name the run with --goodput-run"));
    }
    for (const std::int64_t id : ids) {
      if (absl::Status status = load(id); !status.ok()) return status;
    }
  }
  return InferChain(found, of);
}

}  // namespace goodput
