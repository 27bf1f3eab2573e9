// What a GPU-hour costs: a list by GPU type, by how the machines were obtained, and by date.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/civil_time.h"

namespace goodput {

struct GpuPrice {
  std::string type;         // as Slurm names the GPUs: h100-mega; * is any
  std::string consumption;  // reserved, reserved:NAME, calendar, spot, flex-start, on-demand; * is any
  absl::CivilDay from;      // local time; until a later line for the same
  double price = 0;         // of one GPU-hour
};

// "h100-mega reserved 2026-01-01 3.20". An error says what to write.
absl::StatusOr<GpuPrice> ParseGpuPrice(std::string_view text);

// Whether a price may name it: reserved, reserved:NAME, calendar, spot, flex-start or on-demand.
bool IsConsumption(std::string_view text);

// The price of a GPU on that day: of the lines that fit, the one that names the type, then the one that names
// the consumption more exactly, then the latest. Absent: no line fits.
std::optional<double> FindGpuPrice(const std::vector<GpuPrice>& prices, std::string_view type,
                                   std::string_view consumption, absl::CivilDay day);

}  // namespace goodput
