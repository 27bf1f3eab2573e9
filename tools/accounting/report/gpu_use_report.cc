#include "tools/accounting/report/gpu_use_report.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_format.h"
#include "sql/text.h"
#include "tools/accounting/report/gpu_hours.h"
#include "tools/base/format.h"

namespace goodput {
namespace {

// A test run has no hours.
std::string GpuTimeInWords(GpuNs gpu_ns) {
  constexpr double kLeastHours = 0.1;
  const double hours = GpuHours(gpu_ns);
  if (hours < kLeastHours)
    return absl::StrFormat("%.0f GPU-s", static_cast<double>(gpu_ns) / static_cast<double>(kSecond));
  return Cat(FormatGpuHours(gpu_ns), " GPU-h");
}

using Rows = std::vector<std::pair<std::string, std::string>>;

// "91.2% of the time, 97.0% of productive time"
std::string InAllAndProductive(const std::optional<double>& all, const std::optional<double>& productive) {
  std::string text = Cat(FormatPercent(all), " of the time");
  if (productive) text += Cat(", ", FormatPercent(productive), " of productive time");
  return text;
}

void AddBusy(const GpuUse& use, Rows& rows) {
  const std::optional<double> all = BusyShare(use.total);
  if (!all) return;
  std::string text = InAllAndProductive(all, BusyShare(use.Of(Bucket::kProductive)));
  if (use.by_driver) text += " (as the driver says it at moments)";
  rows.emplace_back("busy", text);
}

void AddTensor(const Report& report, const GpuUse& use, Rows& rows) {
  const std::optional<double> all = TensorShare(use.total);
  if (!all) return;
  const std::optional<double> productive = TensorShare(use.Of(Bucket::kProductive));
  std::string text = InAllAndProductive(all, productive);
  if (productive && !report.account.goodput.program)
    text += " (a proxy for program goodput, which is not known)";
  rows.emplace_back("tensor", text);
}

void AddEnergy(const Report& report, const GpuUse& use, Rows& rows) {
  const std::optional<double> energy = EnergyJ(use.total);
  if (!energy) return;
  std::string text = FormatEnergy(*energy);
  if (const std::optional<double> step = EnergyOfKeptStepJ(report))
    text += Cat(", ", FormatEnergy(*step), " for a kept step");
  const std::optional<double> lost = EnergyJ(use.Of(Bucket::kLostWork));
  if (lost && *lost > 0) text += Cat("; ", FormatEnergy(*lost), " in work that was lost");
  rows.emplace_back("energy", text);
}

void AddMemory(const GpuUse& use, Rows& rows) {
  if (use.memory_mib <= 0) return;
  constexpr double kMibOfGib = 1024;
  const auto gib = [&](std::int64_t mib) { return static_cast<double>(mib) / kMibOfGib; };
  std::string text = absl::StrFormat("%.1f GiB", gib(use.memory_mib));
  if (use.memory_of_mib) text += absl::StrFormat(" of %.1f GiB", gib(*use.memory_of_mib));
  rows.emplace_back("memory", text + " on the GPU that used most");
}

// GPUs that were busy without progress: nothing but the record of steps tells.
void AddBusyInVain(const GpuUse& use, Rows& rows) {
  const auto say = [&](Bucket bucket, const char* what) {
    const GpuUseSum& sum = use.Of(bucket);
    const std::optional<double> share = BusyShare(sum);
    if (!share || sum.busy <= 0) return;
    rows.emplace_back("in vain", Cat(GpuTimeInWords(sum.busy), " (", FormatPercent(share),
                                     " of what was measured) while ", what));
  };
  say(Bucket::kLostWork, "work was lost");
  say(Bucket::kStall, "the program made no progress");
}

}  // namespace

std::string FormatEnergy(double joules) {
  constexpr double kKilo = 1e3;
  constexpr double kMega = 1e6;
  constexpr double kGiga = 1e9;
  constexpr double kWattHour = 3600;
  if (joules < kKilo) return absl::StrFormat("%.3g J", joules);
  if (joules < kMega) return absl::StrFormat("%.3g kJ", joules / kKilo);
  const double watt_hours = joules / kWattHour;
  if (watt_hours < kMega) return absl::StrFormat("%.3g kWh", watt_hours / kKilo);
  if (watt_hours < kGiga) return absl::StrFormat("%.4g MWh", watt_hours / kMega);
  return absl::StrFormat("%.6g GWh", watt_hours / kGiga);
}

double MeasuredShare(const Report& report) {
  GpuNs allocated = 0;
  for (const BucketTotal& total : report.account.buckets) {
    const Side side = BucketSide(total.bucket);
    const bool up = side != Side::kExcluded && side != Side::kScheduling;
    if (up && total.bucket != Bucket::kMissing) allocated += total.gpu_ns;
  }
  if (!report.account.gpu_use || allocated <= 0) return 0;
  GpuNs measured = 0;
  for (const Bucket bucket : AllBuckets()) {
    const Side side = BucketSide(bucket);
    if (side != Side::kExcluded && side != Side::kScheduling)
      measured += report.account.gpu_use->Of(bucket).measured;
  }
  return std::min(1.0, static_cast<double>(measured) / static_cast<double>(allocated));
}

std::optional<double> EnergyOfKeptStepJ(const Report& report) {
  if (!report.account.gpu_use || report.is_part) return std::nullopt;
  const BucketTotal& productive = report.account.buckets[static_cast<std::size_t>(Bucket::kProductive)];
  return EnergyOfKeptStepJ(*report.account.gpu_use, productive.gpu_ns, report.timeline.steps.kept);
}

std::vector<std::pair<std::string, std::string>> GpuUseInWords(const Report& report) {
  Rows rows;
  if (!report.account.gpu_use) return rows;
  const GpuUse& use = *report.account.gpu_use;
  AddBusy(use, rows);
  AddTensor(report, use, rows);
  AddEnergy(report, use, rows);
  AddMemory(use, rows);
  AddBusyInVain(use, rows);
  return rows;
}

}  // namespace goodput
