// Follows the output of jobs that named a log profile, where their batch script or first task runs, and
// records its events as marks of the step that ran at the time.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "spank/clock.h"
#include "spank/event.h"
#include "tools/goodputd/node_jobs.h"
#include "tools/goodputd/output/follower.h"
#include "tools/sources/logs/log_fold.h"
#include "tools/sources/logs/rank_budget.h"

namespace goodput {

// Turns the events of a job's output into records, and keeps the state with which a later goodputd continues.
class OutputNews {
 public:
  explicit OutputNews(NodeJob job, Clock clock = kSystemClock) : job_(std::move(job)), clock_(clock) {}

  // `training`: the step to which the events belong.
  void Take(const OutputFollower::Found& found, const NodeJobs::TrainingStep& training);
  // The job's tasks are gone.
  void End(const NodeJobs::TrainingStep& training);
  // The records since the last call, in order.
  std::vector<std::string> Records() { return std::exchange(records_, {}); }
  // Why nothing more is taken; empty: everything is.
  const std::string& problem() const { return problem_; }

  // One line, to be passed to Remember by the next daemon; it has nothing of another job or attempt.
  std::string Memory() const;
  // Empty: there is no state to continue with.
  std::vector<FileMark> Remember(std::string_view memory);

 private:
  void TakeTask(const OutputFollower::Event& said);
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
    // The plugin records these.
    absl::Status Srun(const LogSrun&, const Speaker&, std::int64_t) override { return absl::OkStatus(); }
    absl::Status Attempt(const LogAttempt&) override { return absl::OkStatus(); }

   private:
    OutputNews& news_;
  } sink_{*this};
  LogFold fold_{sink_};
  // Of each task in labels: its last line of steps.
  struct LastLine {
    std::int64_t step = 0;
    std::int64_t t_ns = 0;
  };
  std::map<std::int64_t, LastLine> tasks_;
  RankBudget budget_;
  std::string slurm_step_;
  std::string profile_;
  std::vector<FileMark> files_;
  std::vector<std::string> records_;
  std::string problem_;
};

}  // namespace goodput
