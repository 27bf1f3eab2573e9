// Fills a timeline by precedence: the first claim wins, and a later claim gets only what is still free.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "tools/accounting/timeline/bucket.h"
#include "tools/accounting/timeline/facts.h"

namespace goodput {

// A period in one bucket, with the reason.
struct Interval {
  Ns begin = 0;
  Ns end = 0;
  Bucket bucket = Bucket::kUnobserved;
  std::string part;  // within the bucket: `compile`, `restore`, a pending reason
  Evidence evidence = Evidence::kInferred;
  int attempt = -1;  // index into Timeline::attempts, -1 between attempts
  EvidenceRef from;  // the record that opened it
  EvidenceRef to;    // the record that closed it
  std::string why;   // in words, if the records alone do not explain it
};

class Painter {
 public:
  // Paints on [begin, end).
  Painter(Ns begin, Ns end);

  // Reserves room for so many more pieces: a vector that grows holds all of them twice for a moment.
  void Reserve(std::size_t pieces) { claimed_.reserve(claimed_.size() + pieces); }

  // Claims the free parts of the interval, clipped to the canvas. Empty and inverted intervals claim nothing.
  void Paint(const Interval& claim);

  // All claims, in order, without unclaimed time. Paint `unobserved` last to leave no gaps.
  std::vector<Interval> Finish() &&;

 private:
  std::map<Ns, Ns> free_;  // begin -> end, disjoint
  std::vector<Interval> claimed_;
};

}  // namespace goodput
