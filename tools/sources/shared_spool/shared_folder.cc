#include "tools/sources/shared_spool/shared_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "sql/status_macros.h"
#include "sql/text.h"

namespace goodput {
namespace {

std::string Mend(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return "free disk space there";
    case EACCES:
    case EPERM:
      return "if root may not write there, set shared_spool_user in goodput.conf to a user who may";
    case ENOENT:
      return "mount it, or create it with mode 0700, owned by the user who writes there";
    case EROFS:
      return "mount it read-write, and give goodputd's unit access: systemctl edit goodputd, [Service], "
             "ReadWritePaths=-FOLDER";
    case ELOOP:
    case ENOTDIR:
      return "it must be a folder, not a link";
    default:
      return "nothing is lost as long as the nodes' disks have space";
  }
}

}  // namespace

std::string PlaceOf(const struct stat& folder) {
  return Cat(folder.st_dev, ":", folder.st_ino);
}

absl::Status DirectSharedFolder::Trouble(int error) const {
  return absl::UnavailableError(Cat("shared_spool ", root_, ": ", std::strerror(error), "; ", Mend(error),
                                    "; records are kept on the node"));
}

// An error of one file; a full or read-only disk affects all files.
absl::Status DirectSharedFolder::FileTrouble(int error, const std::string& folder,
                                             const std::string& file) const {
  if (error == ENOSPC || error == EDQUOT || error == EROFS) return Trouble(error);
  return absl::AbortedError(Cat("shared_spool ", root_, ": ", folder, "/", file, ": ",
                                error == ELOOP ? "not a regular file" : std::strerror(error),
                                "; the file is kept on the node: check its copy"));
}

absl::Status DirectSharedFolder::CheckOwner(int fd, struct stat& info, std::string_view what) const {
  if (files_.FStat(fd, &info) != 0) return Trouble(errno);
  if (info.st_uid == owner_ && (info.st_mode & 022U) == 0) return absl::OkStatus();
  return absl::PermissionDeniedError(Cat("shared_spool ", root_, ": ", what, " is owned by uid ", info.st_uid,
                                         " or writable by others; chown it to uid ", owner_,
                                         " and chmod it to 0700; records are kept on the node"));
}

absl::StatusOr<int> DirectSharedFolder::OpenRoot(std::string& place) const {
  Fd root(files_, Uninterrupted([&] { return files_.OpenAt(AT_FDCWD, root_.c_str(), kFolderFlags, 0); }));
  if (root.get() < 0) return Trouble(errno);
  struct stat info {};
  RETURN_IF_ERROR(CheckOwner(root.get(), info, "the folder"));
  place = PlaceOf(info);
  return root.release();
}

absl::StatusOr<int> DirectSharedFolder::OpenFolder(const std::string& folder, bool make,
                                                   std::string& place) const {
  ASSIGN_OR_RETURN(const int opened, OpenRoot(place));
  const Fd root(files_, opened);
  const auto open = [&] {
    return Uninterrupted([&] { return files_.OpenAt(root.get(), folder.c_str(), kFolderFlags, 0); });
  };
  int fd = open();
  if (fd < 0 && errno == ENOENT) {
    if (!make) return -1;
    if (files_.MkdirAt(root.get(), folder.c_str(), 0700) != 0 && errno != EEXIST) return Trouble(errno);
    fd = open();
  }
  Fd owned(files_, fd);
  if (fd < 0) return Trouble(errno);
  struct stat info {};
  RETURN_IF_ERROR(CheckOwner(fd, info, Cat("its folder ", folder)));
  return owned.release();
}

