#include "tools/base/gpu_prices.h"

#include <cmath>
#include <tuple>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "sql/text.h"

namespace goodput {
namespace {

constexpr double kMostPrice = 1e6;

// 0: it does not fit.
int FitOf(std::string_view line, std::string_view asked) {
  if (line == asked) return 3;
  // "reserved" fits every reservation.
  if (!line.empty() && asked.substr(0, line.size() + 1) == Cat(line, ":")) return 2;
  return line == "*" ? 1 : 0;
}

}  // namespace

absl::StatusOr<GpuPrice> ParseGpuPrice(std::string_view text) {
  const std::vector<std::string> words =
      absl::StrSplit(ToAbsl(text), absl::ByAnyChar(" \t"), absl::SkipEmpty());
  GpuPrice price;
  if (words.size() != 4)
    return absl::InvalidArgumentError(Cat(
        "'", text,
        "' is not a price: write TYPE CONSUMPTION FROM PRICE, such as h100-mega reserved 2026-01-01 3.20"));
  price.type = words[0];
  price.consumption = words[1];
  if (price.consumption != "*" && !IsConsumption(price.consumption))
    return absl::InvalidArgumentError(
        Cat("'", words[1], "' is not reserved, reserved:NAME, calendar, spot, flex-start, on-demand or *"));
  if (!absl::ParseCivilTime(words[2], &price.from))
    return absl::InvalidArgumentError(Cat("'", words[2], "' is not a day: 2026-01-31"));
  if (!absl::SimpleAtod(words[3], &price.price) || !std::isfinite(price.price) || price.price < 0 ||
      price.price > kMostPrice)
    return absl::InvalidArgumentError(Cat("'", words[3], "' is not the price of a GPU-hour: 3.20"));
  return price;
}

bool IsConsumption(std::string_view text) {
  const std::string_view kind = text.substr(0, text.find(':'));
  return kind == "reserved" || kind == "calendar" || kind == "spot" || kind == "flex-start" ||
         kind == "on-demand";
}

std::optional<double> FindGpuPrice(const std::vector<GpuPrice>& prices, std::string_view type,
                                   std::string_view consumption, absl::CivilDay day) {
  const GpuPrice* best = nullptr;
  std::tuple<int, int, absl::CivilDay> best_fit;
  for (const GpuPrice& price : prices) {
    const std::tuple fit(FitOf(price.type, type), FitOf(price.consumption, consumption), price.from);
    if (std::get<0>(fit) == 0 || std::get<1>(fit) == 0 || price.from > day) continue;
    if (best == nullptr || fit > best_fit) {
      best = &price;
      best_fit = fit;
    }
  }
  return best == nullptr ? std::nullopt : std::optional(best->price);
}

}  // namespace goodput
