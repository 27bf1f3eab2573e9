#include "tools/sources/import_export/nvrx_import.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "sql/status_macros.h"
#include "sql/tables/imports.h"
#include "sql/text.h"
#include "tools/base/time.h"
#include "tools/sources/import_export/json_stream.h"
#include "tools/sources/import_export/nvrx_cycle.h"

namespace goodput {
namespace {

// Some 400 bytes a cycle.
constexpr std::int64_t kMostCycleBytes = std::int64_t{16} << 20U;

// A cycle, and where it is in the input.
struct ReadCycle {
  NvrxCycle cycle;
  std::int64_t offset = 0;
};

// All cycles by time, each once: the link to the current cycle gives that one twice.
class CycleFiles {
 public:
  CycleFiles(const Input& input, ImportWriter& writer) : input_(input), writer_(writer) {}

  absl::Status Read() {
    std::string text(static_cast<std::size_t>(input_.size()), '\0');
    ASSIGN_OR_RETURN(const std::size_t got, input_.Read(0, text.data(), text.size()));
    text.resize(got);
    for (std::size_t at = text.find('{'); at != std::string::npos; at = text.find('{', at)) {
      ValueEnd end;
      const std::string_view value =
          std::string_view(text).substr(at, end.Scan(std::string_view(text).substr(at)));
      RETURN_IF_ERROR(Take(value, static_cast<std::int64_t>(at)));
      at += std::max<std::size_t>(value.size(), 1);
    }
    return absl::OkStatus();
  }
  std::vector<ReadCycle> InOrder() const {
    std::vector<ReadCycle> cycles;
    cycles.reserve(cycles_.size());
    for (const auto& [name, cycle] : cycles_) cycles.push_back(cycle);
    std::stable_sort(cycles.begin(), cycles.end(),
                     [](const ReadCycle& a, const ReadCycle& b) { return a.cycle.begin < b.cycle.begin; });
    return cycles;
  }
  const std::string& first_problem() const { return first_problem_; }

 private:
  absl::Status Take(std::string_view value, std::int64_t offset) {
    absl::StatusOr<NvrxCycle> cycle = ParseNvrxCycle(value);
    if (!cycle.ok()) {
      if (first_problem_.empty()) first_problem_ = Cat("byte ", offset, ": ", Message(cycle.status()));
      return writer_.SetAside(offset, Message(cycle.status()), value);
    }
    ReadCycle& known = cycles_[{cycle->job, cycle->begin, cycle->number}];
    if (known.cycle.begin == 0 || known.cycle.generation < cycle->generation)
      known = {*std::move(cycle), offset};
    return absl::OkStatus();
  }

  const Input& input_;
  ImportWriter& writer_;
  std::map<std::tuple<std::string, Ns, std::int64_t>, ReadCycle> cycles_;
  std::string first_problem_;
};

// The allocation in which the cycle began; nullptr: none. Accounting rounds down to whole seconds.
const JoinSpan* AllocationAt(Ns t, const std::vector<JoinSpan>& join) {
  const JoinSpan* last = nullptr;
  for (const JoinSpan& span : join) {
    if (t + kSecond < span.start || (span.end && t > *span.end + kSecond)) continue;
    if (last == nullptr || last->start <= span.start) last = &span;
  }
  return last;
}

// Tells each cycle's nodes as GPUs of the job.
class CycleSink {
 public:
  CycleSink(StoreSink& sink, const FileImportOptions& options) : sink_(sink), options_(options) {}

  absl::Status Take(const ReadCycle& read) {
    const NvrxCycle& cycle = read.cycle;
    const JoinSpan* span = AllocationAt(cycle.begin, options_.join);
    if (span == nullptr) {
      ++elsewhere_;
      if (!cycle.job.empty()) others_.insert(cycle.job);
      return absl::OkStatus();
    }
    if (span->nodes <= 0 || span->gpus <= 0 || span->gpus % span->nodes != 0) {
      return absl::InvalidArgumentError(
          Cat("job ", span->job_id, " has ", span->gpus, " GPUs on ", span->nodes,
              " nodes, so that the GPUs of a node are not known; mark them with `sgoodput mark world`"));
    }
    const int each = span->gpus / span->nodes;
    std::int64_t& most = most_[span];
    most = std::max(most, cycle.active);
    ++taken_;
    return sink_.World({cycle.begin, cycle.active * each, most * each, cycle.standby * each}, {},
                       read.offset);
  }
  std::int64_t taken() const { return taken_; }
  std::int64_t elsewhere() const { return elsewhere_; }
  const std::set<std::string>& others() const { return others_; }

 private:
  StoreSink& sink_;
  const FileImportOptions& options_;
  std::map<const JoinSpan*, std::int64_t> most_;  // nodes that trained at once
  std::set<std::string> others_;
  std::int64_t taken_ = 0;
  std::int64_t elsewhere_ = 0;
};

absl::Status NothingTaken(const Input& input, const CycleFiles& files, const CycleSink& cycles,
                          const std::string& joined) {
  if (cycles.elsewhere() == 0) {
    return absl::InvalidArgumentError(
        Cat(NameOf(input), ": contains no cycle of NVRx",
            files.first_problem().empty() ? "" : Cat(" (", files.first_problem(), ")")));
  }
  const std::string of =
      cycles.others().empty() ? "" : Cat("; the first is of job ", *cycles.others().begin());
  return absl::InvalidArgumentError(
      Cat(NameOf(input), ": no cycle began while ", joined, " had its nodes", of));
}

}  // namespace

absl::StatusOr<FileImportReport> ImportNvrxCycles(Database& db, const Input& input,
                                                  const FileImportOptions& options) {
  if (options.join.empty()) {
    return absl::InvalidArgumentError(
        Cat(NameOf(input), ": cycles of NVRx can only be added to a job: name it with -j JOB"));
  }
  if (input.size() > kMostCycleBytes) {
    return absl::InvalidArgumentError(
        Cat(NameOf(input), ": more than ", kMostCycleBytes >> 20U, " MiB of cycles; import them in parts"));
  }
  ASSIGN_OR_RETURN(const std::string content, input.FingerprintOfAll());
  const std::string file = Cat(input.is_file() ? input.name() : Cat("-", content), "#nvrx");
  ASSIGN_OR_RETURN(const std::optional<FileImportReport> unchanged,
                   Unchanged(db, input, {file}, options, content));
  if (unchanged) {
    FileImportReport report = *unchanged;
    report.of = FileImportReport::Entries::kCycles;
    return report;
  }
  Transaction transaction(db);
  if (!transaction.status().ok()) return transaction.status();
  ImportWriter writer(db);
  RETURN_IF_ERROR(writer.Begin(file, options.cluster));
  CycleFiles files(input, writer);
  RETURN_IF_ERROR(files.Read());
  StoreSink sink(writer, options.join);
  CycleSink cycles(sink, options);
  for (const ReadCycle& cycle : files.InOrder()) RETURN_IF_ERROR(cycles.Take(cycle));
  if (cycles.taken() == 0) return NothingTaken(input, files, cycles, options.joined);
  FileImportReport report;
  report.of = FileImportReport::Entries::kCycles;
  report.entries = cycles.taken();
  report.other_job = cycles.elsewhere();
  report.bad = writer.set_aside();
  ImportRow row;
  row.fingerprint = content;
  row.run = row.name = report.run = options.run;
  row.user = options.user;
  row.joined = options.joined;
  row.entries = report.entries;
  RETURN_IF_ERROR(writer.Finish(row, input.size(), options.now_s));
  RETURN_IF_ERROR(transaction.Commit());
  return report;
}

}  // namespace goodput
