// When lines were printed that tell it only to the second, or not at all.
//
// A stamp is no moment but a stretch of time: "10:00:07" is anything from then to 10:00:08. What a line says
// of steps tells lengths, stamps tell positions: lines between which the program did nothing but the steps
// they tell of are so far apart as these took, and all of them together fit between the ticks of the clock
// in few ways. Where nothing says what a step took, the lines themselves do, many at a time.
//
// Lines that tell their time to the millisecond are placed by it and nothing else. Where the next steps in
// line come before the ones before them, the clock was set back, and all that follows is moved on.
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
    Ns resolution = 0;              // the line was printed from `stamp` until so much later
    std::optional<LogEvent> event;  // absent: it says nothing but that the program lived
    std::optional<Ns> began;        // the event's own word for it
    std::int64_t offset = 0;
  };
  using Take = std::function<absl::Status(const Line& line, Ns t)>;

  // `begin`: of the first line, where it has no stamp.
  LinePlacer(Ns begin, Take take) : take_(std::move(take)), at_(begin) {}

  // In the order of the file. Lines are handed on in this order, some thousands at a time.
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
  // Lines that hang together, the first at x: lo <= x <= hi.
  struct Chain {
    std::vector<std::size_t> items;
    Ns lo = 0;
    Ns hi = 0;
    Ns length = 0;
    bool earliest = false;
    std::optional<Ns> after;  // the first came at least so long behind the one before
  };
  // What lies between a line and the one before it.
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
  // The clock was set back by so much in all, and the newest line of steps.
  Ns set_back_ = 0;
  std::int64_t in_line_ = 0;  // so many, each the next
  std::int64_t last_step_ = 0;
  Ns last_stamp_ = 0;
  Ns took_ = 0;
  std::optional<Chain> chain_;
  // Of the program, at the line that is being placed.
  std::optional<std::int64_t> done_;  // steps
  bool in_loop_ = false;              // it does steps, and nothing else
  std::optional<Ns> step_;            // what one takes, where lines do not say it
};

}  // namespace goodput
