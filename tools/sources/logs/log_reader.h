// Loads the log profiles, and reads lines with the selected one.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tools/sources/logs/one_rank.h"
#include "tools/sources/logs/profile.h"
#include "tools/sources/logs/profile_learner.h"
#include "tools/sources/logs/progress_bars.h"

namespace goodput {

// How Slurm ends a job, results of nccl-tests, and what happened to pods (import_export/cloud_log.h): read in
// addition to any other profile.
inline constexpr std::string_view kSlurmProfile = "slurm";
inline constexpr std::string_view kNcclTestsProfile = "nccl-tests";
inline constexpr std::string_view kKubernetesProfile = "kubernetes";
// Selects the profile that fits.
inline constexpr std::string_view kAutoProfile = "auto";
// Counts epochs as steps, in lines that have an epoch and a loss.
inline constexpr std::string_view kEpochsProfile = "epochs";
// Was inferred from the lines themselves (profile_learner.h).
inline constexpr std::string_view kLearnedProfile = "learned";
// For JSON entries instead of lines: the logs of Google's goodput library and Orbax
// (tools/sources/import_export).
inline constexpr std::string_view kGoogleProfile = "google-goodput";

// A profile, or why it is invalid.
struct KnownProfile {
  std::string name;   // from the file's name, if it is invalid
  std::string where;  // "built in", or the file
  std::string text;
  absl::StatusOr<LogProfile> profile = absl::UnknownError("");
};

// The built-in profiles, and the files NAME.profile in the site's folder, which replace built-in ones of the
// same name. In the order in which `auto` prefers them.
std::vector<KnownProfile> LoadProfiles(const std::string& site_folder);

// Whether a user who names a profile means a file: by a `/` or by the ending `.profile`.
bool IsProfileFile(std::string_view profile);

class LogReader {
 public:
  // `name`: of a profile, auto, epochs or google-goodput. NotFound lists the known ones; InvalidArgument: the
  // profile is invalid.
  static absl::StatusOr<LogReader> Open(std::string_view name, const std::string& site_folder);
  // With the profile in this text, from the file `where`.
  static absl::StatusOr<LogReader> Of(std::string_view text, std::string_view where);

  // For a complete log: after all lines were passed to Count, the profile with most steps (or most other
  // events), and its progress bars. If `auto` finds no steps, and for `epochs`, the profile that the
  // lines teach, if any. No name: nothing was found.
  struct Counted {
    std::string name;
    Counters counters;
    std::optional<LearnedProfile> learned;  // then `name` is kLearnedProfile
    std::string no_steps;                   // of `auto` and `epochs`: why there are none
  };
  void Count(std::string_view line);
  Counted MostCounted() const;

  // A reader with that profile.
  static absl::StatusOr<LogReader> OpenCounted(const Counted& counted, const std::string& site_folder);

  // Reads a line at its offset. Its events are passed now, or later if the profile is not known yet.
  // `read_ns`: when it was read; passed on.
  struct Said {
    LogEvent event;
    std::int64_t offset = 0;
    std::int64_t read_ns = 0;
  };
  using Take = std::function<void(const Said& said)>;
  void Line(std::string_view line, std::int64_t offset, std::int64_t read_ns, const Take& take);
  // The lines that follow are another program's, such as the next srun's.
  void ProgramBegins();
  // There are no more lines.
  void Finish(const Take& take);
  // The time of a line, by the profiles that may match.
  std::optional<LineTime> TimeOf(std::string_view line) const;
  // Empty: not known yet.
  const std::string& profile() const { return chosen_name_; }

 private:
  struct Candidate {
    std::string name;
    std::unique_ptr<LogProfile> profile;  // null: Google's
    bool beside = false;                  // read in addition to the selected one
    int steps = 0;
    int others = 0;
    Counters counters;
    // The epoch of the lines being read, if they announce it, and its number of steps.
    std::optional<std::int64_t> epoch;
    std::optional<std::int64_t> epoch_of;
    std::optional<std::int64_t> begun;  // the step that a line with the end of a step ends, if it tells none
    OneRank ranks;
  };
  LogReader() = default;
  void Choose(std::size_t which, const Take& take);
  // Keeps the line until the profile is known, and infers one when enough lines are.
  void LearnFrom(std::string_view line, std::int64_t offset, std::int64_t read_ns, const Take& take);
  void Thin();
  bool IsOfSteps(std::string_view line) const;
  std::optional<LearnedProfile> LearnLive() const;
  void LearnMore(std::string_view line);
  void See(std::string_view line);
  void Adopt(const LearnedProfile& learned, const Take& take);
  static Candidate MakeCandidate(LogProfile profile, bool beside);
  static bool Place(Candidate& candidate, LogEvent& event);
  static void SeeRank(Candidate& candidate, std::string_view line, LogEvent& event);
  static std::vector<LogEvent> Events(Candidate& candidate, std::string_view line);

  std::vector<Candidate> candidates_;
  std::string chosen_name_;
  std::optional<ProfileLearner> learner_;  // of `auto` and `epochs`, until a profile is chosen
  struct Kept {
    std::string line;
    std::int64_t offset = 0;
    std::int64_t read_ns = 0;
  };
  std::string learned_counter_;
  // Lines until a profile is inferred, of at most kMaxKeptBytes: in the end only those of steps, from the
  // first.
  std::deque<Kept> kept_;
  std::size_t kept_bytes_ = 0;
  std::int64_t lines_ = 0;
  std::int64_t next_try_ = 16;
  struct Held {
    std::size_t candidate = 0;
    Said said;
  };
  std::deque<Held> held_;
};

}  // namespace goodput
