#include "tools/sources/slurm/sacct.h"

#include <pwd.h>

#include <algorithm>
#include <array>
#include <random>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "sql/status_macros.h"
#include "sql/text.h"
#include "tools/base/subprocess.h"
#include "tools/sources/slurm/slurm_time.h"
#include "tools/sources/slurm/tres.h"

namespace goodput {
namespace {

// A job name may contain any byte, including newlines, and sacct prints it unescaped: with a predictable
// delimiter, a user could forge a line of another job.
std::string UnguessableDelimiter() {
  std::random_device random;
  return absl::StrFormat("\x1f%08x%08x\x1f", random(), random());
}

// JobName comes last, since it is the only one that a user chooses freely: see UnguessableDelimiter.
constexpr std::array<absl::string_view, 25> kFields{
    "Cluster",    "JobIDRaw",        "JobID",       "Submit",      "Eligible",     "Start",     "End",
    "State",      "ExitCode",        "User",        "Account",     "Partition",    "QOS",       "NNodes",
    "NodeList",   "AllocTRES",       "ReqTRES",     "Reason",      "AdminComment", "Suspended", "Restarts",
    "FailedNode", "DerivedExitCode", "Reservation", "TimelimitRaw"};

constexpr std::int64_t kFieldsAgeNs = 600 * kSecondNs;

// Slurm uses 32 bits for limits.
constexpr std::int64_t kMaxLimitMin = std::int64_t{1} << 32U;

// [DD-[HH:]]MM:SS, without fractions; 0 if malformed.
std::int64_t ParseElapsed(absl::string_view text) {
  constexpr std::int64_t kMaxDays = 1'000'000;
  std::int64_t days = 0;
  const std::size_t dash = text.find('-');
  if (dash != absl::string_view::npos) {
    if (!absl::SimpleAtoi(text.substr(0, dash), &days) || days < 0 || days > kMaxDays) return 0;
    text = text.substr(dash + 1);
  }
  std::int64_t seconds = 0;
  for (absl::string_view part : absl::StrSplit(text.substr(0, text.find('.')), ':')) {
    std::int64_t value = 0;
    if (!absl::SimpleAtoi(part, &value) || value < 0) return 0;
    if (seconds > kMaxDays || value > kMaxDays * 86400) return 0;
    seconds = seconds * 60 + value;
  }
  return days * 86400 + seconds;
}

// "CANCELLED by 0" -> root.
std::string CancelledBy(absl::string_view state) {
  constexpr absl::string_view kBy = "CANCELLED by ";
  std::uint32_t uid = 0;
  if (!absl::StartsWith(state, kBy) || !absl::SimpleAtoi(state.substr(kBy.size()), &uid)) return "";
  passwd entry{};
  passwd* answer = nullptr;
  std::array<char, 4096> buffer{};
  getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &answer);
  return answer == nullptr ? absl::StrCat("user ", uid) : std::string(answer->pw_name);
}

// "1:0" is status 1, "0:15" signal 15.
struct ExitStatus {
  std::optional<std::int64_t> code;
  std::optional<std::int64_t> signal;
};

ExitStatus ParseExit(absl::string_view text) {
  ExitStatus status;
  const std::vector<absl::string_view> numbers = absl::StrSplit(text, ':');
  std::int64_t value = 0;
  if (numbers.size() != 2) return status;
  if (absl::SimpleAtoi(numbers[0], &value)) status.code = value;
  if (absl::SimpleAtoi(numbers[1], &value) && value != 0) status.signal = value;
  return status;
}

class Header {
 public:
  Header(absl::string_view line, absl::string_view delimiter) {
    for (absl::string_view name : absl::StrSplit(line, delimiter)) names_.emplace_back(name);
  }
  // -1 if the text has no such field.
  int Find(absl::string_view name) const {
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (absl::EqualsIgnoreCase(names_[i], name)) return static_cast<int>(i);
    }
    return -1;
  }
  std::size_t size() const { return names_.size(); }
  bool ends_with_name() const { return absl::EqualsIgnoreCase(names_.back(), "JobName"); }

 private:
  std::vector<std::string> names_;
};

// Fields whose text the user of a job chooses.
constexpr std::array<absl::string_view, 6> kFreeFields{"JobName",    "Comment", "WorkDir",
                                                       "SubmitLine", "WCKey",   "Extra"};
constexpr std::size_t kShortestUnguessable = 8;

