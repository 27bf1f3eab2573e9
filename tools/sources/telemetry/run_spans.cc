#include "tools/sources/telemetry/run_spans.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_replace.h"
#include "config.h"
#include "sql/text.h"
#include "tools/accounting/fleet_rows/fleet_rows.h"
#include "tools/accounting/timeline/bucket.h"
#include "tools/accounting/timeline/goodput.h"

namespace goodput {
namespace {

constexpr std::size_t kTraceIdBytes = 16;
constexpr std::size_t kSpanIdBytes = 8;

// Never only zeros: a UUID has its version among them.
std::string IdOf(const std::string& identity, std::size_t bytes) {
  const std::string hex = absl::StrReplaceAll(DigestOf(identity), {{"-", ""}});
  return absl::HexStringToBytes(hex.substr(0, 2 * bytes));
}

class Attributes {
 public:
  Attributes& Text(std::string key, std::string_view value) {
    if (!value.empty()) list_.push_back({std::move(key), FleetText(value)});
    return *this;
  }
  Attributes& Int(std::string key, std::int64_t value) {
    list_.push_back({std::move(key), value});
    return *this;
  }
  template <typename Number>
  Attributes& Maybe(const std::string& key, const std::optional<Number>& value) {
    if (value) Int(key, *value);
    return *this;
  }
  Attributes& Double(std::string key, const std::optional<double>& value) {
    if (value) list_.push_back({std::move(key), *value});
    return *this;
  }
  Attributes& Bool(std::string key, bool value) {
    list_.push_back({std::move(key), value});
    return *this;
  }
  OtlpAttributes Take() { return std::move(list_); }

 private:
  OtlpAttributes list_;
};

class RunTrace {
 public:
  RunTrace(const RunInfo& info, const Timeline& timeline) : info_(info), timeline_(timeline) {
    const AttemptFacts* first = nullptr;
    for (const AttemptSummary& attempt : timeline.attempts) {
      const AttemptFacts* of = attempt.facts;
      if (first == nullptr ||
          std::make_pair(of->job_id, of->submit) < std::make_pair(first->job_id, first->submit))
        first = of;
    }
    if (first == nullptr) return;
    identity_ =
        Cat("slurm-goodput run ", info.cluster, "\n", UnitName({first->job_id, first->submit / kSecond}));
    trace_id_ = IdOf(identity_, kTraceIdBytes);
    run_id_ = IdOf(Cat(identity_, "\nrun"), kSpanIdBytes);
  }

  std::vector<SpanGroup> Groups() {
    std::vector<SpanGroup> groups;
    if (identity_.empty()) return groups;
    std::map<std::pair<std::int64_t, Ns>, int> uses;
    bool all = !timeline_.running;
    for (std::size_t i = 0; i < timeline_.attempts.size(); ++i) {
      const AttemptFacts& facts = *timeline_.attempts[i].facts;
      if (!facts.start) continue;
      const int use = uses[{facts.job_id, facts.submit / kSecond}]++;
      if (facts.end) {
        groups.push_back(AttemptGroup(i, Cat(UnitName({facts.job_id, facts.submit / kSecond}), "/", use)));
      } else {
        all = false;
      }
    }
    if (all) {
      // A run has failed if its last attempt has.
      const std::string error = groups.empty() ? "" : groups.back().spans.front().error;
      groups.push_back(RunGroup(error));
    }
    return groups;
  }

 private:
  OtlpSpan Span(std::string_view name, const std::string& identity, const std::string& parent, Ns begin,
                Ns end) const {
    OtlpSpan span;
    span.trace_id = trace_id_;
    span.span_id = IdOf(Cat(identity_, "\n", identity), kSpanIdBytes);
    span.parent_id = parent;
    span.name = std::string(name);
    span.begin = std::max<Ns>(begin, 1);
    span.end = std::max(span.begin, end);
    return span;
  }

  SpanGroup RunGroup(const std::string& error) const {
    OtlpSpan span = Span("run", "run", "", timeline_.begin, timeline_.end);
    span.error = error;
    const Account account = TakeAccount(timeline_);
    Attributes attributes;
    attributes.Text("slurm.job.id", info_.job_id_text).Text("slurm.job.name", info_.name);
    attributes.Text("goodput.run", info_.run).Text("user.name", info_.user);
    attributes.Text("slurm.account", info_.account).Text("slurm.partition", info_.partition);
    attributes.Text("slurm.qos", info_.qos).Text("slurm.reservation", info_.reservation);
    attributes.Text("slurm.job.state", info_.state).Text("slurm.job.gpu_type", info_.gpu_type);
    attributes.Int("slurm.job.gpus", account.has_gpus ? account.gpus : 0);
    attributes.Int("goodput.attempts", static_cast<std::int64_t>(timeline_.attempts.size()));
    attributes.Int("goodput.interruptions", static_cast<std::int64_t>(timeline_.interruptions.size()));
    attributes.Double("goodput.scheduling", account.goodput.scheduling);
    attributes.Double("goodput.runtime", account.goodput.runtime);
    for (const BucketTotal& total : account.buckets) {
      if (total.ns == 0 && total.gpu_ns == 0) continue;
      const std::string name(BucketName(total.bucket));
      attributes.Double(Cat("goodput.seconds.", name), static_cast<double>(total.ns) / 1e9);
      if (account.has_gpus)
        attributes.Double(Cat("goodput.gpu_seconds.", name), static_cast<double>(total.gpu_ns) / 1e9);
    }
    span.attributes = attributes.Take();
    // A run that went on has another end, and is sent again as the same span.
    return {
        IdOf(Cat(identity_, "\nrun until ", timeline_.end), kSpanIdBytes), timeline_.end, {std::move(span)}};
  }

