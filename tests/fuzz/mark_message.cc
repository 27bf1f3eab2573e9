// Fuzzes marks: an accepted mark is within its bounds, and is the same when a client sends it again.
#include "tools/base/mark_message.h"

#include <cstdint>

#include "tests/fuzz/target.h"

FUZZ_TARGET(mark_message) {
  using namespace goodput;
  const auto mark = ParseMark({reinterpret_cast<const char*>(data), size});
  if (!mark.ok()) {
    REQUIRE(!mark.status().message().empty());
    return 0;
  }
  REQUIRE(size <= kMaxMarkBytes);
  REQUIRE(mark->job > 0);
  REQUIRE(mark->kind != MarkMessage::Kind::kStep || mark->train_step);
  REQUIRE(!mark->train_step || *mark->train_step >= 0);
  REQUIRE(!mark->task || *mark->task >= 0);
  REQUIRE(mark->name.size() <= kMaxPhaseName && mark->node.size() <= 256);
  if (mark->kind == MarkMessage::Kind::kWorld) {
    REQUIRE(mark->world >= 1 && mark->wanted.value_or(mark->world) >= mark->world);
    REQUIRE(mark->spares.value_or(0) >= 0 && mark->tokens.value_or(1) >= 1);
  }
  const auto again = ParseMark(FormatMark(*mark));
  REQUIRE(again.ok());
  REQUIRE(again->kind == mark->kind && again->begin == mark->begin && again->job == mark->job);
  REQUIRE(again->train_step == mark->train_step && again->task == mark->task);
  REQUIRE(again->mono_ns == mark->mono_ns && again->slurm_step == mark->slurm_step);
  REQUIRE(again->name == mark->name && again->node == mark->node);
  REQUIRE(again->world == mark->world && again->wanted == mark->wanted);
  REQUIRE(again->spares == mark->spares && again->tokens == mark->tokens);
  return 0;
}
