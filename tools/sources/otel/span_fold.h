// Turns the spans of one training process after the other into the marks that the program would have sent.
// Only spans that ended are ever exported, so those of a killed process that were still open are missing, as
// are its last few seconds. Therefore silence proves nothing: a start of the program ends when Slurm says so.
//
//   span                              becomes
//   megatron.train.iteration          n is counted from 0: step n+1 begins at its start. It was done at its
//                                     end if it has the attribute megatron.skipped, which is set last, and
//                                     no error; otherwise it was cut off. Skipped: the phase
//                                     `skipped_iteration`.
//   megatron.train.first_iteration    n tells from which step the program resumed
//   megatron.checkpoint.exposed_save  checkpoint N begins; the loop is blocked until its end
//   megatron.checkpoint.save          within it: of a synchronous save, complete at its end if it has no
//                                     error and a later span proves that the loop went on. Otherwise it is
//                                     not known to be complete, and the loop is not in it after its end.
//   any with nvrx.call_idx, within    the save is asynchronous, with this number
//   megatron.checkpoint.save.finalize and exit_finalize: the saves in nvrx.call_idx are complete at its end
//   megatron.checkpoint.load          restore
//   megatron.startup.*, pre_startup, workload.startup.*, megatron.train.cuda_graph_capture: phases, named as
//                                     NVIDIA Lens names the parts of startup
//   megatron.evaluate                 phase `evaluation`
//   .iteration_report, .sniff_test, .gc_collect, .ft_heartbeat, .timers_log, finalize without a save:
//                                     phases if they take a noticeable time
//   nvrx.restart.rendezvous, .health_check, .worker_launch: phases of the launcher on one node
//   megatron.train, nvrx.cold_start, nvrx.restart.cycle and others, slurm.*: nothing. A failed cycle shows as
//                                     steps that begin again in the next process. Time of NVRx's spare nodes
//                                     (nvrx.restart.await_round) counts as what the job did in that time.
//
// Without spans of iterations, which Megatron-LM's default groups omit, only saves and evaluations are known,
// and steps are inferred from the saves.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "tools/sources/logs/log_sink.h"
#include "tools/sources/logs/running_median.h"
#include "tools/sources/otel/span.h"

namespace goodput {

class SpanFold {
 public:
  // `live`: the marks are sent while the program runs. Finish may then never be called, so that each step's
  // end is told.
  explicit SpanFold(LogSink& sink, bool live = false) : sink_(sink), live_(live) {}

  // The following spans are those of another process, of the given attempt (from 0, ascending).
  // `tells_steps`: it has spans of iterations. `rank`: if known.
  absl::Status Begin(int attempt, bool tells_steps, std::optional<std::int64_t> rank = std::nullopt);
  // By start; of equal starts, the longer first, and of equal times by NestingOf. `offset` is followed by
  // kOffsets others that are the span's.
  absl::Status Take(const Span& span, std::int64_t offset);
  // The last process. Without it, what was only just begun is not told.
  absl::Status Finish();

  static constexpr std::int64_t kOffsets = 16;

 private:
  struct Save {
    std::int64_t step = 0;
    Ns begin = 0;
    Ns blocked_until = 0;
    std::optional<Ns> written;  // the end of megatron.checkpoint.save
    std::optional<std::int64_t> call;
    bool went_on = false;  // the loop, afterwards
    int lane = 0;          // concurrent saves have different lanes
    std::int64_t offset = 0;
  };
  struct Process {
    Process();

    int attempt = 0;
    bool tells_steps = true;
    std::optional<std::int64_t> rank;
    std::optional<std::int64_t> done;  // steps
    Ns done_at = 0;
    bool cut_off = false;  // the last step was
    UsualTime steps;
    Ns usual = 0;  // their median, once there are usual_of
    std::int64_t usual_of = 0;
    std::optional<Save> saving;            // until a span begins after it
    std::map<std::int64_t, Save> running;  // asynchronous, by call
    std::optional<Span> load;              // until its step is known
    std::int64_t load_offset = 0;
  };

  absl::Status TakeIteration(const Span& span);
  absl::Status TakeSave(const Span& span);
  absl::Status TakeWithinSave(const Span& span);
  absl::Status TakeFinalize(const Span& span);
  absl::Status CloseSave(bool went_on);
  absl::Status CloseLoad(std::optional<std::int64_t> step);
  absl::Status EndSteps(bool exited);
  absl::Status StepEnd(bool exited);
  absl::Status EndProcess();
  absl::Status Phase(Ns begin, Ns end, std::string_view name);
  absl::Status Checkpoint(Ns t, const Save& save, bool begin, std::string_view name);
  absl::Status Mark(const LogMark& mark, int lane, std::int64_t offset);
  bool IsNoticeable(Ns duration);
  void SeeLife(const Span& span);
  std::int64_t Offset() { return offset_ + used_++ % kOffsets; }

  LogSink& sink_;
  bool live_;
  std::optional<Process> process_;
  // The attempt of the last processes, told once all of them are known.
  std::optional<LogAttempt> attempt_;
  absl::Status EndAttempt(std::optional<Ns> next);
  std::int64_t offset_ = 0;
  std::int64_t used_ = 0;
};

}  // namespace goodput
