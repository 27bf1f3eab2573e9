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
#include "sql/record.h"
#include "sql/tables/event_cursor.h"
#include "sql/tables/evidence.h"
#include "sql/tables/heartbeats.h"
#include "sql/tables/jobs.h"
#include "tools/accounting/runs/drafts.h"
#include "tools/accounting/runs/fact_nodes.h"
#include "tools/accounting/runs/fact_sources.h"
#include "tools/accounting/runs/load_run.h"
#include "tools/accounting/runs/stored_steps.h"

namespace goodput {

class NodeFacts {
 public:
  // Of one job, whose drafts are indexed. What it is given must outlive it.
  NodeFacts(Database& db, FactSources& sources, FactNodes& nodes, const Drafts& drafts,
            StoredSteps& step_reader, Run& run)
      : db_(db), sources_(sources), nodes_(nodes), drafts_(drafts), step_reader_(step_reader), run_(run) {}

  // An event of any kind, in a cursor's order, and when it was by the controller's clock; the controller's
  // own change nothing.
  void Add(const EventView& event, Ns t);
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
  // What the text of a record of slurmd's hooks says.
  struct Hook {
    std::optional<NodeEvent::Kind> kind;  // absent: it is none
    std::int32_t slurm_step = kNoStep;
    bool declares = false;  // has what the job said of itself
  };
  static Hook HookOf(const EventView& event);
  // Of what an attempt's records of one shape declare, the first and the last say all: the rest is the same.
  struct Declaring {
    Place first;
    Place last;
    std::string record;  // the first
  };
  void AddHook(const EventView& event, const Hook& hook, Ns t);
  void SeeDeclared(const EventView& event, const Place& place, AttemptFacts& attempt);
  void SeeRestart(AttemptFacts& attempt, const Place& place, const std::optional<std::int64_t>& restart);
  void AddDeclared(AttemptFacts& attempt);
  void AddMark(const EventView& event, Ns t, AttemptFacts& attempt);
  void AddSignal(const EventView& event, Ns t, AttemptFacts& attempt);
  void AddCheckpointFile(const EventView& event, Ns t, AttemptFacts& attempt);
  void AddHostNotice(const EventView& event, Ns t, AttemptFacts& attempt);
  void AddCollective(const EventView& event, Ns t, AttemptFacts& attempt);
  void AddStepMarks(const std::vector<StepRow>& steps);

  Database& db_;
  FactSources& sources_;
  FactNodes& nodes_;
  const Drafts& drafts_;
  StoredSteps& step_reader_;
  Run& run_;
  const bool ends_unseen_ = drafts_.AnyEndUnseen();
  ByShape<Hook> hooks_;
  // Of the hook before, for most of those are alike.
  std::int32_t source_ = -1;
  std::int64_t source_id_ = 0;
  std::int32_t node_ = NodeEvent::kNoNode;
  RecordReader reader_;  // of what is declared
  bool flops_declared_ = false;
  std::vector<Declared> declared_;
  std::map<std::pair<AttemptFacts*, std::size_t>, Declaring> declaring_;  // by shape
  std::map<AttemptFacts*, std::pair<Place, std::int64_t>> restarts_;      // what each one's first prolog says
};

}  // namespace goodput
