// The options of a job: their table, parsing and validation. Pure: no Slurm, no I/O. Precedence: option,
// environment variable, plugstack.conf.
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
  kSpares,
  kHangEvidence,
};

struct OptionSpec {
  OptionId id;
  const char* name;      // without the leading --
  const char* env;       // its environment variable
  const char* site_key;  // its key in plugstack.conf; null if a site-wide default makes no sense
  const char* arginfo;
  const char* usage;
};

inline constexpr std::size_t kOptionCount = 11;
// In the order of OptionId.
extern const OptionSpec kOptions[kOptionCount];

using Tags = std::vector<std::pair<std::string, std::string>>;

// The values from one source; a value that is not set was not given.
struct JobOptions {
  std::optional<bool> enabled;
  std::optional<std::string> run;
  std::optional<std::string> checkpoint_dir;
  // Canonical: "TERM,USR1", or a number for a signal without a name.
  std::optional<std::string> checkpoint_signal;
  std::optional<std::string> log_profile;
  std::optional<double> flops_per_step;
  std::optional<std::string> model;
  std::optional<std::string> precision;
  std::optional<Tags> tags;
  std::optional<int64_t> spares;
  std::optional<std::string> hang_evidence;  // beyond what the site collects: "py-spy"
};

// Sets the member `id` of *out from `value`. Returns "", or leaves *out unchanged and returns the rest of a
// sentence that begins with "NAME=VALUE": "is not a precision; use one of ...".
std::string ParseOption(OptionId id, std::string_view value, JobOptions* out);

// "WHERE=VALUE COMPLAINT", with where and value made printable on one line of a terminal or a log.
std::string ComplaintLine(std::string_view where, std::string_view value, std::string_view complaint);

// The values of `first`; values that it lacks are taken from `second`.
JobOptions Merge(const JobOptions& first, const JobOptions& second);

// Adds `opt` to a record unless it is empty. `enabled` is not included: a job that is off has no records.
void AddOptions(const JobOptions& options, RecordBuilder* record) noexcept;

// plugstack.conf: the key=value arguments after the plugin's path.
struct Site {
  std::string spool{kDefaultSpool};
  std::string socket = "@goodput";  // "@name" is abstract, otherwise a path
  std::string socket_path;          // the second socket, for other network namespaces; empty: the default one
  uint64_t spool_max = kDefaultSpoolMax;
  bool enabled = true;
  JobOptions defaults;  // for jobs that do not give the option
};

// Arguments that cannot be parsed are ignored; each adds one line to *complaints (which may be null).
Site ParseSite(int argc, const char* const* argv, std::vector<std::string>* complaints);

// "256M", "2G", "1048576": bytes, or with K, M, G or T (powers of 1024).
std::optional<uint64_t> ParseSize(std::string_view text);

}  // namespace goodput
