// One line of a spool file, checked against SPOOL_FORMAT.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "absl/status/statusor.h"

namespace goodput {

// Within 146 years of 1970, so that the difference of two times does not overflow.
inline bool IsTime(std::int64_t ns) {
  constexpr std::int64_t kMax = std::int64_t{1} << 62U;
  return ns > -kMax && ns < kMax;
}

// How much is kept of a quarantined line.
inline constexpr std::size_t kExcerptBytes = 200;

// What ingest needs of a record; the rest stays in its text. Views are valid until the next Parse.
struct SpoolLine {
  std::int64_t t_ns = 0;
  std::int64_t m_ns = 0;
  std::string_view kind;
  std::string_view node;
  std::string_view cluster;
  std::optional<std::int64_t> job;
  std::string_view slurm_step;
  std::optional<std::int64_t> task;
  bool is_step_mark = false;  // a `mark step N` with edge begin
  std::int64_t train_step = 0;
  std::string_view run;  // --goodput-run, if the record has it
};

class SpoolLineParser {
 public:
  // Number of bytes after the line that must be readable, whatever they contain.
  static constexpr std::size_t kPadding = 64;

  SpoolLineParser();
  ~SpoolLineParser();
  // `line`: without its newlines. An error says in a few words what is wrong.
  absl::StatusOr<SpoolLine> Parse(std::string_view line);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace goodput
