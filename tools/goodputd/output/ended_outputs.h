// Where the output of jobs ended that were followed on this host: a later attempt, or another job of the same
// user, may append to the same files. Kept in memory only, for the latest files.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <deque>
#include <map>
#include <vector>

#include "tools/goodputd/output/file_mark.h"

namespace goodput {

class EndedOutputs {
 public:
  void Add(uid_t user, const std::vector<FileMark>& files);
  // The user's files, latest first.
  std::vector<FileMark> Of(uid_t user) const;

  static constexpr std::size_t kMostOfUser = 64;
  static constexpr std::size_t kMostUsers = 256;

 private:
  std::map<uid_t, std::deque<FileMark>> files_;
  std::deque<uid_t> users_;  // the one that ended last at the front
};

}  // namespace goodput
