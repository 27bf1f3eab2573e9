// Random runs, each from a seed, for tests of properties that hold for any run.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/cases.h"
#include "tests/unit/run_builder.h"
#include "tools/accounting/timeline/saves.h"

namespace goodput {

inline constexpr Ns kMin = std::numeric_limits<Ns>::min();
inline constexpr Ns kMax = std::numeric_limits<Ns>::max();

class Chance {
 public:
  explicit Chance(std::uint64_t seed) : engine_(seed) {}
  std::int64_t Pick(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(engine_);
  }
  bool OneIn(int n) { return Pick(1, n) == 1; }
  template <typename T>
  const T& Of(const std::vector<T>& values) {
    return values[static_cast<std::size_t>(Pick(0, static_cast<std::int64_t>(values.size()) - 1))];
  }
  template <typename T>
  void Shuffle(std::vector<T>& values) {
    std::shuffle(values.begin(), values.end(), engine_);
  }

 private:
  std::mt19937_64 engine_;
};

// Runs that no cluster would produce: any record at any time, in any order, often at the same moment; with
// `impossible`, also times that no clock would show.
class AnyRun {
 public:
  AnyRun(std::uint64_t seed, bool impossible) : chance_(seed), impossible_(impossible) {
    coarse_ = chance_.OneIn(2);
    facts_.sources = {"n1/a.jsonl", "n2/b.jsonl"};
    facts_.now = Time();
    const std::int64_t attempts = chance_.Pick(1, 4);
    for (std::int64_t i = 0; i < attempts; ++i) facts_.attempts.push_back(Attempt(i));
  }
  RunFacts Take() { return std::move(facts_); }

 private:
  Ns Time() {
    if (impossible_ && chance_.OneIn(25)) {
      return chance_.Of(std::vector<Ns>{kMin, kMin + 1, -1, 0, 1, kMax / 2, kMax / 2 + 1, kMax - 1, kMax});
    }
    // Coarse times coincide often.
    return coarse_ ? kRunBegan + chance_.Pick(0, 30) * kSecond : kRunBegan + chance_.Pick(0, 300 * kSecond);
  }
  std::optional<Ns> MaybeTime(int one_in) {
    if (chance_.OneIn(one_in)) return std::nullopt;
    return Time();
  }
  std::int64_t StepNumber() {
    if (impossible_ && chance_.OneIn(15)) {
      return chance_.Of(
          std::vector<std::int64_t>{kMin, -1, std::int64_t{1} << 53, (std::int64_t{1} << 53) + 1, kMax});
    }
    return chance_.Pick(0, 12);
  }
  std::int32_t SlurmStep() {
    return chance_.Of(std::vector<std::int32_t>{0, 0, 0, 1, 2, kBatchStep, kNoStep, kInteractiveStep});
  }
  std::int32_t Task() { return static_cast<std::int32_t>(chance_.Pick(0, 2)); }
  EvidenceRef Ref() { return {static_cast<std::int32_t>(chance_.Pick(0, 1)), next_offset_ += 10}; }

