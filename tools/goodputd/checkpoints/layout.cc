#include "tools/goodputd/checkpoints/layout.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"
#include "sql/text.h"
#include "tools/goodputd/checkpoints/layouts/layouts.h"

namespace goodput {
namespace {

constexpr std::size_t kMaxDigits = 18;
// Maximum number of folders kept open per level: a process may have 1024 files.
constexpr std::size_t kMaxKept = 64;
// Maximum number of files per folder that are examined for its begin.
constexpr std::size_t kMaxSigns = 256;

// Unambiguous in this order. Folders of Megatron and NeMo contain the files of PyTorch's distributed
// checkpoints, Hugging Face's may contain DeepSpeed's, Lightning's both; "checkpoint_5" is Orbax's and
// "checkpoint-5" Hugging Face's. What none of them recognizes by its name is recognized by its files:
// PyTorch's come next to last, and last those recognized only by the ending of the name.
using Layout = void (*)(Place&);
constexpr std::array<Layout, 9> kLayouts{FindMegatron, FindHuggingFace, FindDeepSpeed,
                                         FindOrbax,    FindNemo,        FindLightning,
                                         FindComposer, FindTorchDcp,    FindPlainFiles};

void Look(const FolderView& folder, const std::string& path, std::int64_t since_ns, int depth,
          std::vector<CheckpointSeen>& found) {
  folder.Watch();
  Place place(folder, path, since_ns);
  if (!path.empty() || !FindTorchDcpItself(place)) {
    for (const Layout layout : kLayouts) layout(place);
    if (depth < kMaxDepth) {
      for (const FolderEntry& entry : place.Free()) {
        if (!entry.is_folder) continue;
        if (const auto inside = place.Inside(entry.name))
          Look(*inside, Cat(path, entry.name, "/"), since_ns, depth + 1, found);
      }
    }
  }
  std::move(place.found().begin(), place.found().end(), std::back_inserter(found));
}

// Updates `first` to the earliest time that is not before `since_ns`.
void Earliest(std::int64_t t_ns, std::int64_t since_ns, std::optional<std::int64_t>& first) {
  if (t_ns >= since_ns && (!first || t_ns < *first)) first = t_ns;
}

void EarliestInside(const FolderView& folder, std::int64_t since_ns, int levels, std::size_t& left,
                    std::optional<std::int64_t>& first) {
  for (const FolderEntry& entry : folder.Entries()) {
    if (left == 0) return;
    --left;
    if (entry.is_folder) {
      if (levels == 0) continue;
      if (const auto inside = folder.Open(entry.name))
        EarliestInside(*inside, since_ns, levels - 1, left, first);
    } else if (const auto times = folder.Times(entry.name)) {
      // Not the folder's own times, which also change when an entry is removed.
      Earliest(times->born_ns, since_ns, first);
      Earliest(times->written_ns, since_ns, first);
    }
  }
}

std::uint64_t LittleEndian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8U | static_cast<unsigned char>(bytes[i]);
  return value;
}

}  // namespace

std::vector<CheckpointSeen> FindCheckpoints(const FolderView& folder, std::int64_t since_ns) {
  std::vector<CheckpointSeen> found;
  Look(folder, "", since_ns, 0, found);
  found.erase(std::remove_if(found.begin(), found.end(),
                             [&](const CheckpointSeen& seen) {
                               return seen.begin_ns < since_ns && seen.complete_ns.value_or(0) < since_ns;
                             }),
              found.end());
  std::sort(found.begin(), found.end(), [](const CheckpointSeen& a, const CheckpointSeen& b) {
    return a.begin_ns != b.begin_ns ? a.begin_ns < b.begin_ns : a.name < b.name;
  });
  return found;
}

std::vector<FolderEntry> Place::Free() const {
  std::vector<FolderEntry> free;
  for (const FolderEntry& entry : folder_.Entries()) {
    if (taken_.count(entry.name) == 0) free.push_back(entry);
  }
  return free;
}

bool Place::Has(std::string_view name) const {
  return HasEntry(folder_, name);
}

void Place::Found(CheckpointSeen seen, const FolderView* inside) {
  if (inside != nullptr && !seen.complete_ns && seen.begin_ns >= since_ns_) inside->Watch();
  seen.name = Cat(path_, seen.name);
  found_.push_back(std::move(seen));
}

