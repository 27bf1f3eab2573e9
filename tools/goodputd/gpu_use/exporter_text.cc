#include "tools/goodputd/gpu_use/exporter_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "sql/status_macros.h"
#include "sql/text.h"

namespace goodput {
namespace {

enum class Metric : std::uint8_t { kEngine, kUtil, kTensor, kEnergy, kUsed, kFree, kReserved };

struct NamedMetric {
  std::string_view name;
  Metric metric;
};
constexpr std::array<NamedMetric, 7> kMetrics{{
    {"DCGM_FI_PROF_GR_ENGINE_ACTIVE", Metric::kEngine},
    {"DCGM_FI_DEV_GPU_UTIL", Metric::kUtil},
    {"DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", Metric::kTensor},
    {"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", Metric::kEnergy},
    {"DCGM_FI_DEV_FB_USED", Metric::kUsed},
    {"DCGM_FI_DEV_FB_FREE", Metric::kFree},
    {"DCGM_FI_DEV_FB_RESERVED", Metric::kReserved},
}};

constexpr std::size_t kMostLabels = 64;
constexpr std::size_t kMostUuid = 96;
constexpr std::size_t kMostJobsOfAGpu = 64;
// DCGM's numbers for "blank" are from 2^47 on for 32-bit fields' doubles and near 2^63 for 64-bit ones; a GPU
// of 1,000 W takes 2^47 mJ in four years.
constexpr double kLeastBlank = 140737488355328.0;

const NamedMetric* FindMetric(std::string_view name) {
  const auto* const found = std::find_if(kMetrics.begin(), kMetrics.end(),
                                         [&](const NamedMetric& one) { return one.name == name; });
  return found == kMetrics.end() ? nullptr : found;
}

struct Sample {
  std::map<std::string, std::string, std::less<>> labels;
  double value = 0;
};

std::string_view TrimmedLeft(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  return text;
}

// Reads a quoted value with its escapes (\\, \", \n) from the front of `rest`.
bool TakeQuoted(std::string_view& rest, std::string& value) {
  if (rest.empty() || rest.front() != '"') return false;
  for (std::size_t i = 1; i < rest.size(); ++i) {
    if (rest[i] == '"') {
      rest.remove_prefix(i + 1);
      return true;
    }
    if (rest[i] == '\\') {
      if (++i == rest.size()) return false;
      value.push_back(rest[i] == 'n' ? '\n' : rest[i]);
    } else {
      value.push_back(rest[i]);
    }
  }
  return false;
}

// `rest` begins after the brace, and ends after the other one.
bool TakeLabels(std::string_view& rest, Sample& sample) {
  while (true) {
    rest = TrimmedLeft(rest);
    if (!rest.empty() && rest.front() == '}') {
      rest.remove_prefix(1);
      return true;
    }
    const std::size_t equals = rest.find('=');
    if (equals == std::string_view::npos || sample.labels.size() >= kMostLabels) return false;
    const absl::string_view name = absl::StripAsciiWhitespace(ToAbsl(rest.substr(0, equals)));
    rest = TrimmedLeft(rest.substr(equals + 1));
    std::string value;
    if (!TakeQuoted(rest, value)) return false;
    sample.labels.insert_or_assign(std::string(name), std::move(value));
    rest = TrimmedLeft(rest);
    if (!rest.empty() && rest.front() == ',') rest.remove_prefix(1);
  }
}

// What follows the metric's name: labels, the value, perhaps a time.
bool ReadSample(std::string_view rest, Sample& sample) {
  rest = TrimmedLeft(rest);
  if (!rest.empty() && rest.front() == '{') {
    rest.remove_prefix(1);
    if (!TakeLabels(rest, sample)) return false;
  }
  rest = TrimmedLeft(rest);
  return absl::SimpleAtod(ToAbsl(rest.substr(0, rest.find_first_of(" \t"))), &sample.value);
}

std::optional<double> AsShare(double value, double whole) {
  if (!(value >= 0 && value <= whole)) return std::nullopt;
  return value / whole;
}

std::optional<std::int64_t> AsNumber(double value) {
  if (!(value >= 0 && value < kLeastBlank)) return std::nullopt;
  return static_cast<std::int64_t>(std::llround(value));
}

void SetMetric(Metric metric, double value, GpuReading& gpu) {
  constexpr double kPercent = 100;
  switch (metric) {
    case Metric::kEngine:
      gpu.engine = AsShare(value, 1);
      break;
    case Metric::kUtil:
      gpu.util = AsShare(value, kPercent);
      break;
    case Metric::kTensor:
      gpu.tensor = AsShare(value, 1);
      break;
    case Metric::kEnergy:
      gpu.energy_mj = AsNumber(value);
      break;
    case Metric::kUsed:
      gpu.memory_used_mib = AsNumber(value);
      break;
    case Metric::kFree:
      gpu.memory_free_mib = AsNumber(value);
      break;
    case Metric::kReserved:
      gpu.memory_reserved_mib = AsNumber(value);
      break;
  }
}

std::string LabelOf(const Sample& sample, std::string_view name) {
  const auto found = sample.labels.find(name);
  return found == sample.labels.end() ? std::string() : found->second;
}

class ExporterParser {
 public:
  absl::Status Take(std::string_view line) {
    const std::size_t end = line.find_first_of("{ \t");
    const NamedMetric* const metric = FindMetric(line.substr(0, end));
    if (metric == nullptr) return absl::OkStatus();
    Sample sample;
    if (end == std::string_view::npos || !ReadSample(line.substr(end), sample))
      return absl::InvalidArgumentError("not a sample of Prometheus' text format");
    ASSIGN_OR_RETURN(GpuReading* const gpu, GpuOf(sample));
    if (sample.labels.count("GPU_I_ID") != 0) {
      gpu->partitioned = true;
      return absl::OkStatus();
    }
    SetMetric(metric->metric, sample.value, *gpu);
    SeeJob(sample, *gpu);
    return absl::OkStatus();
  }