  SpanGroup AttemptGroup(std::size_t i, const std::string& identity) const {
    const AttemptSummary& attempt = timeline_.attempts[i];
    const AttemptFacts& facts = *attempt.facts;
    OtlpSpan span = Span("attempt", identity, run_id_, facts.allocated.value_or(*facts.start), *facts.end);
    Attributes attributes;
    attributes.Text("slurm.job.id", Cat(facts.job_id)).Maybe("slurm.job.restart", facts.restart);
    attributes.Text("slurm.job.state", facts.state).Int("slurm.job.nodes", facts.nodes);
    attributes.Text("slurm.job.node_list", facts.node_list).Int("slurm.job.gpus", facts.gpus);
    attributes.Maybe("slurm.job.exit_code", facts.exit_code);
    attributes.Maybe("slurm.job.exit_signal", facts.exit_signal);
    attributes.Maybe("goodput.step.first", attempt.first_step).Maybe("goodput.step.last", attempt.last_step);
    span.attributes = attributes.Take();
    SpanGroup group{span.span_id, *facts.end, {}};
    AddPrograms(static_cast<int>(i), identity, span, group);
    group.spans.insert(group.spans.begin(), std::move(span));
    return group;
  }

  void AddPrograms(int attempt, const std::string& identity, OtlpSpan& attempt_span, SpanGroup& group) const {
    int use = 0;
    std::vector<std::pair<Ns, OtlpSpan>> programs;  // by begin
    for (std::size_t k = 0; k < timeline_.incarnations.size(); ++k) {
      const Incarnation& program = timeline_.incarnations[k];
      if (program.attempt != attempt) continue;
      const std::string of = Cat(identity, "/program ", use++);
      OtlpSpan span = Program(program, of, attempt_span.span_id);
      AddCheckpoints(static_cast<int>(k), of, span.span_id, group);
      programs.emplace_back(program.begin, std::move(span));
    }
    AddInterruptions(attempt, identity, attempt_span, programs, group);
    for (auto& [begin, span] : programs) group.spans.push_back(std::move(span));
  }

  OtlpSpan Program(const Incarnation& program, const std::string& identity, const std::string& parent) const {
    OtlpSpan span = Span("program", identity, parent, program.begin, program.end);
    Attributes attributes;
    if (program.slurm_step >= 0) attributes.Int("slurm.step.id", program.slurm_step);
    attributes.Maybe("process.exit.code", program.exit_code)
        .Maybe("process.exit.signal", program.exit_signal);
    attributes.Maybe("goodput.step.first", program.first_step).Maybe("goodput.step.last", program.last_step);
    attributes.Maybe("goodput.step.restored", program.restored_step);
    span.attributes = attributes.Take();
    return span;
  }

  void AddCheckpoints(int program, const std::string& identity, const std::string& parent,
                      SpanGroup& group) const {
    int use = 0;
    for (const Checkpoint& checkpoint : timeline_.checkpoints) {
      if (checkpoint.incarnation != program) continue;
      OtlpSpan span = Span("checkpoint", Cat(identity, "/checkpoint ", use++), parent, checkpoint.begin,
                           checkpoint.complete.value_or(checkpoint.begin));
      Attributes attributes;
      attributes.Maybe("goodput.checkpoint.step", checkpoint.step);
      attributes.Bool("goodput.checkpoint.complete", checkpoint.complete.has_value());
      attributes.Text("goodput.evidence", EvidenceName(checkpoint.evidence));
      span.attributes = attributes.Take();
      group.spans.push_back(std::move(span));
    }
  }

  // Each from the last progress to the end of the work; it belongs to the program that it ended.
  void AddInterruptions(int attempt, const std::string& identity, OtlpSpan& attempt_span,
                        std::vector<std::pair<Ns, OtlpSpan>>& programs, SpanGroup& group) const {
    int use = 0;
    for (const Interruption& interruption : timeline_.interruptions) {
      if (interruption.attempt != attempt) continue;
      OtlpSpan* parent = &attempt_span;
      for (auto& [begin, span] : programs) {
        if (begin <= interruption.time) parent = &span;
      }
      OtlpSpan span = Span("interruption", Cat(identity, "/interruption ", use++), parent->span_id,
                           interruption.time - interruption.t_detect.value_or(0), interruption.time);
      Attributes attributes;
      attributes.Text("goodput.interruption.cause", interruption.cause);
      attributes.Bool("goodput.interruption.planned", interruption.planned);
      attributes.Text("slurm.node", interruption.node);
      if (!interruption.planned) {
        // `error.type` is OpenTelemetry's name for it.
        attributes.Text("error.type", interruption.cause);
        span.error = attempt_span.error = parent->error = FleetText(interruption.cause);
      }
      span.attributes = attributes.Take();
      group.spans.push_back(std::move(span));
    }
  }

  const RunInfo& info_;
  const Timeline& timeline_;
  std::string identity_;
  std::string trace_id_;
  std::string run_id_;
};

}  // namespace

std::vector<SpanGroup> SpansOfRun(const RunInfo& info, const Timeline& timeline) {
  return RunTrace(info, timeline).Groups();
}

OtlpAttributes TelemetryResource(const std::string& cluster) {
  Attributes attributes;
  attributes.Text("service.name", "slurm-goodput").Text("service.version", PACKAGE_VERSION);
  attributes.Text("slurm.cluster", cluster);
  return attributes.Take();
}

}  // namespace goodput
