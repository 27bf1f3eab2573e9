#include "tools/goodputd/output/ended_outputs.h"

#include <algorithm>

namespace goodput {

void EndedOutputs::Add(uid_t user, const std::vector<FileMark>& files) {
  if (files.empty()) return;
  std::deque<FileMark>& of_user = files_[user];
  for (const FileMark& file : files) {
    const auto same = [&](const FileMark& other) { return SameFile(other, file); };
    of_user.erase(std::remove_if(of_user.begin(), of_user.end(), same), of_user.end());
    of_user.push_front(file);
  }
  if (of_user.size() > kMostOfUser) of_user.resize(kMostOfUser);
  users_.erase(std::remove(users_.begin(), users_.end(), user), users_.end());
  users_.push_front(user);
  if (users_.size() <= kMostUsers) return;
  files_.erase(users_.back());
  users_.pop_back();
}

std::vector<FileMark> EndedOutputs::Of(uid_t user) const {
  const auto found = files_.find(user);
  if (found == files_.end()) return {};
  return {found->second.begin(), found->second.end()};
}

}  // namespace goodput
