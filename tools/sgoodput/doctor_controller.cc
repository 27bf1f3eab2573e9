// doctor's checks of the controller: which daemon writes to the database, copies, queries, and silent nodes.
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timex.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "sql/tables/coverage.h"
#include "sql/text.h"
#include "tools/base/database_copy.h"
#include "tools/base/database_lease.h"
#include "tools/base/format.h"
#include "tools/base/hostlist.h"
#include "tools/base/subprocess.h"
#include "tools/base/unix_socket.h"
#include "tools/sgoodput/findings.h"
#include "tools/sources/shared_spool/shared_folder.h"

namespace goodput {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostNamed = 8;
// A prolog may take this long.
constexpr absl::Duration kStartsWithin = absl::Minutes(5);
constexpr absl::Duration kCopyTooOld = absl::Hours(54);
constexpr absl::Duration kPatienceWithOthers = absl::Seconds(10);
constexpr absl::Duration kSilentAfter = absl::Minutes(2);

std::string Some(const std::vector<std::string>& names) {
  const std::vector<std::string> first(
      names.begin(), names.begin() + static_cast<std::ptrdiff_t>(std::min(kMostNamed, names.size())));
  const std::size_t more = names.size() - first.size();
  return Cat(absl::StrJoin(first, " "), more == 0 ? std::string() : Cat(" and ", more, " more"));
}

std::string Ago(absl::Duration span) {
  return FormatDuration(absl::ToInt64Nanoseconds(std::max(span, absl::ZeroDuration())));
}

void CheckCopies(const Config& config, Findings& findings) {
  const fs::path database = config.database;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(database.parent_path(), error)) {
    const std::string name = entry.path().filename();
    if (absl::StartsWith(name, Cat(database.filename().string(), ".damaged-")) && absl::EndsWith(name, "Z"))
      findings.Note(Cat("a damaged database was kept: ", entry.path().string()));
  }
  if (config.database_copy.empty()) return;
  const std::vector<DatabaseCopy> copies = CopiesIn(config.database_copy);
  const absl::Time newest = copies.empty() ? absl::InfinitePast() : copies.back().made;
  if (absl::Now() - newest > kCopyTooOld) {
    findings.Bad(
        copies.empty() ? Cat("there is no copy of the database in ", config.database_copy)
                       : Cat("the newest copy of the database is ", Ago(absl::Now() - newest), " old"),
        "see goodputd's log; the folder's parent must exist and be writable, and the disk needs space");
  } else {
    findings.Good(Cat("the newest copy of the database is ", Ago(absl::Now() - newest), " old"));
  }
}

void CheckReader(const Config& config, Findings& findings) {
  if (config.query_socket.empty()) return;
  const int fd = ConnectUnixSocket(config.query_socket, SOCK_STREAM);
  if (fd >= 0) {
    close(fd);
    findings.Good(Cat("queries are answered at ", config.query_socket));
    return;
  }
  if (errno == EAGAIN) {
    findings.Bad(Cat("the query socket ", config.query_socket, " accepts no more connections"),
                 "see goodputd's log; scrape /metrics less often, or from one place only");
    return;
  }
  struct stat folder {};
  const std::string parent = fs::path(config.database).parent_path();
  const bool of_root = config.reader_user.empty() && stat(parent.c_str(), &folder) == 0 && folder.st_uid == 0;
  findings.Bad(Cat("no process answers queries at ", config.query_socket),
               of_root ? Cat("queries are not answered as root: chown ", parent,
                             " to a dedicated user such as goodput, or set reader_user, then reload goodputd")
                       : std::string("see goodputd's log"));
}

void CheckClock(Findings& findings) {
  timex state{};
  if (adjtimex(&state) == TIME_ERROR) {
    findings.Note(
        "the kernel reports this clock as not synchronized: node times are converted to the controller's "
        "clock only as precisely as the records allow");
  }
}

void CheckNodes(Database& db, Findings& findings) {
  const absl::StatusOr<std::vector<LastRecord>> nodes = LastRecords(db);
  if (!nodes.ok()) {
    findings.Bad(Message(nodes.status()), "see the message");
    return;
  }
  const absl::Time now = absl::Now();
  if (!nodes->empty()) {
    const auto ago = [&](const LastRecord& last) {
      return Cat(last.node, " ", Ago(now - absl::FromUnixNanos(last.t_ns)), " ago");
    };
    findings.Good(
        Cat(nodes->size(), nodes->size() == 1 ? " node has reported: " : " nodes have reported: latest ",
            ago(nodes->back()),
            nodes->size() == 1 ? std::string() : Cat(", silent the longest ", ago(nodes->front()))));
  }
  const absl::StatusOr<std::vector<SilentNodes>> silent = JobsOnSilentNodes(
      db, absl::ToUnixSeconds(now - kStartsWithin),
      +[](const std::string& list) { return ExpandHostList(list); });
  if (!silent.ok()) {
    findings.Bad(Message(silent.status()), "see the message");
    return;
  }
  for (std::size_t i = 0; i < silent->size() && i < kMostNamed; ++i) {
    const SilentNodes& job = (*silent)[i];
    findings.Bad(
        Cat("job ", job.job_id, " is running, but ", job.silent.size(), " of its ", job.nodes,
            job.nodes == 1 ? " node" : " nodes", " recorded nothing about it: ", Some(job.silent)),
        "run sgoodput doctor there; check that the plugin is loaded and that goodputd copies the spool");
  }
}

