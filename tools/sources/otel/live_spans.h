// Turns spans into marks while they arrive: those of one process of each start of the program.
//
// Every rank says the same: the first one that is heard from is read until another start follows it. Of the
// others, only the begins and ends of steps are told, if they give themselves ranks (other_ranks.h). A
// process is another start if it is the same rank, or if it was first heard of long after the last one's last
// span.
//
// A process exports its spans in the order of their ends, so that what lies within a save comes before it:
// such spans wait for the span around them, or until the program is known to have gone on. Nothing else
// waits, since a killed job would lose it.
//
// A start with fewer ranks than the one before it trains with fewer GPUs, which is told (dl.world_size). A
// rank is known to be a GPU if an earlier start had as many ranks as the job has GPUs; otherwise nothing is
// told, since other programs of the job may use the others.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tools/sources/otel/other_ranks.h"
#include "tools/sources/otel/span.h"
#include "tools/sources/otel/span_fold.h"

namespace goodput {

class LiveSpans {
 public:
  // Spans of more processes are not read: no job has so many on a node.
  static constexpr std::size_t kMostProcesses = 4096;
  // Waiting spans beyond this are told as they are.
  static constexpr std::size_t kMostWaiting = 4096;

  // `gpus`: of the job, if it is known and the program may use them all.
  explicit LiveSpans(LogSink& sink, std::optional<std::int64_t> gpus = std::nullopt)
      : sink_(sink), gpus_(gpus), fold_(sink, true), ranks_(sink) {}
  absl::Status Take(const SpanProcess& process, const Span& span);
  // The end of a request: tells what need not wait.
  absl::Status Tell();
  // The program has ended.
  absl::Status Finish();

 private:
  bool IsRead(const SpanProcess& process, const Span& span);
  absl::Status TellUntil(std::size_t count);
  absl::Status TellOther(const SpanProcess& process, const Span& span);
  absl::Status TellWorld(std::int64_t world, Ns t);

  LogSink& sink_;
  const std::optional<std::int64_t> gpus_;
  std::optional<std::int64_t> world_;  // that was told, or is all of them; absent: a rank may be no GPU
  SpanFold fold_;
  OtherRanks ranks_;
  std::set<std::string, std::less<>> others_;  // processes that are not read
  std::string identity_;                       // of the one that is
  std::optional<std::int64_t> rank_;
  Ns last_ = 0;
  bool begins_ = false;  // the next span is another start's first
  std::vector<Span> waiting_;
  std::int64_t told_ = 0;
};

}  // namespace goodput
