#include "tools/accounting/timeline/rank_wait.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string_view>
#include <utility>

#include "tools/accounting/timeline/sanitize_facts.h"
#include "tools/accounting/timeline/step_painter.h"

namespace goodput {
namespace {

constexpr std::int64_t kTenths = 10;
constexpr std::int64_t kMostTenths = 9;
constexpr std::int64_t kTwentieths = 20;
constexpr Ns kArrivalUnit = 1000;  // of TaskArrival::after_us
// Steps from which the clocks are judged: enough for a median.
constexpr std::size_t kMostJudged = 1024;

bool MostOf(std::int64_t part, std::int64_t whole) {
  return part * kTenths >= whole * kMostTenths;
}

Ns MedianOf(std::vector<Ns>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// The file that a mark is from; null: it is from none.
const EvidenceSource* SourceOf(const RunFacts& facts, const EvidenceRef& ref) {
  const bool known = ref.source >= 0 && static_cast<std::size_t>(ref.source) < facts.sources.size();
  return known ? &facts.sources[static_cast<std::size_t>(ref.source)] : nullptr;
}

bool TellsTimes(const RunFacts& facts, const EvidenceRef& ref) {
  const EvidenceSource* source = SourceOf(facts, ref);
  return source == nullptr || source->tells_ranks();
}

// The record that the first task's begin of the step starts or lies in; null: none. A step that is known from
// the end of the one before may begin a while after that.
const StepRecord* RecordOf(const IncarnationFacts& program, const StepArrivals& step) {
  const auto after = std::upper_bound(program.steps.begin(), program.steps.end(), step.first,
                                      [](Ns t, const StepRecord& record) { return t < record.begin; });
  const auto holds = [&](const StepRecord& record) {
    return step.train_step >= record.lo && step.train_step <= record.hi;
  };
  if (after != program.steps.begin() && holds(*std::prev(after))) return &*std::prev(after);
  return after != program.steps.end() && holds(*after) ? &*after : nullptr;
}

bool IsKept(const IncarnationFacts& program, const StepOutcome& fate, const StepArrivals& step) {
  const StepRecord* record = RecordOf(program, step);
  return record != nullptr && step.train_step - record->lo < KeptSteps(fate, *record);
}

// Overhead between the first and the last begin may be what the last rank did: then nobody waited for it.
// What is beyond twice the usual time of the mark's `steps` counts as a stall.
Ns ProductiveWait(const IncarnationFacts& program, const TimeSpan& between, std::int64_t steps, Ns wait) {
  const Ns overhead = between.end - between.begin - NetTime(program.cuts, between.begin, between.end);
  const Ns most = program.median_step ? TimesAtMost(TimesAtMost(*program.median_step, 2), steps) : kLatest;
  return std::clamp<Ns>(wait - overhead, 0, most);
}

// The ranks of one start, and the steps that can be measured.
class MeasuredStart {
 public:
  MeasuredStart(const IncarnationFacts& program, const Arrivals& arrivals, const StepOutcome& fate)
      : program_(program), arrivals_(arrivals) {
    FindRanksInStep();
    if (ranks_ >= 2) FindMeasurable(fate);
  }

  std::size_t ranks() const { return ranks_; }
  const std::vector<std::size_t>& steps() const { return steps_; }  // of Arrivals::steps
  const StepArrivals& step(std::size_t i) const { return arrivals_.steps[i]; }

  struct Waited {
    Ns wait = 0;  // 0: nobody waited
    Ns spread = 0;
    std::uint32_t last = 0;  // task
  };
  // `behind`: the clock of each task's node; empty: none is.
  Waited Wait(std::size_t i, const std::vector<Ns>& behind) const;
  // What the node of each task begins (or, if all mark them, ends) its steps later by than others, of nodes
  // of which this is more than kClocksAgree. `node_of`: of each task. Empty: there is none.
  std::vector<Ns> BeginsLater(const std::vector<std::uint32_t>& node_of) const;
  std::optional<std::vector<Ns>> EndsLater(const std::vector<std::uint32_t>& node_of,
                                           const AttemptFacts& attempt) const;

 private:
  template <typename See>
  void EachBegin(std::size_t i, const See& see) const {
    const std::size_t end =
        i + 1 < arrivals_.steps.size() ? arrivals_.steps[i + 1].begins : arrivals_.begins.size();
    for (std::size_t at = arrivals_.steps[i].begins; at < end; ++at) {
      const TaskArrival& begin = arrivals_.begins[at];
      if (in_step_[begin.task]) see(begin.task, static_cast<Ns>(begin.after_us) * kArrivalUnit);
    }
  }
  void FindRanksInStep();
  void FindMeasurable(const StepOutcome& fate);
  std::vector<std::size_t> Judged() const;

  const IncarnationFacts& program_;
  const Arrivals& arrivals_;
  std::vector<bool> in_step_;  // of the tasks
  std::size_t ranks_ = 0;
  std::vector<std::size_t> steps_;
};

void MeasuredStart::FindRanksInStep() {
  const auto at = [&](std::int64_t number) {
    return std::lower_bound(
        arrivals_.steps.begin(), arrivals_.steps.end(), number,
        [](const StepArrivals& step, std::int64_t value) { return step.train_step < value; });
  };
  for (const ArrivingTask& task : arrivals_.tasks) {
    const std::int64_t compared = at(task.last_step + 1) - at(task.first_step);
    in_step_.push_back(compared > 0 && MostOf(task.compared, compared) &&
                       task.out_of_step * kTwentieths <= task.marks);
  }
  ranks_ = static_cast<std::size_t>(std::count(in_step_.begin(), in_step_.end(), true));
}

void MeasuredStart::FindMeasurable(const StepOutcome& fate) {
  std::vector<std::int64_t> firsts;
  std::vector<std::int64_t> lasts;
  for (std::size_t task = 0; task < in_step_.size(); ++task) {
    if (!in_step_[task]) continue;
    firsts.push_back(arrivals_.tasks[task].first_step);
    lasts.push_back(arrivals_.tasks[task].last_step);
  }
  std::sort(firsts.begin(), firsts.end());
  std::sort(lasts.begin(), lasts.end());
  std::vector<std::int64_t> out_of_order = arrivals_.out_of_order;
  std::sort(out_of_order.begin(), out_of_order.end());
  for (std::size_t i = 0; i < arrivals_.steps.size(); ++i) {
    const StepArrivals& step = arrivals_.steps[i];
    const auto came = std::upper_bound(firsts.begin(), firsts.end(), step.train_step) - firsts.begin();
    const auto gone = std::lower_bound(lasts.begin(), lasts.end(), step.train_step) - lasts.begin();
    std::int64_t began = 0;
    bool comes_up = false;
    EachBegin(i, [&](std::uint32_t task, Ns) {
      ++began;
      comes_up = comes_up || arrivals_.tasks[task].first_step == step.train_step;
    });
    if (began >= 2 && !comes_up && MostOf(began, came - gone) && IsKept(program_, fate, step) &&
        !std::binary_search(out_of_order.begin(), out_of_order.end(), step.train_step))
      steps_.push_back(i);
  }
}

MeasuredStart::Waited MeasuredStart::Wait(std::size_t i, const std::vector<Ns>& behind) const {
  Ns first = kLatest;
  Ns last = -kLatest;
  Ns sum = 0;
  Ns count = 0;
  Waited waited;
  EachBegin(i, [&](std::uint32_t task, Ns after) {
    const Ns began = after - (behind.empty() ? 0 : behind[task]);
    sum += began;
    ++count;
    first = std::min(first, began);
    if (began <= last) return;
    last = began;
    waited.last = task;
  });
  if (last - first <= kClocksAgree) return waited;
  const StepArrivals& step = arrivals_.steps[i];
  const StepRecord* record = RecordOf(program_, step);
  const std::int64_t steps = record == nullptr ? 1 : record->block ? record->block->stride : record->count();
  waited.wait = ProductiveWait(program_, {step.first + first, step.first + last}, steps, last - sum / count);
  waited.spread = last - first;
  return waited;
}

// Some of the measured steps, spread over all.
std::vector<std::size_t> MeasuredStart::Judged() const {
  const std::size_t stride = steps_.size() / kMostJudged + 1;
  std::vector<std::size_t> some;
  for (std::size_t i = 0; i < steps_.size(); i += stride) some.push_back(steps_[i]);
  return some;
}

// By task, from what each node was late by in some steps.
std::vector<Ns> LateNodes(std::vector<std::vector<Ns>>& late_by, const std::vector<std::uint32_t>& node_of) {
  std::vector<Ns> usual;
  Ns least = kLatest;
  for (std::vector<Ns>& values : late_by) {
    usual.push_back(values.empty() ? 0 : MedianOf(values));
    if (!values.empty()) least = std::min(least, usual.back());
  }
  std::vector<Ns> behind(node_of.size());
  bool any = false;
  for (std::size_t task = 0; task < node_of.size(); ++task) {
    const Ns later = usual[node_of[task]] - least;
    if (later <= kClocksAgree) continue;
    behind[task] = later;
    any = true;
  }
  return any ? behind : std::vector<Ns>();
}

// What is added to `late_by` for one step: of each node, the first of its times.
class FirstOfNodes {
 public:
  void See(std::uint32_t node, Ns t) {
    Ns& first = first_.try_emplace(node, t).first->second;
    first = std::min(first, t);
  }
  void AddTo(std::vector<std::vector<Ns>>& late_by) const {
    Ns first = kLatest;
    for (const auto& [node, t] : first_) first = std::min(first, t);
    for (const auto& [node, t] : first_) late_by[node].push_back(t - first);
  }

 private:
  std::map<std::uint32_t, Ns> first_;
};

std::vector<Ns> MeasuredStart::BeginsLater(const std::vector<std::uint32_t>& node_of) const {
  std::vector<std::vector<Ns>> late_by(node_of.size());
  for (const std::size_t i : Judged()) {
    FirstOfNodes nodes;
    EachBegin(i, [&](std::uint32_t task, Ns after) { nodes.See(node_of[task], after); });
    nodes.AddTo(late_by);
  }
  return LateNodes(late_by, node_of);
}

std::optional<std::vector<Ns>> MeasuredStart::EndsLater(const std::vector<std::uint32_t>& node_of,
                                                        const AttemptFacts& attempt) const {
  std::map<Teller, std::uint32_t> tasks;
  for (std::size_t task = 0; task < in_step_.size(); ++task) {
    if (in_step_[task]) tasks[arrivals_.tasks[task].teller] = static_cast<std::uint32_t>(task);
  }
  const auto step_of = [&](const StepMark& end) {
    const auto step = std::lower_bound(
        steps_.begin(), steps_.end(), end.train_step,
        [&](std::size_t i, std::int64_t number) { return arrivals_.steps[i].train_step < number; });
    const bool ended = step != steps_.end() && arrivals_.steps[*step].train_step == end.train_step &&
                       end.t >= arrivals_.steps[*step].first && end.t <= program_.summary.end;
    return ended ? step - steps_.begin() : -1;
  };
  std::vector<bool> has_end(steps_.size());
  for (const std::vector<StepMark>* ends : {&attempt.step_ends, &attempt.rank_ends}) {
    for (const StepMark& end : *ends) {
      const auto at = step_of(end);
      if (at >= 0) has_end[static_cast<std::size_t>(at)] = true;
    }
  }
  // Some of them, spread over all.
  const auto ended = static_cast<std::size_t>(std::count(has_end.begin(), has_end.end(), true));
  std::map<std::ptrdiff_t, FirstOfNodes> judged;
  std::size_t number = 0;
  for (std::size_t at = 0; at < has_end.size(); ++at) {
    if (has_end[at] && number++ % (ended / kMostJudged + 1) == 0)
      judged.try_emplace(static_cast<std::ptrdiff_t>(at));
  }
  for (const std::vector<StepMark>* ends : {&attempt.step_ends, &attempt.rank_ends}) {
    for (const StepMark& end : *ends) {
      const auto task = tasks.find({end.slurm_step, end.task});
      const auto step = judged.find(step_of(end));
      if (task != tasks.end() && step != judged.end()) step->second.See(node_of[task->second], end.t);
    }
  }
  std::vector<std::vector<Ns>> late_by(node_of.size());
  for (const auto& [at, nodes] : judged) nodes.AddTo(late_by);
  // A node of which few ends are known is in doubt.
  for (const auto& [teller, task] : tasks) {
    if (late_by[node_of[task]].size() * 2 <= judged.size()) return std::nullopt;
  }
  return LateNodes(late_by, node_of);
}

// How tasks began the steps of a program by the lines of its output: each when the one before was done.
Arrivals ArrivalsInLines(const IncarnationFacts& program, const AttemptFacts& attempt) {
  std::vector<StepMark> begins;
  for (StepMark mark : attempt.rank_ends) {
    if (!program.summary.first_step_begin || mark.t < *program.summary.first_step_begin ||
        mark.t > program.summary.end || program.slurm_steps.count(mark.slurm_step) == 0)
      continue;
    ++mark.train_step;
    begins.push_back(mark);
  }
  Arrivals most;
  for (Folded& folded : FoldStepMarks(std::move(begins), {}, nullptr)) {
    if (folded.arrivals.steps.size() >= most.steps.size()) most = std::move(folded.arrivals);
  }
  return most;
}

// The nodes of an attempt's tasks, as Slurm numbers these.
std::map<Teller, std::int32_t> NodesBySlurm(const AttemptFacts& attempt) {
  std::map<Teller, std::int32_t> nodes;
  for (const NodeEvent& event : attempt.node_events) {
    if (event.kind == NodeEvent::Kind::kTaskStart && event.node != NodeEvent::kNoNode)
      nodes[{event.slurm_step, event.task}] = event.node;
  }
  return nodes;
}

// Numbers the nodes of a start's tasks: a mark is from the node that stored it; a line of output (`by_slurm`)
// has Slurm's number of its task. Others, as in an imported file, may each have a clock of their own.
std::vector<std::uint32_t> NodesOfTasks(const Arrivals& arrivals, const AttemptFacts& attempt, bool by_slurm,
                                        const RunFacts& facts) {
  const std::map<Teller, std::int32_t> known =
      by_slurm ? NodesBySlurm(attempt) : std::map<Teller, std::int32_t>();
  std::map<std::string, std::uint32_t> numbers;
  std::map<std::int32_t, std::string> names;  // of sources
  std::vector<std::uint32_t> node_of;
  for (std::size_t number = 0; number < arrivals.tasks.size(); ++number) {
    const ArrivingTask& task = arrivals.tasks[number];
    const auto [name, fresh] = names.try_emplace(task.ref.source);
    const EvidenceSource* source = SourceOf(facts, task.ref);
    if (fresh && source != nullptr && source->evidence == Evidence::kMark) {
      const std::string file = facts.SourceName(static_cast<std::size_t>(task.ref.source));
      name->second = file.substr(0, file.find('/'));
    }
    std::string node = name->second;
    const auto slurms = known.find(task.teller);
    if (node.empty() && slurms != known.end()) node = "/node " + std::to_string(slurms->second);
    if (node.empty()) node = "/task " + std::to_string(number);
    node_of.push_back(numbers.try_emplace(node, static_cast<std::uint32_t>(numbers.size())).first->second);
  }
  return node_of;
}

// Adds up the starts of a run.
class WaitSum {
 public:
  WaitSum(const std::vector<const AttemptFacts*>& attempts, const RunFacts& facts)
      : attempts_(attempts), facts_(facts) {}

  void Add(std::size_t number, const IncarnationFacts& program, const StepOutcome& fate) {
    if (TellTimes(program.arrivals)) return Add({number, &program, &program.arrivals, true}, fate);
    const Arrivals lines =
        ArrivalsInLines(program, *attempts_[static_cast<std::size_t>(program.summary.attempt)]);
    if (lines.tasks.size() >= 2) return Add({number, &program, &lines, false}, fate);
    Refuse(program.arrivals.tasks.size(),
           "its steps are known from output without labels of ranks or without times of its own");
  }

  RankWaitOrWhy Finish() && {
    if (sum_.measured.empty()) {
      result_.why = why_.empty() ? "no rank marked the begins of steps" : why_;
      return std::move(result_);
    }
    std::sort(sum_.measured.begin(), sum_.measured.end());
    std::stable_sort(sum_.steps.begin(), sum_.steps.end(),
                     [](const LateStep& a, const LateStep& b) { return a.t < b.t; });
    sum_.Settle();
    result_.wait = std::move(sum_);
    return std::move(result_);
  }

 private:
  struct Start {
    std::size_t number = 0;
    const IncarnationFacts* program = nullptr;
    const Arrivals* arrivals = nullptr;
    bool has_ends = false;  // facts of ends of steps are not what the arrivals are from
  };

  bool TellTimes(const Arrivals& arrivals) const {
    return std::all_of(arrivals.tasks.begin(), arrivals.tasks.end(),
                       [&](const ArrivingTask& task) { return TellsTimes(facts_, task.ref); });
  }

  void Add(const Start& start, const StepOutcome& fate) {
    const std::size_t tasks = start.arrivals->tasks.size();
    result_.ranks = std::max(result_.ranks, tasks);
    if (tasks < 2) return Refuse(tasks, "fewer than two ranks marked the begins of steps");
    const MeasuredStart measured(*start.program, *start.arrivals, fate);
    if (measured.ranks() < 2) return Refuse(tasks, "its ranks do not train in step");
    if (measured.steps().empty())
      return Refuse(tasks, "no kept step but the first was marked by all ranks in time");
    const std::size_t left_out = tasks - measured.ranks();
    if (std::pair(measured.ranks(), left_out) > std::pair(sum_.ranks, sum_.left_out)) {
      sum_.ranks = measured.ranks();
      sum_.left_out = left_out;
    }
    AddSteps(start, measured);
  }

  // The reason of the start with most ranks is told.
  void Refuse(std::size_t ranks, std::string_view why) {
    if (ranks <= refused_) return;
    refused_ = ranks;
    why_ = why;
  }

  // What the clocks of nodes make of a start: nothing, what is certain, or what is in doubt.
  struct Clocks {
    std::vector<Ns> behind;  // by task; empty: all agree
    bool in_doubt = false;
  };
  Clocks ReadClocks(const Start& start, const MeasuredStart& measured) {
    const auto late = std::count_if(measured.steps().begin(), measured.steps().end(),
                                    [&](std::size_t i) { return measured.Wait(i, {}).spread > 0; });
    // The median of what any node is late by is less than kClocksAgree.
    if (static_cast<std::size_t>(late) * 2 <= measured.steps().size()) return {};
    const int attempt = start.program->summary.attempt;
    const AttemptFacts& of_attempt = *attempts_[static_cast<std::size_t>(attempt)];
    const std::vector<std::uint32_t> node_of =
        NodesOfTasks(*start.arrivals, of_attempt, !start.has_ends, facts_);
    Clocks clocks;
    if (start.has_ends) {
      if (std::optional<std::vector<Ns>> told = measured.EndsLater(node_of, of_attempt)) {
        clocks.behind = *std::move(told);
        return clocks;
      }
    }
    clocks.behind = measured.BeginsLater(node_of);
    clocks.in_doubt = !clocks.behind.empty();
    std::vector<bool> named(node_of.size());
    for (std::size_t task = 0; clocks.in_doubt && task < node_of.size(); ++task) {
      if (clocks.behind[task] == 0 || named[node_of[task]]) continue;
      named[node_of[task]] = true;
      const ArrivingTask& of = start.arrivals->tasks[task];
      sum_.doubts.push_back({attempt, of.teller, of.ref, clocks.behind[task]});
    }
    return clocks;
  }

  void AddSteps(const Start& start, const MeasuredStart& measured) {
    const Clocks clocks = ReadClocks(start, measured);
    for (const std::size_t i : measured.steps()) {
      sum_.measured.push_back(measured.step(i).first);
      const MeasuredStart::Waited with = measured.Wait(i, clocks.behind);
      const MeasuredStart::Waited without = clocks.in_doubt ? measured.Wait(i, {}) : with;
      LateStep late;
      late.t = measured.step(i).first;
      late.start = start.number;
      late.most = without.wait;
      if (with.last == without.last) late.wait = std::min(with.wait, without.wait);
      if (late.wait > 0) late.spread = std::min(with.spread, without.spread);
      if (late.most == 0) continue;
      late.rank = RankNumber(start.program->summary.attempt, start.arrivals->tasks[without.last]);
      sum_.steps.push_back(late);
    }
  }

  std::size_t RankNumber(int attempt, const ArrivingTask& task) {
    const auto [rank, fresh] = ranks_.try_emplace({attempt, task.teller}, sum_.late.size());
    if (fresh) {
      LateRank late;
      late.attempt = attempt;
      late.task = task.teller;
      late.ref = task.ref;
      sum_.late.push_back(late);
    }
    return rank->second;
  }

  const std::vector<const AttemptFacts*>& attempts_;
  const RunFacts& facts_;
  std::map<std::pair<int, Teller>, std::size_t> ranks_;  // of sum_.late
  RankWait sum_;
  RankWaitOrWhy result_;
  std::string why_;
  std::size_t refused_ = 0;  // ranks of the start that it is about
};

}  // namespace

std::int64_t RankWait::late_steps() const {
  return std::count_if(steps.begin(), steps.end(), [](const LateStep& step) { return step.wait > 0; });
}

Ns RankWait::longest() const {
  Ns longest = 0;
  for (const LateStep& step : steps) longest = std::max(longest, step.spread);
  return longest;
}

void RankWait::Settle() {
  for (LateRank& rank : late) rank.steps = rank.wait = rank.most = 0;
  for (const LateStep& step : steps) {
    LateRank& rank = late[step.rank];
    rank.steps += step.wait > 0 ? 1 : 0;
    rank.wait += step.wait;
    rank.most += step.most;
  }
  std::vector<std::size_t> order(late.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(late[a].wait, late[a].most) > std::pair(late[b].wait, late[b].most);
  });
  std::vector<LateRank> sorted;
  std::vector<std::size_t> place(late.size());
  for (const std::size_t i : order) {
    place[i] = sorted.size();
    if (late[i].most > 0) sorted.push_back(late[i]);
  }
  for (LateStep& step : steps) step.rank = place[step.rank];
  late = std::move(sorted);
}

void KeepWaits(const std::function<bool(Ns t)>& keep, std::optional<RankWait>& wait, std::string& why) {
  if (!wait) return;
  std::vector<Ns>& measured = wait->measured;
  std::vector<LateStep>& steps = wait->steps;
  measured.erase(std::remove_if(measured.begin(), measured.end(), [&](Ns t) { return !keep(t); }),
                 measured.end());
  steps.erase(std::remove_if(steps.begin(), steps.end(), [&](const LateStep& step) { return !keep(step.t); }),
              steps.end());
  wait->kept.reset();
  wait->Settle();
  if (!measured.empty()) return;
  wait.reset();
  why = "no step of this time was measured";
}

RankWaitOrWhy MeasureRankWait(const std::vector<const IncarnationFacts*>& programs,
                              const std::vector<StepOutcome>& fates,
                              const std::vector<const AttemptFacts*>& attempts, const RunFacts& facts) {
  WaitSum sum(attempts, facts);
  for (std::size_t i = 0; i < programs.size(); ++i) sum.Add(i, *programs[i], fates[i]);
  RankWaitOrWhy result = std::move(sum).Finish();
  if (facts.clocks_differed && result.wait) {
    result.wait.reset();
    result.why = "the clock of a node was wrong";
  }
  return result;
}

}  // namespace goodput
