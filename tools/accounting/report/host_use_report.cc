#include "tools/accounting/report/host_use_report.h"

#include <optional>

#include "absl/strings/str_format.h"
#include "sql/text.h"
#include "tools/base/format.h"

namespace goodput {
namespace {

std::string BytesInWords(double bytes) {
  constexpr double kUnit = 1024;
  for (const char* const unit : {"bytes", "KiB", "MiB", "GiB", "TiB"}) {
    if (bytes < kUnit) return absl::StrFormat("%.*f %s", bytes < 100 && unit[0] != 'b' ? 1 : 0, bytes, unit);
    bytes /= kUnit;
  }
  return absl::StrFormat("%.1f PiB", bytes);
}

std::string BytesInWords(const std::optional<std::int64_t>& bytes) {
  return bytes ? BytesInWords(static_cast<double>(*bytes)) : "-";
}

std::string CpuInWords(const HostUseTotal& total) {
  constexpr double kHour = 3600;
  // A test run has no hours.
  const bool hours = total.cpu_given_s.value_or(*total.cpu_s) >= kHour;
  const auto amount = [&](double seconds) {
    return hours ? absl::StrFormat("%.4g", seconds / kHour) : absl::StrFormat("%.1f", seconds);
  };
  const char* const unit = hours ? " CPU-h" : " CPU-s";
  std::string text = amount(*total.cpu_s);
  if (total.cpu_given_s.value_or(0) > 0) {  // accounting counts whole seconds
    text += Cat(" of ", amount(*total.cpu_given_s), unit, " given (",
                FormatPercent(*total.cpu_s / *total.cpu_given_s), ")");
  } else {
    text += unit;
  }
  if (total.waited_only) text += ", without processes that nobody waited for";
  return text;
}

std::string MemoryInWords(const HostUseTotal& total) {
  std::string text = total.memory_peak ? Cat(BytesInWords(total.memory_peak), " at most for a step on a node")
                                       : Cat(BytesInWords(total.largest_rss), " for the largest process");
  if (total.memory_given) text += Cat(", of ", BytesInWords(total.memory_given), " given on a node");
  return text;
}

}  // namespace

std::optional<HostUseTotal> HostUseOf(const Report& report) {
  if (report.is_part) return std::nullopt;
  return SumHostUse(report.run.facts);
}

std::vector<std::pair<std::string, std::string>> InWords(const HostUseTotal& total) {
  std::vector<std::pair<std::string, std::string>> rows;
  if (total.cpu_s) rows.emplace_back("CPU", CpuInWords(total));
  if (total.memory_peak || total.largest_rss) rows.emplace_back("memory", MemoryInWords(total));
  if (total.read_bytes || total.written_bytes)
    rows.emplace_back("disks", Cat(BytesInWords(total.read_bytes), " read, ",
                                   BytesInWords(total.written_bytes), " written"));
  if (total.measured < total.steps)
    rows.emplace_back("", Cat("known of ", total.measured, " of ", total.steps,
                              " steps on nodes: the others have not ended there"));
  return rows;
}

}  // namespace goodput
