// Fuzzes blocks of marks: what is read can be packed again with the same result.
#include "sql/blocks/mark_block.h"

#include <cstdint>
#include <string>
#include <vector>

#include "tests/fuzz/target.h"

FUZZ_TARGET(mark_block) {
  using namespace goodput;
  std::vector<PackedMark> marks;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const bool whole = UnpackMarks(bytes, [&](const PackedMark& mark) { marks.push_back(mark); });
  REQUIRE(marks.size() <= size);
  if (!whole) return 0;
  MarkPacker packer;
  for (const PackedMark& mark : marks) packer.Add(mark);
  REQUIRE(packer.marks() == static_cast<std::int64_t>(marks.size()));
  std::size_t at = 0;
  REQUIRE(UnpackMarks(packer.Finish(), [&](const PackedMark& mark) {
    const PackedMark& was = marks[at++];
    REQUIRE(mark.t_ns == was.t_ns && mark.kind == was.kind && mark.begin == was.begin &&
            mark.step == was.step);
    REQUIRE(mark.name == was.name && mark.slurm_step == was.slurm_step && mark.task == was.task);
    REQUIRE(mark.offset == was.offset);
  }));
  REQUIRE(at == marks.size());
  return 0;
}
