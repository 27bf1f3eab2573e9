// Output of containers as Cloud Logging stores it: what `gcloud logging read --format=json` prints for the
// pods of a GKE cluster or the tasks of a Vertex AI job, in any order. It becomes lines of text in the order
// of time, each with its time in front, as `kubectl logs --timestamps` prints them. Every log profile reads
// these.
//
// Which lines belong to one start of the program follows from the pods: a generation ends when one of its
// pods is created anew (or, for a JobSet, when its label restart-attempt rises). Kubernetes' events, if the
// file has them, tell the scheduler's side. Both become lines that the profile `kubernetes` reads:
//
//   2026-05-01T10:00:00.5Z kubernetes: generation 2
//   2026-05-01T10:00:00.1Z kubernetes: FailedScheduling pod/train-0-0-x7k2p
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "tools/sources/import_export/input.h"

namespace goodput {

// Whether the file begins with such an entry: JSON with `timestamp`, and `textPayload` or `jsonPayload`. An
// error: the file could not be read.
absl::StatusOr<bool> IsCloudLog(const Input& input);

struct CloudLog {
  Input lines;
  std::int64_t entries = 0;
  std::int64_t other = 0;  // JSON values without a time or text, and what is not JSON
};
// InvalidArgument: no entry has a time and text. The copy is an unnamed file in $TMPDIR.
absl::StatusOr<CloudLog> ReadCloudLog(const Input& input);

// The file itself, or its lines if it is such a log.
absl::StatusOr<Input> OpenLines(Input input);

}  // namespace goodput
