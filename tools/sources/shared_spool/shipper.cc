#include "tools/sources/shared_spool/shipper.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <limits>
#include <string_view>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "spank/spool.h"
#include "sql/text.h"

namespace goodput {
namespace {

constexpr const char* kHeartbeatName = "heartbeat";

// The daemon's own counters that are losses. They belong to the host, in SPOOL itself.
struct HostCounts {
  const char* file;
  std::array<std::string_view, 5> losses;
};
constexpr std::array<HostCounts, 2> kHostCounts = {
    {{"marks", {"malformed", "unknown_job", "not_owner", "not_stored", "too_many"}},
     {"signals", {"not_stored", "lost", "", "", ""}}}};
// In the order of `dropped` (spank/spool.h).
constexpr std::array<const char*, 4> kDropNames = {"no_space", "spool_max", "io", "fault"};

// Reads from `begin` at most `size` bytes. False with errno set if the file is shorter or reading fails.
bool ReadAt(Files& files, int fd, std::int64_t begin, std::size_t size, std::string& into) {
  into.resize(size);
  for (std::size_t have = 0; have < size;) {
    const ssize_t got = Uninterrupted(
        [&] { return files.PRead(fd, into.data() + have, size - have, begin + static_cast<off_t>(have)); });
    if (got <= 0) {
      if (got == 0) errno = EIO;
      return false;
    }
    have += static_cast<std::size_t>(got);
  }
  return true;
}

// The file being written now, whatever its age: "<boot id>.<YYYYMMDDHH>Z.jsonl".
std::string CurrentFile(const std::string& boot_id, std::int64_t now_s) {
  const std::time_t now = now_s;
  std::tm utc{};
  gmtime_r(&now, &utc);
  std::array<char, 32> hour{};
  std::strftime(hour.data(), hour.size(), "%Y%m%d%H", &utc);
  return Cat(boot_id, ".", hour.data(), "Z.jsonl");
}

}  // namespace

struct Shipper::Round {
  const std::function<bool()>& out_of_time;
  ShipReport& report;
  std::int64_t now_s;
  std::string current_file;
  std::string own_place;  // as in SharedFile
  int root;
  bool first = true;    // first node of the host: it carries the host's counters
  bool forget = false;  // another folder is mounted there
  bool again = false;   // a copy has changed, or cannot be made now
};

Shipper::Shipper(Options options, SharedFolder& shared) : options_(std::move(options)), shared_(shared) {}
Shipper::~Shipper() = default;

void Shipper::Forget() {
  for (auto& [name, node] : nodes_) {
    for (auto& [file, copy] : node.copies) copy.looked = false;
    node.heartbeat.clear();
    node.counts.clear();
  }
}

bool Shipper::Seen(const SharedFile& found, Round& round) {
  if (found.place.empty()) return true;
  // The original must never be mistaken for its copy.
  if (found.place == round.own_place) {
    round.report.shared = absl::FailedPreconditionError(Cat(
        "shared_spool is the spool itself, ", options_.spool_root, "; name another folder in goodput.conf"));
    return false;
  }
  if (found.place == place_) return true;
  const bool other = !place_.empty();
  place_ = found.place;
  if (other) round.forget = true;
  return !other;
}

// Whether the other files can be copied.
bool Shipper::GoesOn(const absl::Status& trouble, Round& round) {
  if (!absl::IsAborted(trouble)) {
    round.report.shared = trouble;
    return false;
  }
  round.report.problems.push_back(Message(trouble));
  round.again = true;
  return true;
}

// Compares the end of the copy with the original. False: the pass is over.
bool Shipper::LookAt(const std::string& node, int fd, const Original& original, Copy& copy, Round& round) {
  const absl::StatusOr<SharedFile> found = shared_.Look(node, original.name, false);
  if (!found.ok()) return GoesOn(found.status(), round);
  if (!Seen(*found, round)) return false;
  copy.looked = true;
  copy.size = found->size;
  std::string mine;
  const auto tail = static_cast<std::int64_t>(found->tail.size());
  // The current size: another daemon may just have copied more than existed when this pass began.
  struct stat now {};
  const bool looked = options_.files->FStat(fd, &now) == 0;
  const bool longer = looked && found->size > now.st_size;
  if (!looked || (!longer && !ReadAt(*options_.files, fd, found->size - tail, found->tail.size(), mine))) {
    round.report.problems.push_back(Cat(node, "/", original.name, ": ", std::strerror(errno)));
    copy.looked = false;
    return true;
  }
  const bool was = copy.refused;
  copy.refused = longer || mine != found->tail;
  if (copy.refused && !was) {
    round.report.problems.push_back(Cat(node, "/", original.name, ": its copy in the shared folder ",
                                        longer ? "is longer" : "differs",
                                        "; the copy is left unchanged and the file is no longer copied: move "
                                        "the copy away to have the file copied again within an hour"));
  }
  return true;
}

// False: the pass is over.
bool Shipper::CopyFile(const std::string& node, int folder, const Original& original, Copy& copy,
                       Round& round) {
  Files& files = *options_.files;
  const Fd fd(files, Uninterrupted([&] {
                return files.OpenAt(folder, original.name.c_str(), kFileFlags | O_RDONLY, 0);
              }));
  if (fd.get() < 0) {
    round.report.problems.push_back(Cat(node, "/", original.name, ": ", std::strerror(errno)));
    return true;
  }
  if (!copy.looked && !LookAt(node, fd.get(), original, copy, round)) return false;
  std::string bytes;
  while (copy.looked && !copy.refused && copy.size < original.size) {
    if (round.out_of_time()) return false;
    const auto size =
        static_cast<std::size_t>(std::min<std::int64_t>(kMaxPieceBytes, original.size - copy.size));
    if (!ReadAt(files, fd.get(), copy.size, size, bytes)) {
      round.report.problems.push_back(Cat(node, "/", original.name, ": ", std::strerror(errno)));
      return true;
    }
    const absl::StatusOr<SharedFile> found = shared_.Append(node, original.name, copy.size, bytes);
    if (!found.ok()) {
      // The copy itself tells how much arrived.
      copy.looked = false;
      return GoesOn(found.status(), round);
    }
    if (!Seen(*found, round)) return false;
    const std::int64_t added = found->size - copy.size;
    if (added <= 0 || added > static_cast<std::int64_t>(size)) {
      copy.looked = false;  // the next pass finds out its current size
      round.again = true;
      return true;
    }
    copy.size = found->size;
    round.report.bytes += added;
  }
  return true;
}

// Removes files that are safe on the other side. False: the pass is over.
bool Shipper::Remove(const std::string& node, int folder, const Original& original, Copy& copy,
                     Round& round) {
  Files& files = *options_.files;
  const absl::StatusOr<SharedFile> found = shared_.Look(node, original.name, true);
  if (!found.ok()) return GoesOn(found.status(), round);
  if (!Seen(*found, round)) return false;
  const Fd fd(files, Uninterrupted([&] {
                return files.OpenAt(folder, original.name.c_str(), kFileFlags | O_RDONLY, 0);
              }));
  struct stat info {};
  std::string mine;
  const auto tail = static_cast<std::int64_t>(found->tail.size());
  if (found->size != original.size || fd.get() < 0 ||
      !ReadAt(files, fd.get(), found->size - tail, found->tail.size(), mine) || mine != found->tail ||
      files.FStat(fd.get(), &info) != 0 || info.st_size != original.size ||
      info.st_mtim.tv_sec != original.mtime_s) {
    copy.looked = false;  // it must be copied again first
    return true;
  }
  if (files.UnlinkAt(folder, original.name.c_str(), 0) == 0) ++round.report.removed;
  return true;
}

// Empty if it cannot be read completely.
std::string Shipper::ReadSmall(int folder, const char* name) const {
  Files& files = *options_.files;
  const Fd fd(files, files.OpenAt(folder, name, kFileFlags | O_RDONLY, 0));
  struct stat info {};
  std::string text;
  if (fd.get() < 0 || files.FStat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode) ||
      info.st_size > static_cast<off_t>(kMaxPieceBytes) ||
      !ReadAt(files, fd.get(), 0, static_cast<std::size_t>(info.st_size), text)) {
    text.clear();
  }
  return text;
}

