// Fuzzes lines of a spool file: an accepted line has the keys of every record.
#include "sql/spool_line.h"

#include <cstdint>
#include <string>

#include "spank/event.h"
#include "tests/fuzz/target.h"

FUZZ_TARGET(spool_line) {
  using namespace goodput;
  // As from ingest: with bytes after the line that do not belong to it.
  std::string padded(reinterpret_cast<const char*>(data), size);
  padded.append(SpoolLineParser::kPadding, '}');
  SpoolLineParser parser;
  const auto record = parser.Parse(std::string_view(padded).substr(0, size));
  if (!record.ok()) {
    REQUIRE(!record.status().message().empty());
    return 0;
  }
  REQUIRE(size <= kMaxRecordBytes);
  std::int64_t apart = 0;
  REQUIRE(!__builtin_sub_overflow(record->t_ns, record->m_ns, &apart));
  REQUIRE(!record->kind.empty() && !record->node.empty());
  REQUIRE(!record->is_step_mark || (record->job && record->kind == kind::kMark));
  const bool step_mark = record->is_step_mark;
  const auto again = parser.Parse(std::string_view(padded).substr(0, size));
  REQUIRE(again.ok() && again->is_step_mark == step_mark);
  return 0;
}
