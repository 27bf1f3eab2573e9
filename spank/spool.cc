#include "spank/spool.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "spank/event.h"
#include "spank/fixed_text.h"

namespace goodput {
namespace {

constexpr std::size_t kDropsBytes = kDropKinds * sizeof(uint64_t);

std::string Complaint(const std::string& path, const std::string& what, const char* mend) {
  return "spool " + path + ": " + what + "; nothing is recorded here; " + mend;
}

// Opens one folder of the spool and creates it if needed. Returns -1 with *complaint set.
int OpenFolder(int at, const char* name, const std::string& path, const Spool::Config& config,
               std::string* complaint) {
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  Files& files = *config.files;
  const auto open = [&] { return Uninterrupted([&] { return files.OpenAt(at, name, kFlags, 0); }); };
  int opened = open();
  if (opened < 0 && errno == ENOENT) {
    if (files.MkdirAt(at, name, 0700) != 0 && errno != EEXIST) {
      *complaint = Complaint(path, std::string("cannot create it: ") + strerror(errno),
                             "create it on a local disk, owned by root, mode 0700");
      return -1;
    }
    opened = open();
  }
  Fd fd(files, opened);
  if (fd.get() < 0) {
    const bool not_a_folder = errno == ELOOP || errno == ENOTDIR;
    *complaint = Complaint(path, not_a_folder ? "is a symbolic link or not a folder" : strerror(errno),
                           "it must be a folder on a local disk, owned by root, mode 0700");
    return -1;
  }
  struct stat st {};
  struct statfs fs {};
  if (files.FStat(fd.get(), &st) != 0 || files.FStatFs(fd.get(), &fs) != 0) {
    *complaint = Complaint(path, strerror(errno), "it must be a folder on a local disk");
    return -1;
  }
  if (st.st_uid != config.owner || (st.st_mode & 022U) != 0) {
    *complaint = Complaint(path, "users other than uid " + std::to_string(config.owner) + " can write to it",
                           "chown it to root and chmod it to 0700");
    return -1;
  }
  const auto is_remote = config.is_remote != nullptr ? config.is_remote : IsRemoteFileSystem;
  if (is_remote(static_cast<int64_t>(fs.f_type))) {
    *complaint = Complaint(path, "is on a network or FUSE file system, which can hang a job",
                           "set spool= in plugstack.conf to a folder on a local disk");
    return -1;
  }
  return fd.release();
}

void ReadBootId(Files& files, std::array<char, 64>* out) {
  const Fd fd(files, files.OpenAt(AT_FDCWD, "/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC, 0));
  const ssize_t n = fd.get() < 0 ? -1 : files.Read(fd.get(), out->data(), out->size() - 1);
  const std::size_t length = n > 0 ? static_cast<std::size_t>(n) : 0;
  (*out)[length] = '\0';
  if (char* end = std::strchr(out->data(), '\n')) *end = '\0';
  if ((*out)[0] == '\0') CopyText(kUnknownBoot.data(), out);
}

bool Exists(Files& files, int at, const char* name) {
  return files.AccessAt(at, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

Drop WhyFailed(int error) {
  return error == ENOSPC || error == EDQUOT || error == EFBIG ? Drop::kNoSpace : Drop::kIo;
}

}  // namespace

bool IsRemoteFileSystem(int64_t fs_type) noexcept {
  // From Linux's magic.h and the file systems' own sources, since not all are in installed headers.
  constexpr std::array<uint32_t, 20> kRemote = {
      0x6969,      // NFS
      0xFF534D42,  // CIFS
      0xFE534D42,  // SMB2, SMB3
      0x517B,      // smbfs
      0x0BD00BD0,  // Lustre
      0x47504653,  // GPFS, Spectrum Scale
      0x65735546,  // FUSE (gcsfuse, sshfs, s3fs, ...)
      0x01021997,  // 9p
      0x00C36400,  // Ceph
      0x19830326,  // BeeGFS
      0x20030528,  // PVFS2, OrangeFS
      0x5346414F,  // AFS of OpenAFS
      0x6B414653,  // AFS of the kernel
      0x01161970,  // GFS2
      0x7461636F,  // OCFS2
      0x73757245,  // Coda
      0x564C,      // NCP
      0xAAD7AAEA,  // PanFS
      0x61756673,  // aufs, which may be stacked on any of these
      0x786F4256,  // vboxsf
  };
  // f_type is a signed long: a magic number with its top bit set may arrive sign-extended.
  const auto magic = static_cast<uint32_t>(static_cast<uint64_t>(fs_type) & 0xFFFFFFFFU);
  return std::find(kRemote.begin(), kRemote.end(), magic) != kRemote.end();
}

bool IsNodeFolderName(std::string_view node) noexcept {
  if (node == "@controller") return true;
  if (node.empty() || node.size() > 255 || node.front() == '.' || node == kKillSwitchName) return false;
  return std::all_of(node.begin(), node.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '-' ||
           c == '_' || c == '.';
  });
}

std::string Spool::Open(const Config& config) {
  Close();
  files_ = config.files;
  max_bytes_ = config.max_bytes;
  takes_reserve_ = config.takes_reserve;
  clock_ = config.clock;
  if (!IsNodeFolderName(config.node)) {
    return "node name '" + config.node.substr(0, 64) +
           "' cannot be used as a folder name; nothing is recorded";
  }
  std::string complaint;
  Fd root(*files_, OpenFolder(AT_FDCWD, config.root.c_str(), config.root, config, &complaint));
  if (root.get() < 0) return complaint;
  if (Exists(*files_, root.get(), kKillSwitchName)) return "";
  Fd node(*files_,
          OpenFolder(root.get(), config.node.c_str(), config.root + "/" + config.node, config, &complaint));
  if (node.get() < 0) return complaint;
  if (config.boot_id.empty()) {
    ReadBootId(*files_, &boot_id_);
  } else {
    std::snprintf(boot_id_.data(), boot_id_.size(), "%s", config.boot_id.c_str());
  }
  label_ = {};
  if (!config.label.empty()) std::snprintf(label_.data(), label_.size(), ".%s", config.label.c_str());
  root_fd_ = root.release();
  node_fd_ = node.release();
  // While there is disk space and a free descriptor: records that cannot be written later are counted in it.
  drops_fd_ = OpenDrops();
  return "";
}

void Spool::Close() noexcept {
  CountPending();
  for (int* fd : {&drops_fd_, &node_fd_, &root_fd_}) {
    if (*fd >= 0) files_->Close(*fd);
    *fd = -1;
  }
}

bool Spool::enabled() const noexcept {
  return is_open() && !Exists(*files_, root_fd_, kKillSwitchName) &&
         !Exists(*files_, node_fd_, kKillSwitchName);
}

void Spool::MakeFileName(NameBuffer* name) const noexcept {
  // Civil date from days by Howard Hinnant's algorithm: gmtime_r takes the time zone lock and may read files.
  const int64_t seconds = clock_.real_ns() / 1'000'000'000;
  const int64_t day = seconds / 86400;
  const auto hour = static_cast<int>(seconds / 3600 % 24);
  const int64_t z = day + 719468;
  const int64_t era = z / 146097;
  const int64_t doe = z - era * 146097;
  const int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
  const int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
  const int64_t mp = (5 * doy + 2) / 153;
  const auto dd = static_cast<int>(doy - (153 * mp + 2) / 5 + 1);
  const auto mm = static_cast<int>(mp < 10 ? mp + 3 : mp - 9);
  const auto yyyy = static_cast<int>(yoe + era * 400 + (mm <= 2 ? 1 : 0));
  std::snprintf(name->data(), name->size(), "%.40s.%04d%02d%02d%02dZ%s.jsonl", boot_id_.data(), yyyy % 10000,
                mm, dd, hour, label_.data());
}

std::string Spool::FileName() const {
  NameBuffer name;
  MakeFileName(&name);
  return name.data();
}

// The plugin calls it when an hour's file is new, and again while the spool is full.
uint64_t Spool::BytesHeld() const noexcept {
  uint64_t sum = 0;
  const int fd = files_->OpenAt(node_fd_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
  // Files that cannot be examined do not count: a record matters more than the exact size of the spool.
  ForEachEntry(*files_, fd, [&](const char* name) {
    struct stat st {};
    if (std::strcmp(name, kReserveName) == 0) return;
    if (files_->FStatAt(node_fd_, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode)) {
      sum += static_cast<uint64_t>(st.st_size);
    }
  });
  return sum;
}

// Opens a file of the node's folder.
int Spool::OpenHere(const char* name, int flags) const noexcept {
  constexpr int kAlways = O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;  // a FIFO must not block
  return Uninterrupted([&] { return files_->OpenAt(node_fd_, name, flags | kAlways, 0600); });
}

int Spool::OpenFile(const char* name, Drop* why) const noexcept {
  constexpr int kFlags = O_WRONLY | O_APPEND;
  const auto failed = [why] {
    *why = WhyFailed(errno);
    return -1;
  };
  Fd fd(*files_, OpenHere(name, kFlags));
  if (fd.get() < 0 && errno == ENOENT) {
    if (BytesHeld() >= max_bytes_) {
      *why = Drop::kCap;
      return -1;
    }
    const int created = OpenHere(name, kFlags | O_CREAT);
    return created >= 0 ? created : failed();
  }
  if (fd.get() < 0) return failed();
  struct stat st {};
  if (files_->FStat(fd.get(), &st) != 0 || !S_ISREG(st.st_mode)) {
    *why = Drop::kIo;
    return -1;
  }
  if (static_cast<uint64_t>(st.st_size) >= max_bytes_) {
    *why = Drop::kCap;
    return -1;
  }
  return fd.release();
}

Append Spool::Write(std::string_view record) noexcept {
  if (!is_open()) return Append::kClosed;
  if (!enabled()) return Append::kDisabled;
  Drop why = Drop::kIo;
  Append result = WriteOnce(record, &why);
  if (result == Append::kDropped && why == Drop::kNoSpace && TakeReserve()) result = WriteOnce(record, &why);
  if (result == Append::kDropped) {
    CountDrop(why);
  } else {
    CountPending();
  }
  return result;
}

Append Spool::WriteOnce(std::string_view record, Drop* why) noexcept {
  NameBuffer name;
  MakeFileName(&name);
  const Fd fd(*files_, OpenFile(name.data(), why));
  if (fd.get() < 0) return Append::kDropped;
  const auto size = static_cast<ssize_t>(record.size());
  const ssize_t written =
      Uninterrupted([&] { return files_->Write(fd.get(), record.data(), record.size()); });
  if (written == size) return Append::kWritten;
  *why = written < 0 ? WhyFailed(errno) : Drop::kNoSpace;
  // A torn record affects only itself, since the next one begins with a newline. This newline shows it at
  // once to a reader, which stops at the last newline, and completes a record that lacked only that.
  if (written > 0 && files_->Write(fd.get(), "\n", 1) == 1 && written == size - 1) return Append::kWritten;
  return Append::kDropped;
}

bool Spool::TakeReserve() const noexcept {
  if (!takes_reserve_) return false;
  const Fd fd(*files_, OpenHere(kReserveName, O_WRONLY));
  struct stat st {};
  if (fd.get() < 0 || files_->FStat(fd.get(), &st) != 0 || !S_ISREG(st.st_mode) || st.st_size <= 0)
    return false;
  return files_->Truncate(fd.get(), std::max<off_t>(0, st.st_size - kReservePiece)) == 0;
}

bool Spool::KeepReserve() noexcept {
  if (!is_open()) return false;
  const Fd fd(*files_, OpenHere(kReserveName, O_WRONLY | O_CREAT));
  struct stat st {};
  struct statfs fs {};
  if (fd.get() < 0 || files_->FStat(fd.get(), &st) != 0 || !S_ISREG(st.st_mode)) return false;
  if (st.st_size >= kReserveBytes) return true;
  const bool room = files_->FStatFs(fd.get(), &fs) == 0 &&
                    static_cast<uint64_t>(fs.f_bavail) * static_cast<uint64_t>(fs.f_bsize) >=
                        2 * static_cast<uint64_t>(kReserveBytes);
  return room && files_->Fallocate(fd.get(), 0, kReserveBytes) == 0;
}

int Spool::OpenDrops() const noexcept {
  Fd fd(*files_, OpenHere(kDropsName, O_RDWR | O_CREAT));
  struct stat st {};
  if (fd.get() < 0 || files_->FStat(fd.get(), &st) != 0 || !S_ISREG(st.st_mode)) return -1;
  // Allocated before it is mapped, so that a full disk fails here and not with SIGBUS while counting.
  if (st.st_size < static_cast<off_t>(kDropsBytes) && files_->Fallocate(fd.get(), 0, kDropsBytes) != 0) {
    return -1;
  }
  return fd.release();
}

bool Spool::CountDrop(Drop why) noexcept {
  ++pending_[static_cast<std::size_t>(why)];
  return CountPending();
}

bool Spool::CountPending() noexcept {
  if (pending_ == DropCounts{}) return true;
  if (!is_open()) return false;
  // An administrator may have removed the file to reset the counters.
  struct stat st {};
  const bool usable = drops_fd_ >= 0 && files_->FStat(drops_fd_, &st) == 0 && st.st_nlink > 0 &&
                      st.st_size >= static_cast<off_t>(kDropsBytes);
  if (!usable) {
    const int opened = OpenDrops();
    if (opened < 0) return false;
    if (drops_fd_ >= 0) files_->Close(drops_fd_);
    drops_fd_ = opened;
  }
  void* map = files_->Map(drops_fd_, kDropsBytes);
  if (map == MAP_FAILED) return false;
  for (std::size_t i = 0; i < kDropKinds; ++i) {
    // Many processes count concurrently; an atomic add on the shared page loses nothing and needs no lock.
    if (pending_[i] != 0) __atomic_fetch_add(static_cast<uint64_t*>(map) + i, pending_[i], __ATOMIC_RELAXED);
  }
  pending_.fill(0);
  files_->Unmap(map, kDropsBytes);
  return true;
}

DropCounts Spool::Drops() const noexcept {
  DropCounts counts{};
  if (!is_open()) return counts;
  const Fd fd(*files_, OpenHere(kDropsName, O_RDONLY));
  if (fd.get() >= 0 &&
      files_->Read(fd.get(), counts.data(), kDropsBytes) != static_cast<ssize_t>(kDropsBytes)) {
    counts.fill(0);
  }
  return counts;
}

bool Spool::PutNote(const char* name, std::string_view text) const noexcept {
  std::array<char, kMaxNoteBytes + 1> line;
  if (!is_open() || text.size() > kMaxNoteBytes) return false;
  std::memcpy(line.data(), text.data(), text.size());
  line[text.size()] = '\n';
  const std::string_view whole(line.data(), text.size() + 1);
  if (PutNoteOnce(name, whole) ||
      (WhyFailed(errno) == Drop::kNoSpace && TakeReserve() && PutNoteOnce(name, whole)))
    return true;
  // No note is better than one of the previous attempt.
  files_->UnlinkAt(node_fd_, name, 0);
  return false;
}

bool Spool::PutNoteOnce(const char* name, std::string_view line) const noexcept {
  // Written to a temporary file and renamed: a reader finds the old note or the new one.
  std::array<char, 80> beside;
  std::snprintf(beside.data(), beside.size(), "%.40s.new.%d", name, static_cast<int>(getpid()));
  bool good = false;
  {
    const Fd fd(*files_, OpenHere(beside.data(), O_WRONLY | O_CREAT | O_TRUNC));
    good = fd.get() >= 0 && Uninterrupted([&] {
                              return files_->Write(fd.get(), line.data(), line.size());
                            }) == static_cast<ssize_t>(line.size());
  }
  if (good && files_->RenameAt(node_fd_, beside.data(), node_fd_, name) == 0) return true;
  const int error = errno;
  files_->UnlinkAt(node_fd_, beside.data(), 0);
  errno = error;
  return false;
}

std::string_view Spool::GetNote(const char* name, char* buffer, std::size_t size) const noexcept {
  if (!is_open()) return {};
  const Fd fd(*files_, OpenHere(name, O_RDONLY));
  const ssize_t n = fd.get() < 0 ? -1 : Uninterrupted([&] { return files_->Read(fd.get(), buffer, size); });
  if (n <= 0 || buffer[n - 1] != '\n') return {};
  return {buffer, static_cast<std::size_t>(n - 1)};
}

void Spool::DropNote(const char* name) const noexcept {
  if (is_open()) files_->UnlinkAt(node_fd_, name, 0);
}

}  // namespace goodput
