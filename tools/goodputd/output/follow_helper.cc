#include "tools/goodputd/output/follow_helper.h"

#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "spank/clock.h"
#include "sql/text.h"
#include "tools/goodputd/job_paths.h"

namespace goodput {
namespace {

constexpr std::size_t kFixedArguments = 7;
constexpr std::size_t kEventWords = 16;
constexpr std::size_t kEventFlags = 4;
constexpr const char* kProgress = "progress.txt";
constexpr std::string_view kMegatron = "megatron";
constexpr std::string_view kProgressProfile = "megatron-progress";
constexpr int kKinds = 16;
constexpr std::int64_t kSrunsEveryNs = 500'000'000;

std::string OptionalNumber(const std::optional<std::int64_t>& value) {
  return value ? Cat(*value) : "-";
}

bool ReadOptional(absl::string_view word, std::optional<std::int64_t>& into) {
  std::int64_t value = 0;
  if (word == "-") return true;
  if (!absl::SimpleAtoi(word, &value)) return false;
  into = value;
  return true;
}

// Follows the output once the job's processes can be read; until then it reports why not.
class Following {
 public:
  explicit Following(FollowOrder order) : order_(std::move(order)) {}

  std::string Answer(std::string_view request, const HelperProgress& at) {
    at("the job's output");
    if (follower_ == nullptr) {
      if (std::string problem = Begin(); !problem.empty()) return EncodeFound({}, problem);
    }
    FollowSruns();
    return EncodeFound(follower_->Look(kSystemClock.real_ns(), request == "last"), "");
  }

 private:
  // Sruns of the batch script start and end.
  void FollowSruns() {
    const std::int64_t now = kSystemClock.mono_ns();
    if (order_.pids.empty() || now < next_sruns_) return;
    next_sruns_ = now + kSrunsEveryNs;
    for (const std::string& link : SrunOutputs(order_.pids.front())) {
      follower_->Follow(link, kSystemClock.real_ns());
    }
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
    options.append = OpenedToAppend(environment);
    options.since_ns = order_.since_ns;
    options.resume = order_.resume;
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
  std::int64_t next_sruns_ = 0;
};

}  // namespace

std::vector<std::string> ToArguments(const FollowOrder& order) {
  std::vector<std::string> pids;
  for (const std::int64_t pid : order.pids) pids.push_back(Cat(pid));
  std::vector<std::string> arguments{
      order.log_profile,   order.site_profiles,     order.checkpoint_dir, Cat(order.job), "",
      Cat(order.since_ns), Cat(order.resume.size())};
  for (const std::string& pid : pids) arguments[4] += (arguments[4].empty() ? "" : ",") + pid;
  for (const FileMark& mark : order.resume)
    arguments.push_back(Cat(mark.device, ":", mark.inode, ":", mark.offset));
  return arguments;
}

HelperAnswers FollowHelper(const std::vector<std::string>& arguments) {
  FollowOrder order;
  bool good = arguments.size() >= kFixedArguments;
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
      good = good && words.size() == 3 && absl::SimpleAtoi(words[0], &mark.device) &&
             absl::SimpleAtoi(words[1], &mark.inode) && absl::SimpleAtoi(words[2], &mark.offset);
      order.resume.push_back(mark);
    }
  }
  if (!good) return [](std::string_view, const HelperProgress&) -> std::string { return ""; };
  auto following = std::make_shared<Following>(std::move(order));
  return [following](std::string_view request, const HelperProgress& at) {
    return following->Answer(request, at);
  };
}

