// What nodes, programs and logs say of a job, put into the attempts it is of. Times must be by the
// controller's clock.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "sql/database.h"
#include "sql/tables/evidence.h"
#include "sql/tables/heartbeats.h"
#include "sql/tables/jobs.h"
#include "tools/accounting/runs/clocks.h"
#include "tools/accounting/runs/drafts.h"
#include "tools/accounting/runs/fact_nodes.h"
#include "tools/accounting/runs/fact_sources.h"
#include "tools/accounting/runs/hook_records.h"
#include "tools/accounting/runs/load_run.h"
#include "tools/accounting/runs/record.h"
#include "tools/accounting/runs/stored_steps.h"

namespace goodput {

class NodeFacts {
 public:
  // Of one job, whose drafts are indexed. What it is given must outlive it.
  NodeFacts(Database& db, FactSources& sources, FactNodes& nodes, const Drafts& drafts,
            StoredSteps& step_reader, Run& run)
      : db_(db), sources_(sources), nodes_(nodes), drafts_(drafts), step_reader_(step_reader), run_(run) {}

  // A record of any kind; those of the controller are none of a node's and change nothing. By time.
  void AddEvent(const EventRow& event);
  // Those of slurmd's hooks that are in blocks.
  absl::Status AddHooks(HookRecords& hooks, NodeClocks& clocks);
  // When all events were added: what the job said of itself.
  void SettleDeclared();
  // Also those of which blocks are in two attempts.
  absl::Status AddSteps(JobSteps steps, const std::vector<Ns>& block_shifts);
  absl::Status AddImportedMarks(const JobKey& job);
  void AddHeartbeats(const std::vector<Heartbeat>& heartbeats);

 private:
  // Of a record: when, and where.
  using Place = std::tuple<Ns, std::int64_t, std::int64_t>;
  struct Declared {
    Place place;
    AttemptFacts* attempt;
    std::string record;
  };
  void AddNodeEvent(const EventRow& event, NodeEvent::Kind kind);
  void SeeRestart(AttemptFacts& attempt, const Place& place, const std::optional<std::int64_t>& restart);
  void AddDeclared(AttemptFacts& attempt);
  void AddMark(const EventRow& event);
  void AddSignal(const EventRow& event);
  void AddCheckpointFile(const EventRow& event);
  void AddHostNotice(const EventRow& event);
  void AddCollective(const EventRow& event);
  void AddStepMarks(const std::vector<StepRow>& steps);

  Database& db_;
  FactSources& sources_;
  FactNodes& nodes_;
  const Drafts& drafts_;
  StoredSteps& step_reader_;
  Run& run_;
  RecordReader reader_;
  bool flops_declared_ = false;
  std::vector<Declared> declared_;
  std::map<AttemptFacts*, std::pair<Place, std::int64_t>> restarts_;  // what each one's first prolog says
};

}  // namespace goodput