// Nodes that Slurm reaches: "n1 idle", "n2 mix", but not "n3 idle*" or "n4 down".
std::set<std::string> NodesSlurmReaches() {
  std::set<std::string> nodes;
  const absl::StatusOr<CommandResult> sinfo =
      RunCommand({"sinfo", "--noheader", "--Node", "--format=%N %t"}, {kPatienceWithOthers, 1U << 24U, {}});
  if (!sinfo.ok() || sinfo->exit_code != 0) return nodes;
  for (const absl::string_view line : absl::StrSplit(sinfo->out, '\n')) {
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
    if (words.size() != 2) continue;
    const absl::string_view state = words[1];
    const bool up = absl::StartsWith(state, "idle") || absl::StartsWith(state, "alloc") ||
                    absl::StartsWith(state, "mix") || absl::StartsWith(state, "comp") ||
                    absl::StartsWith(state, "drain") || absl::StartsWith(state, "drng") ||
                    absl::StartsWith(state, "resv");
    const char last = state.back();
    if (up && last != '*' && last != '~' && last != '#' && last != '%' && last != '!')
      nodes.emplace(words[0]);
  }
  return nodes;
}

// Each node's daemon writes a heartbeat to the shared spool every few seconds. Read by another program, which
// can be abandoned if the folder hangs.
void CheckHeartbeats(const Config& config, Findings& findings) {
  if (config.shared_spool.empty() || geteuid() != 0) return;
  const std::string folder = Cat(config.shared_spool, "/", kHeartbeatsFolder);
  const absl::StatusOr<CommandResult> found =
      RunCommand({"find", folder, "-maxdepth", "1", "-type", "f", "-printf", "%f %T@\n"},
                 {kPatienceWithOthers, 1U << 24U, {}});
  if (!found.ok()) {
    findings.Bad(Cat("cannot read shared_spool ", config.shared_spool, ": ", Message(found.status())),
                 "check its file server and its mount");
    return;
  }
  const absl::Duration silent_after = std::max(kSilentAfter, 6 * config.heartbeat);
  std::vector<std::string> silent;
  const std::set<std::string> reached = NodesSlurmReaches();
  for (const absl::string_view line : absl::StrSplit(found->out, '\n')) {
    const std::vector<std::string> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
    double written_s = 0;
    if (words.size() != 2 || !absl::SimpleAtod(words[1], &written_s)) continue;
    const absl::Duration since = absl::Now() - absl::UnixEpoch() - absl::Seconds(written_s);
    if (since > silent_after && reached.count(words[0]) != 0)
      silent.push_back(Cat(words[0], " (", Ago(since), ")"));
  }
  if (silent.empty()) return;
  findings.Bad(Cat("no heartbeat from goodputd on ", silent.size(), silent.size() == 1 ? " node" : " nodes",
                   " that Slurm can reach: ", Some(silent)),
               "there, run systemctl status goodputd and sgoodput doctor");
}

void CheckHolder(const Config& config, Findings& findings) {
  const LeaseState lease = LeaseOf(config.database);
  const std::string held = Cat(lease.holder, " writes to the database");
  if (lease.holder.empty()) {
    findings.Note(
        "no daemon writes to the database: sgoodput itself adds new records if its user may write there");
    return;
  }
  // Allows for differences between the clocks of two machines and a file server.
  const bool late = lease.age > lease.lease + absl::Seconds(60);
  if (!lease.elsewhere) {
    findings.Good(held);
  } else if (late) {
    findings.Bad(
        Cat(held, ", but its last heartbeat was ", Ago(lease.age), " ago, and no other daemon took over"),
        "check that goodputd runs with the controller role on this machine, and see its log");
  } else {
    findings.Good(Cat(held, "; goodputd here stands by and takes over after ",
                      absl::FormatDuration(lease.lease), " without its heartbeat"));
  }
  CheckReader(config, findings);
}

}  // namespace

void CheckController(Database& db, const Config& config, Findings& findings) {
  CheckHolder(config, findings);
  CheckCopies(config, findings);
  CheckClock(findings);
  CheckNodes(db, findings);
  CheckHeartbeats(config, findings);
}

}  // namespace goodput
