#include "tools/goodputd/checkpoints/layout.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"

namespace goodput {
namespace {

constexpr const char* kMegatronTracker = "latest_checkpointed_iteration.txt";

std::optional<std::int64_t> Digits(absl::string_view text) {
  std::int64_t value = 0;
  const bool digits =
      !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return absl::ascii_isdigit(c); });
  if (!digits || !absl::SimpleAtoi(text, &value)) return std::nullopt;
  return value;
}

}  // namespace

std::vector<CheckpointSeen> MegatronCheckpoints(const FolderView& folder) {
  const std::vector<FolderEntry> entries = folder.Entries();
  const auto tracker = std::find_if(entries.begin(), entries.end(), [](const FolderEntry& entry) {
    return entry.name == kMegatronTracker && !entry.is_folder;
  });
  std::optional<std::int64_t> latest;
  if (tracker != entries.end()) {
    if (const auto text = folder.Read(kMegatronTracker)) latest = Digits(absl::StripAsciiWhitespace(*text));
  }
  std::vector<CheckpointSeen> found;
  for (const FolderEntry& entry : entries) {
    absl::string_view number = entry.name;
    if (!entry.is_folder || !absl::ConsumePrefix(&number, "iter_")) continue;
    const std::optional<std::int64_t> iteration = Digits(number);
    if (!iteration) continue;
    CheckpointSeen seen{"megatron", entry.name, *iteration, entry.born_ns, std::nullopt};
    // A folder that is younger than the file is a save over an old one of the same number.
    if (latest == iteration && tracker->written_ns >= entry.born_ns) seen.complete_ns = tracker->written_ns;
    found.push_back(std::move(seen));
  }
  std::sort(found.begin(), found.end(),
            [](const CheckpointSeen& a, const CheckpointSeen& b) { return a.train_step < b.train_step; });
  return found;
}

std::vector<CheckpointSeen> FindCheckpoints(const FolderView& folder) {
  return MegatronCheckpoints(folder);
}

}  // namespace goodput
