// Assigns what nodes, programs and logs recorded about a job to its attempts. Times must be by the
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
#include "tools/accounting/timeline/facts.h"
#include "tools/accounting/timeline/saves.h"

namespace goodput {

class NodeFacts {
 public:
  // For one job, whose drafts are indexed. The arguments must outlive it.
  NodeFacts(Database& db, FactSources& sources, FactNodes& nodes, const Drafts& drafts,
            StoredSteps& step_reader, Run& run)
      : db_(db), sources_(sources), nodes_(nodes), drafts_(drafts), step_reader_(step_reader), run_(run) {}

  // Adds an event of any kind, in a cursor's order, with its time by the controller's clock; the controller's
  // own events are ignored.
  void Add(const EventView& event, Ns t);
  // Call after all events were added: settles what the job declared.
  void SettleDeclared();
  // Includes steps whose blocks span two attempts.
  absl::Status AddSteps(JobSteps steps, const std::vector<Ns>& block_shifts);
  absl::Status AddImportedMarks(const JobKey& job);
  void AddHeartbeats(const std::vector<Heartbeat>& heartbeats);

 private:
  // Time and position of a record.
  using Place = std::tuple<Ns, std::int64_t, std::int64_t>;
  struct Declared {
    Place place;
    AttemptFacts* attempt;
    std::string record;
  };
  // The contents of a record of slurmd's hooks.
  struct Hook {
    std::optional<NodeEvent::Kind> kind;  // absent: not such a record
    std::int32_t slurm_step = kNoStep;
    bool declares = false;  // has declarations of the job
  };
  static Hook HookOf(const EventView& event);
  // The contents of a mark but its numbers.
  struct MarkText {
    Mark::Kind kind = Mark::Kind::kPhase;
    bool world = false;  // it is no Mark, but a WorldMark
    bool begin = false;
    std::string name;
    std::int32_t slurm_step = kNoStep;
  };
  static MarkText MarkTextOf(const EventView& event);
  // Of an attempt's declarations of one shape, only the first and the last are kept; the others are equal.
  struct Declaring {
    Place first;
    Place last;
    std::string record;  // the first
  };
  void AddHook(const EventView& event, const Hook& hook, Ns t);
  void SeeDeclared(const EventView& event, const Place& place, AttemptFacts& attempt);
  void SeeRestart(AttemptFacts& attempt, const Place& place, const std::optional<std::int64_t>& restart);
  void AddDeclared(AttemptFacts& attempt);
  void AddWorld(const EventView& event, Ns t, AttemptFacts& attempt);
  void AddMark(const EventView& event, Ns t, AttemptFacts& attempt);
  void AddSignal(const EventView& event, Ns t, AttemptFacts& attempt);
  void AddCheckpointFile(const EventView& event, Ns t, AttemptFacts& attempt);
  void AddHardwareError(const EventView& event, Ns t, AttemptFacts& attempt);
  void AddHostNotice(const EventView& event, Ns t, AttemptFacts& attempt);
  static void AddHostUse(const EventView& event, AttemptFacts& attempt);
  void AddGpuUse(const EventView& event, Ns t, AttemptFacts& attempt);
  static void AddMachineFact(const EventView& event, bool zone, AttemptFacts& attempt);
  void AddCollective(const EventView& event, Ns t, AttemptFacts& attempt);
  void AddHangEvidence(const EventView& event, Ns t, AttemptFacts& attempt);
  void AddStepMarks(const std::vector<StepRow>& steps);

  Database& db_;
  FactSources& sources_;
  FactNodes& nodes_;
  const Drafts& drafts_;
  StoredSteps& step_reader_;
  Run& run_;
  const bool ends_unseen_ = drafts_.AnyEndUnseen();
  ByShape<Hook> hooks_;
  ByShape<MarkText> marks_;
  SavePairs pairs_;
  // Of the previous hook, since most are alike.
  std::int32_t source_ = -1;
  std::int64_t source_id_ = 0;
  std::int32_t node_ = NodeEvent::kNoNode;
  RecordReader reader_;  // for declarations
  bool flops_declared_ = false;
  std::vector<Declared> declared_;
  std::map<std::pair<AttemptFacts*, std::size_t>, Declaring> declaring_;  // by shape
  std::map<AttemptFacts*, std::pair<Place, std::int64_t>> restarts_;      // from the first prolog of each
};

}  // namespace goodput
