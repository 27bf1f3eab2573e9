#include "tools/sources/logs/log_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <tuple>
#include <utility>

#include "sql/status_macros.h"
#include "sql/text.h"
#include "tools/sources/logs/built_in.h"
#include "tools/sources/logs/google_events.h"
#include "tools/sources/logs/line_time.h"
#include "tools/sources/logs/line_words.h"
#include "tools/sources/logs/lines.h"

namespace goodput {
namespace {

namespace fs = std::filesystem;

// Two lines of steps are not a coincidence.
constexpr int kCertainSteps = 2;
// Number of events kept until the profile is known.
constexpr std::size_t kMaxHeld = 4096;
// A profile is inferred while a program runs only from this many lines of steps.
constexpr int kLiveLines = 10;
// Fewer if the user says that epochs count.
constexpr int kLiveEpochs = 2;
constexpr std::size_t kMaxKeptBytes = std::size_t{128} << 10U;
constexpr std::string_view kEnding = ".profile";
constexpr std::string_view kBuiltIn = "built in";
constexpr std::size_t kMaxSiteProfiles = 256;

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return absl::InvalidArgumentError(Cat(path, ": ", std::strerror(errno)));
  std::string text(kMaxProfileBytes + 1, '\0');
  std::size_t size = 0;
  ssize_t got = 0;
  while (size < text.size() && (got = read(fd, text.data() + size, text.size() - size)) > 0)
    size += static_cast<std::size_t>(got);
  const int why = errno;
  close(fd);
  if (got < 0) return absl::InvalidArgumentError(Cat(path, ": ", std::strerror(why)));
  text.resize(size);
  return text;
}

KnownProfile Known(std::string name, std::string where, std::string text) {
  KnownProfile known;
  known.profile = where == kBuiltIn ? LogProfile::ParseBuiltIn(text, Cat(where, " ", name))
                                    : LogProfile::Parse(text, where);
  if (known.profile.ok() && known.profile->name() != name) {
    known.profile = absl::InvalidArgumentError(
        Cat(where, ": it is named ", known.profile->name(), "; a profile's file is NAME", kEnding));
  }
  known.name = std::move(name);
  known.where = std::move(where);
  known.text = std::move(text);
  return known;
}

// Of the time that a program prints and the one that was put in front of its line: the program's, unless its
// zone is unknown and the other's is not.
std::optional<LineTime> Surer(const std::optional<LineTime>& own, const std::optional<LineTime>& outer) {
  const auto absolute = [](const std::optional<LineTime>& time) {
    return time && time->kind == LineTime::Kind::kAbsolute;
  };
  return !own || (absolute(outer) && !absolute(own)) ? outer : own;
}

// Such lines do not identify the training's profile.
bool IsOfNetworkTest(const LogEvent& event) {
  return event.kind == LogEvent::Kind::kCollective || event.kind == LogEvent::Kind::kCollectiveHost;
}

bool IsReadBeside(std::string_view profile) {
  return profile == kSlurmProfile || profile == kNcclTestsProfile || profile == kKubernetesProfile;
}

std::vector<KnownProfile> SiteProfiles(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code ignored;
  for (const fs::directory_entry& file : fs::directory_iterator(folder, ignored)) {
    if (file.path().extension() == kEnding && paths.size() < kMaxSiteProfiles) paths.push_back(file.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<KnownProfile> profiles;
  for (const std::string& path : paths) {
    const std::string name = fs::path(path).stem();
    absl::StatusOr<std::string> text = ReadFile(path);
    if (text.ok()) {
      profiles.push_back(Known(name, path, *std::move(text)));
    } else {
      profiles.push_back({name, path, "", text.status()});
    }
  }
  return profiles;
}

}  // namespace

std::vector<KnownProfile> LoadProfiles(const std::string& site_folder) {
  std::vector<KnownProfile> profiles = SiteProfiles(site_folder);
  for (const BuiltInProfile& built_in : BuiltInProfiles()) {
    const bool replaced = std::any_of(profiles.begin(), profiles.end(),
                                      [&](const KnownProfile& known) { return known.name == built_in.name; });
    if (replaced) continue;
    profiles.push_back(Known(std::string(built_in.name), std::string(kBuiltIn), std::string(built_in.text)));
  }
  return profiles;
}

bool IsProfileFile(std::string_view profile) {
  const bool ends =
      profile.size() >= kEnding.size() && profile.substr(profile.size() - kEnding.size()) == kEnding;
  return ends || profile.find('/') != std::string_view::npos;
}

absl::StatusOr<LogReader> LogReader::Open(std::string_view name, const std::string& site_folder) {
  LogReader reader;
  std::string names;
  const bool google = name == kGoogleProfile;
  for (KnownProfile& known : LoadProfiles(site_folder)) {
    names += (names.empty() ? "" : ", ") + known.name;
    const bool beside = IsReadBeside(known.name) && known.name != name;
    if (name != kAutoProfile && known.name != name && !beside) continue;
    if (!known.profile.ok()) {
      if (name == kAutoProfile || beside) continue;
      return known.profile.status();
    }
    reader.candidates_.push_back(MakeCandidate(*std::move(known.profile), beside));
  }
  if (google || name == kAutoProfile) reader.candidates_.emplace_back().name = kGoogleProfile;
  const bool found = std::any_of(reader.candidates_.begin(), reader.candidates_.end(),
                                 [](const Candidate& candidate) { return !candidate.beside; });
  if (!found && name != kEpochsProfile)
    return absl::NotFoundError(Cat("unknown log profile ", name, "; known: ", names, ", ", kGoogleProfile,
                                   ", ", kEpochsProfile, " and ", kAutoProfile));
  if (name == kAutoProfile) {
    reader.learner_.emplace();
  } else if (name == kEpochsProfile) {
    reader.learner_.emplace(ProfileLearner::Counts::kEpochs);
  } else {
    reader.chosen_name_ = std::string(name);
  }
  return reader;
}

absl::StatusOr<LogReader> LogReader::Of(std::string_view text, std::string_view where) {
  absl::StatusOr<LogProfile> profile = LogProfile::Parse(text, where);
  if (!profile.ok()) return profile.status();
  LogReader reader;
  reader.chosen_name_ = profile->name();
  reader.candidates_.push_back(MakeCandidate(*std::move(profile), false));
  return reader;
}

LogReader::Candidate LogReader::MakeCandidate(LogProfile profile, bool beside) {
  Candidate candidate;
  candidate.name = profile.name();
  candidate.profile = std::make_unique<LogProfile>(std::move(profile));
  candidate.beside = beside;
  return candidate;
}

// Counts the event's step from the program's first, if it is counted within an epoch. False: that is not
// known, or it is another bar's, such as an evaluation's, whose total differs.
bool LogReader::Place(Candidate& candidate, LogEvent& event) {
  if (event.within == LogEvent::Within::kProgram) return true;
  if (event.within == LogEvent::Within::kEpoch && !candidate.epoch) return false;
  if (candidate.epoch && !candidate.epoch_of) candidate.epoch_of = event.of;
  if (candidate.epoch && event.of != candidate.epoch_of) return false;
  return PlaceInEpoch(event, candidate.epoch.value_or(0));
}

void LogReader::SeeRank(Candidate& candidate, std::string_view line, LogEvent& event) {
  const bool end = event.kind == LogEvent::Kind::kStepEnd;
  if (!event.step || (!end && event.kind != LogEvent::Kind::kStepBegin)) return;
  event.said_before =
      candidate.ranks.HasSaid(FindRankLabel(line), end ? *event.step : *event.step - 1, event.time);
}

std::vector<LogEvent> LogReader::Events(Candidate& candidate, std::string_view line) {
  if (candidate.profile == nullptr) return GoogleEvents(Unwrap(line).line);
  const std::string_view whole = line;
  const std::optional<std::int64_t> task = TaskInLabel(line);
  line = WithoutLabel(line);
  const Unwrapped inner = Unwrap(line);
  std::optional<LogEvent> event = candidate.profile->Match(line);
  if (!event && inner.line.size() < line.size()) event = candidate.profile->Match(inner.line);
  if (!event) return {};
  if (event->kind == LogEvent::Kind::kEpochBegin) {
    candidate.epoch = event->epoch;
    return {};
  }
  if (event->kind == LogEvent::Kind::kStepEnd && !event->step) {
    event->step = std::exchange(candidate.begun, std::nullopt);
    if (!event->step) return {};
  } else if (!Place(candidate, *event)) {
    return {};
  }
  if (event->kind == LogEvent::Kind::kStepBegin) candidate.begun = event->step;
  event->time = Surer(event->time, inner.time);
  event->task = task;
  SeeRank(candidate, whole, *event);
  return {*std::move(event)};
}

void LogReader::Line(std::string_view line, std::int64_t offset, std::int64_t read_ns, const Take& take) {
  if (learner_ && !chosen_name_.empty()) LearnMore(line);
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    Candidate& candidate = candidates_[i];
    for (LogEvent& event : Events(candidate, line)) {
      const bool step = event.kind == LogEvent::Kind::kStepEnd || event.kind == LogEvent::Kind::kStepBegin;
      const bool now = !chosen_name_.empty() || IsOfNetworkTest(event);
      Said said{std::move(event), offset, read_ns};
      if (now) {
        take(said);
        continue;
      }
      if (!candidate.beside) ++(step ? candidate.steps : candidate.others);
      if (held_.size() >= kMaxHeld) held_.pop_front();
      held_.push_back({i, std::move(said)});
      if (candidate.steps >= kCertainSteps) {
        Choose(i, take);
        return;
      }
    }
  }
  if (learner_ && chosen_name_.empty()) LearnFrom(line, offset, read_ns, take);
}

// Each rank counts for itself.
void LogReader::See(std::string_view line) {
  const std::optional<RankLabel> label = FindRankLabel(line);
  learner_->See(WithoutLabel(line), label ? label->text : std::string_view());
}

bool LogReader::IsOfSteps(std::string_view line) const {
  return learner_->counts() == ProfileLearner::Counts::kEpochs ? LooksLikeEpoch(line)
                                                               : LooksLikeProgress(line);
}

std::optional<LearnedProfile> LogReader::LearnLive() const {
  const bool epochs = learner_->counts() == ProfileLearner::Counts::kEpochs;
  return learner_->Learn(kLearnedProfile, epochs ? kLiveEpochs : kLiveLines);
}

// A line of steps reports all since the previous one: every second, with the first, tells the same steps.
void LogReader::Thin() {
  const auto bytes = [&] {
    kept_bytes_ = 0;
    for (const Kept& kept : kept_) kept_bytes_ += kept.line.size();
    return kept_bytes_;
  };
  kept_.erase(std::remove_if(kept_.begin(), kept_.end(),
                             [&](const Kept& kept) { return !IsOfSteps(WithoutLabel(kept.line)); }),
              kept_.end());
  while (bytes() > kMaxKeptBytes / 2 && kept_.size() > 1) {
    std::size_t at = 0;
    kept_.erase(std::remove_if(kept_.begin(), kept_.end(), [&](const Kept&) { return at++ % 2 != 0; }),
                kept_.end());
  }
}

void LogReader::LearnFrom(std::string_view line, std::int64_t offset, std::int64_t read_ns,
                          const Take& take) {
  See(line);
  kept_.push_back({std::string(line), offset, read_ns});
  kept_bytes_ += line.size();
  if (kept_bytes_ > kMaxKeptBytes) Thin();
  // A try compiles expressions, which takes milliseconds.
  if (++lines_ < next_try_) return;
  next_try_ += next_try_ / 4;
  const std::optional<LearnedProfile> learned = LearnLive();
  if (learned) Adopt(*learned, take);
}

// The first save comes after many steps.
void LogReader::LearnMore(std::string_view line) {
  const std::size_t saves = learner_->saves();
  See(line);
  const auto own = std::find_if(candidates_.begin(), candidates_.end(),
                                [](const Candidate& candidate) { return candidate.name == kLearnedProfile; });
  if (own == candidates_.end()) return;
  const bool wrong = learner_->WasWrongAbout(learned_counter_);
  if (!wrong && learner_->saves() == saves) return;
  const std::optional<LearnedProfile> learned = LearnLive();
  const bool goes_on = learned && (wrong ? learned->from_first_epoch : learned->counter == learned_counter_);
  absl::StatusOr<LogProfile> profile =
      goes_on ? LogProfile::Parse(learned->text, kLearnedProfile) : absl::NotFoundError("");
  if (profile.ok()) {
    own->profile = std::make_unique<LogProfile>(*std::move(profile));
    learned_counter_ = learned->counter;
  } else if (wrong) {
    // What was read is right. What follows would be taken for a restart.
    candidates_.erase(own);
  }
}

void LogReader::Adopt(const LearnedProfile& learned, const Take& take) {
  absl::StatusOr<LogProfile> profile = LogProfile::Parse(learned.text, kLearnedProfile);
  if (!profile.ok()) return;
  candidates_.push_back(MakeCandidate(*std::move(profile), false));
  learned_counter_ = learned.counter;
  const std::deque<Kept> kept = std::move(kept_);
  Choose(candidates_.size() - 1, take);
  // What others found in these lines was passed by Choose.
  const auto own = std::find_if(candidates_.begin(), candidates_.end(),
                                [](const Candidate& candidate) { return candidate.name == kLearnedProfile; });
  for (const Kept& one : kept) {
    for (LogEvent& event : Events(*own, one.line)) take({std::move(event), one.offset, one.read_ns});
  }
}

absl::StatusOr<LogReader> LogReader::OpenCounted(const Counted& counted, const std::string& site_folder) {
  if (!counted.learned) return Open(counted.name, site_folder);
  ASSIGN_OR_RETURN(LogReader reader, Of(counted.learned->text, kLearnedProfile));
  for (KnownProfile& known : LoadProfiles(site_folder)) {
    if (!IsReadBeside(known.name) || !known.profile.ok()) continue;
    reader.candidates_.push_back(MakeCandidate(*std::move(known.profile), true));
  }
  return reader;
}

void LogReader::Count(std::string_view line) {
  if (learner_) See(line);
  for (Candidate& candidate : candidates_) {
    for (const LogEvent& event : Events(candidate, line)) {
      if (candidate.beside && !IsOfNetworkTest(event)) continue;
      const bool step = event.kind == LogEvent::Kind::kStepEnd || event.kind == LogEvent::Kind::kStepBegin;
      ++(step ? candidate.steps : candidate.others);
      candidate.counters.See(event);
    }
  }
}

LogReader::Counted LogReader::MostCounted() const {
  const Candidate* best = nullptr;
  for (const Candidate& candidate : candidates_) {
    if (candidate.steps + candidate.others == 0) continue;
    // A profile that is read in addition to others is chosen only if there is no other.
    const auto rank = [](const Candidate& of) { return std::tuple(!of.beside, of.steps, of.others); };
    if (best == nullptr || rank(candidate) > rank(*best)) best = &candidate;
  }
  if (learner_ && (best == nullptr || best->steps == 0)) {
    if (std::optional<LearnedProfile> learned = learner_->Learn(kLearnedProfile))
      return {std::string(kLearnedProfile), {}, std::move(learned), ""};
  }
  if (best == nullptr) return {"", {}, {}, learner_ ? learner_->WhyNot() : ""};
  const bool none = learner_ && best->steps == 0 && !best->beside;
  return {best->name, best->counters, {}, none ? learner_->WhyNot() : ""};
}

void LogReader::Choose(std::size_t which, const Take& take) {
  for (const Held& held : held_) {
    if (held.candidate == which || candidates_[held.candidate].beside) take(held.said);
  }
  held_.clear();
  kept_.clear();
  if (candidates_[which].name != kLearnedProfile) learner_.reset();
  chosen_name_ = candidates_[which].name;
  std::vector<Candidate> kept;
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    if (i == which || candidates_[i].beside) kept.push_back(std::move(candidates_[i]));
  }
  candidates_ = std::move(kept);
}

