#include "tools/goodputd/output/follow_helper.h"

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "spank/clock.h"
#include "sql/text.h"
#include "tools/base/helper_message.h"
#include "tools/goodputd/job_paths.h"
#include "tools/goodputd/output/open_mode.h"

namespace goodput {
namespace {

constexpr std::size_t kFixedArguments = 7;
constexpr std::size_t kMarkNumbers = 4;
constexpr const char* kProgress = "progress.txt";
constexpr std::string_view kMegatron = "megatron";
constexpr std::string_view kProgressProfile = "megatron-progress";
// An epoch's begin only places the lines after it.
constexpr int kKinds = static_cast<int>(LogEvent::Kind::kEpochBegin);
constexpr std::int64_t kProgramsEveryNs = 500'000'000;

// Follows the output once the job's processes can be read; until then it reports why not.
class Following {
 public:
  explicit Following(FollowOrder order) : order_(std::move(order)) {}

  std::string Answer(std::string_view request, const HelperProgress& at) {
    at("the job's output");
    if (follower_ == nullptr) {
      if (std::string problem = Begin(); !problem.empty()) return EncodeFound({}, problem);
    }
    const bool begins = FollowPrograms();
    // What the program before it printed is read first.
    if (begins) follower_->ProgramBegins();
    return EncodeFound(follower_->Look(kSystemClock.real_ns(), request == "last"), "");
  }

 private:
  // Programs of the job start and end. True: an srun began, and none goes on.
  bool FollowPrograms() {
    const std::int64_t now = kSystemClock.mono_ns();
    if (order_.pids.empty() || now < next_programs_) return false;
    next_programs_ = now + kProgramsEveryNs;
    const std::set<std::pair<std::string, std::string>> before = std::exchange(outputs_, {});
    const std::set<std::int64_t> sruns_before = std::exchange(sruns_, {});
    bool begins = false;
    bool goes_on = false;
    for (const ProgramOutput& output : ProgramOutputs(order_.pids)) {
      // A file is opened once for each of its programs: it may be on a slow file system.
      if (outputs_.emplace(output.link, output.file).second && before.count({output.link, output.file}) == 0)
        follower_->Follow(output.link, (output.srun && append_) || output.append, kSystemClock.real_ns());
      if (!output.srun) continue;
      sruns_.insert(output.pid);
      (sruns_before.count(output.pid) == 0 ? begins : goes_on) = true;
    }
    return begins && !goes_on;
  }
  std::string Begin() {
    absl::StatusOr<LogReader> reader = LogReader::Open(order_.log_profile, order_.site_profiles);
    if (!reader.ok()) return Message(reader.status());
    OutputFollower::Options options;
    std::optional<LogReader> beside;
    std::string environment;
    for (const std::int64_t pid : order_.pids) {
      if (environment.empty()) environment = ProcessEnvironment(pid);
      options.links.push_back(Cat("/proc/", pid, "/fd/1"));
      options.links.push_back(Cat("/proc/", pid, "/fd/2"));
    }
    append_ = SlurmAppends(environment, ReadSmallFile);
    options.append = append_;
    options.since_ns = order_.since_ns;
    options.resume = order_.resume;
    options.ended = order_.ended;
    const bool megatron = order_.log_profile == kMegatron || order_.log_profile == kAutoProfile;
    if (megatron && !order_.checkpoint_dir.empty() && !order_.pids.empty()) {
      const std::string path = ResolveJobPath(order_.checkpoint_dir, order_.job, order_.pids.front());
      absl::StatusOr<LogReader> progress = LogReader::Open(kProgressProfile, order_.site_profiles);
      if (!path.empty() && progress.ok()) {
        options.beside = Cat(path, "/", kProgress);
        beside = *std::move(progress);
      }
    }
    follower_ = std::make_unique<OutputFollower>(*std::move(reader), std::move(options), std::move(beside));
    return "";
  }

