// Finds when lines were printed that have a time only to the second, or none.
//
// A stamp stands for a range: "10:00:07" is any time from then to 10:00:08. Step durations in lines give
// distances, stamps give positions: lines between which the program did nothing but the reported steps are as
// far apart as the steps took, and together they fit the clock's ticks in few ways only. If no line states
// step durations, they are estimated from many lines.
//
// Lines with a time to the millisecond are placed by it. If consecutive steps come before the previous ones,
// the clock was set back, and all later lines are moved.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "tools/accounting/timeline/facts.h"
#include "tools/sources/logs/log_event.h"

namespace goodput {

class LinePlacer {
 public:
  struct Line {
    std::optional<Ns> stamp;
    Ns resolution = 0;              // the line was printed between `stamp` and this much later
    std::optional<LogEvent> event;  // absent: it only shows that the program lived
    std::optional<Ns> began;        // the begin that the event itself states
    std::int64_t offset = 0;
  };
  using Take = std::function<absl::Status(const Line& line, Ns t)>;

  // `begin`: time of the first line, if it has no stamp.
  LinePlacer(Ns begin, Take take) : take_(std::move(take)), at_(begin) {}

  // In the order of the file. Lines are passed on in this order, some thousands at a time.
  absl::Status Add(Line line);
  absl::Status Finish();

 private:
  struct Item {
    Line line;
    Ns lo = 0;
    Ns hi = 0;
    Ns t = 0;
    bool exact = false;
    bool linked = false;  // part of a chain
    Ns offset = 0;        // in it, from its begin
  };
  // Lines with fixed distances, the first at x: lo <= x <= hi.
  struct Chain {
    std::vector<std::size_t> items;
    Ns lo = 0;
    Ns hi = 0;
    Ns length = 0;
    bool earliest = false;
    std::optional<Ns> after;  // the first came at least this long after the previous line
  };
  // What lies between a line and the previous one.
  struct Link {
    bool tight = false;  // nothing but `work`
    Ns work = 0;
  };

  absl::Status PlaceAll();
  void Bound();
  void EstimateStep();
  void Place();
  Link LinkOf(const LogEvent& event);
  void Follow(const LogEvent& event);
  void Extend(std::size_t i, const Link& link);
  void Begin(std::size_t i, const Link& link, bool earliest);
  void Close();
  void SeeClock(Item& item);

  Take take_;
  std::vector<Item> items_;
  Ns at_ = 0;  // of the last line that was placed
  // How far the clock was set back in total, and the newest line of steps.
  Ns set_back_ = 0;
  std::int64_t in_line_ = 0;  // number of consecutive steps
  std::int64_t last_step_ = 0;
  Ns last_stamp_ = 0;
  Ns took_ = 0;
  std::optional<Chain> chain_;
  // State of the program at the line being placed.
  std::optional<std::int64_t> done_;  // steps
  bool in_loop_ = false;              // it does steps, and nothing else
  std::optional<Ns> step_;            // duration of one, if lines do not state it
};

}  // namespace goodput
