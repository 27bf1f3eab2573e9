// `sgoodput doctor`: checks the installation and whether anything was lost. One line per finding, with a fix.
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "spank/spool.h"
#include "sql/ingest/backlog.h"
#include "sql/ingest/ingest.h"
#include "sql/tables/evidence.h"
#include "sql/tables/imports.h"
#include "sql/tables/losses.h"
#include "sql/text.h"
#include "tools/base/database_lease.h"
#include "tools/base/trace_permission.h"
#include "tools/base/unix_socket.h"
#include "tools/sgoodput/cloud_log.h"
#include "tools/sgoodput/cloud_monitoring.h"
#include "tools/sgoodput/findings.h"
#include "tools/sgoodput/options.h"
#include "tools/sgoodput/remote.h"
#include "tools/sgoodput/requested_profiles.h"
#include "tools/sgoodput/session.h"
#include "tools/sources/logs/log_reader.h"
#include "tools/sources/shared_spool/shared_folder.h"

namespace goodput {
namespace {

std::string FirstLine(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

void CheckSpool(const Config& config, Findings& findings) {
  namespace fs = std::filesystem;
  struct stat info {};
  if (stat(config.spool.c_str(), &info) != 0) {
    findings.Bad(Cat("spool ", config.spool, ": ", std::strerror(errno)),
                 "the plugin creates it at the first job; check that the plugin is loaded on this node and "
                 "that the parent folder exists");
    return;
  }
  struct statfs fs_info {};
  if (statfs(config.spool.c_str(), &fs_info) == 0 &&
      IsRemoteFileSystem(static_cast<std::int64_t>(fs_info.f_type))) {
    findings.Bad(Cat("spool ", config.spool, " is not on a local disk"),
                 "set spool= to a folder on a local disk");
  }
  if ((info.st_mode & 0077U) != 0) {
    findings.Bad(Cat("spool ", config.spool, " is accessible to other users"),
                 Cat("chmod 0700 ", config.spool));
  }
  if (access(config.spool.c_str(), R_OK | X_OK) != 0) {
    findings.Note(
        Cat("spool ", config.spool, " is readable only by root; run sgoodput doctor as root to check it"));
    return;
  }
  if (fs::exists(Cat(config.spool, "/", kKillSwitchName))) {
    findings.Bad("recording is switched off on this node", Cat("rm ", config.spool, "/", kKillSwitchName));
  }
  int nodes = 0;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(config.spool, ignored)) {
    if (!entry.is_directory(ignored)) continue;
    const std::string node = entry.path().filename();
    ++nodes;
    if (fs::exists(entry.path() / kKillSwitchName)) {
      findings.Bad(Cat("recording is switched off for node ", node),
                   Cat("rm ", (entry.path() / kKillSwitchName).string()));
    }
    Spool spool;
    Spool::Config spool_config;
    spool_config.root = config.spool;
    spool_config.node = node;
    spool_config.owner = info.st_uid;
    if (!spool.Open(spool_config).empty() || !spool.is_open()) continue;
    const DropCounts drops = spool.Drops();
    std::uint64_t dropped = 0;
    for (const std::uint64_t count : drops) dropped += count;
    if (dropped > 0) {
      findings.Bad(Cat("node ", node, " could not store ", dropped, " records (disk full ",
                       drops[static_cast<std::size_t>(Drop::kNoSpace)], ", spool_max reached ",
                       drops[static_cast<std::size_t>(Drop::kCap)], ", I/O errors ",
                       drops[static_cast<std::size_t>(Drop::kIo)], ", contained faults ",
                       drops[static_cast<std::size_t>(Drop::kFault)], ")"),
                   "free disk space or raise spool_max, then remove the file `dropped` next to the records");
    }
  }
  const std::string marks = FirstLine(Cat(config.spool, "/marks"));
  if (!marks.empty()) findings.Note(Cat("marks: ", marks));
  findings.Good(Cat("spool ", config.spool, ": ", nodes, nodes == 1 ? " folder" : " folders"));
}

// The counts that goodputd keeps in a file of the spool; empty if there is none.
std::map<std::string, std::uint64_t> ReadCounts(const std::string& path) {
  std::map<std::string, std::uint64_t> counts;
  for (absl::string_view word : absl::StrSplit(FirstLine(path), ' ')) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(word, absl::MaxSplits('=', 1));
    std::uint64_t value = 0;
    if (absl::SimpleAtoi(parts.second, &value)) counts[std::string(parts.first)] = value;
  }
  return counts;
}

// Whether checkpoint directories and job output are read in time.
void CheckJobWatches(const Config& config, Findings& findings) {
  // A look is late only if it waits for longer than a few turns of the helpers.
  constexpr std::uint64_t kLateS = 10;
  std::map<std::string, std::uint64_t> counts = ReadCounts(Cat(config.spool, "/watches"));
  if (counts["waiting_s"] < kLateS) return;
  findings.Bad(Cat("checkpoint directories and output of jobs on this node are read ", counts["waiting_s"],
                   " s late: ", counts["jobs"], " to watch, and goodputd's limits allow ",
                   counts["most_helpers"], " helpers at a time"),
               "raise TasksMax and MemoryHigh: systemctl edit goodputd");
}

// What the node daemon's watch says of itself.
void CheckSignals(const Config& config, Findings& findings) {
  std::map<std::string, std::uint64_t> counts = ReadCounts(Cat(config.spool, "/signals"));
  if (counts.empty() && config.signals) return;
  if (!config.signals) {
    // Counts from before it was switched off are still shown.
    findings.Note("signals are not recorded on this node: `signals = off` in goodput.conf");
  } else if (counts["other_pids"] != 0) {
    findings.Bad(
        "signals are not recorded on this node: goodputd runs in its own PID namespace, where process ids "
        "differ from those that the kernel reports",
        "run goodputd in the host's PID namespace (docker run --pid=host, hostPID: true)");
  } else if (counts["refused"] != 0) {
    const TraceRefusal refusal =
        ExplainTraceRefusal({ReadParanoid(), counts["perfmon"] != 0, counts["sys_admin"] != 0});
    findings.Bad(Cat("signals are not recorded on this node: the kernel does not permit it: ", refusal.why),
                 refusal.mend);
  } else if (counts["watching"] == 0) {
    findings.Bad(
        "signals are not recorded on this node: checkpoint signals are inferred from exit statuses and the "
        "scheduler only",
        "see goodputd's log; it needs root, and tracefs at /sys/kernel/tracing");
  } else {
    findings.Good(Cat("signals: ", counts["recorded"], " recorded for jobs"));
  }
  if (counts["lost"] > 0) {
    findings.Bad(Cat("the kernel dropped ", counts["lost"], " signal samples"),
                 "they arrived faster than goodputd could read them; remove the file `signals` in the spool "
                 "to reset the count");
  }
  if (counts["not_stored"] > 0) {
    findings.Bad(Cat(counts["not_stored"], " signals could not be stored in the spool"),
                 "free disk space or raise spool_max");
  }
}

// What the node daemon's reader of the kernel's log says of itself.
void CheckKernelLog(const Config& config, Findings& findings) {
  std::map<std::string, std::uint64_t> counts = ReadCounts(Cat(config.spool, "/kernel"));
  if (config.kernel_log.empty()) {
    findings.Note("kernel messages are not read on this node: `kernel_log = off` in goodput.conf");
    return;
  }
  if (counts.empty()) return;
  if (counts["reading"] == 0) {
    const bool absent = counts["absent"] != 0;
    findings.Bad(
        Cat("kernel messages are not read on this node, so errors of its hardware remain unknown: ",
            absent ? Cat("there is no ", config.kernel_log)
                   : Cat("goodputd may not open ", config.kernel_log)),
        absent
            ? "give goodputd the host's /dev/kmsg, or set `kernel_log = off`"
            : "systemctl restart goodputd-kernel.socket goodputd; without systemd, give goodputd CAP_SYSLOG");
    return;
  }
  findings.Good(Cat("kernel messages: ", counts["recorded"], " errors of the hardware recorded for jobs"));
  if (counts["overwritten"] + counts["dropped"] + counts["not_stored"] > 0) {
    findings.Note(Cat("of the kernel's messages, ", counts["dropped"],
                      " errors were too many different ones, ", counts["not_stored"],
                      " records found no room, and ", counts["overwritten"],
                      " times some were overwritten before they were read"));
  }
}

// What the node daemon's reader of the use of GPUs says of itself.
void CheckGpuUse(const Config& config, Findings& findings) {
  if (config.gpu_use.empty()) return;
  std::map<std::string, std::uint64_t> counts = ReadCounts(Cat(config.spool, "/gpu_use"));
  if (counts["reading"] == 0 && counts["failed"] > 0) {
    const bool nvml = config.gpu_use.rfind("unix:", 0) == 0;
    findings.Bad(
        Cat("the use of GPUs is not known on this node: ", config.gpu_use,
            " does not answer as dcgm-exporter does"),
        nvml ? "see goodputd's log; systemctl enable --now goodput-nvml.socket"
             : "see goodputd's log; start dcgm-exporter, and let goodputd's unit reach it: systemctl edit "
               "goodputd, [Service], IPAddressAllow=localhost; or set gpu_use = nvml");
    return;
  }
  if (counts["reading"] == 0) {
    findings.Good(Cat("use of GPUs: ", config.gpu_use, " is asked as soon as a job has GPUs"));
    return;
  }
  findings.Good(Cat("use of GPUs: ", counts["gpus"], " GPUs, ", counts["recorded"], " records for jobs"));
  if (counts["unowned"] > 0)
    findings.Note(Cat("which GPUs are those of jobs on this node is not known for ", counts["unowned"],
                      " of them: let dcgm-exporter map GPUs to jobs (--hpc-job-mapping-dir)"));
  if (counts["not_stored"] > 0)
    findings.Bad(Cat(counts["not_stored"], " records of the use of GPUs could not be stored in the spool"),
                 "free disk space or raise spool_max");
}

// From the node daemon's own report about the shared folder: its view of mounts may differ from that of this
// process, and the folder may hang.
void CheckShipping(const Config& config, Findings& findings) {
  if (config.shared_spool.empty()) return;
  const std::string path = Cat(config.spool, "/", kShippingName);
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return;
  const std::string trouble = FirstLine(path);
  if (trouble.empty()) {
    findings.Good(Cat("records are copied to shared_spool ", config.shared_spool));
    return;
  }
  const absl::Duration lasts = absl::Now() - absl::FromUnixSeconds(info.st_mtime);
  findings.Bad(Cat(trouble, " (for ", FormatDuration(absl::ToInt64Nanoseconds(lasts)), ")"),
               "fix the cause named above; goodputd then continues by itself");
}

void CheckProfiles(const Config& config, Findings& findings) {
  int good = 0;
  for (const KnownProfile& known : LoadProfiles(config.log_profiles)) {
    if (known.profile.ok()) {
      ++good;
    } else {
      findings.Bad(Cat("log profile ", Message(known.profile.status())),
                   Cat("correct it and run sgoodput profile test ", known.where, " LOG"));
    }
  }
  findings.Good(Cat("log profiles: ", good));
}

void CheckSocket(const Config& config, Findings& findings) {
  const int fd = ConnectUnixSocket(config.socket);
  if (fd >= 0) {
    findings.Good(Cat("goodputd accepts marks at ", config.socket));
  } else if (errno == EAGAIN) {
    findings.Bad(Cat("the mark socket ", config.socket, " accepts no more connections"),
                 "see goodputd's log and restart goodputd");
  } else {
    findings.Bad(Cat("no process accepts marks at ", config.socket, ": ", std::strerror(errno)),
                 "start goodputd on this node (role = node), or set `socket` in goodput.conf to the name "
                 "that it uses");
  }
  if (fd >= 0) close(fd);
}

// A line that is being written has no end for a moment.
constexpr std::int64_t kTornAfterS = 10;

void CheckBacklog(Database& db, const Config& config, Findings& findings) {
  const absl::StatusOr<Backlog> backlog = FindBacklog(db, config.spool, config.cluster);
  if (!backlog.ok()) {
    findings.Bad(Message(backlog.status()), "resolve the error above");
    return;
  }
  if (backlog->new_bytes > 0) {
    findings.Note(Cat(backlog->new_bytes, " bytes of the spool are not in the database yet"));
  }
  for (const Backlog::Held& held : backlog->held) {
    if (held.hole) {
      findings.Bad(
          Cat(held.path, " has a hole at offset ", held.offset, ", which blocks ", held.bytes,
              " bytes; last written ", held.idle_s, " s ago"),
          Cat("a crash left it; ingest skips it once the file has not changed for ", kHoleSettlesS, " s"));
    } else if (held.idle_s >= kTornAfterS) {
      findings.Bad(Cat(held.path, " ends in the middle of a record, at offset ", held.offset, ": ",
                       held.bytes, " bytes lost"),
                   "the writer died during the write; only this record is lost");
    }
  }
}

// Losses that nodes reported; those of this machine are already known from the spool.
void CheckLosses(Database& db, Findings& findings) {
  const absl::StatusOr<std::vector<NodeLosses>> losses = LoadLosses(db);
  if (!losses.ok()) {
    findings.Bad(Message(losses.status()), "resolve the error above");
    return;
  }
  constexpr std::size_t kMost = 20;
  for (std::size_t i = 0; i < losses->size() && i < kMost; ++i) {
    const NodeLosses& of = (*losses)[i];
    findings.Bad(Cat("node ", of.node, " lost or refused: ",
                     absl::StrJoin(of.counts, ", ",
                                   [](std::string* out, const auto& count) {
                                     out->append(Cat(count.first, " ", count.second));
                                   })),
                 "run sgoodput doctor on that node for details");
  }
  if (losses->size() > kMost) {
    findings.Bad(Cat(losses->size() - kMost, " more nodes lost or refused records"),
                 "see table node_loss (sgoodput sql)");
  }
}

// If queries go to another goodputd, the database is checked there.
void CheckUrl(const std::string& url, const CommonOptions& options, Findings& findings) {
  RemoteQuestion question;
  question.subcommand = "list";
  question.parameters = {{"limit", "1"}};
  const absl::StatusOr<CommandResult> answer = AskAndWait(url, options, question);
  if (answer.ok() && (answer->exit_code == kAnswered || answer->exit_code == kNothingMatched)) {
    findings.Good(
        Cat("goodputd answers at ", url, "; run sgoodput doctor there as root to check the database"));
    return;
  }
  std::string why = answer.ok() ? answer->err.substr(0, answer->err.find('\n')) : Message(answer.status());
  constexpr std::string_view kPrefix = "sgoodput: ";
  if (why.compare(0, kPrefix.size(), kPrefix) == 0) why.erase(0, kPrefix.size());
  findings.Bad(
      Cat("goodputd does not answer: ", why),
      "start it there, or correct `url` in goodput.conf; use --db FILE to check a database on this machine");
}

// Only jobs of the last week, so that an uncorrected job is not reported for ever.
constexpr std::int64_t kRecentS = 604'800;

void CheckAskedProfiles(Database& db, const Config& config, Findings& findings) {
  const absl::StatusOr<std::vector<AskedProfile>> asked =
      UnknownProfiles(db, config.log_profiles, absl::ToUnixSeconds(absl::Now()) - kRecentS);
  if (!asked.ok()) {
    findings.Bad(Message(asked.status()), "resolve the error above");
    return;
  }
  for (const AskedProfile& one : *asked) {
    findings.Bad(Cat(one.jobs, one.jobs == 1 ? " job" : " jobs", " of the last week, the latest ",
                     one.last_job, ", asked for the log profile '", one.name, "', which does not exist here"),
                 Cat(one.meant.empty() ? std::string("see sgoodput profile list for the known ones")
                                       : Cat("use --goodput-log-profile=", one.meant),
                     ", or add ", one.name, ".profile to ", config.log_profiles));
  }
}

// On a compute node, the database is on the controller: there never was one here, and no process is about to
// create it.
bool IsElsewhere(const Config& config) {
  struct stat info {};
  return !config.shared_spool.empty() && stat(config.database.c_str(), &info) != 0 && errno == ENOENT &&
         LeaseOf(config.database).holder.empty();
}

void CheckDatabase(const CommonOptions& options, const Config& config, Findings& findings) {
  const std::string path = options.db.empty() ? config.database : options.db;
  if (options.db.empty() && IsElsewhere(config)) {
    findings.Note(Cat("no database here: this node copies its records to shared_spool ", config.shared_spool,
                      "; run sgoodput doctor on the controller as well (if this is the controller: systemctl "
                      "enable --now goodputd-controller)"));
    return;
  }
  absl::StatusOr<Database> db = Database::Open(path, Database::Mode::kReadOnly);
  if (!db.ok()) {
    findings.Bad(Message(db.status()),
                 "run `sgoodput ingest` once as the database's owner, or start goodputd");
    return;
  }
  Statement check = db->Prepare("PRAGMA quick_check(1)");
  const std::string answer = check.Step() ? check.Text(0) : Message(check.status());
  if (answer != "ok") {
    findings.Bad(Cat("database ", path, " is damaged: ", answer),
                 "move it away and run `sgoodput ingest`: the nodes' records are still in the spool");
    return;
  }
  const absl::StatusOr<std::vector<SourceRow>> sources = LoadSources(*db);
  if (!sources.ok()) {
    findings.Bad(Message(sources.status()), "resolve the error above");
    return;
  }
  std::int64_t records = 0;
  std::int64_t bad = 0;
  std::int64_t imports = 0;
  for (const SourceRow& source : *sources) {
    // Problems of an imported file were reported at the import, and are not this machine's.
    if (source.node == kImportNode) {
      ++imports;
      continue;
    }
    records += source.records;
    bad += source.bad;
  }
  const auto files = static_cast<std::int64_t>(sources->size()) - imports;
  findings.Good(Cat("database ", path, ": ", records, " records from ", files, " spool files",
                    imports == 0 ? "" : Cat(", ", imports, " imports")));
  CheckController(*db, config, findings);
  CheckBacklog(*db, config, findings);
  CheckLosses(*db, findings);
  CheckAskedProfiles(*db, config, findings);
  if (bad == 0) return;
  constexpr std::int64_t kLookedAt = 1000;
  constexpr std::size_t kExamples = 3;
  const absl::StatusOr<std::vector<QuarantineRow>> rows = LoadQuarantine(*db, kLookedAt);
  std::vector<std::string> examples;
  if (rows.ok()) {
    for (const QuarantineRow& row : *rows) {
      if (row.node == kImportNode || examples.size() == kExamples) continue;
      examples.push_back(Cat(row.node, "/", row.file, ":", row.offset, " ", row.reason));
    }
  }
  findings.Bad(
      Cat(bad, " lines were quarantined, e.g. ", absl::StrJoin(examples, "; ")),
      "a crash tears a line and loses nothing else; investigate any other reason (table quarantine)");
}

}  // namespace

