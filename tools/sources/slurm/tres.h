// Counts GPUs in Slurm's resource strings.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace goodput {

struct GpuCount {
  std::int64_t gpus = 0;
  std::string type;  // empty if the string does not say
};

// cpu=8,mem=4G,gres/gpu=16,gres/gpu:h100=16
GpuCount GpusOfTres(std::string_view tres);

// gpu:h100:16 as in gres_total; gres:gpu:8 or gres/gpu:h100:8 as in --gres and --gpus-per-task.
GpuCount GpusOfGres(std::string_view gres);

}  // namespace goodput
