// Reads a job's output as it grows, and finds the events that a log profile matches. Works with the rights of
// its process, which is the job's user (follow_helper.h).
//
// srun forwards only complete lines, and the states of a progress bar end none: they arrive together and
// late. The elapsed times that they show tell when they were printed.
//
// Files are found through links such as /proc/PID/fd/1, resolved again each time, since a script may redirect
// its output. Only regular files are followed, not terminals, pipes or sockets. A file that became shorter is
// read from its beginning. The contents of a file from before the attempt are ignored: nothing, if the file
// is known to be no older than the attempt; or what an earlier attempt or job is known to have written; or,
// if the file was opened to append, everything present at the first look except lines with later times.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tools/goodputd/output/buffered_lines.h"
#include "tools/goodputd/output/file_mark.h"
#include "tools/goodputd/output/found_event.h"
#include "tools/sources/logs/line_time.h"
#include "tools/sources/logs/lines.h"
#include "tools/sources/logs/log_reader.h"

namespace goodput {

class OutputFollower {
 public:
  struct Options {
    std::vector<std::string> links;
    std::string beside;            // another file to follow, to which every attempt appends; empty: none
    bool append = false;           // Slurm opens the files to append
    std::int64_t since_ns = 0;     // begin of the attempt
    std::vector<FileMark> resume;  // files that were read before, for this attempt
    std::vector<FileMark> ended;   // files that may be the same: where the output of others ended
  };
  // `beside`: the reader of that other file, if there is one.
  OutputFollower(LogReader reader, Options options, std::optional<LogReader> beside = std::nullopt);
  ~OutputFollower();
  OutputFollower(const OutputFollower&) = delete;
  OutputFollower& operator=(const OutputFollower&) = delete;

  using Event = FoundEvent;
  struct Found {
    std::vector<Event> events;
    std::vector<FileMark> files;
    std::int64_t skipped_bytes = 0;  // so far, of files that grew too fast
    std::int64_t cpu_ns = 0;         // processor time of the look
    bool more = false;               // there is more to read
    std::string profile;             // empty: not known yet
  };
  // Also follows the file behind this link, if it is a regular file and not followed yet. `append`: it was
  // opened to append, by whomever.
  void Follow(const std::string& link, bool append, std::int64_t now_ns);
  // The job started another program: what the next look finds was printed by the one before it.
  void ProgramBegins() { program_begins_ = true; }
  // The new output since the last call, at most kMaxBytes, and at most kMostEvents of its events; the others
  // are those of the next call. `last`: nothing will follow, and the last line may be incomplete.
  Found Look(std::int64_t now_ns, bool last);

  static constexpr std::int64_t kMaxBytes = std::int64_t{256} << 10U;
  // A reply is one message (kMaxHelperMessage); a line of steps takes about a hundred bytes of it.
  static constexpr std::size_t kMostEvents = 400;
  // Maximum backlog; beyond it, only the newest part is read.
  static constexpr std::int64_t kMaxBehind = std::int64_t{64} << 20U;

 private:
  struct File {
    explicit File(std::int64_t since_ns) : buffered(since_ns) {}

    int fd = -1;
    FileMark mark;
    LogLines lines;
    LogReader* reader = nullptr;
    BufferedLines buffered;
  };
  void Find(const std::string& path, bool append, LogReader& reader, std::int64_t now_ns);
  static std::int64_t FirstOffset(int fd, std::int64_t size, std::int64_t since_ns, const LogReader& reader,
                                  std::int64_t now_ns);
  void Read(File& file, std::int64_t now_ns, bool last, std::int64_t& budget, Found& found);
  void Take(const LogReader::Said& said, Found& found);
  void ReadAll(std::int64_t now_ns, bool last, Found& found);
  void InferSteps(std::int64_t now_ns, Found& found);
  void PlaceBar(std::int64_t now_ns, Found& found);

  LogReader reader_;
  std::optional<LogReader> beside_;
  Options options_;
  std::vector<std::unique_ptr<File>> files_;
  std::vector<Event> unsent_;  // of the last look, for which its reply has no room
  std::int64_t skipped_ = 0;
  bool program_begins_ = false;
  std::int64_t looked_ns_ = 0;  // of the last look
  StampUnit unit_;
  // The progress bar of the training, identified by its number of steps.
  std::optional<std::int64_t> bar_of_;
  std::optional<std::int64_t> bar_began_ns_;
  std::int64_t bar_elapsed_s_ = 0;
  std::optional<std::int64_t> bar_last_ns_;  // when its last state was shown
};

}  // namespace goodput
