#include "tools/goodputd/hang/ras_report.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "sql/text.h"

namespace goodput {
namespace {

constexpr std::uint16_t kNcclPort = 28028;
constexpr std::size_t kMostWords = 120;

// What ranks of a communicator have in common, and the names of those that are listed.
struct Group {
  std::int64_t ranks = 0;
  std::string value;  // "operation 6649", "status INIT"
  std::int64_t operation = 0;
  std::vector<std::string> named;  // "rank 3 (GPU 3 managed by process 5 on node a)"
};

class ReportReader {
 public:
  void Take(absl::string_view line) {
    const absl::string_view words = absl::StripAsciiWhitespace(line);
    if (words.empty()) return;
    if (line[0] != ' ') {
      TakeHeading(words);
    } else if (!TakeDifference(words) && !TakeGroup(words)) {
      TakeMember(words);
    }
  }
  std::string Finish() {
    Close();
    if (!table_ && lines_.empty()) return "";
    if (lines_.empty()) lines_.emplace_back("every rank answers, and has launched what the others have");
    if (lines_.size() > kMostRasLines) {
      const std::string more = Cat("and ", lines_.size() - kMostRasLines + 1, " lines more");
      lines_.resize(kMostRasLines - 1);
      lines_.push_back(more);
    }
    return absl::StrJoin(lines_, "\n");
  }

 private:
  // "#0-0 (cf264af53edbe986) INCOMPLETE", "DEAD", "Group     Comms ..."
  void TakeHeading(absl::string_view words) {
    Close();
    communicator_.clear();
    condition_ = std::string(words);
    if (absl::StartsWith(words, "Group ")) table_ = true;
    if (absl::StartsWith(words, "No communicator data collected"))
      lines_.emplace_back("it knows no communicator");
    if (words[0] != '#') return;
    const std::vector<absl::string_view> parts = absl::StrSplit(words, ' ', absl::SkipEmpty());
    communicator_ = std::string(parts.front().substr(0, kMostWords));
    condition_ = std::string(parts.back());
  }

  bool TakeDifference(absl::string_view words) {
    if (!absl::ConsumePrefix(&words, "Communicator ranks have different ")) return false;
    Close();
    const std::size_t end = words.find(" operation counts");
    differs_ = end == absl::string_view::npos ? "" : std::string(words.substr(0, std::min(end, kMostWords)));
    return true;
  }

  // "7 ranks have status INIT", "Rank 3 has launched up to operation 6649 -- GPU ...", "... have not launched
  // any operations"
  bool TakeGroup(absl::string_view words) {
    const bool one = absl::ConsumePrefix(&words, "Rank ");
    const std::size_t blank = words.find(' ');
    std::int64_t number = 0;
    if (blank == absl::string_view::npos || !absl::SimpleAtoi(words.substr(0, blank), &number)) return false;
    words.remove_prefix(blank + 1);
    if (!(one ? absl::ConsumePrefix(&words, "has ") : absl::ConsumePrefix(&words, "ranks have ")))
      return false;
    Group group;
    group.ranks = one ? 1 : number;
    const std::size_t dashes = words.find(" -- ");
    const absl::string_view what = words.substr(0, dashes);
    absl::string_view rest = what;
    if (absl::ConsumePrefix(&rest, "launched up to operation ") && absl::SimpleAtoi(rest, &group.operation)) {
      group.value = Cat("operation ", group.operation);
    } else if (what == "not launched any operations") {
      group.value = "no operation";
    } else if (absl::StartsWith(what, "status ")) {
      group.value = std::string(what.substr(0, kMostWords));
    } else {
      return false;
    }
    if (one)
      group.named.push_back(Named(number, dashes == absl::string_view::npos ? "" : words.substr(dashes + 4)));
    groups_.push_back(std::move(group));
    return true;
  }

  // "Rank 21 -- GPU 5 managed by process 7 on node a", "Process 7 on node a managing GPU 5", "The missing
  // rank: 21", "Missing communicator data from 2 ranks", "2 job processes are considered dead ..."
  void TakeMember(absl::string_view words) {
    if (absl::ConsumePrefix(&words, "Rank ")) {
      const std::vector<absl::string_view> parts = absl::StrSplit(words, absl::MaxSplits(" -- ", 1));
      std::int64_t rank = 0;
      if (parts.size() != 2 || !absl::SimpleAtoi(parts[0], &rank)) return;
      if (groups_.empty()) {
        Say(Cat(Named(rank, parts[1]),
                condition_ == "INCOMPLETE" ? " gives no answer" : " reports an error"));
      } else {
        groups_.back().named.push_back(Named(rank, parts[1]));
      }
    } else if (absl::StartsWith(words, "Process ")) {
      Say(Cat("process", words.substr(std::strlen("Process"), kMostWords),
              condition_ == "DEAD" ? " is dead or cannot be reached" : " gives no answer"));
    } else if (absl::StartsWith(words, "The missing rank") ||
               absl::StartsWith(words, "Missing communicator") ||
               absl::StrContains(words, "considered dead") || absl::StrContains(words, "error") ||
               absl::StartsWith(words, "Encountered ")) {
      Say(std::string(words.substr(0, kMostWords)));
    }
  }

