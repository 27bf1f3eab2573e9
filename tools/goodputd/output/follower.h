// Reads what a job prints while it prints it, and what of it a log profile understands. Works with the rights
// of whoever runs it, which is the job's user (follow_helper.h).
//
// srun passes on whole lines only, and a progress bar ends none: its states come together and late. What they
// say of the time that passed on their own clock tells when they were shown.
//
// Files are found by links such as /proc/PID/fd/1, looked at anew each time: a script may send its output
// elsewhere. Only regular files are followed: not terminals, pipes or sockets. What a file held before the
// attempt began is another's: with --open-mode=append that is what was there at the first look, but for lines
// that are dated since; else Slurm has truncated it. A file that got shorter is read from its beginning.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tools/sources/logs/line_time.h"
#include "tools/sources/logs/lines.h"
#include "tools/sources/logs/log_reader.h"

namespace goodput {

// Which file, and how far it was read.
struct FileMark {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t offset = 0;
};

class OutputFollower {
 public:
  struct Options {
    std::vector<std::string> links;
    std::string beside;         // a file of that path too, which is appended to by every attempt; empty: none
    bool append = false;        // the links' files are
    std::int64_t since_ns = 0;  // the attempt began
    std::vector<FileMark> resume;  // files that were read before
  };
  // `beside`: the reader of that file, where there is one.
  OutputFollower(LogReader reader, Options options, std::optional<LogReader> beside = std::nullopt);
  ~OutputFollower();
  OutputFollower(const OutputFollower&) = delete;
  OutputFollower& operator=(const OutputFollower&) = delete;

  struct Event {
    LogEvent event;
    std::int64_t t_ns = 0;  // the line's time, or when it was read
    std::optional<std::int64_t> began_ns;
    std::int64_t offset = 0;
    std::int64_t late_ns = 0;  // it may have been printed so long before t_ns
  };
  struct Found {
    std::vector<Event> events;
    std::vector<FileMark> files;
    std::int64_t skipped_bytes = 0;  // so far, of files that grew faster than they may be read
    std::int64_t cpu_ns = 0;         // what the look took of a processor
    bool more = false;               // there is more to read than was read now
    std::string profile;             // empty: not known yet
  };
  // Follows the file behind this link as well, if it is a regular one that is not followed yet.
  void Follow(const std::string& link, std::int64_t now_ns);
  // What came since the last time, at most kMaxBytes of it. `last`: nothing comes any more, and a line needs
  // no end.
  Found Look(std::int64_t now_ns, bool last);

  static constexpr std::int64_t kMaxBytes = std::int64_t{256} << 10U;
  // So much may lie ahead; beyond it only the newest part of it is read.
  static constexpr std::int64_t kMaxBehind = std::int64_t{64} << 20U;

 private:
  struct File {
    int fd = -1;
    FileMark mark;
    LogLines lines;
    LogReader* reader = nullptr;
  };
  void Find(const std::string& path, bool append, LogReader& reader, std::int64_t now_ns);
  static std::int64_t FirstOffset(int fd, std::int64_t size, std::int64_t since_ns, const LogReader& reader,
                                  std::int64_t now_ns);
  void Read(File& file, std::int64_t now_ns, std::int64_t& budget, Found& found);
  void Take(const LogReader::Said& said, Found& found);
  void InferSteps(std::int64_t now_ns, Found& found);
  void PlaceBar(std::int64_t now_ns, Found& found);

  LogReader reader_;
  std::optional<LogReader> beside_;
  Options options_;
  std::vector<std::unique_ptr<File>> files_;
  std::int64_t skipped_ = 0;
  std::int64_t looked_ns_ = 0;  // the last time
  StampUnit unit_;
  // The progress bar of the training, known by how many steps it goes to.
  std::optional<std::int64_t> bar_of_;
  std::optional<std::int64_t> bar_began_ns_;
  std::int64_t bar_elapsed_s_ = 0;
  std::optional<std::int64_t> bar_last_ns_;  // its last state was shown
};

// Of `environment` ("NAME=value" ended by NULs): whether sbatch was told to append to the output.
bool OpenedToAppend(std::string_view environment);

}  // namespace goodput