void LogReader::ProgramBegins() {
  if (learner_) learner_->ProgramBegins();
  for (Candidate& candidate : candidates_) {
    candidate.epoch.reset();
    candidate.epoch_of.reset();
    candidate.begun.reset();
  }
}

void LogReader::Finish(const Take& take) {
  if (!chosen_name_.empty()) return;
  const bool steps = std::any_of(candidates_.begin(), candidates_.end(),
                                 [](const Candidate& candidate) { return candidate.steps > 0; });
  if (learner_ && !steps) {
    if (const std::optional<LearnedProfile> learned = LearnLive()) return Adopt(*learned, take);
  }
  if (held_.empty()) return;
  const auto best =
      std::max_element(candidates_.begin(), candidates_.end(), [](const Candidate& a, const Candidate& b) {
        return std::pair(a.steps, a.others) < std::pair(b.steps, b.others);
      });
  if (best->steps + best->others == 0) {
    for (const Held& held : held_) take(held.said);
    held_.clear();
    return;
  }
  Choose(static_cast<std::size_t>(best - candidates_.begin()), take);
}

std::optional<LineTime> LogReader::TimeOf(std::string_view line) const {
  line = WithoutLabel(line);
  const std::optional<LineTime> outer = Unwrap(line).time;
  for (const Candidate& candidate : candidates_) {
    if (candidate.profile == nullptr) continue;
    if (const std::optional<LineTime> time = candidate.profile->TimeOf(line)) return Surer(time, outer);
  }
  return outer;
}

}  // namespace goodput
