// Unpacks gzip, piece by piece.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "absl/status/status.h"

namespace goodput {

class Unpacker {
 public:
  using Take = std::function<absl::Status(std::string_view bytes)>;

  Unpacker();
  ~Unpacker();
  // Calls `take` with what the piece unpacks to, at most 64 KiB at a time; its error ends it. Data that was
  // cut off is no error: what came of it was taken. Members may follow each other, as `cat a.gz b.gz` makes
  // them. InvalidArgument: not gzip, or damaged.
  absl::Status Unpack(std::string_view piece, const Take& take);
  // The last member was complete.
  bool whole() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace goodput