// One line of name=count words: what this node lost.
std::string Shipper::Counts(int root, int folder, const Node& node, bool first) const {
  std::string text;
  const auto add = [&](std::string_view name, std::uint64_t count) {
    if (count > 0) text += Cat(text.empty() ? "" : " ", name, "=", count);
  };
  const std::string dropped = ReadSmall(folder, kDropsName);
  DropCounts drops{};
  if (dropped.size() == sizeof(drops)) std::memcpy(drops.data(), dropped.data(), sizeof(drops));
  for (std::size_t i = 0; i < kDropNames.size(); ++i) add(kDropNames[i], drops[i]);
  std::uint64_t refused = 0;
  for (const auto& [file, copy] : node.copies) refused += copy.refused ? 1 : 0;
  add("not_copied_files", refused);
  for (const HostCounts& counts : kHostCounts) {
    if (!first) break;
    const std::string words = ReadSmall(root, counts.file);
    for (const absl::string_view word : absl::StrSplit(words, absl::ByAnyChar(" \n"), absl::SkipEmpty())) {
      const std::pair<std::string, std::string> pair = absl::StrSplit(word, absl::MaxSplits('=', 1));
      std::uint64_t count = 0;
      const bool is_loss =
          std::find(counts.losses.begin(), counts.losses.end(), pair.first) != counts.losses.end();
      if (is_loss && absl::SimpleAtoi(pair.second, &count)) add(Cat(counts.file, ".", pair.first), count);
    }
  }
  return text + "\n";
}

