#include "tools/accounting/flops/step_flops.h"

#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "sql/text.h"

namespace goodput {

double FlopsOfStep(const ModelShape& model) {
  return model.tokens_per_step * (6 * model.params + 12 * model.layers * model.hidden * model.seq);
}

absl::StatusOr<ModelShape> ParseModel(std::string_view text) {
  ModelShape model;
  const std::array<std::pair<std::string_view, double*>, 5> keys = {
      {{"params", &model.params},
       {"tokens-per-step", &model.tokens_per_step},
       {"layers", &model.layers},
       {"hidden", &model.hidden},
       {"seq", &model.seq}}};
  for (const absl::string_view part : absl::StrSplit(ToAbsl(text), ',')) {
    const std::pair<std::string, std::string> item = absl::StrSplit(part, absl::MaxSplits('=', 1));
    double* into = nullptr;
    for (const auto& [key, value] : keys) {
      if (item.first == key) into = value;
    }
    double value = 0;
    if (into == nullptr || *into != 0 || !absl::SimpleAtod(item.second, &value) || !std::isfinite(value) ||
        value <= 0)
      return absl::InvalidArgumentError(Cat("'", std::string(part), "' in the model is not valid"));
    *into = value;
  }
  const bool attention = model.layers > 0;
  if (model.params == 0 || model.tokens_per_step == 0 || attention != (model.hidden > 0) ||
      attention != (model.seq > 0)) {
    return absl::InvalidArgumentError(Cat("the model '", text, "' is incomplete"));
  }
  return model;
}

double Utilisation(double flops, double gpu_seconds, double peak_flops) {
  return flops / (gpu_seconds * peak_flops);
}

}  // namespace goodput
