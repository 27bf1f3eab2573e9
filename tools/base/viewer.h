// Who asks and what they may see, as one word between goodputd, goodput-reader and sgoodput:
// "all:NAME" or "own:NAME:ACCOUNT,ACCOUNT". NAME may be empty with all.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace goodput {

// In sgoodput's environment. It can only narrow what whoever may read the database sees anyway.
inline constexpr const char* kViewerVariable = "GOODPUT_VIEWER";

struct Viewer {
  bool all = true;
  std::string user;                // who asks; empty: nobody knows
  std::set<std::string> accounts;  // whose jobs they see besides their own

  bool Sees(const std::string& owner, const std::string& account) const {
    return all || (!owner.empty() && owner == user) || (!account.empty() && accounts.count(account) != 0);
  }
};

std::string ViewerText(const Viewer& viewer);
// Anything that is no such word is someone who sees nothing.
Viewer ParseViewer(std::string_view text);

}  // namespace goodput
