// Turns what a job's output says into marks of the Slurm step that ran at the time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "spank/clock.h"
#include "spank/event.h"
#include "tools/goodputd/node_jobs.h"
#include "tools/goodputd/output/follower.h"
#include "tools/sources/logs/log_fold.h"

namespace goodput {

// What a job's lines come to: records, and what to remember for a goodputd that goes on with the job.
class OutputNews {
 public:
  explicit OutputNews(NodeJob job, Clock clock = kSystemClock) : job_(std::move(job)), clock_(clock) {}

  // `training`: the step that the events are about.
  void Take(const OutputFollower::Found& found, const NodeJobs::TrainingStep& training);
  // The job's tasks are gone.
  void End(const NodeJobs::TrainingStep& training);
  // The records since the last call, in order.
  std::vector<std::string> Records() { return std::exchange(records_, {}); }

  // One line, to be given to Remember by the next daemon; nothing of it is another job's or attempt's.
  std::string Memory() const;
  // Empty: there is nothing to go on with.
  std::vector<FileMark> Remember(std::string_view memory);

 private:
  void Write(std::int64_t t_ns, std::string_view mark, bool begin, std::optional<std::int64_t> step,
             std::string_view name, std::int64_t task = 0);

  NodeJob job_;
  Clock clock_;
  class RecordSink : public LogSink {
   public:
    explicit RecordSink(OutputNews& news) : news_(news) {}
    absl::Status Step(Ns t, std::int64_t step, const Speaker& speaker, std::int64_t offset) override;
    absl::Status Mark(const LogMark& mark, const Speaker& speaker, std::int64_t offset) override;
    absl::Status StepEnd(Ns t, std::int64_t step, const Speaker& speaker, std::int64_t offset) override;
    absl::Status Stop(Ns t, const Speaker& speaker, std::int64_t offset) override;
    absl::Status Collective(const LogCollective& collective, const Speaker& speaker,
                            std::int64_t offset) override;
    // Of these the plugin knows.
    absl::Status Srun(const LogSrun&, const Speaker&, std::int64_t) override { return absl::OkStatus(); }
    absl::Status Attempt(const LogAttempt&) override { return absl::OkStatus(); }

   private:
    OutputNews& news_;
  } sink_{*this};
  LogFold fold_{sink_};
  std::string slurm_step_;
  std::string profile_;
  std::vector<FileMark> files_;
  std::vector<std::string> records_;
};

}  // namespace goodput
