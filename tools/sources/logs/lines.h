// Splits a program's output into lines as a person would see them: without colours, and with each state of a
// progress bar (which ends in a carriage return) as a line of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace goodput {

class LogLines {
 public:
  // Only the beginning of longer lines is used; no framework prints longer lines about steps.
  static constexpr std::size_t kMaxLine = 8192;

  // `offset`: of its first byte in the file. The line is valid during the call.
  using Take = std::function<void(std::string_view line, std::int64_t offset)>;

  // Adds the next bytes. Passes complete lines to `take`, except empty ones.
  void Add(std::string_view bytes, const Take& take);
  // Passes an incomplete last line as if it were complete.
  void Finish(const Take& take);
  // The same, but only if it is the state of a progress bar, which nothing ends.
  void FinishBar(const Take& take);
  // Continues at another place in the file and discards an incomplete line.
  void Seek(std::int64_t offset);
  std::int64_t offset() const { return offset_; }
  // The end of the last complete line: where another LogLines can continue.
  std::int64_t whole() const { return line_.empty() ? offset_ : begin_; }

 private:
  void End(const Take& take);

  std::string line_;
  std::int64_t begin_ = 0;   // of line_ in the file
  std::int64_t offset_ = 0;  // of the next byte
};

// Removes terminal control sequences (ECMA-48: CSI, OSC and two-byte escapes) and control characters from a
// line; tabs stay.
void StripControls(std::string& line);

// The line without a launcher's prefix: `srun --label` "3: ", torchrun "[default0]:".
std::string_view WithoutLabel(std::string_view line);

// The task in the label of `srun --label`; absent: there is none.
std::optional<std::int64_t> TaskInLabel(std::string_view line);

// Which of several ranks printed a line, as its launcher or logger says: "3: " (srun), "[default3]:"
// (torchrun), "[rank3]:", "[Rank 3]", "[1,3]<stdout>:" (mpirun), "node-3 | " (compose), or
// "(Trainer pid=471) " (Ray).
struct RankLabel {
  std::string_view text;  // differs between ranks
  bool is_number = true;  // of the rank, which a restarted program prints again; otherwise of a process
};
std::optional<RankLabel> FindRankLabel(std::string_view line);

}  // namespace goodput
