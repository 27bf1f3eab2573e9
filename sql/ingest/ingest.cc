#include "sql/ingest/ingest.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "spank/clock.h"
#include "spank/spool.h"
#include "sql/ingest/ingest_batch.h"
#include "sql/ingest/node_status.h"
#include "sql/status_macros.h"
#include "sql/tables/source.h"
#include "sql/text.h"

namespace goodput {
namespace {

constexpr int kFolderFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
constexpr int kFileFlags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
// A folder whose time has stood still for so long has had its last change seen, however coarse its clock.
constexpr std::int64_t kFolderSettlesNs = 3 * kSecondNs;
// A file that was written to at most so long before the folder's last may be written to again without its
// folder showing it: by the file system's own clock, whatever this machine's says. Any other is looked at
// when its folder changes, and after the time below.
constexpr std::int64_t kFileRestsS = 7200;
constexpr std::int64_t kLookAgainNs = 3600 * kSecondNs;
// A writer may have opened a file before its hour ended and still write to it.
constexpr std::int64_t kLeastKeptS = 7200;

// A file that was removed, by whoever keeps the place clean. No error of the database has this code.
absl::Status Gone() {
  return absl::NotFoundError("gone");
}

struct Listing {
  std::vector<std::string> names;
  std::string problem;
};

Listing List(Files& files, int at, const std::string& folder) {
  Listing listing;
  const int fd =
      Uninterrupted([&] { return files.OpenAt(at, folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0); });
  if (!ForEachEntry(files, fd, [&](const char* name) {
        if (name[0] != '.') listing.names.emplace_back(name);
      })) {
    listing.problem = std::strerror(errno);
  }
  std::sort(listing.names.begin(), listing.names.end());
  return listing;
}

// One look at a spool.
class Pass {
  using KnownFile = std::map<std::string, SpoolMemory::File>::iterator;

 public:
  Pass(Database& db, const std::string& root, const IngestOptions& options, SpoolMemory& memory)
      : db_(db),
        root_(root),
        options_(options),
        memory_(memory),
        batch_(db, options, report_),
        words_(db, options) {}

  absl::StatusOr<IngestReport> Run();

 private:
  absl::Status TakeFolder(const std::string& node);
  absl::Status TakeFiles(const std::string& node, int folder, SpoolMemory::Folder& known);
  absl::Status TakeFile(const std::string& node, const std::string& file, int folder,
                        SpoolMemory::File& known);
  absl::StatusOr<bool> IsNew(const std::string& node, const std::string& file,
                             const SpoolMemory::File& known);
  absl::Status TakeNewFile(const std::string& node, const std::string& file, int folder,
                           SpoolMemory::File& known);
  absl::Status ReadFile(const std::string& node, const std::string& file, int fd, const struct stat& info,
                        SpoolMemory::File& known);
  absl::Status RemoveFile(const std::string& node, const std::string& file, int folder);
  bool IsOurs(const std::string& node, int folder);
  bool IsDue(const SpoolMemory::File& known) const {
    return known.size >= 0 && known.taken == known.size && MayGo(known.mtime_s);
  }
  bool MayGo(std::int64_t mtime_s) const;
  void LookForCrowd(int folder, const SpoolMemory::Folder& known);
  std::vector<KnownFile> Looked(const std::string& node, int folder, SpoolMemory::Folder& known);
  bool OutOfTime() const { return options_.out_of_time && options_.out_of_time(); }
  void Problem(const std::string& what) { report_.problems.push_back(Cat(root_, "/", what)); }
  std::int64_t NowS() const { return options_.clock.real_ns() / kSecondNs; }

