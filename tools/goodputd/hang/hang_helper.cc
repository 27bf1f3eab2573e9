#include "tools/goodputd/hang/hang_helper.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "sql/text.h"
#include "tools/base/helper_message.h"
#include "tools/goodputd/hang/last_output.h"
#include "tools/goodputd/hang/nccl_ras.h"
#include "tools/goodputd/hang/py_spy.h"
#include "tools/goodputd/hang/ras_report.h"
#include "tools/goodputd/job_paths.h"

namespace goodput {
namespace {

constexpr std::int64_t kLookMs = 300;
constexpr std::size_t kMostFiles = 4;
constexpr std::size_t kMostHangProcesses = 512;
constexpr std::size_t kHangArguments = 3;

std::vector<HangFinding> FindProcesses(const HangOrder& order) {
  std::vector<HangFinding> findings;
  const auto pause = [] { std::this_thread::sleep_for(std::chrono::milliseconds(kLookMs)); };
  for (ProcessLook& look : LookAtProcesses(order.tasks, kMostFindings, pause)) {
    HangFinding finding;
    finding.task = look.task;
    finding.look_ms = kLookMs;
    finding.process = std::move(look);
    findings.push_back(std::move(finding));
  }
  return findings;
}

std::vector<HangFinding> FindOutput(const HangOrder& order) {
  std::vector<std::string> links;
  const auto add = [&](std::int64_t pid) {
    for (const int fd : {1, 2}) links.push_back(Cat("/proc/", pid, "/fd/", fd));
  };
  for (const TaskProcess& task : order.tasks) add(task.pid);
  if (order.batch_pid != 0) {
    for (ProgramOutput& output : ProgramOutputs({order.batch_pid})) links.push_back(std::move(output.link));
    add(order.batch_pid);
  }
  std::vector<HangFinding> findings;
  for (LastOutput& output : LastOutputs(links, kMostFiles)) {
    HangFinding finding;
    finding.text = std::move(output.text);
    if (!output.is_public) finding.problem = "not everyone may read the file";
    findings.push_back(std::move(finding));
  }
  return findings;
}

std::vector<HangFinding> FindRas(const HangOrder& order, const HelperProgress& at) {
  const RasAnswer answer =
      AskRas(ProcessesOf(order.tasks, kMostHangProcesses), [&] { at("the answer of NCCL's RAS"); });
  HangFinding finding;
  finding.text = RasSummary(answer.report);
  finding.problem = answer.problem;
  if (finding.text.empty() && finding.problem.empty()) finding.problem = "RAS does not answer as expected";
  if (finding.text.size() > kMostFindingBytes) {
    const std::size_t end = finding.text.rfind('\n', kMostFindingBytes);
    finding.text.resize(end == std::string::npos ? kMostFindingBytes : end);
  }
  return {finding};
}

std::vector<HangFinding> FindStacks(const HangOrder& order, const HelperProgress& at) {
  std::vector<HangFinding> findings;
  for (PySpyAnswer& answer : AskPySpy(order.py_spy, order.tasks, [&] { at("the answer of py-spy"); })) {
    HangFinding finding;
    finding.task = answer.task;
    finding.process.emplace();
    finding.process->pid = answer.pid;
    finding.text = std::move(answer.text);
    finding.problem = std::move(answer.problem);
    finding.text.resize(std::min(finding.text.size(), kMostFindingBytes));
    finding.problem.resize(std::min(finding.problem.size(), kMostFindingBytes));
    findings.push_back(std::move(finding));
  }
  return findings;
}

std::optional<HangOrder> ReadOrder(const std::vector<std::string>& arguments) {
  HangOrder order;
  if (arguments.size() != kHangArguments || !absl::SimpleAtoi(arguments[0], &order.batch_pid))
    return std::nullopt;
  for (const absl::string_view one : absl::StrSplit(arguments[1], ',', absl::SkipEmpty())) {
    const std::vector<absl::string_view> words = absl::StrSplit(one, ':');
    TaskProcess task;
    if (words.size() != 2 || !absl::SimpleAtoi(words[0], &task.task) ||
        !absl::SimpleAtoi(words[1], &task.pid))
      return std::nullopt;
    order.tasks.push_back(task);
  }
  order.py_spy = arguments[2];
  return order;
}

}  // namespace

std::vector<std::string> ToArguments(const HangOrder& order) {
  std::string tasks;
  for (const TaskProcess& task : order.tasks)
    tasks += Cat(tasks.empty() ? "" : ",", task.task, ":", task.pid);
  return {Cat(order.batch_pid), tasks, order.py_spy};
}

HelperAnswers HangHelper(const std::vector<std::string>& arguments) {
  const std::optional<HangOrder> order = ReadOrder(arguments);
  return [order](std::string_view request, const HelperProgress& at) -> std::string {
    at(request);
    if (!order) return "";
    if (request == "proc") return EncodeFindings(FindProcesses(*order));
    if (request == "py-spy") return EncodeFindings(FindStacks(*order, at));
    return EncodeFindings(request == "ras" ? FindRas(*order, at) : FindOutput(*order));
  };
}

std::string EncodeFindings(const std::vector<HangFinding>& findings) {
  MessageWriter message;
  for (const HangFinding& finding : findings) {
    message.OptionalNumber(finding.task).Text(finding.text).Text(finding.problem);
    message.Flag(finding.process.has_value());
    if (!finding.process) continue;
    const ProcessLook& look = *finding.process;
    message.Number(look.pid).Text(look.program).Text(look.state).Text(look.wchan);
    message.Number(look.threads).Number(look.cpu_ms).Number(finding.look_ms);
  }
  return message.Take();
}

absl::StatusOr<std::vector<HangFinding>> DecodeFindings(std::string_view answer) {
  constexpr std::size_t kMostName = 128;
  MessageReader message(answer);
  std::vector<HangFinding> findings;
  std::size_t bytes = 0;
  while (message.ok() && !message.AtEnd()) {
    HangFinding finding;
    finding.task = message.OptionalNumber();
    finding.text = message.Text();
    finding.problem = message.Text();
    bytes += finding.text.size();
    if (finding.text.size() > kMostFindingBytes || finding.problem.size() > kMostFindingBytes)
      message.Reject();
    if (message.Flag()) {
      ProcessLook look;
      look.pid = message.Number();
      for (std::string* const name : {&look.program, &look.state, &look.wchan}) {
        *name = message.Text();
        if (name->size() > kMostName) message.Reject();
      }
      look.threads = message.Number();
      look.cpu_ms = message.Number();
      finding.look_ms = message.Number();
      finding.process = std::move(look);
    }
    findings.push_back(std::move(finding));
    if (findings.size() > kMostFindings || bytes > (std::size_t{16} << 10U)) message.Reject();
  }
  if (!message.ok()) return absl::InvalidArgumentError("malformed reply from the helper");
  return findings;
}

}  // namespace goodput
