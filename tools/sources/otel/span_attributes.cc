#include "tools/sources/otel/span_attributes.h"

#include <charconv>
#include <utility>

#include "sql/text.h"
#include "tools/accounting/timeline/sanitize_facts.h"
#include "tools/sources/logs/log_sink.h"

namespace goodput {
namespace {

// 2000-01-01: a clock that was never set says 1970.
constexpr Ns kEarliestSpan = 946'684'800 * kSecond;

}  // namespace

std::optional<std::int64_t> NumberOf(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

void SetAttribute(std::string_view key, SpanValue value, Span& span) {
  if (key == "megatron.iteration") {
    const bool counts = value.number && *value.number >= 0 && *value.number < kMaxTrainStep;
    span.iteration = counts ? value.number : std::nullopt;
  }
  if (key == "megatron.skipped") span.skipped = value.flag;
  if (key == "nvrx.call_idx") {
    span.call = value.number;
    span.calls = std::move(value.numbers);
  }
}

bool SetNameAndTimes(std::string_view name, std::optional<Ns> start, std::optional<Ns> end, Span& span) {
  if (name.empty() || !start || !end) return false;
  if (*start < kEarliestSpan || *end >= kLatest || *end < *start) return false;
  const SpanName is = ReadSpanName(name);
  span.kind = is.kind;
  span.part = is.part;
  span.start = *start;
  span.end = *end;
  return true;
}

void ProcessReader::Set(std::string_view key, const SpanValue& value) {
  if (key == "slurm.job.id") process_.job = value.number;
  if (key == "slurm.restart_count") process_.restart = value.number;
  if (key == "dl.rank" && value.number && *value.number >= 0 && *value.number <= kMostRank)
    process_.rank = value.number;
  if (key == "dl.world_size" && value.number && *value.number > 0 && *value.number <= kMostRank)
    process_.world = value.number;
  if (key == "host.name") host_ = value.text;
  if (key == "process.pid") pid_ = value.number;
  if (key == "nvrx.role") process_.launcher = value.text == "ft_launcher_agent";
  if (key == "nvrx.node") process_.node = value.text;
  if (key == "service.instance.id") {
    instance_ = value.text;
    process_.writer = instance_.find("ckptworker") != std::string_view::npos;
  }
}

SpanProcess ProcessReader::Finish() {
  const auto number = [](const std::optional<std::int64_t>& value) {
    return value ? std::to_string(*value) : std::string("-");
  };
  process_.identity = Cat(number(process_.job), "/", number(process_.restart), "/", number(process_.rank),
                          "/", number(pid_), "/", host_, "/", instance_);
  if (process_.node.empty()) process_.node = host_;
  return std::move(process_);
}

}  // namespace goodput
