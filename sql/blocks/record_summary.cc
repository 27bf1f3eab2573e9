#include "sql/blocks/record_summary.h"

#include <simdjson.h>

#include <algorithm>
#include <array>

#include "absl/strings/ascii.h"
#include "spank/event.h"
#include "sql/text.h"

namespace goodput {
namespace {

constexpr std::array<std::string_view, 6> kLeftOut = {key::kVersion, key::kStepd,     key::kUid,
                                                      key::kGid,     key::kSenderPid, key::kLocalTask};

bool LeftOut(std::string_view name, std::string_view kind) {
  // Of a signal's target it tells one process from another.
  if (name == key::kPid) return kind != kind::kSignal;
  return std::find(kLeftOut.begin(), kLeftOut.end(), name) != kLeftOut.end();
}

// Needs no escapes.
bool IsPlainKey(std::string_view name) {
  return std::all_of(name.begin(), name.end(),
                     [](char c) { return c == '_' || absl::ascii_isalnum(static_cast<unsigned char>(c)); });
}

}  // namespace

std::string SummaryOfRecord(std::string_view record, std::string_view kind) {
  simdjson::dom::parser parser;
  simdjson::dom::object object;
  if (parser.parse(record.data(), record.size()).get(object) != simdjson::SUCCESS) return std::string(record);
  std::string summary = "{";
  for (const auto field : object) {
    if (!IsPlainKey(field.key)) return std::string(record);
    if (LeftOut(field.key, kind)) continue;
    summary += Cat(summary.size() > 1 ? "," : "", "\"", field.key, "\":", simdjson::minify(field.value));
  }
  summary.push_back('}');
  return summary;
}

}  // namespace goodput
