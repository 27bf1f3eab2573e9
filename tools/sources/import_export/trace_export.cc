#include "tools/sources/import_export/trace_export.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "spank/json_text.h"
#include "sql/status_macros.h"
#include "sql/text.h"
#include "tools/accounting/timeline/bucket.h"
#include "tools/base/signal_name.h"

namespace goodput {
namespace {

constexpr std::size_t kTracePiece = std::size_t{64} << 10U;

enum Row { kTime, kAttempts, kProgram, kCheckpoints, kSignals, kInterruptions };

class Trace {
 public:
  Trace(Ns origin, const std::function<absl::Status(std::string_view)>& write)
      : origin_(origin), write_(write) {}

  void Begin(std::string_view name) {
    text_ = Cat(R"({"displayTimeUnit":"ms","otherData":{"begin_ns":)", origin_, "},\"traceEvents\":[\n",
                R"({"ph":"M","pid":1,"name":"process_name","args":{"name":)", QuotedJson(name), "}}");
  }
  void NameRow(Row row, std::string_view name) {
    Add(Cat(R"({"ph":"M","pid":1,"tid":)", row, R"(,"name":"thread_name","args":{"name":)", QuotedJson(name),
            "}}"));
    Add(Cat(R"({"ph":"M","pid":1,"tid":)", row, R"(,"name":"thread_sort_index","args":{"sort_index":)", row,
            "}}"));
  }
  // `arguments`: members of an object.
  void Span(Row row, std::string_view name, Ns begin, Ns end, std::string_view arguments) {
    Add(Cat(R"({"ph":"X","pid":1,"tid":)", row, ",\"ts\":", Microseconds(begin - origin_), ",\"dur\":",
            Microseconds(end - begin), ",\"name\":", QuotedJson(name), ",\"args\":{", arguments, "}}"));
  }
  void Instant(Row row, std::string_view name, Ns t, std::string_view arguments) {
    Add(Cat(R"({"ph":"i","s":"t","pid":1,"tid":)", row, ",\"ts\":", Microseconds(t - origin_),
            ",\"name\":", QuotedJson(name), ",\"args\":{", arguments, "}}"));
  }
  absl::Status Finish() {
    text_ += "\n]}\n";
    RETURN_IF_ERROR(status_);
    return write_(text_);
  }

 private:
  static std::string Microseconds(Ns ns) {
    const Ns size = std::abs(ns);
    char text[40];
    (void)std::snprintf(text, sizeof text, "%s%lld.%03lld", ns < 0 ? "-" : "",
                        static_cast<long long>(size / 1000), static_cast<long long>(size % 1000));
    return text;
  }
  void Add(std::string_view event) {
    text_.append(",\n").append(event);
    if (text_.size() < kTracePiece) return;
    if (status_.ok()) status_ = write_(text_);
    text_.clear();
  }

  Ns origin_;
  const std::function<absl::Status(std::string_view)>& write_;
  std::string text_;
  absl::Status status_;
};

std::string Text(std::string_view key, std::string_view value) {
  return Cat("\"", key, "\":", QuotedJson(value));
}

std::string Number(std::string_view key, const std::optional<std::int64_t>& value) {
  return Cat("\"", key, "\":", value ? std::to_string(*value) : "null");
}

void AddBuckets(const Timeline& timeline, Trace& trace) {
  for (const Interval& interval : timeline.intervals) {
    std::string arguments = Text("evidence", EvidenceName(interval.evidence));
    if (!interval.part.empty()) arguments += Cat(",", Text("part", interval.part));
    if (!interval.why.empty()) arguments += Cat(",", Text("why", interval.why));
    trace.Span(kTime, BucketName(interval.bucket), interval.begin, interval.end, arguments);
  }
}

void AddAttempts(const Timeline& timeline, Trace& trace) {
  for (std::size_t i = 0; i < timeline.attempts.size(); ++i) {
    const AttemptSummary& attempt = timeline.attempts[i];
    const AttemptFacts& facts = *attempt.facts;
    if (!facts.start) continue;
    trace.Span(kAttempts, Cat("attempt ", i + 1), *facts.start, facts.end.value_or(timeline.now),
               Cat(Text("state", facts.state), ",", Number("first_step", attempt.first_step), ",",
                   Number("last_step", attempt.last_step), ",", Number("kept_step", attempt.kept_step)));
  }
}

void AddProgram(const Timeline& timeline, Trace& trace) {
  for (const Incarnation& start : timeline.incarnations) {
    const std::string name = start.first_step && start.last_step
                                 ? Cat("steps ", *start.first_step, " to ", *start.last_step)
                                 : "program";
    trace.Span(kProgram, name, start.begin, start.end,
               Cat(Number("attempt", start.attempt + 1), ",", Number("kept_step", start.kept_step), ",",
                   Number("restored_step", start.restored_step)));
  }
}

void AddCheckpoints(const Timeline& timeline, Trace& trace) {
  for (const Checkpoint& checkpoint : timeline.checkpoints) {
    const std::string name = checkpoint.step ? Cat("checkpoint ", *checkpoint.step) : "checkpoint";
    const std::string arguments = Text("evidence", EvidenceName(checkpoint.evidence));
    if (checkpoint.complete) {
      trace.Span(kCheckpoints, name, checkpoint.begin, *checkpoint.complete, arguments);
    } else {
      trace.Instant(kCheckpoints, Cat(name, ", incomplete"), checkpoint.begin, arguments);
    }
  }
}

void AddSignals(const Timeline& timeline, Trace& trace) {
  for (const SignalDelivery& signal : timeline.signals.deliveries) {
    trace.Instant(kSignals, SignalName(signal.signo), signal.t,
                  Cat(Text("sender", signal.sender), ",", Number("tasks", signal.tasks), ",",
                      Number("tasks_handled", signal.tasks_handled)));
  }
}

void AddInterruptions(const Timeline& timeline, Trace& trace) {
  for (const Interruption& interruption : timeline.interruptions) {
    std::string evidence;
    for (const std::string& line : interruption.evidence) evidence += Cat(evidence.empty() ? "" : "; ", line);
    trace.Instant(kInterruptions, interruption.cause, interruption.time,
                  Cat("\"planned\":", interruption.planned ? "true" : "false", ",",
                      Text("node", interruption.node), ",", Text("evidence", evidence)));
  }
}

}  // namespace

absl::Status ExportTrace(const Timeline& timeline, const std::string& name,
                         const std::function<absl::Status(std::string_view)>& write) {
  Trace trace(timeline.begin, write);
  trace.Begin(name);
  trace.NameRow(kTime, "where the time went");
  trace.NameRow(kAttempts, "attempts");
  trace.NameRow(kProgram, "program");
  trace.NameRow(kCheckpoints, "checkpoints");
  trace.NameRow(kSignals, "signals");
  trace.NameRow(kInterruptions, "interruptions");
  AddBuckets(timeline, trace);
  AddAttempts(timeline, trace);
  AddProgram(timeline, trace);
  AddCheckpoints(timeline, trace);
  AddSignals(timeline, trace);
  AddInterruptions(timeline, trace);
  return trace.Finish();
}

}  // namespace goodput
