#include "sql/spool_line.h"

#include <simdjson.h>

#include "spank/event.h"
#include "sql/text.h"

namespace goodput {

struct SpoolLineParser::Impl {
  simdjson::dom::parser parser{kMaxRecordBytes};
};

static_assert(SpoolLineParser::kPadding >= simdjson::SIMDJSON_PADDING);

SpoolLineParser::SpoolLineParser() : impl_(std::make_unique<Impl>()) {}
SpoolLineParser::~SpoolLineParser() = default;

absl::StatusOr<SpoolLine> SpoolLineParser::Parse(std::string_view line) {
  const auto bad = [](std::string_view what) { return absl::InvalidArgumentError(ToAbsl(what)); };
  if (line.size() > kMaxRecordBytes) return bad("longer than a record may be");
  simdjson::dom::object object;
  if (impl_->parser.parse(line.data(), line.size(), false).get(object) != simdjson::SUCCESS) {
    return bad("not a JSON object");
  }
  SpoolLine record;
  std::int64_t version = -1;
  bool has_t = false;
  bool has_m = false;
  bool step_mark = false;
  bool begins = false;
  bool has_train_step = false;
  for (const auto field : object) {
    const std::string_view name = field.key;
    bool ok = true;
    const auto text = [&](std::string_view& into) { ok = field.value.get(into) == simdjson::SUCCESS; };
    const auto number = [&](std::int64_t& into) { ok = field.value.get(into) == simdjson::SUCCESS; };
    const auto optional_number = [&](std::optional<std::int64_t>& into) {
      std::int64_t value = 0;
      number(value);
      if (ok) into = value;
    };
    if (name == key::kVersion) {
      number(version);
    } else if (name == key::kTime) {
      number(record.t_ns);
      has_t = true;
    } else if (name == key::kMonotonic) {
      number(record.m_ns);
      has_m = true;
    } else if (name == key::kKind) {
      text(record.kind);
    } else if (name == key::kNode) {
      text(record.node);
    } else if (name == key::kCluster) {
      text(record.cluster);
    } else if (name == key::kJob) {
      optional_number(record.job);
    } else if (name == key::kSlurmStep) {
      text(record.slurm_step);
    } else if (name == key::kTask) {
      optional_number(record.task);
    } else if (name == key::kMark) {
      std::string_view mark;
      text(mark);
      step_mark = mark == "step";
    } else if (name == key::kEdge) {
      std::string_view edge;
      text(edge);
      begins = edge == "begin";
    } else if (name == key::kOpt) {
      // Not a reason to refuse the record: another kind may use the member differently.
      simdjson::dom::object opt;
      if (field.value.get(opt) == simdjson::SUCCESS && opt[key::kRun].get(record.run) != simdjson::SUCCESS)
        record.run = {};
    } else if (name == key::kTrainStep) {
      number(record.train_step);
      has_train_step = true;
    }
    if (!ok) return bad(Cat("`", name, "` has the wrong type"));
  }
  if (version < 0) return bad("no `v`");
  if (version > kFormatVersion) return bad(Cat("format ", version, " is newer than this program"));
  for (const std::int64_t time : {record.t_ns, record.m_ns}) {
    if (!IsTime(time)) return bad("`t` or `m` is no time");
  }
  if (!has_t || !has_m || record.kind.empty() || record.node.empty())
    return bad("no `t`, `m`, `kind` or `node`");
  record.is_step_mark = step_mark && begins && has_train_step && record.job && record.kind == kind::kMark;
  return record;
}

}  // namespace goodput