  AttemptFacts Attempt(std::int64_t index) {
    AttemptFacts attempt;
    attempt.job_id = chance_.Pick(1, 2);
    attempt.submit = Time();
    // Attempts are distinguished by job and submit time.
    if (attempt.submit > 0 && attempt.submit < kMax - 10) attempt.submit += index;
    attempt.eligible = MaybeTime(3);
    attempt.start = MaybeTime(6);
    attempt.end = MaybeTime(4);
    attempt.preempt_time = chance_.OneIn(4) ? MaybeTime(2) : std::nullopt;
    attempt.state = chance_.Of(std::vector<std::string>{"RUNNING", "COMPLETED", "FAILED", "REQUEUED",
                                                        "NODE_FAIL", "PREEMPTED", "TIMEOUT", "PENDING",
                                                        "CANCELLED", "COMPLETING", ""});
    attempt.reason = chance_.Of(
        std::vector<std::string>{"", "None", "Resources", "BeginTime", "JobHeldAdmin", "Dependency"});
    attempt.gpus = static_cast<int>(impossible_ && chance_.OneIn(10) ? kMin >> 33 : chance_.Pick(0, 2) * 8);
    for (std::int64_t n = chance_.Pick(0, 1); n > 0; --n) attempt.suspended.push_back({Time(), Time()});
    for (std::int64_t n = chance_.Pick(0, 3); n > 0; --n) {
      const std::vector<std::string> reasons{"Resources",   "Priority",   "BeginTime",
                                             "JobHeldUser", "Dependency", ""};
      attempt.pending.push_back({Time(), chance_.Of(reasons), Ref()});
    }
    for (std::int64_t n = chance_.Pick(0, 14); n > 0; --n) {
      NodeEvent event;
      event.t = Time();
      event.kind = static_cast<NodeEvent::Kind>(chance_.Pick(0, 5));
      event.node = chance_.OneIn(2) ? 1 : 2;
      event.slurm_step = chance_.OneIn(3) ? kExternStep : SlurmStep();
      event.task = Task();
      if (event.kind == NodeEvent::Kind::kTaskExit) {
        (chance_.OneIn(3) ? event.signal : event.exit_code) = static_cast<int>(chance_.Pick(0, 2));
      }
      event.ref = Ref();
      attempt.node_events.push_back(event);
    }
    for (std::int64_t n = chance_.Pick(0, 14); n > 0; --n) {
      attempt.step_marks.push_back({Time(), StepNumber(), chance_.OneIn(2) ? 0 : SlurmStep(), Task(), Ref()});
    }
    if (chance_.OneIn(2)) {
      // Some real training, because everything else is noise.
      const Ns begin = Time();
      const Ns each = chance_.Pick(1, 5 * kSecond);
      const std::int64_t first = chance_.Pick(0, 8);
      for (std::int64_t n = 0; n < 8 && begin > 0 && begin < kMax / 2; ++n) {
        attempt.step_marks.push_back({begin + n * each, first + n, 0, 0, Ref()});
      }
    }
    for (std::int64_t n = chance_.Pick(0, 10); n > 0; --n) {
      Mark mark;
      mark.t = Time();
      mark.kind = static_cast<Mark::Kind>(chance_.Pick(0, 2));
      mark.begin = chance_.OneIn(2);
      if (chance_.OneIn(2)) mark.train_step = StepNumber();
      if (chance_.OneIn(8)) mark.kind = Mark::Kind::kStepFailed;
      if (mark.kind == Mark::Kind::kPhase)
        mark.name = chance_.Of(std::vector<std::string>{"init", "evaluation", "data_loading"});
      mark.slurm_step = chance_.OneIn(2) ? 0 : SlurmStep();
      mark.task = Task();
      mark.ref = Ref();
      attempt.marks.push_back(mark);
    }
    AddSeenByDaemon(attempt);
    return attempt;
  }

  // Records of the node's daemon: signals, checkpoints on disk, heartbeats.
  void AddSeenByDaemon(AttemptFacts& attempt) {
    for (std::int64_t n = chance_.OneIn(2) ? chance_.Pick(0, 8) : 0; n > 0; --n) {
      SignalFact signal;
      signal.t = Time();
      signal.last_t = chance_.OneIn(3) ? Time() : signal.t;
      signal.signo = static_cast<int>(chance_.Of(std::vector<std::int64_t>{15, 15, 10, 12, 9, 2, 64}));
      if (impossible_ && chance_.OneIn(20)) signal.signo = 0;
      signal.count = impossible_ && chance_.OneIn(20) ? kMin : chance_.Pick(1, 3);
      signal.node = chance_.OneIn(2) ? "n1" : "n2";
      signal.slurm_step = SlurmStep();
      signal.task = chance_.OneIn(5) ? -1 : Task();
      signal.target = chance_.OneIn(3) ? SignalFact::Target::kChild : SignalFact::Target::kTask;
      signal.pid = chance_.Pick(0, 5);
      signal.sender = chance_.Of(
          std::vector<std::string>{"slurmstepd", "slurmstepd", "self", "job", "outside", "kernel", ""});
      if (!chance_.OneIn(3)) signal.handled = chance_.OneIn(2);
      signal.ignored = chance_.OneIn(6);
      signal.ref = Ref();
      attempt.signals.push_back(signal);
    }
    if (chance_.OneIn(4)) attempt.checkpoint_signals = {10};
    for (std::int64_t n = chance_.OneIn(2) ? chance_.Pick(0, 8) : 0; n > 0; --n) {
      CheckpointFile file;
      file.t = Time();
      file.begin = chance_.OneIn(2);
      file.name = chance_.OneIn(2) ? "iter_1" : "iter_2";
      if (!chance_.OneIn(4)) file.train_step = StepNumber();
      file.ref = Ref();
      attempt.checkpoint_files.push_back(file);
    }
    for (std::int64_t n = chance_.OneIn(3) ? chance_.Pick(0, 2) : 0; n > 0; --n)
      attempt.last_seen.push_back({chance_.OneIn(2) ? "n1" : "n2", Time()});
    if (chance_.OneIn(6)) attempt.failed_node = "n2";
  }

