// `sgoodput watch`: one run while it runs, redrawn until it ends.
#include <poll.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "spank/clock.h"
#include "sql/status_macros.h"
#include "sql/text.h"
#include "tools/accounting/runs/load_run.h"
#include "tools/accounting/timeline/last_step.h"
#include "tools/base/format.h"
#include "tools/sgoodput/options.h"
#include "tools/sgoodput/remote.h"
#include "tools/sgoodput/run_report.h"
#include "tools/sgoodput/session.h"
#include "tools/sgoodput/show_sections.h"

namespace goodput {
namespace {

constexpr std::size_t kSignalsShown = 3;
constexpr std::int64_t kLongestWaitNs = 30'000'000'000;

bool IsNotYet(const absl::Status& status) {
  return absl::IsNotFound(status) && absl::EndsWith(status.message(), ToAbsl(kAskAgain));
}

// Makes the terminal return single keys without echo while it lives.
class SingleKeys {
 public:
  SingleKeys() {
    if (isatty(STDIN_FILENO) == 0 || tcgetattr(STDIN_FILENO, &before_) != 0) return;
    termios keys = before_;
    keys.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    on_ = tcsetattr(STDIN_FILENO, TCSANOW, &keys) == 0;
  }
  ~SingleKeys() {
    if (on_) tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  }
  SingleKeys(const SingleKeys&) = delete;
  SingleKeys& operator=(const SingleKeys&) = delete;
  bool on() const { return on_; }

 private:
  termios before_{};
  bool on_ = false;
};

// What the run would lose if it died now, and the age of its last step.
void PrintNow(const Report& report, const Style& style) {
  const Timeline& timeline = report.timeline;
  if (!timeline.running) return;
  const Checkpoint* last = nullptr;
  for (const Checkpoint& checkpoint : timeline.checkpoints) {
    if (checkpoint.complete && (last == nullptr || checkpoint.begin > last->begin)) last = &checkpoint;
  }
  const Ns at_risk = report.account.buckets[static_cast<std::size_t>(Bucket::kAtRisk)].ns;
  std::string risk = Cat(FormatDuration(at_risk), ", ", timeline.steps.at_risk,
                         timeline.steps.at_risk == 1 ? " step" : " steps", " that no checkpoint covers");
  if (last == nullptr) {
    risk += "; no checkpoint yet";
  } else {
    risk += Cat("; last checkpoint ", last->step ? Cat("of step ", *last->step, " ") : std::string(),
                "begun ", FormatDuration(timeline.now - last->begin), " ago");
  }
  if (timeline.steps.executed == 0) return;
  // The title is as wide as the indent of the following lines.
  const std::string indent(13, ' ');
  std::printf("%s  %s", style.Bold("At risk now").c_str(), Wrap(risk, indent).substr(indent.size()).c_str());
  if (const std::optional<LastStep> last_step = FindLastStep(timeline)) {
    std::printf("%s    %lld, begun %s ago; a step takes %s\n", style.Bold("Last step").c_str(),
                static_cast<long long>(last_step->step),
                FormatDuration(timeline.now - last_step->begin).c_str(),
                FormatDuration(timeline.steps.median).c_str());
  }
  std::printf("\n");
}

void PrintFrame(const Report& report, const Style& style) {
  PrintHead(report, style);
  PrintGoodput(report, style);
  PrintNow(report, style);
  PrintBuckets(report, style);
  PrintSignals(report, style, kSignalsShown);
  if (!report.timeline.interruptions.empty()) {
    const Interruption& last = report.timeline.interruptions.back();
    std::printf("%zu interruption%s, the last %s: %s%s\n", report.timeline.interruptions.size(),
                report.timeline.interruptions.size() == 1 ? "" : "s", FormatTime(last.time).c_str(),
                last.cause.c_str(), last.node.empty() ? "" : Cat(", node ", Printable(last.node)).c_str());
  }
}

// Uses the terminal's alternate screen from the first frame until it is destroyed, so that the previous
// contents and the scrollback remain.
class AlternateScreen {
 public:
  explicit AlternateScreen(bool on) : on_(on) {}
  ~AlternateScreen() { Leave(); }
  AlternateScreen(const AlternateScreen&) = delete;
  AlternateScreen& operator=(const AlternateScreen&) = delete;
  // A frame is one write, so that nothing flickers.
  void BeginFrame() {
    if (!on_) return;
    std::fputs(entered_ ? "\033[H\033[2J" : "\033[?1049h\033[H\033[2J", stdout);
    entered_ = true;
  }
  void Leave() {
    if (entered_) std::fputs("\033[?1049l", stdout);
    entered_ = false;
    on_ = false;
    std::fflush(stdout);
  }
  bool entered() const { return entered_; }

