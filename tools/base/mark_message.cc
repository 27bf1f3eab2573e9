#include "tools/base/mark_message.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "absl/strings/numbers.h"
#include "spank/event.h"
#include "spank/json_text.h"
#include "sql/text.h"

namespace goodput {
namespace {

constexpr std::array<std::string_view, 5> kKinds{"step", "checkpoint", "phase", "restore", "world"};
constexpr std::size_t kMaxNodeName = 256;

bool IsSlurmStep(std::string_view text) {
  if (text == "batch" || text == "interactive" || text == "extern") return true;
  return !text.empty() && text.size() <= 10 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// Cuts between characters, so that the result remains valid UTF-8.
std::string_view CutText(std::string_view text, std::size_t length) {
  std::size_t kept = 0;
  while (kept < text.size()) {
    const std::size_t next = std::max<std::size_t>(1, Utf8SequenceLength(text.substr(kept)));
    if (kept + next > length) break;
    kept += next;
  }
  return text.substr(0, kept);
}

// The number of that name, if there is one.
std::optional<std::int64_t> NumberOf(const simdjson::dom::object& object, std::string_view name) {
  std::int64_t number = 0;
  if (object[name].get(number) != simdjson::SUCCESS) return std::nullopt;
  return number;
}

}  // namespace

std::string_view WrongWorld(const MarkMessage& mark) {
  if (mark.world < 1 || mark.world > kMaxWorld) return "`world` is not a number of GPUs";
  if (mark.wanted && (*mark.wanted < mark.world || *mark.wanted > kMaxWorld))
    return "`wanted` is less than `world`, or no number of GPUs";
  if (mark.spares && (*mark.spares < 0 || *mark.spares > kMaxWorld))
    return "`spares` is not a number of GPUs";
  if (mark.tokens && (*mark.tokens < 1 || *mark.tokens > kMaxTrainStep)) return "`tokens` is out of range";
  return "";
}

std::string_view MarkKindName(MarkMessage::Kind kind) {
  return kKinds[static_cast<std::size_t>(kind)];
}

absl::StatusOr<MarkMessage> ParseMark(std::string_view message) {
  const auto bad = [](std::string_view what) { return absl::InvalidArgumentError(ToAbsl(what)); };
  if (message.size() > kMaxMarkBytes) return bad("longer than 4096 bytes");
  simdjson::dom::parser parser;
  const simdjson::padded_string padded(message.data(), message.size());
  simdjson::dom::object object;
  if (parser.parse(padded).get(object) != simdjson::SUCCESS) return bad("not a JSON object");

  MarkMessage mark;
  std::string_view kind;
  std::string_view edge = "begin";
  std::string_view text;
  std::int64_t number = 0;
  if (object["v"].get(number) != simdjson::SUCCESS || number != 1) return bad("`v` is not 1");
  if (object["mark"].get(kind) != simdjson::SUCCESS) return bad("no `mark`");
  const auto* found = std::find(kKinds.begin(), kKinds.end(), kind);
  if (found == kKinds.end()) return bad("`mark` is not step, checkpoint, phase, restore or world");
  mark.kind = static_cast<MarkMessage::Kind>(found - kKinds.begin());
  if (object["edge"].get(edge) == simdjson::SUCCESS && edge != "begin" && edge != "end") {
    return bad("`edge` is not begin or end");
  }
  mark.begin = edge == "begin";
  if (object["job"].get(mark.job) != simdjson::SUCCESS || mark.job <= 0) return bad("no `job`");
  if (object["train_step"].get(number) == simdjson::SUCCESS) {
    if (number < 0 || number > kMaxTrainStep) return bad("`train_step` is out of range");
    mark.train_step = number;
  }
  if (object["slurm_step"].get(text) == simdjson::SUCCESS) {
    if (!IsSlurmStep(text)) return bad("`slurm_step` is not a Slurm step");
    mark.slurm_step = std::string(text);
  }
  if (object["task"].get(number) == simdjson::SUCCESS) {
    if (number < 0 || number > (1 << 30)) return bad("`task` is out of range");
    mark.task = number;
  }
  if (object["node"].get(text) == simdjson::SUCCESS) mark.node = std::string(CutText(text, kMaxNodeName));
  if (object["name"].get(text) == simdjson::SUCCESS) mark.name = std::string(text);
  if (mark.name.size() > kMaxPhaseName) return bad("`name` is longer than 128 bytes");
  if (object["m"].get(number) == simdjson::SUCCESS) mark.mono_ns = number;
  if (mark.kind == MarkMessage::Kind::kStep && !mark.train_step)
    return bad("a step mark without `train_step`");
  if (mark.kind == MarkMessage::Kind::kPhase && mark.name.empty()) return bad("a phase mark without `name`");
  if (mark.kind == MarkMessage::Kind::kWorld) {
    mark.world = NumberOf(object, "world").value_or(0);
    mark.wanted = NumberOf(object, "wanted");
    mark.spares = NumberOf(object, "spares");
    mark.tokens = NumberOf(object, "tokens");
    if (const std::string_view wrong = WrongWorld(mark); !wrong.empty()) return bad(wrong);
  }
  return mark;
}

absl::StatusOr<MarkMessage> MarkOfThisTask() {
  const auto number = [](const char* name) -> std::optional<std::int64_t> {
    const char* text = std::getenv(name);
    std::int64_t value = 0;
    if (text == nullptr || !absl::SimpleAtoi(text, &value)) return std::nullopt;
    return value;
  };
  MarkMessage mark;
  const std::optional<std::int64_t> job = number("SLURM_JOB_ID");
  if (!job) return absl::FailedPreconditionError("not in a Slurm job: SLURM_JOB_ID is not set");
  mark.job = *job;
  mark.task = number("SLURM_PROCID");
  const char* ranks = std::getenv("GOODPUT_RANKS");
  if (ranks != nullptr && std::string_view(ranks) == "all") {
    // As in goodput.h.
    for (const char* name : {"OMPI_COMM_WORLD_RANK", "RANK"}) {
      if (const auto rank = number(name); rank && *rank >= 0) mark.task = rank;
    }
  }
  const char* node = std::getenv("SLURMD_NODENAME");
  if (node != nullptr) mark.node = node;
  const std::optional<std::int64_t> step = number("SLURM_STEP_ID");
  // Depending on the release, Slurm gives the batch script no step id, or a special one.
  constexpr std::int64_t kFirstSpecialStep = 0xfffffff0;
  mark.slurm_step = step && *step >= 0 && *step < kFirstSpecialStep ? Cat(*step) : "batch";
  return mark;
}

std::string FormatMark(const MarkMessage& mark) {
  std::string json = Cat("{\"v\":1,\"mark\":\"", MarkKindName(mark.kind), "\",\"edge\":\"",
                         mark.begin ? "begin" : "end", "\",\"job\":", mark.job);
  if (mark.train_step) json += Cat(",\"train_step\":", *mark.train_step);
  if (mark.kind == MarkMessage::Kind::kWorld) json += Cat(",\"world\":", mark.world);
  if (mark.wanted) json += Cat(",\"wanted\":", *mark.wanted);
  if (mark.spares) json += Cat(",\"spares\":", *mark.spares);
  if (mark.tokens) json += Cat(",\"tokens\":", *mark.tokens);
  if (mark.task) json += Cat(",\"task\":", *mark.task);
  if (mark.mono_ns) json += Cat(",\"m\":", *mark.mono_ns);
  const auto text = [&](std::string_view name, std::string_view value) {
    if (value.empty()) return;
    json += Cat(",\"", name, "\":");
    AppendJson(json, value);
  };
  text("name", mark.name);
  text("slurm_step", mark.slurm_step);
  text("node", mark.node);
  json.push_back('}');
  return json;
}

}  // namespace goodput
