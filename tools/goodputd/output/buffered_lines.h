// Dates the lines of a program that buffers its output, as Python does with what print() writes to a file:
// lines without a time arrive in blocks of some KiB. They were printed since the block before, at an even
// pace; the pace of the second block tells when those of the first one were printed, which are held until
// then.
//
// A program that does not buffer may print as much within a moment after a pause, such as a save. But its
// lines came in one look after the other until then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tools/goodputd/output/found_event.h"

namespace goodput {

// The lines of one file.
class BufferedLines {
 public:
  // `since_ns`: no line was printed before.
  explicit BufferedLines(std::int64_t since_ns) : since_ns_(since_ns) {}

  struct Look {
    std::int64_t begin = 0;  // the bytes that it read
    std::int64_t end = 0;
    std::int64_t now_ns = 0;
    bool all = false;   // there was nothing more to read
    bool last = false;  // nothing will follow
  };
  // The events of each look pass through here, in order. Those of what may be a block wait for the next look,
  // since it may arrive in two parts.
  std::vector<FoundEvent> Take(const Look& look, std::vector<FoundEvent> events);
  // Where the events begin that are held; absent: there are none.
  std::optional<std::int64_t> held_from() const;

 private:
  // Lines that came after a pause, in one look or in two.
  struct Block {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    std::int64_t first_ns = 0;  // the time of these looks
    std::int64_t last_ns = 0;
    std::vector<FoundEvent> events;
  };
  static bool IsUndated(const FoundEvent& event, std::int64_t first_ns);
  static std::int64_t StepsIn(const std::vector<FoundEvent>& events, std::int64_t first_ns);
  static void Spread(Block& block, std::int64_t from_ns);
  std::vector<FoundEvent> TakeBlock(Block block, bool last);
  std::vector<FoundEvent> Release(std::vector<FoundEvent> more);

  std::int64_t since_ns_;
  std::optional<Block> open_;  // waits for the next look
  std::optional<Block> held_;  // the first one
  bool in_blocks_ = false;
  std::int64_t lines_ns_ = 0;         // the last look that found lines of steps; 0: none did
  std::int64_t lines_before_ns_ = 0;  // the one before
};

}  // namespace goodput