int RunDoctor(const DoctorOptions& options) {
  if (!options.cloud_log.empty() && !options.cloud_monitoring.empty())
    return Fail(absl::InvalidArgumentError("--cloud-log and --cloud-monitoring are checked one at a time"));
  if (!options.cloud_log.empty()) return CheckCloudLog(options.cloud_log);
  if (!options.cloud_monitoring.empty()) return CheckCloudMonitoring(options.cloud_monitoring);
  const absl::StatusOr<Config> config = LoadConfig(options.common.config);
  if (!config.ok()) {
    std::fprintf(stderr, "sgoodput: %s\n", Message(config.status()).c_str());
    return kBadUsage;
  }
  Findings findings;
  CheckSlurm(*config, findings);
  CheckSpool(*config, findings);
  CheckSocket(*config, findings);
  CheckSignals(*config, findings);
  CheckKernelLog(*config, findings);
  CheckGpuUse(*config, findings);
  CheckJobWatches(*config, findings);
  CheckShipping(*config, findings);
  CheckProfiles(*config, findings);
  CheckFleetDatabase(*config, options.common.config, findings);
  CheckTelemetry(*config, options.common.config, findings);
  CheckCloud(*config, findings);
  CheckEvents(*config, findings);
  if (const std::optional<std::string> url = RemoteUrl(options.common)) {
    CheckUrl(*url, options.common, findings);
  } else {
    CheckDatabase(options.common, *config, findings);
  }
  return findings.bad() == 0 ? kAnswered : kNothingMatched;
}

}  // namespace goodput
