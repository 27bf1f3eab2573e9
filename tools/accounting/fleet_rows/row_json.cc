#include "tools/accounting/fleet_rows/row_json.h"

#include <optional>
#include <set>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "spank/json_text.h"
#include "sql/text.h"
#include "tools/accounting/fleet_rows/copy_text.h"
#include "tools/accounting/fleet_rows/fleet_rows.h"

namespace goodput {
namespace {

std::string TypeOf(const std::string& column) {
  static const std::set<std::string> texts{"cluster",   "unit",     "cause",     "state",
                                           "user_name", "account",  "partition", "qos",
                                           "provision", "gpu_type", "run",       "stockout"};
  if (texts.count(column) > 0) return "STRING";
  if (column == "day" || column == "month") return "DATE";
  if (column == "has_gpus") return "BOOL";
  const bool wide = column.rfind("b_", 0) == 0 || column == "gap_gpu_ns" || column == "peak_flops";
  return wide ? "NUMERIC" : "INT64";
}

// FLOPs are written with an exponent, which NUMERIC does not take.
std::string WithoutExponent(const std::string& number) {
  double value = 0;
  return absl::SimpleAtod(number, &value) ? absl::StrFormat("%.0f", value) : number;
}

}  // namespace

const std::vector<TypedColumn>& AttemptDayTypes() {
  static const std::vector<TypedColumn> types = [] {
    std::vector<TypedColumn> all;
    for (const std::string& column : AttemptDayColumns()) all.push_back({column, TypeOf(column)});
    all.push_back({"rev", "INT64"});
    return all;
  }();
  return types;
}

std::string AttemptDayAsJson(std::string_view line, std::int64_t rev) {
  const std::vector<TypedColumn>& types = AttemptDayTypes();
  const std::vector<absl::string_view> fields = absl::StrSplit(ToAbsl(line), '\t');
  std::string json = "{";
  for (std::size_t i = 0; i < fields.size() && i + 1 < types.size(); ++i) {
    std::optional<std::string> value = ReadCopyField({fields[i].data(), fields[i].size()});
    if (!value) continue;
    if (types[i].name == "peak_flops") value = WithoutExponent(*value);
    const std::string text =
        types[i].type == "BOOL" ? (*value == "t" ? "true" : "false") : QuotedJson(*value);
    json += Cat(QuotedJson(types[i].name), ":", text, ",");
  }
  return Cat(json, "\"rev\":\"", rev, "\"}");
}

std::string RemovalAsJson(const std::string& cluster, const std::string& unit, std::int64_t rev) {
  return Cat("{\"cluster\":", QuotedJson(cluster), ",\"unit\":", QuotedJson(unit), ",\"rev\":\"", rev, "\"}");
}

}  // namespace goodput
