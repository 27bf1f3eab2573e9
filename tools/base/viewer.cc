#include "tools/base/viewer.h"

#include <vector>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "sql/text.h"

namespace goodput {

std::string ViewerText(const Viewer& viewer) {
  if (viewer.all) return Cat("all:", viewer.user);
  return Cat("own:", viewer.user, ":", absl::StrJoin(viewer.accounts, ","));
}

Viewer ParseViewer(std::string_view text) {
  const std::vector<std::string> words = absl::StrSplit(ToAbsl(text), ':');
  Viewer viewer;
  if (words.size() == 2 && words[0] == "all") {
    viewer.user = words[1];
    return viewer;
  }
  viewer.all = false;
  if (words.size() != 3 || words[0] != "own") return viewer;
  viewer.user = words[1];
  for (const absl::string_view account : absl::StrSplit(words[2], ',', absl::SkipEmpty()))
    viewer.accounts.emplace(account);
  return viewer;
}

}  // namespace goodput