  static std::string Named(std::int64_t rank, absl::string_view where) {
    return Cat("rank ", rank, where.empty() ? "" : Cat(" (", where.substr(0, kMostWords), ")"));
  }

  void Say(const std::string& words) {
    lines_.push_back(communicator_.empty() ? words : Cat(words, ", communicator ", communicator_));
  }

  // The most frequent value comes first; the others differ.
  void Close() {
    for (std::size_t i = 1; i < groups_.size(); ++i) Differs(groups_[i], groups_[0]);
    groups_.clear();
    differs_.clear();
  }
  void Differs(const Group& group, const Group& most) {
    const bool counts = group.operation > 0 || most.operation > 0;
    const std::string does = !counts                            ? "differs: "
                             : group.operation < most.operation ? Cat("is behind in ", differs_, ": ")
                                                                : Cat("is ahead in ", differs_, ": ");
    const std::string than =
        Cat(group.value, ", ", most.ranks, most.ranks == 1 ? " has " : " have ", most.value);
    for (const std::string& named : group.named) Say(Cat(named, " ", does, than));
    const std::int64_t others = group.ranks - static_cast<std::int64_t>(group.named.size());
    if (others <= 0) return;
    std::string plural = does;
    if (absl::StartsWith(plural, "is ")) plural = Cat("are ", plural.substr(3));
    if (plural == "differs: ") plural = "differ: ";
    Say(Cat(others, group.named.empty() ? "" : " more", others == 1 ? " rank " : " ranks ",
            others == 1 ? does : plural, than));
  }

  bool table_ = false;
  std::string communicator_;  // "#0-0"
  std::string condition_;     // "INCOMPLETE", "MISMATCH", "DEAD" ...
  std::string differs_;       // "AllReduce", "collective"
  std::vector<Group> groups_;
  std::vector<std::string> lines_;
};

// Bytes that are printed as hexadecimal numbers of 32 bits in this machine's order.
std::optional<std::string> Address(absl::string_view hex) {
  constexpr std::size_t kDigits = 8;
  if (hex.size() != kDigits && hex.size() != 4 * kDigits) return std::nullopt;
  std::string bytes;
  for (std::size_t at = 0; at < hex.size(); at += kDigits) {
    std::uint32_t number = 0;
    if (!absl::SimpleHexAtoi(hex.substr(at, kDigits), &number)) return std::nullopt;
    bytes.append(reinterpret_cast<const char*>(&number), sizeof(number));
  }
  return bytes;
}

}  // namespace

std::string RasSummary(std::string_view report) {
  ReportReader reader;
  for (const absl::string_view line : absl::StrSplit(ToAbsl(report), '\n')) reader.Take(line);
  return reader.Finish();
}

std::vector<ListeningSocket> ListeningSockets(std::string_view table, std::uint16_t port) {
  // proc_pid_net(5): sl local_address rem_address st tx:rx tr:when retrnsmt uid timeout inode ...
  constexpr std::size_t kLocal = 1;
  constexpr std::size_t kState = 3;
  constexpr std::size_t kUid = 7;
  constexpr std::size_t kInode = 9;
  constexpr absl::string_view kListen = "0A";
  std::vector<ListeningSocket> found;
  for (const absl::string_view line : absl::StrSplit(ToAbsl(table), '\n')) {
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
    if (words.size() <= kInode || words[kState] != kListen) continue;
    const std::vector<absl::string_view> local = absl::StrSplit(words[kLocal], ':');
    std::uint32_t its_port = 0;
    ListeningSocket socket;
    if (local.size() != 2 || !absl::SimpleHexAtoi(local[1], &its_port) || its_port != port ||
        !absl::SimpleAtoi(words[kUid], &socket.uid) || !absl::SimpleAtoi(words[kInode], &socket.inode))
      continue;
    const std::optional<std::string> address = Address(local[0]);
    if (!address) continue;
    socket.v6 = address->size() > 4;
    socket.address = *address;
    found.push_back(std::move(socket));
  }
  return found;
}

std::uint16_t RasPort(std::string_view address) {
  if (address.empty()) return kNcclPort;
  const std::size_t colon = address.rfind(':');
  std::uint32_t port = 0;
  if (colon == std::string_view::npos || !absl::SimpleAtoi(ToAbsl(address.substr(colon + 1)), &port) ||
      port > 65535)
    return 0;
  return static_cast<std::uint16_t>(port);
}

}  // namespace goodput