  Database& db_;
  const std::string& root_;
  const IngestOptions& options_;
  SpoolMemory& memory_;
  IngestReport report_;
  Listing nodes_;  // batch_ is told of them
  IngestBatch batch_;
  int root_fd_ = -1;
  bool nothing_is_known_ = false;          // of any file, when the pass began
  std::optional<IngestedFiles> ingested_;  // of the node at hand
  std::int64_t held_ = 0;                  // bytes of its files
  std::int64_t crowded_before_s_ = 0;      // what was last written before this may go; 0: there is room
  NodeStatus words_;
};

// Whether the folder is one to take records from; says why not.
bool Pass::IsOurs(const std::string& node, int folder) {
  Files& files = *options_.files;
  struct stat info {};
  if (folder < 0) {
    const int error = errno;
    // Beside the folders are files, and one may be gone by now.
    if (error == ENOENT) return false;
    if (error == ENOTDIR || error == ELOOP) {
      if (files.FStatAt(root_fd_, node.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(info.st_mode)) {
        Problem(Cat(node, ": is a link; a node's folder must be one itself"));
      }
      return false;
    }
    Problem(Cat(node, ": ", std::strerror(error)));
    return false;
  }
  if (!options_.shared) return true;
  if (files.FStat(folder, &info) != 0) {
    Problem(Cat(node, ": ", std::strerror(errno)));
    return false;
  }
  if (info.st_uid == options_.owner && (info.st_mode & 022U) == 0) return true;
  Problem(Cat(node, ": is uid ", info.st_uid,
              "'s or others may write to it; nothing is taken from it: chown it to uid ", options_.owner,
              " and chmod it to 0700 if what it holds is right"));
  return false;
}

// The files to look at now: all, when the folder may have others than it had.
std::vector<Pass::KnownFile> Pass::Looked(const std::string& node, int folder, SpoolMemory::Folder& known) {
  struct stat info {};
  const std::int64_t now_ns = options_.clock.mono_ns();
  const bool stamped = options_.files->FStat(folder, &info) == 0;
  const FileStamp stamp = FileStamp::Of(info);
  if (known.listed_ns < 0 || !stamped || !(stamp == known.stamp)) {
    known.changed_ns = now_ns;
    known.stamp = stamp;
    known.listed_ns = -1;
  }
  const bool settled = known.listed_ns - known.changed_ns >= kFolderSettlesNs;
  std::vector<KnownFile> looked;
  if (known.listed_ns >= 0 && settled && now_ns - known.listed_ns < kLookAgainNs) {
    std::int64_t last_s = 0;
    for (const auto& [name, file] : known.files) last_s = std::max(last_s, file.mtime_s);
    for (auto at = known.files.begin(); at != known.files.end(); ++at) {
      const SpoolMemory::File& file = at->second;
      const bool rests = file.taken == file.size && last_s - file.mtime_s >= kFileRestsS && !IsDue(file);
      if (!rests) looked.push_back(at);
    }
    return looked;
  }
  Listing listing = List(*options_.files, folder, ".");
  std::map<std::string, SpoolMemory::File> before;
  before.swap(known.files);
  looked.reserve(listing.names.size());
  for (std::string& name : listing.names) {
    if (!absl::EndsWith(name, ".jsonl")) continue;
    const auto was = before.find(name);
    SpoolMemory::File file;
    if (was != before.end()) file = std::move(was->second);
    looked.push_back(known.files.emplace_hint(known.files.end(), std::move(name), std::move(file)));
  }
  if (listing.problem.empty()) {
    known.listed_ns = now_ns;
  } else {
    Problem(Cat(node, ": ", listing.problem));
  }
  return looked;
}

bool Pass::MayGo(std::int64_t mtime_s) const {
  if (mtime_s < crowded_before_s_) return true;
  return options_.remove_after_s > 0 && NowS() - mtime_s > std::max(options_.remove_after_s, kLeastKeptS);
}

void Pass::LookForCrowd(int folder, const SpoolMemory::Folder& known) {
  held_ = 0;
  crowded_before_s_ = 0;
  for (const auto& [name, file] : known.files) held_ += std::max<std::int64_t>(0, file.size);
  if (options_.most_bytes == 0 || held_ <= options_.most_bytes) return;
  crowded_before_s_ = NowS() - kLeastKeptS;
  // A daemon that starts again learns of a job from the file in which it began. Each job that runs has a
  // state file of that age.
  for (const std::string& name : List(*options_.files, folder, ".").names) {
    struct stat info {};
    if (absl::StartsWith(name, "job.") &&
        options_.files->FStatAt(folder, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0)
      crowded_before_s_ = std::min<std::int64_t>(crowded_before_s_, info.st_mtim.tv_sec);
  }
}

// Once more by what is there and in the database now: what is removed is gone.
absl::Status Pass::RemoveFile(const std::string& node, const std::string& file, int folder) {
  Files& files = *options_.files;
  const Fd fd(files, Uninterrupted([&] { return files.OpenAt(folder, file.c_str(), kFileFlags, 0); }));
  struct stat info {};
  if (fd.get() < 0 || files.FStat(fd.get(), &info) != 0) return absl::OkStatus();
  const absl::StatusOr<std::string> cluster = ClusterOfFile(files, fd.get(), info.st_size);
  if (!cluster.ok()) return absl::OkStatus();
  RETURN_IF_ERROR(batch_.Settle());
  ASSIGN_OR_RETURN(const std::optional<Source> source,
                   FindSource(db_, *cluster, options_.cluster, node, file));
  if (source && source->offset == info.st_size && MayGo(info.st_mtim.tv_sec) &&
      files.UnlinkAt(folder, file.c_str(), 0) == 0) {
    ++report_.removed;
    held_ -= info.st_size;
    if (held_ <= options_.most_bytes) crowded_before_s_ = 0;
  }
  return absl::OkStatus();
}

absl::Status Pass::ReadFile(const std::string& node, const std::string& file, int fd, const struct stat& info,
                            SpoolMemory::File& known) {
  if (known.cluster.empty()) {
    absl::StatusOr<std::string> cluster = ClusterOfFile(*options_.files, fd, info.st_size);
    if (!cluster.ok()) return FileProblem(Message(cluster.status()));
    known.cluster = *std::move(cluster);
  }
  if (memory_.cluster.empty()) memory_.cluster = known.cluster;
  const FileIngest ingest({known.cluster, options_.cluster, node, file});
  RETURN_IF_ERROR(batch_.Settle());
  ASSIGN_OR_RETURN(const std::int64_t offset, ingest.Offset(db_));
  // Another may have taken more of it since it was looked at.
  struct stat later {};
  if (offset > info.st_size && options_.files->FStat(fd, &later) == 0 && later.st_size >= offset)
    return absl::OkStatus();
  if (offset > info.st_size) {
    return FileProblem(Cat("is shorter (", info.st_size, " bytes) than what was ingested (", offset,
                           "); spool files only grow: was it replaced?"));
  }
  known.taken = offset;
  return batch_.Read(ingest, fd, offset, info.st_size, known);
}

// Whether nothing of it is in the database. Of most new files that is known without asking for each.
absl::StatusOr<bool> Pass::IsNew(const std::string& node, const std::string& file,
                                 const SpoolMemory::File& known) {
  if (known.taken >= 0 || memory_.cluster.empty()) return false;
  if (nothing_is_known_) return true;
  if (!ingested_) {
    RETURN_IF_ERROR(batch_.Settle());
    absl::StatusOr<IngestedFiles> ingested = IngestedFiles::OfNode(db_, node);
    if (!ingested.ok()) return ingested.status();
    ingested_ = *std::move(ingested);
  }
  return !ingested_->Any(file);
}

// As TakeFile does, by fewer calls: a large cluster has a million of them.
absl::Status Pass::TakeNewFile(const std::string& node, const std::string& file, int folder,
                               SpoolMemory::File& known) {
  Files& files = *options_.files;
  const Fd fd(files, Uninterrupted([&] { return files.OpenAt(folder, file.c_str(), kFileFlags, 0); }));
  struct stat info {};
  if (fd.get() < 0 && errno == ENOENT) return Gone();
  // A link, or a socket.
  if (fd.get() < 0 && (errno == ELOOP || errno == ENXIO)) return FileProblem("not a regular file");
  if (fd.get() < 0 || files.FStat(fd.get(), &info) != 0) return FileProblem(std::strerror(errno));
  if (!S_ISREG(info.st_mode)) return FileProblem("not a regular file");
  known.size = info.st_size;
  known.mtime_s = info.st_mtim.tv_sec;
  ++report_.files;
  ASSIGN_OR_RETURN(const bool read, batch_.ReadWhole(FileIngest::OfNew({"", options_.cluster, node, file}),
                                                     fd.get(), info.st_size, known));
  if (!read) return ReadFile(node, file, fd.get(), info, known);
  known.taken = 0;
  return absl::OkStatus();
}

absl::Status Pass::TakeFile(const std::string& node, const std::string& file, int folder,
                            SpoolMemory::File& known) {
  Files& files = *options_.files;
  struct stat info {};
  if (files.FStatAt(folder, file.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0)
    return errno == ENOENT ? Gone() : FileProblem(std::strerror(errno));
  if (!S_ISREG(info.st_mode)) return FileProblem("not a regular file");
  known.size = info.st_size;
  known.mtime_s = info.st_mtim.tv_sec;
  // Most files did not grow, and need not be opened to see that.
  if (known.taken < 0 && ingested_ && ingested_->Wholly(memory_.cluster, file, info.st_size))
    known.taken = info.st_size;
  if (known.taken == known.size) {
    ++report_.files;
    if (!IsDue(known)) return absl::OkStatus();
    const std::int64_t removed = report_.removed;
    RETURN_IF_ERROR(RemoveFile(node, file, folder));
    return report_.removed > removed ? Gone() : absl::OkStatus();
  }
  const Fd fd(files, Uninterrupted([&] { return files.OpenAt(folder, file.c_str(), kFileFlags, 0); }));
  struct stat opened {};
  if (fd.get() < 0 || files.FStat(fd.get(), &opened) != 0) return FileProblem(std::strerror(errno));
  if (!S_ISREG(opened.st_mode)) return FileProblem("not a regular file");
  known.size = opened.st_size;
  ++report_.files;
  return ReadFile(node, file, fd.get(), opened, known);
}

absl::Status Pass::TakeFiles(const std::string& node, int folder, SpoolMemory::Folder& known) {
  ingested_.reset();
  LookForCrowd(folder, known);
  for (const KnownFile at : Looked(node, folder, known)) {
    if (OutOfTime()) {
      report_.whole = false;
      return absl::OkStatus();
    }
    const std::string& file = at->first;
    ASSIGN_OR_RETURN(const bool is_new, IsNew(node, file, at->second));
    absl::Status status =
        is_new ? TakeNewFile(node, file, folder, at->second) : TakeFile(node, file, folder, at->second);
    if (absl::IsNotFound(status)) {
      known.files.erase(at);
    } else if (IsFileProblem(status)) {
      Problem(Cat(node, "/", file, ": ", Message(status)));
    } else if (!status.ok()) {
      return status;
    }
  }
  return absl::OkStatus();
}

absl::Status Pass::TakeFolder(const std::string& node) {
  Files& files = *options_.files;
  if (options_.at) options_.at(node);
  const int flags = options_.shared ? kFolderFlags : kFolderFlags & ~O_NOFOLLOW;
  const Fd folder(files, Uninterrupted([&] { return files.OpenAt(root_fd_, node.c_str(), flags, 0); }));
  if (!IsOurs(node, folder.get())) return absl::OkStatus();
  SpoolMemory::Folder& known = memory_.folders[node];
  // Before the records: what it no longer names has its end in records that are taken before it is stored.
  words_.Read(node, root_fd_, folder.get(), known, [&](const std::string& what) { Problem(what); });
  return TakeFiles(node, folder.get(), known);
}

absl::StatusOr<IngestReport> Pass::Run() {
  Files& files = *options_.files;
  const int flags = options_.shared ? kFolderFlags : kFolderFlags & ~O_NOFOLLOW;
  const Fd root(files, Uninterrupted([&] { return files.OpenAt(AT_FDCWD, root_.c_str(), flags, 0); }));
  root_fd_ = root.get();
  if (root_fd_ < 0) {
    nodes_.problem = std::strerror(errno);
  } else {
    nodes_ = List(files, root_fd_, ".");
  }
  if (!nodes_.problem.empty()) {
    return absl::NotFoundError(Cat("cannot read the ", options_.shared ? "shared spool " : "spool ", root_,
                                   ": ", nodes_.problem, "; set `",
                                   options_.shared ? "shared_spool" : "spool", "` in goodput.conf"));
  }
  const auto is_left_out = [&](const std::string& node) {
    return (!options_.only_folder.empty() && node != options_.only_folder) ||
           options_.avoid.count(node) > 0 || (options_.shared && (node[0] == '@' || !IsNodeFolderName(node)));
  };
  ASSIGN_OR_RETURN(const bool any, AnySource(db_));
  nothing_is_known_ = !any;
  const std::string from = std::exchange(memory_.resume, "");
  for (auto node = std::lower_bound(nodes_.names.begin(), nodes_.names.end(), from);
       node != nodes_.names.end(); ++node) {
    if (is_left_out(*node)) continue;
    RETURN_IF_ERROR(TakeFolder(*node));
    // Nobody asks for it later, and a large cluster's is hundreds of megabytes.
    if (options_.memory == nullptr) memory_.folders.clear();
    if (!report_.whole || OutOfTime()) {
      report_.whole = false;
      memory_.resume = *node;
      break;
    }
  }
  if (options_.at) options_.at("");
  // Those before the one at which the last pass ended are the next one's.
  if (!from.empty()) report_.whole = false;
  RETURN_IF_ERROR(batch_.Store());
  RETURN_IF_ERROR(words_.Store());
  return report_;
}

}  // namespace

absl::StatusOr<IngestReport> IngestSpool(Database& db, const std::string& spool_root,
                                         const IngestOptions& options) {
  SpoolMemory none;
  SpoolMemory& memory = options.memory != nullptr ? *options.memory : none;
  absl::StatusOr<IngestReport> report = Pass(db, spool_root, options, memory).Run();
  // What was read may not have been stored.
  if (!report.ok()) memory = {};
  return report;
}

}  // namespace goodput
