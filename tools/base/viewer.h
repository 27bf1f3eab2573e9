// A viewer and what they may see, as text between goodputd, goodput-reader and sgoodput: "all:NAME" or
// "own:NAME:ACCOUNT,ACCOUNT". NAME may be empty with all.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace goodput {

// Environment variable of sgoodput. It can only narrow what a user who can read the database sees anyway.
inline constexpr const char* kViewerVariable = "GOODPUT_VIEWER";

struct Viewer {
  bool all = true;
  std::string user;                // empty: unknown
  std::set<std::string> accounts;  // whose jobs they see besides their own

  bool Sees(const std::string& owner, const std::string& account) const {
    return all || (!owner.empty() && owner == user) || (!account.empty() && accounts.count(account) != 0);
  }
};

std::string ViewerText(const Viewer& viewer);
// An unparsable viewer sees nothing.
Viewer ParseViewer(std::string_view text);

}  // namespace goodput
