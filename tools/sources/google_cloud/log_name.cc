#include "tools/sources/google_cloud/log_name.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_format.h"
#include "sql/text.h"

namespace goodput {
namespace {

constexpr std::size_t kLongestLog = 511;

bool IsPlain(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.' || c == '%';
}

std::string Encoded(std::string_view log) {
  std::string text;
  for (const char c : log) {
    if (IsPlain(c)) {
      text += c;
    } else {
      text += absl::StrFormat("%%%02X", static_cast<unsigned char>(c));
    }
  }
  return text;
}

}  // namespace

bool IsProject(std::string_view text) {
  constexpr std::size_t kLongest = 128;
  // An organization's projects are example.com:NAME.
  return !text.empty() && text.size() <= kLongest &&
         absl::ascii_isalnum(static_cast<unsigned char>(text.front())) &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return absl::ascii_islower(static_cast<unsigned char>(c)) ||
                  absl::ascii_isdigit(static_cast<unsigned char>(c)) || c == '-' || c == '.' || c == ':';
         });
}

absl::StatusOr<LogName> ParseLogName(const std::string& text) {
  constexpr std::string_view kProjects = "projects/";
  constexpr std::string_view kLogs = "/logs/";
  const std::string_view all = text;
  const std::size_t logs = all.find(kLogs);
  LogName name;
  if (all.substr(0, kProjects.size()) == kProjects && logs != std::string_view::npos &&
      logs >= kProjects.size()) {
    name.project = all.substr(kProjects.size(), logs - kProjects.size());
    name.log = Encoded(all.substr(logs + kLogs.size()));
  }
  if (!IsProject(name.project) || name.log.empty() || name.log.size() > kLongestLog) {
    return absl::InvalidArgumentError(
        Cat("not the name of a log: ", text.substr(0, kLongestLog), "; write projects/PROJECT/logs/LOG"));
  }
  return name;
}

}  // namespace goodput
