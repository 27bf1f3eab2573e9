#include "tools/goodputd/hang/hang_watcher.h"

#include <deque>
#include <optional>
#include <utility>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "spank/event.h"
#include "sql/text.h"
#include "tools/base/format.h"
#include "tools/goodputd/job_record.h"
#include "tools/goodputd/log.h"

namespace goodput {
namespace {

// Most of it for the kernel's tables of sockets (nccl_ras.cc), which are read only if RAS is asked.
constexpr std::int64_t kHangHelperBytes = std::int64_t{12} << 20U;
// py-spy reads the symbols of the interpreter.
constexpr std::int64_t kPySpyBytes = std::int64_t{64} << 20U;
constexpr std::size_t kMostName = 64;
constexpr std::size_t kMostLinesOfText = 16;

// A few printable lines. In a record, a quote or backslash takes two bytes and a newline six; there is room
// for that.
std::string PrintableLines(const std::string& text) {
  std::vector<std::string> lines;
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    if (lines.size() == kMostLinesOfText) break;
    lines.push_back(Printable({line.data(), line.size()}));
  }
  std::string joined = absl::StrJoin(lines, "\n");
  if (joined.size() > kMostFindingBytes) joined = Printable(joined, kMostFindingBytes);
  return joined;
}

HangOrder OrderFor(const StalledJob& stalled, const std::string& py_spy) {
  HangOrder order;
  order.py_spy = py_spy;
  order.batch_pid = stalled.batch_pid;
  for (const StalledJob::Task& task : stalled.tasks) {
    if (order.tasks.size() == kMostFindings) break;
    order.tasks.push_back({task.task, task.pid});
  }
  return order;
}

class HangOfJob : public JobWatcher {
 public:
  HangOfJob(StalledJob stalled, const HangSources& sources, std::string py_spy, NodeSpools& spools,
            Clock clock)
      : stalled_(std::move(stalled)), py_spy_(std::move(py_spy)), spools_(spools), clock_(clock) {
    if (sources.proc) sources_.emplace_back("proc");
    if (sources.output) sources_.emplace_back("output");
    if (sources.ras) sources_.emplace_back("ras");
    if (!py_spy_.empty()) sources_.emplace_back("py-spy");
    const Moment now = ReadMoment(clock_);
    since_ns_ = now.real_ns - (now.mono_ns - stalled_.last_mono_ns);
  }

  std::string helper_name() const override { return std::string(kHangHelper); }
  std::int64_t helper_bytes() const override {
    return kHangHelperBytes + (py_spy_.empty() ? 0 : kPySpyBytes);
  }
  std::vector<std::string> HelperArguments() override { return ToArguments(OrderFor(stalled_, py_spy_)); }
  std::optional<Question> Next(std::int64_t now_ns) override {
    if (sources_.empty()) return std::nullopt;
    return Question{sources_.front(), now_ns, false};
  }
  void Take(const absl::StatusOr<std::string>& answer) override {
    const std::string source = sources_.front();
    sources_.pop_front();
    const absl::StatusOr<std::vector<HangFinding>> findings =
        answer.ok() ? DecodeFindings(*answer) : answer.status();
    if (!findings.ok()) {
      Log(Cat("job ", stalled_.job->job, ": hang evidence (", source, "): ", Message(findings.status())));
      return;
    }
    for (const std::string& record : HangRecords(stalled_, source, *findings, since_ns_, clock_))
      spools_.Write(*stalled_.job, record);
  }
  // The list of jobs to look at has each only once.
  void JobEnded() override {}
  void DaemonStops() override { sources_.clear(); }

 private:
  const StalledJob stalled_;
  const std::string py_spy_;  // the program; empty: not asked
  NodeSpools& spools_;
  Clock clock_;
  std::deque<std::string> sources_;  // still to be asked for
  std::int64_t since_ns_ = 0;
};

}  // namespace

std::vector<std::string> HangRecords(const StalledJob& stalled, std::string_view source,
                                     const std::vector<HangFinding>& findings, std::int64_t since_ns,
                                     const Clock& clock) {
  std::vector<std::string> records;
  for (const HangFinding& finding : findings) {
    const Stamp stamp = StampAtReal(clock, stalled.job->node, clock.real_ns());
    JobMarkRecord record(kind::kHangEvidence, *stalled.job, stalled.slurm_step, stamp);
    record.Text(key::kSource, source);
    record.Int(key::kSinceNs, since_ns);
    if (finding.task) record.Int(key::kTask, *finding.task);
    if (finding.process) {
      const ProcessLook& look = *finding.process;
      record.Int(key::kPid, look.pid);
      if (!look.program.empty()) record.Text(key::kComm, Printable(look.program, kMostName));
      if (!look.state.empty()) record.Text(key::kState, Printable(look.state, kMostName));
      if (!look.wchan.empty()) record.Text(key::kWchan, Printable(look.wchan, kMostName));
      if (look.threads > 0) record.Int(key::kThreads, look.threads);
      if (!look.state.empty()) record.Int(key::kCpuMs, look.cpu_ms);
      if (finding.look_ms > 0) record.Int(key::kLookMs, finding.look_ms);
    }
    if (!finding.text.empty()) record.Text(key::kText, PrintableLines(finding.text), Worth::kFreeText);
    if (!finding.problem.empty()) record.Text(key::kProblem, Printable(finding.problem, 2 * kMostName));
    records.emplace_back(record.Finish());
  }
  return records;
}

std::unique_ptr<JobWatcher> MakeHangWatcher(StalledJob stalled, const HangSources& sources,
                                            std::string py_spy, NodeSpools& spools, Clock clock) {
  return std::make_unique<HangOfJob>(std::move(stalled), sources, std::move(py_spy), spools, clock);
}

}  // namespace goodput
