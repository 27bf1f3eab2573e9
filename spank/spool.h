// The node spool: an append-only folder of JSON lines on the node's own disk. SPOOL_FORMAT.md specifies the
// bytes. Used by the plugin and by goodputd; standard library and libc only. Nothing here throws, takes a
// lock or waits for another process, and every call makes a bounded number of system calls.
//
// Not bounded here: a system call that the kernel does not finish, for example on a frozen file system or a
// dead disk. Nothing that is safe inside slurmstepd can bound it: a signal, including a timer's, does not
// wake a process in uninterruptible sleep; a thread in that state cannot be abandoned, since the process then
// cannot exit; a fork costs more than everything else in a hook, and a child that shares memory instead can
// take slurmstepd down when it is killed. What limits the damage: appends go to the page cache, so a slow
// disk delays nothing until the kernel's limit of unwritten data; network file systems are refused; slurmd
// ends a prolog or epilog after PrologEpilogTimeout and gives up on a step after UnkillableStepTimeout; and a
// disk that hangs where Slurm itself writes (SlurmdSpoolDir is usually on the same one) stops Slurm first. A
// process that hangs here blocks no other one: tests/unit/faults_test.cc.
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
// Disk space that goodputd keeps for the plugin's records: on a full disk a hook takes a piece of it, so that
// a job that starts then is known.
inline constexpr const char* kReserveName = "reserve";
inline constexpr off_t kReserveBytes = off_t{1} << 20U;
inline constexpr off_t kReservePiece = off_t{32} << 10U;

// Why a record did not reach the spool. The values are positions in the file `dropped`: never renumber them.
enum class Drop : uint8_t {
  kNoSpace = 0,  // the disk is full or a limit was reached (ENOSPC, EDQUOT, EFBIG), also a short write
  kCap = 1,      // the spool already holds spool_max bytes
  kIo = 2,       // any other error of open or write
  kFault = 3,    // a fault in the writer was contained; that process recorded nothing more
};
inline constexpr std::size_t kDropKinds = 8;  // counters in the file; unused ones are reserved and 0
using DropCounts = std::array<uint64_t, kDropKinds>;

enum class Append : uint8_t { kWritten, kDisabled, kDropped, kClosed };

class Spool {
 public:
  struct Config {
    std::string root{kDefaultSpool};
    std::string node;  // NodeName, or "@controller"
    uint64_t max_bytes = kDefaultSpoolMax;
    uid_t owner = 0;            // uid that must own the folders
    std::string boot_id;        // empty: the kernel's
    bool takes_reserve = true;  // if the disk is full
    std::string label;          // for files kept apart from the others, such as "log"; empty: none
    Clock clock = kSystemClock;
    Files* files = &RealFiles();
    bool (*is_remote)(int64_t fs_type) noexcept = nullptr;  // null: IsRemoteFileSystem
  };

  Spool() = default;
  ~Spool() { Close(); }
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;

  // Opens ROOT/NODE and creates both folders (0700) if they are missing; ROOT's parent must exist. Refuses a
  // folder that is a symbolic link, is not owned by `owner`, is writable by others, or is not on a local
  // disk. Returns "" if open or switched off (see enabled()), otherwise one line that says what, where and
  // how to fix it.
  std::string Open(const Config& config);
  void Close() noexcept;
  bool is_open() const noexcept { return node_fd_ >= 0; }

  // False if not open, or if a kill switch file is in ROOT or ROOT/NODE now.
  bool enabled() const noexcept;

  // Appends one finished record (RecordBuilder::Finish) with one write. A failure is counted and not retried,
  // except once if the disk is full and there was a reserve. Only a call that a signal interrupted is
  // repeated, up to four calls in total.
  Append Write(std::string_view record) noexcept;

  // The bytes in the node's folder, without the reserve.
  uint64_t BytesHeld() const noexcept;

  // Allocates the reserve, or what is missing of it, if twice as much space is free. False: it is incomplete.
  bool KeepReserve() noexcept;

  // Counts a lost record in the file ROOT/NODE/dropped, which is already open, so this needs neither disk
  // space nor a descriptor. If that fails (false), the count is kept and written with the next record that is
  // counted or written, or by Close.
  bool CountDrop(Drop why) noexcept;
  // All zero if nothing was ever dropped.
  DropCounts Drops() const noexcept;

  // Notes are small files next to the records through which one process informs a later one, such as
  // "job.123": one line of at most kMaxNoteBytes. A note is replaced as a whole; if that fails (false), there
  // is none. Its name must not end in .jsonl.
  static constexpr std::size_t kMaxNoteBytes = 511;
  bool PutNote(const char* name, std::string_view text) const noexcept;
  // The note's text, in *buffer. Empty if there is none, it is incomplete, or it does not fit with its
  // newline.
  std::string_view GetNote(const char* name, char* buffer, std::size_t size) const noexcept;
  void DropNote(const char* name) const noexcept;

  // The file to which a record written now is appended, such as "<boot id>.2026010203Z.jsonl" or
  // "...Z.LABEL.jsonl".
  std::string FileName() const;

 private:
  static constexpr std::size_t kFileNameBytes = 96;
  using NameBuffer = std::array<char, kFileNameBytes>;
  void MakeFileName(NameBuffer* name) const noexcept;
  int OpenHere(const char* name, int flags) const noexcept;
  int OpenFile(const char* name, Drop* why) const noexcept;
  int OpenDrops() const noexcept;
  bool CountPending() noexcept;
  Append WriteOnce(std::string_view record, Drop* why) noexcept;
  bool PutNoteOnce(const char* name, std::string_view line) const noexcept;
  bool TakeReserve() const noexcept;

  Files* files_ = &RealFiles();
  int root_fd_ = -1;
  int node_fd_ = -1;
  int drops_fd_ = -1;
  DropCounts pending_{};  // lost, but not yet counted in the file
  uint64_t max_bytes_ = kDefaultSpoolMax;
  bool takes_reserve_ = true;
  std::array<char, 64> boot_id_{};
  std::array<char, 8> label_{};  // including its dot
  Clock clock_ = kSystemClock;
};

// Whether statfs's f_type is a file system on other machines or in a user process (NFS, Lustre, FUSE, ...).
bool IsRemoteFileSystem(int64_t fs_type) noexcept;

// Whether `node` can be a folder of the spool: a NodeName has letters, digits, and "-_." inside;
// "@controller" is ours.
bool IsNodeFolderName(std::string_view node) noexcept;

}  // namespace goodput
