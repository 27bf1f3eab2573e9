// Which of the processes that spans are from tell of the training: one rank of each start of the program.
//
// Every rank reports the same, and which ranks do is a setting (by default the last, whose number changes
// with the number of nodes). Processes of one attempt that trained at the same time are one start; of these
// the lowest rank is read. Processes that write checkpoints are not read; of NVRx's launchers, which are one
// a node, the one of the first node is.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tools/sources/otel/span.h"

namespace goodput {

class SpanSurvey {
 public:
  // More processes than this are not a training run; those beyond are not read.
  static constexpr std::size_t kMostProcesses = std::size_t{1} << 17U;

  struct Choice {
    std::optional<std::int64_t> job;
    std::optional<std::int64_t> rank;
    int attempt = 0;  // by begin, from 0
    bool tells_steps = false;
    TimeSpan life;  // its first and last span, without the time before the process itself
  };

  void See(const SpanProcess& process, const Span& span);
  // After the last See. Starts by begin.
  void Choose();
  const std::vector<Choice>& starts() const { return starts_; }
  // The start whose spans this one belongs to; none if it is not read.
  std::optional<std::size_t> StartOf(const SpanProcess& process, const Span& span) const;
  // The start with steps of which it is another rank; none if it is read, or no rank.
  std::optional<std::size_t> StartBeside(const SpanProcess& process) const;

  std::int64_t processes() const { return static_cast<std::int64_t>(seen_.size()); }
  // Every start that is read has spans of iterations.
  bool all_tell_steps() const;

 private:
  struct Seen {
    SpanProcess process;
    Ns first = INT64_MAX;
    Ns last = 0;
    bool tells_steps = false;
    std::optional<std::size_t> start;
    std::optional<std::size_t> beside = std::nullopt;  // of another rank
  };
  struct Start {
    Seen* process = nullptr;
    Ns begin = 0;
    std::pair<std::int64_t, std::int64_t> key;
    std::vector<Seen*> all;
  };
  void FindOtherRanks(const Start& start, std::size_t number);

  // Starts of an attempt, for its launcher: when each began.
  using Begins = std::map<Ns, std::size_t>;
  using Key = std::pair<std::int64_t, std::int64_t>;  // job, restart; -1: not given

  static Key KeyOf(const SpanProcess& process) {
    return {process.job.value_or(-1), process.restart.value_or(-1)};
  }

  std::map<std::string, Seen, std::less<>> seen_;
  std::map<Key, std::string> launchers_;  // the identity of the one to read
  std::map<Key, Begins> begins_;
  std::vector<Choice> starts_;
};

}  // namespace goodput