absl::StatusOr<SharedFile> DirectSharedFolder::Look(const std::string& folder, const std::string& file,
                                                    bool settled) {
  SharedFile found;
  ASSIGN_OR_RETURN(const int opened, OpenFolder(folder, false, found.place));
  if (opened < 0) return found;
  const Fd at(files_, opened);
  const auto trouble = [&](int error) { return FileTrouble(error, folder, file); };
  // On some file systems, a file opened only for reading cannot be synced.
  const int flags = kFileFlags | (settled ? O_RDWR : O_RDONLY);
  const Fd fd(files_, Uninterrupted([&] { return files_.OpenAt(at.get(), file.c_str(), flags, 0); }));
  if (fd.get() < 0) return errno == ENOENT ? absl::StatusOr<SharedFile>(found) : trouble(errno);
  struct stat info {};
  if (settled && files_.FSync(fd.get()) != 0) return trouble(errno);
  if (files_.FStat(fd.get(), &info) != 0) return trouble(errno);
  if (!S_ISREG(info.st_mode)) return trouble(ELOOP);
  found.size = info.st_size;
  found.tail.resize(std::min<std::size_t>(kTailBytes, static_cast<std::size_t>(info.st_size)));
  const std::int64_t begin = found.size - static_cast<std::int64_t>(found.tail.size());
  for (std::size_t have = 0; have < found.tail.size();) {
    const ssize_t got = Uninterrupted([&] {
      return files_.PRead(fd.get(), found.tail.data() + have, found.tail.size() - have,
                          begin + static_cast<off_t>(have));
    });
    if (got <= 0) return trouble(got < 0 ? errno : EIO);
    have += static_cast<std::size_t>(got);
  }
  return found;
}

absl::StatusOr<SharedFile> DirectSharedFolder::Append(const std::string& folder, const std::string& file,
                                                      std::int64_t offset, std::string_view bytes) {
  SharedFile found;
  ASSIGN_OR_RETURN(const int opened, OpenFolder(folder, true, found.place));
  const Fd at(files_, opened);
  const auto trouble = [&](int error) { return FileTrouble(error, folder, file); };
  constexpr int kFlags = kFileFlags | O_WRONLY | O_CREAT;
  Fd fd(files_, Uninterrupted([&] { return files_.OpenAt(at.get(), file.c_str(), kFlags, 0600); }));
  if (fd.get() < 0) return trouble(errno);
  struct stat info {};
  if (files_.FStat(fd.get(), &info) != 0) return trouble(errno);
  if (!S_ISREG(info.st_mode)) return trouble(ELOOP);
  found.size = info.st_size;
  if (found.size != offset) return found;
  // At an explicit offset, not at the end: a late write of an abandoned process writes the same bytes to the
  // same place.
  const ssize_t written = Uninterrupted(
      [&] { return files_.PWrite(fd.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset)); });
  if (written <= 0 && !bytes.empty()) return trouble(written < 0 ? errno : ENOSPC);
  found.size = offset + written;
  // NFS reports here what it could not write.
  if (files_.Close(fd.release()) != 0) return trouble(errno);
  return found;
}

absl::StatusOr<SharedFile> DirectSharedFolder::Replace(const std::string& folder, const std::string& file,
                                                       std::string_view bytes) {
  SharedFile made;
  ASSIGN_OR_RETURN(const int opened, OpenFolder(folder, true, made.place));
  const Fd at(files_, opened);
  // The same name for all writers: a file left by one that died is reused.
  const std::string beside = Cat(".", file, ".new");
  constexpr int kFlags = kFileFlags | O_WRONLY | O_CREAT | O_TRUNC;
  Fd fd(files_, Uninterrupted([&] { return files_.OpenAt(at.get(), beside.c_str(), kFlags, 0600); }));
  if (fd.get() < 0) return Trouble(errno);
  int error = 0;
  const ssize_t written =
      Uninterrupted([&] { return files_.PWrite(fd.get(), bytes.data(), bytes.size(), 0); });
  if (written != static_cast<ssize_t>(bytes.size())) error = written < 0 ? errno : ENOSPC;
  if (files_.Close(fd.release()) != 0 && error == 0) error = errno;
  if (error == 0 && files_.RenameAt(at.get(), beside.c_str(), at.get(), file.c_str()) == 0) {
    made.size = static_cast<std::int64_t>(bytes.size());
    return made;
  }
  if (error == 0) error = errno;
  files_.UnlinkAt(at.get(), beside.c_str(), 0);
  return Trouble(error);
}

}  // namespace goodput