// What separates the first field of the header from the next one that is known.
std::string DelimiterOf(absl::string_view header) {
  std::vector<absl::string_view> known(kFields.begin(), kFields.end());
  known.insert(known.end(), kFreeFields.begin(), kFreeFields.end());
  std::string best;
  for (const absl::string_view first : known) {
    if (!absl::StartsWithIgnoreCase(header, first)) continue;
    const absl::string_view rest = header.substr(first.size());
    for (const absl::string_view next : known) {
      const std::size_t at = rest.find(next);
      if (at == absl::string_view::npos || at == 0) continue;
      const std::string delimiter(rest.substr(0, at));
      if (best.empty() || delimiter.size() < best.size()) best = delimiter;
    }
  }
  return best;
}

}  // namespace

absl::StatusOr<SacctText> ParseSacctFile(std::string_view text) {
  const std::string_view first_line = text.substr(0, text.find('\n'));
  const std::string delimiter = DelimiterOf(ToAbsl(first_line));
  if (delimiter.empty())
    return absl::InvalidArgumentError("the first line is no header line of sacct; do not use -n");
  const Header header(ToAbsl(first_line), delimiter);
  for (const absl::string_view free : kFreeFields) {
    if (header.Find(free) < 0 || delimiter.size() >= kShortestUnguessable) continue;
    return absl::InvalidArgumentError(
        Cat("the field ", std::string(free), " may contain \"", delimiter,
            "\" and newlines, so a user could forge lines of other jobs; print it with sacct "
            "--delimiter=$(cat /proc/sys/kernel/random/uuid), or leave the field out"));
  }
  return ParseSacct(text, delimiter);
}

absl::StatusOr<SacctText> ParseSacct(std::string_view text, std::string_view delimiter) {
  SacctText result;
  const std::size_t header_end = std::min(text.find('\n'), text.size());
  if (header_end == 0) return absl::InvalidArgumentError("sacct printed no header line; do not use -n");
  const Header header(ToAbsl(text.substr(0, header_end)), ToAbsl(delimiter));
  // Without the raw id, the ids of jobs that are neither array tasks nor components are sufficient.
  const bool raw_ids = header.Find("JobIDRaw") >= 0;
  for (const absl::string_view needed : {"JobID", "Submit", "Start", "End", "State"}) {
    if (header.Find(needed) < 0 && !(raw_ids && needed == "JobID")) {
      return absl::InvalidArgumentError(Cat("the sacct output has no field ", std::string(needed),
                                            "; print it with sacct -P -D -X -o ", absl::StrJoin(kFields, ","),
                                            ",JobName"));
    }
  }
  std::vector<absl::string_view> cells;
  bool row_open = false;  // the previous line was a row, so a line without delimiter continues its name
  for (absl::string_view line :
       absl::StrSplit(ToAbsl(text.substr(std::min(header_end + 1, text.size()))), '\n')) {
    if (line.empty()) continue;
    if (row_open && header.ends_with_name() && !absl::StrContains(line, ToAbsl(delimiter))) {
      absl::StrAppend(&result.rows.back().name, "\n", line);
      continue;
    }
    row_open = false;
    cells = absl::StrSplit(line, ToAbsl(delimiter));
    const auto cell = [&](absl::string_view name) -> absl::string_view {
      const int at = header.Find(name);
      return at >= 0 && static_cast<std::size_t>(at) < cells.size() ? cells[static_cast<std::size_t>(at)]
                                                                    : absl::string_view();
    };
    const auto text_of = [&](absl::string_view name) { return std::string(cell(name)); };
    AccountingRow row;
    const absl::string_view id = cell(raw_ids ? "JobIDRaw" : "JobID");
    const std::optional<std::int64_t> submit = ParseSlurmTime(cell("Submit"));
    if (absl::StrContains(id, '.')) continue;
    if (cells.size() < header.size() || !submit || !absl::SimpleAtoi(id, &row.job_id) || row.job_id <= 0) {
      ++result.bad_lines;
      continue;
    }
    row.submit_s = *submit;
    row.cluster = text_of("Cluster");
    row.job_id_text = text_of("JobID");
    row.eligible_s = ParseSlurmTime(cell("Eligible"));
    row.start_s = ParseSlurmTime(cell("Start"));
    row.end_s = ParseSlurmTime(cell("End"));
    row.state = std::string(cell("State").substr(0, cell("State").find(' ')));
    row.cancelled_by = CancelledBy(cell("State"));
    row.user = text_of("User");
    row.account = text_of("Account");
    row.partition = text_of("Partition");
    row.qos = text_of("QOS");
    row.name = text_of("JobName");
    row.node_list = text_of("NodeList");
    row.reason = text_of("Reason");
    row.failed_node = text_of("FailedNode");
    row.admin_comment = text_of("AdminComment");
    row.suspended_s = ParseElapsed(cell("Suspended"));
    row.reservation = text_of("Reservation");
    // In minutes; UNLIMITED and Partition_Limit mean none.
    std::int64_t limit_min = 0;
    if (absl::SimpleAtoi(cell("TimelimitRaw"), &limit_min) && limit_min > 0 && limit_min <= kMaxLimitMin)
      row.time_limit_s = limit_min * 60;
    if (row.node_list == "None assigned") row.node_list.clear();
    if (!absl::SimpleAtoi(cell("NNodes"), &row.nodes) || row.nodes < 0) row.nodes = 0;
    std::int64_t restarts = 0;
    if (absl::SimpleAtoi(cell("Restarts"), &restarts) && restarts >= 0) row.restarts = restarts;
    if (row.end_s) {
      const ExitStatus status = ParseExit(cell("ExitCode"));
      row.exit_code = status.code;
      row.exit_signal = status.signal;
      row.derived_signal = ParseExit(cell("DerivedExitCode")).signal;
    }
    // A job cancelled before it ran has an end; sacct then prints the end as its start, or no start.
    if (row.start_s && row.node_list.empty() && row.end_s) row.start_s.reset();
    GpuCount gpus = GpusOfTres(std::string(cell("AllocTRES")));
    if (gpus.gpus == 0 && !row.start_s) gpus = GpusOfTres(std::string(cell("ReqTRES")));
    row.gpus = gpus.gpus;
    row.gpu_type = gpus.type;
    // For seconds after a short job, slurmdbd has a stub without partition or eligible time.
    if (header.Find("Partition") >= 0 && row.partition.empty() && !row.eligible_s) continue;
    result.rows.push_back(std::move(row));
    row_open = true;
  }
  return result;
}

