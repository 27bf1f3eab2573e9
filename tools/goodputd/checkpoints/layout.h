// What lies in a checkpoint directory, and which of it is a complete checkpoint. A layout is how one
// framework writes: what it calls them, in what order the files appear, and what it does last.
#ifndef GOODPUT_TOOLS_GOODPUTD_CHECKPOINTS_LAYOUT_H_
#define GOODPUT_TOOLS_GOODPUTD_CHECKPOINTS_LAYOUT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace goodput {

// Times are nanoseconds since the epoch, by the file system's clock.
struct FolderEntry {
  std::string name;
  bool is_folder = false;
  std::int64_t born_ns = 0;  // when it was made; the file system's oldest time of it where that is not known
  std::int64_t written_ns = 0;
};

// One directory as it is now, links not followed.
class FolderView {
 public:
  virtual ~FolderView() = default;
  // What is in the directory itself.
  virtual std::vector<FolderEntry> Entries() const = 0;
  // The text of a small file in it; nothing when it cannot be read or has more than 4 KiB.
  virtual std::optional<std::string> Read(const std::string& name) const = 0;
};

struct CheckpointSeen {
  std::string layout;
  std::string name;             // within the directory
  std::int64_t train_step = 0;  // the last step it holds
  std::int64_t begin_ns = 0;
  std::optional<std::int64_t> complete_ns;  // absent: not complete, or not to be told any more
};

// Megatron-LM (megatron/training/checkpointing.py): folder iter_0000123 (or release, which is no step), and
// when all ranks are done, the file latest_checkpointed_iteration.txt with "123". Iteration N has done N
// steps. An older folder may be one that was interrupted: only the one the file names is known to be
// complete.
std::vector<CheckpointSeen> MegatronCheckpoints(const FolderView& folder);

// By every layout.
std::vector<CheckpointSeen> FindCheckpoints(const FolderView& folder);

}  // namespace goodput

#endif  // GOODPUT_TOOLS_GOODPUTD_CHECKPOINTS_LAYOUT_H_
