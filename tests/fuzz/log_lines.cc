// Fuzzes a program's output: lines, every built-in profile, and the fold. The result does not depend on how
// the bytes are split into pieces.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fuzz/target.h"
#include "tools/sources/logs/line_time.h"
#include "tools/sources/logs/lines.h"
#include "tools/sources/logs/log_fold.h"
#include "tools/sources/logs/log_reader.h"

namespace {

constexpr std::int64_t kNow = 1'800'000'000'000'000'000;

class Words : public goodput::LogSink {
 public:
  absl::Status Step(goodput::Ns t, std::int64_t step, const goodput::Speaker&, std::int64_t offset) override {
    return Say("step", t, step, offset);
  }
  absl::Status Mark(const goodput::LogMark& mark, const goodput::Speaker&, std::int64_t offset) override {
    return Say(mark.begin ? "begin" : "end", mark.t, mark.step.value_or(-1), offset);
  }
  absl::Status StepEnd(goodput::Ns t, std::int64_t step, const goodput::Speaker&,
                       std::int64_t offset) override {
    return Say("done", t, step, offset);
  }
  absl::Status Srun(const goodput::LogSrun&, const goodput::Speaker&, std::int64_t) override {
    return absl::OkStatus();
  }
  absl::Status Attempt(const goodput::LogAttempt& attempt) override {
    REQUIRE(attempt.begin <= attempt.end);
    return absl::OkStatus();
  }
  std::string said;

 private:
  absl::Status Say(const char* what, std::int64_t t, std::int64_t step, std::int64_t offset) {
    said += what;
    for (const std::int64_t number : {t, step, offset}) said += " " + std::to_string(number);
    said += "\n";
    return absl::OkStatus();
  }
};

std::string Read(std::string_view bytes, std::size_t piece) {
  static const std::vector<goodput::KnownProfile> kProfiles = goodput::LoadProfiles("/nonexistent");
  std::string said;
  for (const goodput::KnownProfile& known : kProfiles) {
    REQUIRE(known.profile.ok());
    Words sink;
    goodput::LogFold fold(sink);
    goodput::LogLines lines;
    const auto line = [&](std::string_view text, std::int64_t offset) {
      const std::optional<goodput::LogEvent> event = known.profile->Match(goodput::WithoutLabel(text));
      const std::int64_t read = kNow + offset * 1'000'000;
      if (!event) {
        REQUIRE(fold.Heard(read).ok());
        return;
      }
      REQUIRE(event->step.value_or(0) >= 0);
      std::optional<goodput::Ns> began;
      if (event->began) began = goodput::LiveTime(*event->began, read);
      REQUIRE(
          fold.Take(*event, event->time ? goodput::LiveTime(*event->time, read) : read, began, offset).ok());
    };
    for (std::size_t at = 0; at < bytes.size(); at += piece) lines.Add(bytes.substr(at, piece), line);
    lines.Finish(line);
    REQUIRE(fold.End(kNow + (std::int64_t{1} << 40)).ok());
    said += sink.said;
  }
  return said;
}

}  // namespace

FUZZ_TARGET(log_lines) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  REQUIRE(Read(bytes, size + 1) == Read(bytes, 7));
  return 0;
}
