// What a job, its environment and its site may say to goodput: the table of options, their parsing and
// validation. Pure: no Slurm, no I/O. Order of precedence: option, environment twin, plugstack.conf.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "spank/event.h"
#include "spank/spool.h"

namespace goodput {

enum class OptionId : uint8_t {
  kEnabled,
  kRun,
  kCheckpointDir,
  kCheckpointSignal,
  kLogProfile,
  kFlopsPerStep,
  kModel,
  kPrecision,
  kTags,
};

struct OptionSpec {
  OptionId id;
  const char* name;      // without the leading --
  const char* env;       // its environment twin
  const char* site_key;  // its key in plugstack.conf, or nullptr where a site's default would make no sense
  const char* arginfo;
  const char* usage;
};

inline constexpr std::size_t kOptionCount = 9;
// In the order of OptionId.
extern const OptionSpec kOptions[kOptionCount];

using Tags = std::vector<std::pair<std::string, std::string>>;

// What one source said; what is not set was not said.
struct JobOptions {
  std::optional<bool> enabled;
  std::optional<std::string> run;
  std::optional<std::string> checkpoint_dir;
  std::optional<std::string> checkpoint_signal;  // canonical: "TERM,USR1", or a number for one without a name
  std::optional<std::string> log_profile;
  std::optional<double> flops_per_step;
  std::optional<std::string> model;
  std::optional<std::string> precision;
  std::optional<Tags> tags;
};

// Sets the member `id` of *out from `value`. Returns "" or, leaving *out alone, the rest of the sentence that
// begins with "NAME=VALUE": "is not a precision; use one of ...".
std::string ParseOption(OptionId id, std::string_view value, JobOptions* out);

// "WHERE=VALUE COMPLAINT", with place and value made fit for one line of a terminal or a log.
std::string ComplaintLine(std::string_view where, std::string_view value, std::string_view complaint);

// What `first` does not say is taken from `second`.
JobOptions Merge(const JobOptions& first, const JobOptions& second);

// Adds `opt` to a record; nothing when nothing was said. `enabled` is no part of it: a job that is off has no
// records.
void AddOptions(const JobOptions& options, RecordBuilder* record) noexcept;

// plugstack.conf: key=value arguments behind the plugin's path.
struct Site {
  std::string spool{kDefaultSpool};
  std::string socket = "@goodput";  // "@name" is abstract, otherwise a path
  std::string socket_path;  // of the second socket, for other network namespaces; empty: the usual one
  uint64_t spool_max = kDefaultSpoolMax;
  bool enabled = true;
  JobOptions defaults;  // of jobs that say nothing
};

// Arguments that are not understood are left out; each adds one line to *complaints (which may be null).
Site ParseSite(int argc, const char* const* argv, std::vector<std::string>* complaints);

// "256M", "2G", "1048576": bytes, or with K, M, G or T (powers of 1024).
std::optional<uint64_t> ParseSize(std::string_view text);

}  // namespace goodput
