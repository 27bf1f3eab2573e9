// Adds what Slurm recorded about a job, in accounting and in the queue watch, to its drafts.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "sql/tables/accounting.h"
#include "sql/tables/event_cursor.h"
#include "tools/accounting/runs/drafts.h"
#include "tools/accounting/runs/fact_sources.h"
#include "tools/accounting/runs/load_run.h"

namespace goodput {

// True for records that the queue watch wrote about a job.
bool OfWatch(const EventView& event);

class SchedulerFacts {
 public:
  // The arguments must outlive it. `jobs_of_run`: to distinguish waiting for the run itself from other waits.
  SchedulerFacts(const std::set<std::int64_t>& jobs_of_run, FactSources& sources, Drafts& drafts, Run& run)
      : jobs_of_run_(jobs_of_run), sources_(sources), drafts_(drafts), run_(run) {}

  void AddAccounting(const AccountingRow& row);
  // Events must come by time, after accounting's rows; `t` is by the last clock of the controller.
  void AddWatch(const EventView& event, Ns t);

  // The heterogeneous job of which this one is a component.
  const std::optional<std::int64_t>& het_job() const { return het_job_; }
  // The array of which it is a task.
  const std::optional<std::int64_t>& array_job() const { return array_job_; }
  const std::set<Ns>& preemptions() const { return preemptions_; }

 private:
  bool WaitsForOwnRun(std::string_view dependency) const;
  static void AddSuspension(const EventView& event, const std::string& state, Draft& draft);

  const std::set<std::int64_t>& jobs_of_run_;
  FactSources& sources_;
  Drafts& drafts_;
  Run& run_;
  std::optional<std::int64_t> het_job_;
  std::optional<std::int64_t> array_job_;
  std::set<Ns> preemptions_;
};

}  // namespace goodput
