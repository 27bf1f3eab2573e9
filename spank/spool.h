// The node spool: an append-only folder of JSON lines on the node's own disk. SPOOL_FORMAT.md has the exact
// bytes. Used by the plugin and by goodputd; standard library and libc only. Nothing here throws, takes a
// lock or waits for another process, and every call makes a bounded number of system calls.
//
// Not bounded here: a system call that the kernel does not finish, e.g. on a frozen file system or a dead
// disk. Nothing that is safe inside slurmstepd can bound it. A signal (a timer's, too) does not wake a
// process that waits uninterruptibly; a thread that does cannot be abandoned, for the process then cannot
// exit; forking costs more than everything else a hook does, and a child that shares memory instead can take
// slurmstepd with it when it is killed. What bounds it: appends go to the page cache, so a slow disk is not
// waited for before the kernel's own limit of unwritten data; network file systems are refused; slurmd ends a
// prolog or epilog after PrologEpilogTimeout and gives up on a step after UnkillableStepTimeout; and a disk
// that hangs where Slurm itself writes (SlurmdSpoolDir is mostly on the same one) stops Slurm before us. A
// process that hangs here stops no other: tests/unit/faults_test.cc.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "spank/clock.h"
#include "spank/files.h"

namespace goodput {

inline constexpr std::string_view kDefaultSpool = "/var/spool/slurm-goodput";
inline constexpr uint64_t kDefaultSpoolMax = 256ULL << 20U;
inline constexpr const char* kKillSwitchName = "disabled";
inline constexpr const char* kDropsName = "dropped";

// Why a record did not reach the spool. The values are places in the file `dropped`: never renumber them.
enum class Drop : uint8_t {
  kNoSpace = 0,  // the disk is full or a limit was met (ENOSPC, EDQUOT, EFBIG), also a write cut short
  kCap = 1,      // the spool holds spool_max bytes already
  kIo = 2,       // any other error of open or write
  kFault = 3,    // a writer's own fault, contained: that process recorded nothing more
};
inline constexpr std::size_t kDropKinds = 8;  // counters in the file; the rest is reserved and 0
using DropCounts = std::array<uint64_t, kDropKinds>;

enum class Append : uint8_t { kWritten, kDisabled, kDropped, kClosed };

class Spool {
 public:
  struct Config {
    std::string root{kDefaultSpool};
    std::string node;  // NodeName, or "@controller"
    uint64_t max_bytes = kDefaultSpoolMax;
    uid_t owner = 0;      // who must own the folders
    std::string boot_id;  // empty: the kernel's
    std::string label;    // of files that are apart from the others, e.g. "log"; empty: none
    Clock clock = kSystemClock;
    Files* files = &RealFiles();
    bool (*is_remote)(int64_t fs_type) noexcept = nullptr;  // null: IsRemoteFileSystem
  };

  Spool() = default;
  ~Spool() { Close(); }
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;

  // Opens ROOT/NODE, making both folders (0700) where they are missing; ROOT's parent must exist. Refuses a
  // folder that is a symbolic link, is not owned by `owner`, can be written by others, or is not on a local
  // disk. Returns "" when open or switched off (see enabled()), else one line that says what, where and how
  // to mend it.
  std::string Open(const Config& config);
  void Close() noexcept;
  bool is_open() const noexcept { return node_fd_ >= 0; }

  // False when not open, or a kill switch file lies in ROOT or ROOT/NODE now.
  bool enabled() const noexcept;

  // Appends one finished record (RecordBuilder::Finish) by one write. A failure is counted, never retried;
  // only a call that a signal interrupted is made again, four times in all.
  Append Write(std::string_view record) noexcept;

  // Counts a record that was lost, in the file ROOT/NODE/dropped, which is open already: that needs neither
  // room nor a descriptor. Where even that cannot be done (false) it is tried again with the next record
  // counted or written, and by Close.
  bool CountDrop(Drop why) noexcept;
  // All zero when nothing was ever dropped.
  DropCounts Drops() const noexcept;

  // Small files beside the records, for what one process has to tell a later one, e.g. "job.123": one line
  // of at most kMaxNoteBytes. A note is replaced whole; when it cannot be (false), there is none. Its name
  // must not end in .jsonl.
  static constexpr std::size_t kMaxNoteBytes = 511;
  bool PutNote(const char* name, std::string_view text) const noexcept;
  // The note's text in *buffer; empty when there is none, or none that is whole and fits with its newline.
  std::string_view GetNote(const char* name, char* buffer, std::size_t size) const noexcept;
  void DropNote(const char* name) const noexcept;

  // The file a record written now goes to, e.g. "<boot id>.2026010203Z.jsonl", or "...Z.LABEL.jsonl".
  std::string FileName() const;

 private:
  static constexpr std::size_t kFileNameBytes = 96;
  using NameBuffer = std::array<char, kFileNameBytes>;
  void MakeFileName(NameBuffer* name) const noexcept;
  int OpenHere(const char* name, int flags) const noexcept;
  int OpenFile(const char* name, Drop* why) const noexcept;
  int OpenDrops() const noexcept;
  bool CountPending() noexcept;
  uint64_t BytesHeld() const noexcept;

  Files* files_ = &RealFiles();
  int root_fd_ = -1;
  int node_fd_ = -1;
  int drops_fd_ = -1;
  DropCounts pending_{};  // lost, and not yet in the file
  uint64_t max_bytes_ = kDefaultSpoolMax;
  std::array<char, 64> boot_id_{};
  std::array<char, 8> label_{};  // with its dot
  Clock clock_ = kSystemClock;
};

// Whether statfs's f_type is a file system that lives on other machines or in a user process (NFS, Lustre,
// FUSE, ...).
bool IsRemoteFileSystem(int64_t fs_type) noexcept;

// Whether `node` may be a folder of the spool: a NodeName has letters, digits, and "-_." inside;
// "@controller" is ours.
bool IsNodeFolderName(std::string_view node) noexcept;

}  // namespace goodput