  ExporterReading Finish() && { return std::move(reading_); }

 private:
  absl::StatusOr<GpuReading*> GpuOf(const Sample& sample) {
    std::string uuid = LabelOf(sample, "UUID");
    if (uuid.empty()) uuid = LabelOf(sample, "uuid");  // of dcgm-exporter --use-old-namespace
    if (uuid.empty() || uuid.size() > kMostUuid)
      return absl::InvalidArgumentError("the GPU's UUID is not named");
    const auto [at, fresh] = number_of_.try_emplace(uuid, reading_.gpus.size());
    if (!fresh) return &reading_.gpus[at->second];
    if (reading_.gpus.size() >= kMostGpus) return absl::InvalidArgumentError("too many GPUs");
    GpuReading& gpu = reading_.gpus.emplace_back();
    gpu.uuid = uuid;
    std::int64_t index = 0;
    if (absl::SimpleAtoi(LabelOf(sample, "gpu"), &index) && index >= 0) gpu.index = index;
    return &gpu;
  }

  void SeeJob(const Sample& sample, GpuReading& gpu) {
    const auto label = sample.labels.find("hpc_job");
    if (label == sample.labels.end()) return;
    reading_.maps_jobs = true;
    std::int64_t job = 0;
    if (!absl::SimpleAtoi(label->second, &job) || job <= 0) job = 0;
    if (gpu.jobs.size() < kMostJobsOfAGpu &&
        std::find(gpu.jobs.begin(), gpu.jobs.end(), job) == gpu.jobs.end())
      gpu.jobs.push_back(job);
  }

  ExporterReading reading_;
  std::map<std::string, std::size_t> number_of_;  // by UUID
};

}  // namespace

absl::StatusOr<ExporterReading> ParseExporterText(std::string_view text) {
  ExporterParser parser;
  int number = 0;
  for (const absl::string_view line : absl::StrSplit(ToAbsl(text), '\n')) {
    ++number;
    if (line.empty() || line.front() == '#') continue;
    if (const absl::Status status = parser.Take({line.data(), line.size()}); !status.ok())
      return Annotate(status, Cat("line ", number));
  }
  return std::move(parser).Finish();
}

}  // namespace goodput
