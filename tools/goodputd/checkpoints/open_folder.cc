#include "tools/goodputd/checkpoints/open_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

namespace goodput {
namespace {

constexpr std::size_t kMaxFileBytes = std::size_t{64} << 10U;

std::int64_t ToNs(const statx_timestamp& t) {
  return t.tv_sec * 1'000'000'000 + t.tv_nsec;
}

// An inode number is reused; together with the creation time it is unique.
std::uint64_t IdOf(const struct statx& info) {
  constexpr std::uint64_t kSpread = 0x9E3779B97F4A7C15U;
  const bool born = (info.stx_mask & STATX_BTIME) != 0;
  const std::uint64_t id =
      (info.stx_ino + 1) * kSpread ^ (born ? static_cast<std::uint64_t>(ToNs(info.stx_btime)) : 0);
  return id == 0 ? 1 : id;
}

// A name that was composed from another one may be "..".
bool IsInside(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos;
}

std::optional<struct statx> Stat(int folder, const std::string& name) {
  struct statx info {};
  if (!IsInside(name)) return std::nullopt;
  const unsigned wanted = STATX_TYPE | STATX_INO | STATX_SIZE | STATX_MTIME | STATX_CTIME | STATX_BTIME;
  if (statx(folder, name.c_str(), AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, wanted, &info) != 0)
    return std::nullopt;
  return info;
}

}  // namespace

OpenFolder::OpenFolder(int fd, ScanBudget& budget) : fd_(fd), budget_(budget) {
  if (budget_.working) budget_.working();
}

void OpenFolder::Watch() const {
  if (budget_.watch != nullptr && !budget_.watch->Add(fd_)) budget_.watched = false;
}

OpenFolder::~OpenFolder() {
  close(fd_);
}

bool OpenFolder::Spend(std::size_t& left) const {
  if (left == 0) {
    budget_.spent = true;
    return false;
  }
  --left;
  return true;
}

const std::vector<FolderEntry>& OpenFolder::Entries() const {
  if (!entries_) entries_ = List();
  return *entries_;
}

std::vector<FolderEntry> OpenFolder::List() const {
  std::vector<FolderEntry> entries;
  const int fd = openat(fd_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  // NFS shows a folder as it was up to a minute ago, unless it is forced to ask the server.
  struct statx fresh {};
  if (fd >= 0) statx(fd, "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, STATX_MTIME, &fresh);
  DIR* dir = fd < 0 ? nullptr : fdopendir(fd);
  if (dir == nullptr) {
    if (fd >= 0) close(fd);
    return entries;
  }
  while (const dirent* entry = readdir(dir)) {  // NOLINT(concurrency-mt-unsafe): one thread
    std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (!Spend(budget_.names)) break;
    bool is_folder = entry->d_type == DT_DIR;
    if (entry->d_type == DT_UNKNOWN) {
      const auto info = Spend(budget_.files) ? Stat(fd_, name) : std::nullopt;
      if (!info || (!S_ISDIR(info->stx_mode) && !S_ISREG(info->stx_mode))) continue;
      is_folder = S_ISDIR(info->stx_mode);
    } else if (!is_folder && entry->d_type != DT_REG) {
      continue;
    }
    entries.push_back({std::move(name), is_folder});
  }
  closedir(dir);
  std::sort(entries.begin(), entries.end(),
            [](const FolderEntry& a, const FolderEntry& b) { return a.name < b.name; });
  return entries;
}

std::optional<FileTimes> OpenFolder::Times(const std::string& name) const {
  if (!Spend(budget_.files)) return std::nullopt;
  const auto info = Stat(fd_, name);
  if (!info || (!S_ISDIR(info->stx_mode) && !S_ISREG(info->stx_mode))) return std::nullopt;
  FileTimes times;
  times.written_ns = ToNs(info->stx_mtime);
  times.changed_ns = ToNs(info->stx_ctime);
  times.born_known = (info->stx_mask & STATX_BTIME) != 0;
  times.born_ns = times.born_known ? ToNs(info->stx_btime) : std::min(times.written_ns, times.changed_ns);
  times.id = IdOf(*info);
  times.size = static_cast<std::int64_t>(info->stx_size);
  return times;
}

std::optional<std::string> OpenFolder::Read(const std::string& name) const {
  return Read(name, kMaxFileBytes, Part::kWhole);
}

std::optional<std::string> OpenFolder::Head(const std::string& name, std::size_t bytes) const {
  return Read(name, bytes, Part::kHead);
}

std::optional<std::string> OpenFolder::Tail(const std::string& name, std::size_t bytes) const {
  return Read(name, bytes, Part::kTail);
}

std::optional<std::string> OpenFolder::Read(const std::string& name, std::size_t most, Part part) const {
  if (!IsInside(name) || !Spend(budget_.files)) return std::nullopt;
  // Opening a FIFO must not block.
  const int fd = openat(fd_, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  std::optional<std::string> text;
  struct stat info {};
  if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode)) {
    const auto size = static_cast<std::size_t>(std::max<off_t>(0, info.st_size));
    // One more byte than allowed, to detect a larger file.
    std::string buffer(std::min(size, part == Part::kWhole ? most + 1 : most), '\0');
    const off_t from = part == Part::kTail ? static_cast<off_t>(size - buffer.size()) : 0;
    const ssize_t got = pread(fd, buffer.data(), buffer.size(), from);
    if (got >= 0 && static_cast<std::size_t>(got) <= most) {
      buffer.resize(static_cast<std::size_t>(got));
      text = std::move(buffer);
    }
  }
  close(fd);
  return text;
}

std::unique_ptr<FolderView> OpenFolder::Open(const std::string& name) const {
  if (!IsInside(name) || !Spend(budget_.folders)) return nullptr;
  const int fd = openat(fd_, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return nullptr;
  return std::make_unique<OpenFolder>(fd, budget_);
}

}  // namespace goodput
