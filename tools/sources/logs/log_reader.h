// Which profiles there are, and what a line says by the one that is asked for.
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
#include "tools/sources/logs/profile.h"
#include "tools/sources/logs/progress_bars.h"

namespace goodput {

// How Slurm ends a job, and what tests of the network print: read beside any other.
inline constexpr std::string_view kSlurmProfile = "slurm";
inline constexpr std::string_view kNcclTestsProfile = "nccl-tests";
// Finds out which of all it is.
inline constexpr std::string_view kAutoProfile = "auto";
// Not of lines but of JSON entries: what Google's goodput library and Orbax log
// (tools/sources/import_export).
inline constexpr std::string_view kGoogleProfile = "google-goodput";

// A profile, or why it is none.
struct KnownProfile {
  std::string name;   // by the file, where it is none
  std::string where;  // "built in", or the file
  std::string text;
  absl::StatusOr<LogProfile> profile = absl::UnknownError("");
};

// Those built in, and the files NAME.profile of the site's folder, of which each is instead of a built-in one
// of its name. In the order in which `auto` prefers them.
std::vector<KnownProfile> LoadProfiles(const std::string& site_folder);

class LogReader {
 public:
  // `name`: a profile's, auto or google-goodput. NotFound names those there are; InvalidArgument: it is one
  // that must not be used.
  static absl::StatusOr<LogReader> Open(std::string_view name, const std::string& site_folder);
  // By the profile that this text of the file `where` is.
  static absl::StatusOr<LogReader> Of(std::string_view text, std::string_view where);

  // For whoever has the whole log: once all lines were given to Count, the profile with most steps, or with
  // most else, and its progress bars. No name: no line means anything to any.
  struct Counted {
    std::string name;
    Counters counters;
  };
  void Count(std::string_view line);
  Counted MostCounted() const;

  // A line at its place. Its events come now, or, as long as it is not known which profile it is, later.
  // `read_ns`: when it was read, for whoever takes them.
  struct Said {
    LogEvent event;
    std::int64_t offset = 0;
    std::int64_t read_ns = 0;
  };
  using Take = std::function<void(const Said& said)>;
  void Line(std::string_view line, std::int64_t offset, std::int64_t read_ns, const Take& take);
  // No line comes any more.
  void Finish(const Take& take);
  // The time a line carries, by the profiles that may be it.
  std::optional<LineTime> TimeOf(std::string_view line) const;
  // Empty: not known yet.
  const std::string& profile() const { return chosen_name_; }

 private:
  struct Candidate {
    std::string name;
    std::unique_ptr<LogProfile> profile;  // null: Google's
    bool beside = false;                  // whichever of the others it is
    int steps = 0;
    int others = 0;
    Counters counters;
  };
  LogReader() = default;
  void Choose(std::size_t which, const Take& take);
  static std::vector<LogEvent> Events(const Candidate& candidate, std::string_view line);

  std::vector<Candidate> candidates_;
  std::string chosen_name_;
  struct Held {
    std::size_t candidate = 0;
    Said said;
  };
  std::deque<Held> held_;
};

}  // namespace goodput
