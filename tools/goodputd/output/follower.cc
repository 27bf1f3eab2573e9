#include "tools/goodputd/output/follower.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include "spank/clock.h"
#include "spank/spool.h"
#include "sql/text.h"

namespace goodput {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{16} << 10U;
// For a job with many consecutive sruns, each with its own file.
constexpr std::size_t kMaxFiles = 64;
// A look reads no more when it has found so many.
constexpr std::size_t kMaxEvents = 100;
// How much of an existing file is searched for lines of this attempt.
constexpr std::int64_t kLookBack = std::int64_t{1} << 20U;
constexpr std::int64_t kSlackNs = 2'000'000'000;
// A line is found at most this long after it was printed, if the program does not buffer output.
constexpr std::int64_t kLookNs = 250'000'000;
// A time with at least this resolution is used as it is.
constexpr std::int64_t kFineNs = 10'000'000;
// States of a bar that span this many of its seconds came late.
constexpr std::int64_t kLateS = 2;

std::size_t PRead(int fd, std::int64_t at, std::string& into) {
  into.resize(kPieceBytes);
  ssize_t got = 0;
  do {
    got = pread(fd, into.data(), into.size(), at);
  } while (got < 0 && errno == EINTR);
  into.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return into.size();
}

// Opens a regular file only: opening a pipe would wake its writer.
int OpenRegular(const std::string& path, struct stat& info) {
  const int there = open(path.c_str(), O_PATH | O_CLOEXEC);
  if (there < 0) return -1;
  int fd = -1;
  if (fstat(there, &info) == 0 && S_ISREG(info.st_mode))
    fd = open(Cat("/proc/self/fd/", there).c_str(), O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
  close(there);
  return fd;
}

// Null: there is none.
const FileMark* MarkOf(const std::vector<FileMark>& marks, const FileMark& file) {
  const auto found =
      std::find_if(marks.begin(), marks.end(), [&](const FileMark& mark) { return SameFile(mark, file); });
  return found == marks.end() ? nullptr : &*found;
}

// Whether the file is no older than the attempt. Other machines' clocks date files on their file systems:
// there it is unknown, as on file systems that do not record it.
bool IsBornSince(int fd, std::int64_t since_ns, std::int64_t now_ns) {
  struct statfs where {};
  struct statx info {};
  if (fstatfs(fd, &where) != 0 || IsRemoteFileSystem(static_cast<std::int64_t>(where.f_type)) ||
      statx(fd, "", AT_EMPTY_PATH, STATX_BTIME, &info) != 0 || (info.stx_mask & STATX_BTIME) == 0)
    return false;
  const std::int64_t born = info.stx_btime.tv_sec * std::int64_t{1'000'000'000} + info.stx_btime.tv_nsec;
  return since_ns <= born && born <= now_ns;
}

// A checksum of the bytes right before `offset`, by which a file that was truncated and has grown beyond it
// is recognized. Never 0.
std::uint64_t SumBefore(int fd, std::int64_t offset) {
  std::array<char, 512> bytes{};
  const auto size = static_cast<std::size_t>(std::min<std::int64_t>(offset, bytes.size()));
  const ssize_t got = pread(fd, bytes.data(), size, offset - static_cast<std::int64_t>(size));
  const std::string_view text(bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return std::max<std::uint64_t>(std::hash<std::string_view>()(text), 1);
}

}  // namespace

OutputFollower::OutputFollower(LogReader reader, Options options, std::optional<LogReader> beside)
    : reader_(std::move(reader)), beside_(std::move(beside)), options_(std::move(options)) {}

void OutputFollower::Follow(const std::string& link, bool append, std::int64_t now_ns) {
  Find(link, append, reader_, now_ns);
}

OutputFollower::~OutputFollower() {
  for (const std::unique_ptr<File>& file : files_) close(file->fd);
}

// Where the lines of this attempt begin in a file with earlier output: no later line has another time. (Lines
// in the time zone of a container may seem to be of any hour.)
std::int64_t OutputFollower::FirstOffset(int fd, std::int64_t size, std::int64_t since_ns,
                                         const LogReader& reader, std::int64_t now_ns) {
  LogLines lines;
  lines.Seek(std::max<std::int64_t>(0, size - kLookBack));
  std::int64_t first = size;
  std::string piece;
  const auto take = [&](std::string_view line, std::int64_t offset) {
    const std::optional<LineTime> time = reader.TimeOf(line);
    if (!time) return;
    const std::int64_t t = PastTime(*time, absl::LocalTimeZone(), now_ns);
    const bool since = t >= since_ns - kSlackNs && t <= now_ns + kSlackNs;
    first = since ? std::min(first, offset) : size;
  };
  while (lines.offset() < size && PRead(fd, lines.offset(), piece) > 0) lines.Add(piece, take);
  return first;
}

void OutputFollower::Find(const std::string& path, bool append, LogReader& reader, std::int64_t now_ns) {
  struct stat info {};
  const int fd = OpenRegular(path, info);
  if (fd < 0) return;
  const FileMark mark{info.st_dev, info.st_ino, 0, 0};
  const bool known = std::any_of(files_.begin(), files_.end(), [&](const std::unique_ptr<File>& file) {
    return SameFile(file->mark, mark);
  });
  if (known || files_.size() >= kMaxFiles) {
    close(fd);
    return;
  }
  auto file = std::make_unique<File>(options_.since_ns);
  file->fd = fd;
  file->reader = &reader;
  file->mark = mark;
  if (const FileMark* const own = MarkOf(options_.resume, mark)) {
    file->mark.offset = own->offset;
  } else if (!IsBornSince(fd, options_.since_ns, now_ns)) {
    const FileMark* const others = MarkOf(options_.ended, mark);
    if (others != nullptr && others->offset <= info.st_size &&
        others->before == SumBefore(fd, others->offset)) {
      file->mark.offset = others->offset;
    } else if (append) {
      file->mark.offset = FirstOffset(fd, info.st_size, options_.since_ns, reader, now_ns);
    }
  }
  file->lines.Seek(file->mark.offset);
  files_.push_back(std::move(file));
}

void OutputFollower::Take(const LogReader::Said& said, Found& found) {
  // Slurm's records say better how a job ended.
  if (said.event.kind == LogEvent::Kind::kJobEnd) return;
  Event event;
  event.event = said.event;
  event.t_ns = said.read_ns;
  event.late_ns = kLookNs;
  event.event.task.reset();
  if (said.event.time) {
    // A stamp covers the range of its last digit; the line was read when it was printed, or a while after.
    const std::int64_t stamp = LiveTime(*said.event.time, said.read_ns);
    unit_.See(*said.event.time);
    const std::int64_t resolution = unit_.Of(*said.event.time);
    if (resolution <= kFineNs) {
      event.event.task = said.event.task;
      event.t_ns = stamp;
      event.late_ns = 0;
    } else if (said.read_ns >= stamp + resolution) {
      // A line of steps is placed by its neighbours.
      event.late_ns = said.event.kind == LogEvent::Kind::kStepEnd ? resolution - 1 : 0;
      event.t_ns = stamp + event.late_ns;
    } else {
      event.t_ns = std::max(stamp, said.read_ns);
      event.late_ns = std::min(kLookNs, event.t_ns - stamp);
    }
  }
  if (said.event.began) event.began_ns = LiveTime(*said.event.began, said.read_ns);
  event.offset = said.offset;
  found.events.push_back(std::move(event));
}

void OutputFollower::Read(File& file, std::int64_t now_ns, bool last, std::int64_t& budget, Found& found) {
  struct stat info {};
  if (fstat(file.fd, &info) != 0) return;
  std::int64_t at = file.lines.offset();
  if (info.st_size < at) {
    // Truncated: everything in it is new.
    file.lines.Seek(0);
    at = 0;
  }
  if (info.st_size - at > kMaxBehind) {
    const std::int64_t ahead = info.st_size - kLookBack;
    skipped_ += ahead - at;
    file.lines.Seek(ahead);
  }
  const auto take = [&](std::string_view line, std::int64_t offset) {
    file.reader->Line(line, offset, now_ns, [&](const LogReader::Said& said) { Take(said, found); });
  };
  BufferedLines::Look look{file.lines.offset(), 0, now_ns, true, false};
  std::vector<Event> of_others = std::exchange(found.events, {});
  std::string piece;
  while (file.lines.offset() < info.st_size) {
    if (budget <= 0 || of_others.size() + found.events.size() >= kMaxEvents) {
      found.more = true;
      look.all = false;
      break;
    }
    if (PRead(file.fd, file.lines.offset(), piece) == 0) break;
    budget -= static_cast<std::int64_t>(piece.size());
    file.lines.Add(piece, take);
  }
  if (program_begins_ && look.all) file.lines.FinishBar(take);
  look.last = last && look.all;
  if (look.last) file.lines.Finish(take);
  file.mark.offset = file.lines.whole();
  if (look.last) file.mark.before = SumBefore(file.fd, file.mark.offset);
  look.end = file.lines.offset();
  std::vector<Event> placed = file.buffered.Take(look, std::exchange(found.events, std::move(of_others)));
  found.events.insert(found.events.end(), placed.begin(), placed.end());
  file.mark.offset = file.buffered.held_from().value_or(file.mark.offset);
}

// Lines of steps from one look were printed one after the other since the previous look, as far as their
// stamps permit.
void OutputFollower::InferSteps(std::int64_t now_ns, Found& found) {
  const std::int64_t since = std::max(looked_ns_, now_ns - kLookNs);
  std::vector<Event*> lines;
  for (Event& event : found.events) {
    const bool step = event.event.kind == LogEvent::Kind::kStepEnd && !event.event.elapsed_s;
    if (step && event.late_ns > 0 && event.t_ns == now_ns) lines.push_back(&event);
  }
  const auto count = static_cast<std::int64_t>(lines.size());
  for (std::int64_t i = 0; i + 1 < count; ++i) {
    Event& line = *lines[static_cast<std::size_t>(i)];
    const std::int64_t earlier = std::min((now_ns - since) * (count - 1 - i) / count, line.late_ns);
    line.t_ns -= earlier;
    line.late_ns -= earlier;
  }
  looked_ns_ = now_ns;
}

void OutputFollower::PlaceBar(std::int64_t now_ns, Found& found) {
  std::vector<Event*> states;
  for (Event& event : found.events) {
    if (!event.event.elapsed_s || event.event.time) continue;
    // An evaluation's bar may be shown in between.
    if (!bar_of_) bar_of_ = event.event.of;
    if (event.event.of == bar_of_) states.push_back(&event);
  }
  if (states.empty()) return;
  // Another bar, or the same one restarted.
  if (*states.front()->event.elapsed_s < bar_elapsed_s_) {
    bar_began_ns_.reset();
    bar_last_ns_.reset();
  }
  const std::int64_t first = *states.front()->event.elapsed_s;
  const std::int64_t last = *states.back()->event.elapsed_s;
  bar_elapsed_s_ = last;
  // How far the last second had advanced, by the number of its states compared with the previous second.
  const auto in_second = [&](std::int64_t second) {
    return std::count_if(states.begin(), states.end(),
                         [&](const Event* state) { return state->event.elapsed_s == second; });
  };
  const std::int64_t of_last = in_second(last);
  const std::int64_t before =
      last > first ? *states[states.size() - static_cast<std::size_t>(of_last) - 1]->event.elapsed_s : last;
  const std::int64_t whole = std::max<std::int64_t>(in_second(before), 1);
  const std::int64_t part = before == last - 1 ? std::min(of_last, whole) * kSecondNs / whole : 0;
  // A state may be late, but never early: the earliest begin that one implies is the best.
  const std::int64_t began = now_ns - last * kSecondNs - part;
  bar_began_ns_ = std::min(bar_began_ns_.value_or(began), began);
  if (last - first < kLateS) {
    // A few states that arrived together were shown one after the other since the last look, as far as the
    // bar's own seconds permit.
    const std::int64_t since = now_ns - (last - first + 1) * kSecondNs;
    const std::int64_t from = std::max(since, bar_last_ns_.value_or(since));
    const auto count = static_cast<std::int64_t>(states.size());
    for (std::int64_t i = 0; count > 1 && i < count; ++i)
      states[static_cast<std::size_t>(i)]->t_ns = from + (now_ns - from) * (i + 1) / count;
    bar_last_ns_ = now_ns;
    return;
  }
  for (std::size_t i = 0; i < states.size();) {
    const std::int64_t second = *states[i]->event.elapsed_s;
    std::size_t end = i;
    while (end < states.size() && *states[end]->event.elapsed_s == second) ++end;
    // States of the same second share it.
    const auto count = static_cast<std::int64_t>(end - i);
    for (std::int64_t k = 0; i < end; ++i, ++k) {
      const std::int64_t t = *bar_began_ns_ + second * kSecondNs + k * kSecondNs / count;
      states[i]->t_ns = std::min(now_ns, std::max(t, bar_last_ns_.value_or(t)));
    }
  }
  bar_last_ns_ = states.back()->t_ns;
}

void OutputFollower::ReadAll(std::int64_t now_ns, bool last, Found& found) {
  for (const std::string& link : options_.links) Find(link, options_.append, reader_, now_ns);
  if (beside_) Find(options_.beside, true, *beside_, now_ns);
  std::int64_t budget = kMaxBytes;
  for (const std::unique_ptr<File>& file : files_) Read(*file, now_ns, last, budget, found);
  if (last && !found.more) reader_.Finish([&](const LogReader::Said& said) { Take(said, found); });
  InferSteps(now_ns, found);
  PlaceBar(now_ns, found);
  if (!program_begins_ || found.more) return;
  program_begins_ = false;
  reader_.ProgramBegins();
  bar_of_.reset();
  bar_began_ns_.reset();
  bar_last_ns_.reset();
  bar_elapsed_s_ = 0;
}

OutputFollower::Found OutputFollower::Look(std::int64_t now_ns, bool last) {
  Found found;
  const std::int64_t cpu = ReadClockNs(CLOCK_THREAD_CPUTIME_ID);
  found.events = std::exchange(unsent_, {});
  if (found.events.empty()) {
    ReadAll(now_ns, last, found);
  } else {
    found.more = true;  // this look read nothing
  }
  if (found.events.size() > kMostEvents) {
    const auto rest = found.events.begin() + static_cast<std::ptrdiff_t>(kMostEvents);
    unsent_.assign(rest, found.events.end());
    found.events.erase(rest, found.events.end());
    found.more = true;
  }
  for (const std::unique_ptr<File>& file : files_) found.files.push_back(file->mark);
  found.skipped_bytes = skipped_;
  found.cpu_ns = ReadClockNs(CLOCK_THREAD_CPUTIME_ID) - cpu;
  found.profile = reader_.profile();
  return found;
}

}  // namespace goodput