  FollowOrder order_;
  std::unique_ptr<OutputFollower> follower_;
  bool append_ = false;
  std::set<std::pair<std::string, std::string>> outputs_;  // of programs that run: link and its text
  std::set<std::int64_t> sruns_;                           // that run
  std::int64_t next_programs_ = 0;
};

}  // namespace

std::vector<std::string> ToArguments(const FollowOrder& order) {
  std::vector<std::string> pids;
  for (const std::int64_t pid : order.pids) pids.push_back(Cat(pid));
  std::vector<std::string> arguments{
      order.log_profile,   order.site_profiles,     order.checkpoint_dir, Cat(order.job), "",
      Cat(order.since_ns), Cat(order.resume.size())};
  for (const std::string& pid : pids) arguments[4] += (arguments[4].empty() ? "" : ",") + pid;
  for (const std::vector<FileMark>* const marks : {&order.resume, &order.ended}) {
    for (const FileMark& mark : *marks)
      arguments.push_back(Cat(mark.device, ":", mark.inode, ":", mark.offset, ":", mark.before));
  }
  return arguments;
}

HelperAnswers FollowHelper(const std::vector<std::string>& arguments) {
  FollowOrder order;
  std::size_t resumed = 0;
  bool good = arguments.size() >= kFixedArguments && absl::SimpleAtoi(arguments[6], &resumed);
  if (good) {
    order.log_profile = arguments[0];
    order.site_profiles = arguments[1];
    order.checkpoint_dir = arguments[2];
    good = absl::SimpleAtoi(arguments[3], &order.job) && absl::SimpleAtoi(arguments[5], &order.since_ns);
    for (const absl::string_view pid : absl::StrSplit(arguments[4], ',', absl::SkipEmpty())) {
      order.pids.push_back(0);
      good = good && absl::SimpleAtoi(pid, &order.pids.back());
    }
    for (std::size_t i = kFixedArguments; i < arguments.size(); ++i) {
      const std::vector<absl::string_view> words = absl::StrSplit(arguments[i], ':');
      FileMark mark;
      good = good && words.size() == kMarkNumbers && absl::SimpleAtoi(words[0], &mark.device) &&
             absl::SimpleAtoi(words[1], &mark.inode) && absl::SimpleAtoi(words[2], &mark.offset) &&
             absl::SimpleAtoi(words[3], &mark.before);
      (order.resume.size() < resumed ? order.resume : order.ended).push_back(mark);
    }
  }
  if (!good) return [](std::string_view, const HelperProgress&) -> std::string { return ""; };
  auto following = std::make_shared<Following>(std::move(order));
  return [following](std::string_view request, const HelperProgress& at) {
    return following->Answer(request, at);
  };
}

std::string EncodeFound(const OutputFollower::Found& found, std::string_view problem) {
  MessageWriter message;
  message.Text(problem).Text(found.profile).Flag(found.more).Number(found.cpu_ns).Number(found.skipped_bytes);
  message.Number(static_cast<std::int64_t>(found.files.size()));
  for (const FileMark& mark : found.files) {
    message.Number(static_cast<std::int64_t>(mark.device)).Number(static_cast<std::int64_t>(mark.inode));
    message.Number(mark.offset).Number(static_cast<std::int64_t>(mark.before));
  }
  for (const OutputFollower::Event& said : found.events) {
    // Names each member, so that a new one cannot be forgotten here. The position of a bar, the line's own
    // times and its epoch have become parts of the event's times and step.
    const auto& [kind, within, step, of, epoch, step_ns, about_ns, took_ns, elapsed_s, began, time, bytes,
                 algbw, busbw, task, name, epoch_begins, over_at_next_step, told_at_next_step,
                 complete_is_untold, said_before] = said.event;
    message.Number(static_cast<std::int64_t>(kind)).Number(said.t_ns).OptionalNumber(said.began_ns);
    message.Number(said.offset).Number(said.late_ns);
    for (const auto& number : {step, of, step_ns, about_ns, took_ns, bytes, algbw, busbw, task})
      message.OptionalNumber(number);
    for (const bool flag :
         {epoch_begins, over_at_next_step, told_at_next_step, complete_is_untold, said_before})
      message.Flag(flag);
    message.Text(name);
  }
  return message.Take();
}

absl::StatusOr<FollowAnswer> DecodeFound(std::string_view text) {
  MessageReader message(text);
  FollowAnswer answer;
  OutputFollower::Found& found = answer.found;
  answer.problem = message.Text();
  found.profile = message.Text();
  found.more = message.Flag();
  found.cpu_ns = message.Number();
  found.skipped_bytes = message.Number();
  for (std::int64_t files = message.Number(); message.ok() && files > 0; --files) {
    FileMark mark;
    mark.device = static_cast<decltype(mark.device)>(message.Number());
    mark.inode = static_cast<decltype(mark.inode)>(message.Number());
    mark.offset = message.Number();
    mark.before = static_cast<decltype(mark.before)>(message.Number());
    found.files.push_back(mark);
  }
  while (message.ok() && !message.AtEnd()) {
    OutputFollower::Event said;
    LogEvent& event = said.event;
    const std::int64_t kind = message.Number();
    if (kind < 0 || kind >= kKinds) message.Reject();
    event.kind = static_cast<LogEvent::Kind>(kind);
    said.t_ns = message.Number();
    said.began_ns = message.OptionalNumber();
    said.offset = message.Number();
    said.late_ns = message.Number();
    for (auto* const number : {&event.step, &event.of, &event.step_ns, &event.about_ns, &event.took_ns,
                               &event.bytes, &event.algbw, &event.busbw, &event.task})
      *number = message.OptionalNumber();
    for (bool* const flag : {&event.epoch_begins, &event.over_at_next_step, &event.told_at_next_step,
                             &event.complete_is_untold, &event.said_before})
      *flag = message.Flag();
    event.name = message.Text();
    found.events.push_back(std::move(said));
  }
  if (!message.ok() || found.cpu_ns < 0) return absl::InvalidArgumentError("malformed reply from the helper");
  return answer;
}

}  // namespace goodput