std::string EncodeFound(const OutputFollower::Found& found, std::string_view problem) {
  std::string text;
  if (!problem.empty()) absl::StrAppend(&text, "problem ", absl::CHexEscape(ToAbsl(problem)), "\n");
  if (!found.profile.empty()) absl::StrAppend(&text, "profile ", found.profile, "\n");
  if (found.more) text += "more\n";
  absl::StrAppend(&text, "cpu ", found.cpu_ns, "\n");
  if (found.skipped_bytes > 0) absl::StrAppend(&text, "skipped ", found.skipped_bytes, "\n");
  for (const FileMark& mark : found.files)
    absl::StrAppend(&text, "file ", mark.device, " ", mark.inode, " ", mark.offset, "\n");
  for (const OutputFollower::Event& said : found.events) {
    // A structured binding, so that a new member cannot be forgotten. The position of a bar and the time in
    // the line have become the event's own times.
    const auto& [kind, step, of, step_ns, about_ns, took_ns, elapsed_s, began, time, bytes, algbw, busbw,
                 name, epoch_begins, over_at_next_step, told_at_next_step, complete_is_untold] = said.event;
    absl::StrAppend(&text, "event ", static_cast<int>(kind), " ", said.t_ns, " ",
                    OptionalNumber(said.began_ns), " ", said.offset, " ");
    absl::StrAppend(&text, OptionalNumber(step), " ", OptionalNumber(of), " ", OptionalNumber(step_ns), " ",
                    OptionalNumber(about_ns), " ");
    absl::StrAppend(&text, OptionalNumber(took_ns), " ", epoch_begins ? 1 : 0, over_at_next_step ? 1 : 0,
                    told_at_next_step ? 1 : 0, complete_is_untold ? 1 : 0);
    absl::StrAppend(&text, " ", said.late_ns, " ", OptionalNumber(bytes), " ", OptionalNumber(algbw), " ",
                    OptionalNumber(busbw));
    absl::StrAppend(&text, " n", absl::WebSafeBase64Escape(name), "\n");
  }
  return text;
}

absl::StatusOr<FollowAnswer> DecodeFound(std::string_view text) {
  FollowAnswer answer;
  OutputFollower::Found& found = answer.found;
  const auto bad = [] { return absl::InvalidArgumentError("malformed reply from the helper"); };
  for (absl::string_view line : absl::StrSplit(ToAbsl(text), '\n', absl::SkipEmpty())) {
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
    if (words[0] == "problem") {
      if (!absl::CUnescape(line.substr(words[0].size() + 1), &answer.problem)) return bad();
    } else if (words[0] == "profile" && words.size() == 2) {
      found.profile = std::string(words[1]);
    } else if (words[0] == "cpu" && words.size() == 2) {
      if (!absl::SimpleAtoi(words[1], &found.cpu_ns)) return bad();
    } else if (words[0] == "more" && words.size() == 1) {
      found.more = true;
    } else if (words[0] == "skipped" && words.size() == 2) {
      if (!absl::SimpleAtoi(words[1], &found.skipped_bytes)) return bad();
    } else if (words[0] == "file" && words.size() == 4) {
      FileMark mark;
      if (!absl::SimpleAtoi(words[1], &mark.device) || !absl::SimpleAtoi(words[2], &mark.inode) ||
          !absl::SimpleAtoi(words[3], &mark.offset))
        return bad();
      found.files.push_back(mark);
    } else {
      OutputFollower::Event said;
      LogEvent& event = said.event;
      int kind = 0;
      if (words.size() != kEventWords || words[0] != "event" || !absl::SimpleAtoi(words[1], &kind) ||
          kind < 0 || kind >= kKinds || !absl::SimpleAtoi(words[2], &said.t_ns) ||
          !ReadOptional(words[3], said.began_ns) || !absl::SimpleAtoi(words[4], &said.offset) ||
          !ReadOptional(words[5], event.step) || !ReadOptional(words[6], event.of) ||
          !ReadOptional(words[7], event.step_ns) || !ReadOptional(words[8], event.about_ns) ||
          !ReadOptional(words[9], event.took_ns) || words[10].size() != kEventFlags ||
          !absl::SimpleAtoi(words[11], &said.late_ns) || !ReadOptional(words[12], event.bytes) ||
          !ReadOptional(words[13], event.algbw) || !ReadOptional(words[14], event.busbw) ||
          words[15].empty() || !absl::WebSafeBase64Unescape(words[15].substr(1), &event.name))
        return bad();
      event.kind = static_cast<LogEvent::Kind>(kind);
      event.epoch_begins = words[10][0] == '1';
      event.over_at_next_step = words[10][1] == '1';
      event.told_at_next_step = words[10][2] == '1';
      event.complete_is_untold = words[10][3] == '1';
      found.events.push_back(std::move(said));
    }
  }
  return answer;
}

}  // namespace goodput
