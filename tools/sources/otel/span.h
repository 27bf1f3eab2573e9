// A span of OpenTelemetry, as far as it tells of training: what Megatron-LM, NeMo (nemo.lens) and NVIDIA's
// resiliency extension (NVRx) report. The names and attributes are those of Megatron-LM d98e8a64, nemo-lens
// e1cb901 and NVRx pull request 394 (250641d).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/accounting/timeline/facts.h"

namespace goodput {

struct Span {
  // What it becomes: see SpanFold.
  enum class Kind : std::uint8_t {
    kOther,
    kIteration,
    kFirstIteration,
    kExposedSave,
    kSave,
    kSkewWait,  // the ranks wait for the slowest saver
    kFinalize,
    kExitFinalize,
    kLoad,
    kEvaluate,
    kStartup,    // the whole of it
    kBackdated,  // a part of startup before the process itself
    kStartupPart,
    kReport,  // logging and checks between iterations
    kLaunch,  // a part of a restart by NVRx's launcher
  };
  Kind kind = Kind::kOther;
  std::string_view part;  // static text: the name of the phase that a kStartupPart, kReport ... becomes
  Ns start = 0;
  Ns end = 0;
  bool error = false;
  std::optional<std::int64_t> iteration;  // of an iteration: steps done before it; of a save: steps done
  std::optional<bool> skipped;
  std::optional<std::int64_t> call;  // number of an asynchronous save
  std::vector<std::int64_t> calls;   // asynchronous saves that are complete
};

// The kind, and the part where it has one, of a span of that name.
struct SpanName {
  Span::Kind kind = Span::Kind::kOther;
  std::string_view part;
};
SpanName ReadSpanName(std::string_view name);

// For spans with the same times: the lower encloses the higher.
inline int NestingOf(Span::Kind kind) {
  return kind == Span::Kind::kExposedSave ? 0 : kind == Span::Kind::kSave ? 1 : 2;
}

// The process that a span is from: the resource of OpenTelemetry. It is what the program says of itself.
struct SpanProcess {
  std::optional<std::int64_t> job;
  std::optional<std::int64_t> restart;
  std::optional<std::int64_t> rank;
  std::optional<std::int64_t> world;  // how many ranks its start of the program has
  std::string node;                   // of a launcher
  bool launcher = false;
  bool writer = false;   // writes checkpoints, does not train
  std::string identity;  // the same for all spans of one process, and of no other
};

}  // namespace goodput