 private:
  bool on_;
  bool entered_ = false;
};

// The same through goodputd. The third line of a running run's output contains "(now)".
absl::StatusOr<bool> LookRemotely(const std::string& url, const WatchOptions& options,
                                  AlternateScreen& screen) {
  CommonOptions common = options.common;
  if (UseColor(common.color)) common.color = "always";
  RemoteQuestion question = QuestionAbout("watch", options.target);
  question.parameters.emplace_back("stall-factor", Cat(options.stall_factor));
  ASSIGN_OR_RETURN(const CommandResult answer, AskAndWait(url, common, question));
  if (answer.exit_code != 0) {
    std::string why = answer.err.substr(0, answer.err.find('\n'));
    constexpr std::string_view kPrefix = "sgoodput: ";
    if (why.compare(0, kPrefix.size(), kPrefix) == 0) why.erase(0, kPrefix.size());
    return answer.exit_code == kNothingMatched ? absl::NotFoundError(why) : absl::UnavailableError(why);
  }
  screen.BeginFrame();
  std::fputs(answer.out.c_str(), stdout);
  const std::vector<std::string> lines = absl::StrSplit(answer.out, absl::MaxSplits('\n', 3));
  return lines.size() > 2 && lines[2].find(" (now), wall ") != std::string::npos;
}

// Draws one frame. Returns whether the run is running, or why there is nothing to show.
absl::StatusOr<bool> Look(const WatchOptions& options, const Style& style, AlternateScreen& screen) {
  if (const std::optional<std::string> url = RemoteUrl(options.common))
    return LookRemotely(*url, options, screen);
  ASSIGN_OR_RETURN(Target target, OpenTarget(options.common, options.target));
  ASSIGN_OR_RETURN(const Report report, MakeReport(target, {options.stall_factor}));
  screen.BeginFrame();
  PrintFrame(report, style);
  return report.timeline.running;
}

}  // namespace

int RunWatch(const WatchOptions& options) {
  const bool to_screen = isatty(STDOUT_FILENO) != 0 && !options.once;
  const Style style(UseColor(options.common.color));
  std::string frame_buffer(std::size_t{1} << 16U, '\0');
  std::setvbuf(stdout, frame_buffer.data(), _IOFBF, frame_buffer.size());
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signo : {SIGINT, SIGTERM, SIGHUP, SIGWINCH}) sigaddset(&signals, signo);
  std::optional<SingleKeys> keys;
  int signal_fd = -1;
  if (!options.once) {
    sigprocmask(SIG_BLOCK, &signals, nullptr);
    signal_fd = signalfd(-1, &signals, SFD_CLOEXEC);
    if (to_screen) keys.emplace();
  }
  int exit_status = kAnswered;
  bool seen = false;
  const std::int64_t began = kSystemClock.mono_ns();
  AlternateScreen screen(to_screen);
  while (true) {
    const absl::StatusOr<bool> running = Look(options, style, screen);
    // Once the run has been shown, a busy database does not end the command; nor does a job that started a
    // moment ago and has too few records yet.
    const bool waits = !running.ok() && !seen && !options.once && IsNotYet(running.status()) &&
                       kSystemClock.mono_ns() - began < kLongestWaitNs;
    if (!running.ok() && !waits) exit_status = Fail(running.status());
    if (!running.ok() && !waits && !seen) break;
    std::fflush(stdout);
    if (options.once || (running.ok() && !*running)) break;
    if (running.ok()) exit_status = kAnswered;
    seen = seen || running.ok();
    pollfd events[] = {{signal_fd, POLLIN, 0}, {keys && keys->on() ? STDIN_FILENO : -1, POLLIN, 0}};
    if (poll(events, 2, static_cast<int>(options.interval_s * 1000)) > 0) {
      signalfd_siginfo info{};
      if ((events[0].revents & POLLIN) != 0 && read(signal_fd, &info, sizeof(info)) == sizeof(info) &&
          info.ssi_signo != SIGWINCH)
        break;
      char key = '\0';
      if (events[1].revents != 0 && (read(STDIN_FILENO, &key, 1) != 1 || key == 'q' || key == 'Q')) break;
    } else if (!to_screen) {
      std::printf("\n");
    }
  }
  // The last state remains on the normal screen.
  if (screen.entered()) {
    screen.Leave();
    static_cast<void>(Look(options, style, screen));
  }
  // The buffer goes out of scope with this function, and exit would flush into it.
  std::fflush(stdout);
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  if (signal_fd >= 0) close(signal_fd);
  return exit_status;
}

}  // namespace goodput