// Locks the folder itself for the life of this process, which needs no space on a full disk.
bool Shipper::LockNode(Node& node, int folder) const {
  if (node.lock != nullptr) return true;
  Files& files = *options_.files;
  auto lock = std::make_unique<Fd>(files, files.OpenAt(folder, ".", kFolderFlags, 0));
  if (lock->get() < 0 || files.Lock(lock->get()) != 0) return false;
  node.lock = std::move(lock);
  return true;
}

void Shipper::PassNode(const std::string& name, Round& round) {
  Files& files = *options_.files;
  const Fd folder(files, files.OpenAt(round.root, name.c_str(), kFolderFlags, 0));
  struct stat info {};
  if (folder.get() < 0 || files.FStat(folder.get(), &info) != 0) {
    // A file next to the folders, or a folder that is gone.
    if (errno != ENOTDIR && errno != ENOENT) {
      round.report.problems.push_back(Cat(name, ": ", std::strerror(errno)));
    }
    return;
  }
  if (info.st_uid != options_.owner) {
    round.report.problems.push_back(Cat(name, ": owned by uid ", info.st_uid, ", not uid ", options_.owner));
    return;
  }
  Node& node = nodes_[name];
  if (!LockNode(node, folder.get())) {
    round.report.problems.push_back(errno == EWOULDBLOCK
                                        ? Cat(name, ": another goodputd is copying its records")
                                        : Cat(name, ": cannot lock it: ", std::strerror(errno)));
    return;
  }
  // Before the records: jobs that it no longer names end in records that are copied first.
  const std::string heartbeat = ReadSmall(folder.get(), kHeartbeatName);
  std::vector<Original> originals;
  // A job that has run for months began in a file of that age, from which a restarted daemon learns it.
  std::int64_t oldest_job_s = std::numeric_limits<std::int64_t>::max();
  const int listed = files.OpenAt(folder.get(), ".", kFolderFlags, 0);
  if (!ForEachEntry(files, listed, [&](const char* entry) {
        struct stat of {};
        const bool note = absl::StartsWith(entry, "job.");
        if (entry[0] == '.' || (!note && !absl::EndsWith(entry, ".jsonl")) ||
            files.FStatAt(folder.get(), entry, &of, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(of.st_mode)) {
          return;
        }
        if (note) {
          oldest_job_s = std::min<std::int64_t>(oldest_job_s, of.st_mtim.tv_sec);
          return;
        }
        originals.push_back({entry, of.st_size, of.st_mtim.tv_sec, of.st_mtim.tv_nsec});
      })) {
    round.report.problems.push_back(Cat(name, ": ", std::strerror(errno)));
  }
  std::sort(originals.begin(), originals.end(), [](const Original& a, const Original& b) {
    return std::tie(a.mtime_s, a.mtime_ns, a.name) < std::tie(b.mtime_s, b.mtime_ns, b.name);
  });
  std::map<std::string, Copy> copies;
  for (const Original& original : originals) copies[original.name] = node.copies[original.name];
  node.copies = std::move(copies);
  std::int64_t held = 0;
  for (const Original& original : originals) held += original.size;
  for (const Original& original : originals) {
    if (round.out_of_time()) return;
    Copy& copy = node.copies[original.name];
    if (copy.looked && copy.size == original.size) {
      const bool old =
          options_.keep_s > 0 && round.now_s - original.mtime_s > std::max(options_.keep_s, kLeastKeptS);
      const bool crowded = options_.most_bytes > 0 && held > options_.most_bytes;
      const bool in_use = original.name == round.current_file || original.mtime_s >= oldest_job_s;
      if ((!old && !crowded) || in_use || copy.refused) continue;
      const std::int64_t before = round.report.removed;
      if (!Remove(name, folder.get(), original, copy, round)) return;
      if (round.report.removed > before) held -= original.size;
      continue;
    }
    if (copy.looked && copy.refused) continue;
    if (!CopyFile(name, folder.get(), original, copy, round)) return;
  }
  const auto replace = [&](const char* where, const std::string& file, const std::string& text,
                           std::string& known) {
    if (text.empty() || text == known || !round.report.shared.ok()) return;
    // The heartbeat is written every few seconds, so another mounted folder is noticed even while nothing is
    // recorded.
    const absl::StatusOr<SharedFile> made = shared_.Replace(where, file, text);
    round.report.shared = made.status();
    if (made.ok() && Seen(*made, round)) known = text;
  };
  replace(kHeartbeatsFolder, name, heartbeat, node.heartbeat);
  replace(name.c_str(), kCountsName, Counts(round.root, folder.get(), node, round.first), node.counts);
  round.first = false;
}

ShipReport Shipper::Pass(const std::function<bool()>& out_of_time) {
  ShipReport report;
  Files& files = *options_.files;
  const std::int64_t now_s = options_.clock.real_ns() / 1'000'000'000;
  const std::int64_t mono_s = options_.clock.mono_ns() / 1'000'000'000;
  if (mono_s - looked_s_ >= kLookAgainS) {
    Forget();
    looked_s_ = mono_s;
  }
  const Fd root(files, files.OpenAt(AT_FDCWD, options_.spool_root.c_str(), kFolderFlags, 0));
  if (root.get() < 0) {
    // The plugin creates it at the first job.
    if (errno != ENOENT) report.problems.push_back(Cat(options_.spool_root, ": ", std::strerror(errno)));
    report.whole = errno == ENOENT;
    return report;
  }
  std::vector<std::string> names;
  if (!ForEachEntry(files, files.OpenAt(root.get(), ".", kFolderFlags, 0), [&](const char* name) {
        if (name[0] != '@' && IsNodeFolderName(name)) names.emplace_back(name);
      })) {
    report.problems.push_back(Cat(options_.spool_root, ": ", std::strerror(errno)));
  }
  std::sort(names.begin(), names.end());
  struct stat info {};
  if (files.FStat(root.get(), &info) != 0) {
    report.problems.push_back(Cat(options_.spool_root, ": ", std::strerror(errno)));
    return report;
  }
  Round round{out_of_time, report, now_s, CurrentFile(options_.boot_id, now_s), PlaceOf(info), root.get()};
  for (const std::string& name : names) {
    PassNode(name, round);
    if (!report.shared.ok() || round.forget || out_of_time()) break;
  }
  if (round.forget) Forget();
  report.whole = report.shared.ok() && !round.forget && !round.again && !out_of_time();
  return report;
}

}  // namespace goodput
