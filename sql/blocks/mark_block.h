// Marks other than steps in compact blocks: a log may tell of a save after every few steps.
// docs/formats/mark_block.md describes the bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace goodput {

struct PackedMark {
  // kStepEnd: `step` steps are done, which is said of the last one only.
  enum class Kind : std::uint8_t { kCheckpoint, kRestore, kPhase, kStepEnd };
  std::int64_t t_ns = 0;
  Kind kind = Kind::kPhase;
  bool begin = true;
  std::optional<std::int64_t> step;
  std::string_view name;  // of a phase; of a checkpoint, that the save goes on in the background; of a step's
                          // end, that more may have been done
  std::string_view slurm_step;
  std::int64_t task = 0;
  std::int64_t offset = 0;
};

inline constexpr std::int64_t kMarksPerMarkBlock = 4096;

class MarkPacker {
 public:
  void Add(const PackedMark& mark);
  std::int64_t marks() const { return marks_; }
  std::string Finish() const;

 private:
  std::uint64_t WordOf(std::string_view word);
  bool IsEndOfLast(const PackedMark& mark, std::uint64_t name, std::uint64_t slurm_step) const;

  std::map<std::string, std::uint64_t, std::less<>> index_;
  std::vector<std::string> words_;
  std::string bytes_;
  std::int64_t marks_ = 0;
  std::int64_t t_ns_ = 0;
  std::int64_t offset_ = 0;
  std::int64_t step_ = 0;
  std::uint64_t name_ = 0;
  std::uint64_t slurm_step_ = 0;
  std::int64_t task_ = 0;
  // The mark before, where it is a begin whose end has not come.
  bool open_ = false;
  PackedMark::Kind last_kind_ = PackedMark::Kind::kPhase;
  std::optional<std::int64_t> last_step_;
  std::size_t last_at_ = 0;  // of its flags
};

// Calls `take` with each mark; its views live as long as `data`. False: the bytes are not whole marks, or not
// what MarkPacker writes.
bool UnpackMarks(std::string_view data, const std::function<void(const PackedMark&)>& take);

}  // namespace goodput