  Chance chance_;
  bool impossible_;
  bool coarse_ = false;
  std::int64_t next_offset_ = 0;
  RunFacts facts_;
};

// Makes its programs elastic: they mark any world at any time, declare spares and are resized.
inline void MakeElastic(Chance& chance, RunFacts& facts) {
  for (AttemptFacts& attempt : facts.attempts) {
    const auto moment = [&] { return kRunBegan + chance.Pick(0, 300 * kSecond); };
    if (chance.OneIn(3)) attempt.spares = chance.Pick(0, 20);
    if (chance.OneIn(4)) attempt.resizes = {{moment(), static_cast<int>(chance.Pick(0, 40))}};
    for (std::int64_t n = chance.Pick(0, 6); n > 0; --n) {
      WorldMark mark;
      mark.t = moment();
      mark.stepping = chance.Pick(1, 20);
      if (chance.OneIn(2)) mark.wanted = mark.stepping + chance.Pick(0, 8);
      if (chance.OneIn(3)) mark.spares = chance.Pick(0, 4);
      mark.ref = {0, 1'000'000 + n};
      attempt.worlds.push_back(mark);
    }
  }
}

// Makes its programs train, and save after each step or some: within it, until the next begins, or later.
inline void MakeSave(Chance& chance, RunFacts& facts) {
  std::int64_t offset = 2'000'000;
  if (chance.OneIn(3)) facts.sources.back().evidence = Evidence::kLog;
  const auto ref = [&] { return EvidenceRef{chance.OneIn(12) ? 1 : 0, offset += 10}; };
  for (AttemptFacts& attempt : facts.attempts) {
    if (chance.OneIn(2)) attempt.checkpoint_files.clear();
    if (chance.OneIn(2)) attempt.suspended.clear();
    if (chance.OneIn(2)) attempt.marks.clear();
    if (chance.OneIn(2)) attempt.step_marks.clear();
    const auto task = [&] { return static_cast<std::int32_t>(chance.OneIn(8) ? 1 : 0); };
    const std::int32_t slurm_step = chance.OneIn(6) ? kBatchStep : 0;
    const Ns each = chance.Pick(4, 9 * kSecond);
    // At most a time that no clock would show.
    Ns t = std::clamp<Ns>(attempt.start.value_or(kRunBegan), 0, kMax / 2) +
           chance.Pick(-2 * kSecond, 60 * kSecond);
    const bool often = chance.OneIn(2);
    for (std::int64_t step = 1; step < 16; ++step, t += each + chance.Pick(0, each / 3)) {
      attempt.step_marks.push_back({t, step, slurm_step, 0, {0, offset += 10}});
      if (!often && !chance.OneIn(4)) continue;
      const Ns end = t + chance.Of(std::vector<Ns>{each / 2, each / 2, each / 2, each / 4, each, each * 2});
      Mark mark{t + each / 4, Mark::Kind::kCheckpoint, true, step, "", slurm_step, task(), ref()};
      attempt.marks.push_back(mark);
      if (chance.OneIn(10)) continue;
      mark.begin = false;
      mark.t = end;
      mark.ref = ref();
      if (chance.OneIn(12)) mark.task = task();
      if (chance.OneIn(12)) mark.name = kInBackground;
      if (chance.OneIn(12)) mark.train_step = chance.OneIn(2) ? std::nullopt : std::optional(step + 1);
      attempt.marks.push_back(mark);
      if (!chance.OneIn(20)) continue;
      // Another task saves its part of it, later.
      mark = {end + each / 16, Mark::Kind::kCheckpoint, true, step, "", slurm_step, 1, ref()};
      attempt.marks.push_back(mark);
      mark.begin = false;
      mark.t += each / 16;
      mark.ref = ref();
      attempt.marks.push_back(mark);
    }
  }
}

// The same facts with their saves in blocks, as if read in the order of time, or in another.
inline RunFacts WithSavesInBlocks(RunFacts facts, Chance* any_order = nullptr) {
  for (AttemptFacts& attempt : facts.attempts) {
    std::vector<Mark> marks;
    std::swap(marks, attempt.marks);
    std::stable_sort(marks.begin(), marks.end(), [](const Mark& a, const Mark& b) { return a.t < b.t; });
    if (any_order != nullptr) any_order->Shuffle(marks);
    SavePairs pairs;
    for (Mark& mark : marks) pairs.Add(std::move(mark), attempt);
  }
  return facts;
}

}  // namespace goodput
