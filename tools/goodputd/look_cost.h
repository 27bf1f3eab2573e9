// What looking costs, so that a loop that looks again and again uses only a share of the time: the shortest
// of the last looks. A single slow look waited for something else, such as the processor, a disk or a
// controller that was being restarted.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace goodput {

// `kLooks`: how many looks count. Before there were so many, a look costs nothing.
template <std::size_t kLooks>
class LookCost {
 public:
  // A look that failed costs nothing.
  void Add(bool answered, std::int64_t took_ns) { took_ns_[next_++ % kLooks] = answered ? took_ns : 0; }
  std::int64_t ns() const { return *std::min_element(took_ns_.begin(), took_ns_.end()); }

 private:
  std::array<std::int64_t, kLooks> took_ns_{};
  std::size_t next_ = 0;
};

}  // namespace goodput