std::shared_ptr<const FolderView> Place::Inside(const std::string& name) {
  const auto found = inside_.find(name);
  if (found != inside_.end()) return found->second;
  std::shared_ptr<const FolderView> opened = folder_.Open(name);
  if (inside_.size() < kMaxKept) inside_[name] = opened;
  return opened;
}

CheckpointSeen Place::Begun(const char* layout, const std::string& name,
                            std::optional<std::int64_t> train_step, const FileTimes& times,
                            std::int64_t last_ns) {
  return {layout,       name,     train_step,       BeginOf(name, times, last_ns),
          std::nullopt, times.id, times.written_ns, times.born_known};
}

bool Place::IsOld(const FileTimes& times, std::int64_t last_ns) const {
  return std::max({times.born_ns, times.written_ns, last_ns}) < since_ns_;
}

std::int64_t Place::BeginOf(const std::string& name, const FileTimes& times, std::int64_t last_ns) {
  if ((times.born_known && times.born_ns >= since_ns_) || IsOld(times, last_ns)) return times.born_ns;
  std::optional<std::int64_t> first;
  std::size_t left = kMaxSigns;
  if (const auto inside = Inside(name)) {
    EarliestInside(*inside, since_ns_, 1, left, first);
  } else {
    Earliest(times.written_ns, since_ns_, first);
  }
  if (!times.born_known && times.born_ns >= since_ns_)
    return std::min(first.value_or(times.born_ns), times.born_ns);
  return first.value_or(times.born_ns);
}

std::optional<std::int64_t> WholeNumber(std::string_view text) {
  std::int64_t value = 0;
  const bool digits = !text.empty() && text.size() <= kMaxDigits &&
                      std::all_of(text.begin(), text.end(), [](char c) { return absl::ascii_isdigit(c); });
  if (!digits || !absl::SimpleAtoi(ToAbsl(text), &value)) return std::nullopt;
  return value;
}

std::optional<std::int64_t> NumberAfter(std::string_view name, std::string_view prefix) {
  if (name.substr(0, prefix.size()) != prefix) return std::nullopt;
  return WholeNumber(name.substr(prefix.size()));
}

std::optional<std::int64_t> NumberOf(std::string_view name, std::string_view key) {
  const std::size_t at = name.rfind(key);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = name.substr(at + key.size());
  return WholeNumber(rest.substr(0, rest.find_first_not_of("0123456789")));
}

bool HasEntry(const FolderView& folder, std::string_view name) {
  const auto& entries = folder.Entries();
  const auto found =
      std::lower_bound(entries.begin(), entries.end(), name,
                       [](const FolderEntry& entry, std::string_view n) { return entry.name < n; });
  return found != entries.end() && found->name == name;
}

// PKWARE's APPNOTE.TXT: 4.3.16 (end of central directory record, 22 bytes without a comment), 4.3.14 and
// 4.3.15 (the same for large archives, which torch.save always writes: 56 bytes, and 20 before the former).
bool IsWholeZip(const FolderView& folder, const std::string& name, std::int64_t size) {
  constexpr std::size_t kEnd = 22;
  constexpr std::size_t kLocator = 20;
  constexpr std::size_t kEnd64 = 56;
  const auto tail = folder.Tail(name, kEnd64 + kLocator + kEnd);
  if (!tail || tail->size() < kEnd) return false;
  const std::string_view bytes = *tail;
  const std::string_view end = bytes.substr(bytes.size() - kEnd);
  if (end.substr(0, 4) != "PK\x05\x06" || LittleEndian(end.substr(20, 2)) != 0) return false;
  std::uint64_t length = LittleEndian(end.substr(12, 4));
  std::uint64_t offset = LittleEndian(end.substr(16, 4));
  std::uint64_t after = kEnd;
  if (bytes.size() == kEnd64 + kLocator + kEnd && bytes.substr(0, 4) == "PK\x06\x06" &&
      bytes.substr(kEnd64, 4) == "PK\x06\x07") {
    length = LittleEndian(bytes.substr(40, 8));
    offset = LittleEndian(bytes.substr(48, 8));
    after = kEnd64 + kLocator + kEnd;
  }
  const auto whole = static_cast<std::uint64_t>(size);
  return length <= whole && offset <= whole && offset + length + after == whole;
}

bool IsWholePickle(const FolderView& folder, const std::string& name, std::int64_t size) {
  const auto tail = folder.Tail(name, 1);
  return size > 0 && tail && *tail == ".";
}

}  // namespace goodput