absl::Status Sacct::LearnFields() {
  const std::int64_t now_ns = clock_.mono_ns();
  if (!fields_.empty() && now_ns - learned_ns_ < kFieldsAgeNs) return absl::OkStatus();
  ASSIGN_OR_RETURN(const CommandResult help, RunCommand({"sacct", "--helpformat"}));
  if (help.exit_code != 0) return absl::UnavailableError("sacct --helpformat failed");
  const std::vector<absl::string_view> known =
      absl::StrSplit(help.out, absl::ByAnyChar(" \n"), absl::SkipEmpty());
  fields_.clear();
  for (const absl::string_view field : kFields) {
    if (std::find(known.begin(), known.end(), field) != known.end()) fields_.emplace_back(field);
  }
  fields_.emplace_back("JobName");
  learned_ns_ = now_ns;
  return absl::OkStatus();
}

absl::StatusOr<SacctText> Sacct::Run(const SacctQuery& query) {
  RETURN_IF_ERROR(LearnFields());
  CommandOptions options;
  options.env.emplace_back("SLURM_TIME_FORMAT", "%s");
  const std::string delimiter = UnguessableDelimiter();
  std::vector<std::string> argv{
      "sacct", "-a", "-D", "-X", "-P", Cat("--delimiter=", delimiter), "-o", absl::StrJoin(fields_, ",")};
  if (!query.job_ids.empty()) {
    argv.emplace_back("-j");
    argv.push_back(absl::StrJoin(query.job_ids, ","));
  }
  if (query.start_s || query.job_ids.empty()) {
    const absl::Time start =
        query.start_s ? absl::FromUnixSeconds(*query.start_s) : absl::Now() - absl::Hours(24);
    argv.emplace_back("-S");
    // When clocks are set back, an hour of the year occurs twice, but not in UTC.
    options.env.emplace_back("TZ", "UTC");
    const auto in_utc = [](absl::Time t) {
      return absl::FormatTime("%Y-%m-%dT%H:%M:%S", t, absl::UTCTimeZone());
    };
    argv.push_back(in_utc(start));
    argv.emplace_back("-E");
    argv.push_back(query.end_s ? in_utc(absl::FromUnixSeconds(*query.end_s)) : "now");
  }
  ASSIGN_OR_RETURN(CommandResult result, RunCommand(argv, options));
  if (result.exit_code != 0) {
    fields_.clear();
    const std::string words(absl::StripAsciiWhitespace(result.err.substr(0, result.err.find('\n'))));
    return absl::UnavailableError(Cat("sacct failed: ", words));
  }
  return ParseSacct(result.out, delimiter);
}

}  // namespace goodput
