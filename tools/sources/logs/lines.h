// Lines out of the bytes of a program's output, as a person would see them: without the colours, and each
// state of a progress bar (which ends in a carriage return) as a line of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace goodput {

class LogLines {
 public:
  // Of a longer line only the beginning is looked at; nothing a framework says of a step is as long.
  static constexpr std::size_t kMaxLine = 8192;

  // `offset`: of its first byte in the file. The line lives during the call.
  using Take = std::function<void(std::string_view line, std::int64_t offset)>;

  // Bytes that follow those before. Lines that have ended are handed over; empty ones are not.
  void Add(std::string_view bytes, const Take& take);
  // What is there of a line that has not ended, as if it had.
  void Finish(const Take& take);
  // Goes on at another place of the file: what was there of a line is forgotten.
  void Seek(std::int64_t offset);
  std::int64_t offset() const { return offset_; }
  // The end of the last line that ended: where to go on with another LogLines.
  std::int64_t whole() const { return line_.empty() ? offset_ : begin_; }

 private:
  void End(const Take& take);

  std::string line_;
  std::int64_t begin_ = 0;   // of line_ in the file
  std::int64_t offset_ = 0;  // of the next byte
};

// Takes terminal control sequences (ECMA-48: CSI, OSC and two-byte escapes) and control characters out of a
// line; tabs stay.
void StripControls(std::string& line);

// The line behind what a launcher puts in front of each: `srun --label` "3: ", torchrun "[default0]:".
std::string_view WithoutLabel(std::string_view line);

}  // namespace goodput
