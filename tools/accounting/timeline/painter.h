// First match wins: intervals claim time in order of precedence, and a claim takes only what is still free.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "tools/accounting/timeline/bucket.h"
#include "tools/accounting/timeline/facts.h"

namespace goodput {

// A stretch of time in one bucket, with the reason it is there.
struct Interval {
  Ns begin = 0;
  Ns end = 0;
  Bucket bucket = Bucket::kUnobserved;
  std::string part;  // within the bucket: `compile`, `restore`, a pending reason
  Evidence evidence = Evidence::kInferred;
  int attempt = -1;  // index into Timeline::attempts, -1 between attempts
  EvidenceRef from;  // the record that opened it
  EvidenceRef to;    // the record that closed it
  std::string why;   // in words, where the records alone do not say it
};

class Painter {
 public:
  // Paints on [begin, end).
  Painter(Ns begin, Ns end);

  // Reserves room for so many more pieces: a vector that grows holds all of them twice for a moment.
  void Reserve(std::size_t pieces) { claimed_.reserve(claimed_.size() + pieces); }

  // Claims the free parts of the interval, clipped to the canvas. Empty and inverted intervals claim nothing.
  void Paint(const Interval& claim);

  // Everything claimed, in order; what nobody claimed is left out. Paint `unobserved` last to leave nothing
  // out.
  std::vector<Interval> Finish() &&;

 private:
  std::map<Ns, Ns> free_;  // begin -> end, disjoint
  std::vector<Interval> claimed_;
};

}  // namespace goodput
