// Which user owns which job on which node, from the plugin's records in the spool, which only root can write.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "spank/clock.h"

namespace goodput {

class JobOwners {
 public:
  struct Job {
    uid_t uid = 0;
    std::string cluster;
    std::string first_node;  // where a mark goes that names no node
    std::set<std::string> nodes;
  };

  explicit JobOwners(Clock clock) : clock_(clock) {}

  // A job began on a node. A different `uid` replaces an earlier job of the same id.
  void Add(std::int64_t job, uid_t uid, const std::string& node, const std::string& cluster);
  // Null: not known.
  std::shared_ptr<const Job> Find(std::int64_t job) const;

  // Reading the spool costs far more than asking for a job does, so a user who asks for jobs that are unknown
  // or not theirs causes only a limited number of reads. What one user asks for does not affect another.
  // False: this user already asked for this job within kUnknownForNs, or for kMaxUnknown others.
  bool MayRead(std::int64_t job, uid_t asking);
  // It was not there after a read.
  void NoteUnknown(std::int64_t job, uid_t asking);

  static constexpr std::int64_t kUnknownForNs = 1'000'000'000;
  static constexpr std::size_t kMaxUnknown = 64;

 private:
  Clock clock_;
  std::map<std::int64_t, std::shared_ptr<const Job>> jobs_;
  // By the user who asked: until when (CLOCK_MONOTONIC) a job counts as unknown.
  std::map<uid_t, std::map<std::int64_t, std::int64_t>> unknown_;
};

}  // namespace goodput
