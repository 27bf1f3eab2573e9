#include "tools/nvml/nvml.h"

#include <dlfcn.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <thread>
#include <utility>

namespace goodput {
namespace {

// As in nvml.h.
using Return = int;
constexpr Return kSuccess = 0;
using Device = struct NvmlDevice*;
using Sample = struct NvmlSample*;
struct Utilization {
  unsigned gpu;
  unsigned memory;
};
struct Memory {  // bytes
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};
struct Metric {
  unsigned id;
  Return result;
  double value;  // percent
  std::array<const char*, 3> names;
};
struct Metrics {
  unsigned version;
  unsigned count;
  Sample first;
  Sample second;
  std::array<Metric, 512> metrics;  // more than any nvml.h declares; `count` are used
};
struct Support {
  unsigned version;
  unsigned supported;
};
constexpr unsigned kVersion = 1;  // of Metrics and Support
constexpr unsigned kGraphicsUtil = 1;
constexpr unsigned kAnyTensorUtil = 5;
constexpr std::size_t kUuidSize = 96;
constexpr unsigned long long kMib = 1ULL << 20U;
constexpr unsigned kMostGpus = 256;

}  // namespace

struct NvmlFunctions {
  Return (*init)() = nullptr;
  Return (*shutdown)() = nullptr;
  const char* (*error)(Return) = nullptr;
  Return (*count)(unsigned*) = nullptr;
  Return (*device)(unsigned, Device*) = nullptr;
  Return (*uuid)(Device, char*, unsigned) = nullptr;
  // Null in drivers that do not have them.
  Return (*utilization)(Device, Utilization*) = nullptr;
  Return (*energy)(Device, unsigned long long*) = nullptr;
  Return (*memory)(Device, Memory*) = nullptr;
  Return (*mig)(Device, unsigned*, unsigned*) = nullptr;
  Return (*supports)(Device, Support*) = nullptr;
  Return (*allocate)(Sample*) = nullptr;
  Return (*free)(Sample) = nullptr;
  Return (*sample)(Device, Sample) = nullptr;
  Return (*metrics)(Metrics*) = nullptr;

  bool MeasuresEngines() const {
    return supports != nullptr && allocate != nullptr && free != nullptr && sample != nullptr &&
           metrics != nullptr;
  }
};

namespace {

template <typename F>
bool Find(void* library, const char* name, F*& function) {
  function = reinterpret_cast<F*>(dlsym(library, name));  // NOLINT: dlsym(3) returns functions so
  return function != nullptr;
}

// False: the library is too old.
bool FindAll(void* library, NvmlFunctions& f) {
  Find(library, "nvmlDeviceGetUtilizationRates", f.utilization);
  Find(library, "nvmlDeviceGetTotalEnergyConsumption", f.energy);
  Find(library, "nvmlDeviceGetMemoryInfo", f.memory);
  Find(library, "nvmlDeviceGetMigMode", f.mig);
  Find(library, "nvmlGpmQueryDeviceSupport", f.supports);
  Find(library, "nvmlGpmSampleAlloc", f.allocate);
  Find(library, "nvmlGpmSampleFree", f.free);
  Find(library, "nvmlGpmSampleGet", f.sample);
  Find(library, "nvmlGpmMetricsGet", f.metrics);
  return Find(library, "nvmlInit_v2", f.init) && Find(library, "nvmlShutdown", f.shutdown) &&
         Find(library, "nvmlErrorString", f.error) && Find(library, "nvmlDeviceGetCount_v2", f.count) &&
         Find(library, "nvmlDeviceGetHandleByIndex_v2", f.device) &&
         Find(library, "nvmlDeviceGetUUID", f.uuid);
}

// One GPU, and two samples of its engines if it measures them.
class OneGpu {
 public:
  OneGpu(const NvmlFunctions& functions, unsigned index) : f_(functions) { gpu_.index = index; }
  OneGpu(OneGpu&& other) noexcept
      : f_(other.f_),
        device_(other.device_),
        first_(std::exchange(other.first_, nullptr)),
        second_(std::exchange(other.second_, nullptr)),
        gpu_(std::move(other.gpu_)) {}
  ~OneGpu() {
    if (first_ != nullptr) f_.free(first_);
    if (second_ != nullptr) f_.free(second_);
  }

  Return Open() {
    std::array<char, kUuidSize> uuid{};
    Return result = f_.device(gpu_.index, &device_);
    if (result == kSuccess) result = f_.uuid(device_, uuid.data(), kUuidSize);
    gpu_.uuid = uuid.data();
    unsigned mode = 0;
    unsigned pending = 0;
    gpu_.partitioned = f_.mig != nullptr && f_.mig(device_, &mode, &pending) == kSuccess && mode != 0;
    return result;
  }

  // False: this GPU does not measure its engines.
  bool BeginMeasuring() {
    Support support{kVersion, 0};
    return !gpu_.partitioned && f_.MeasuresEngines() && f_.supports(device_, &support) == kSuccess &&
           support.supported != 0 && f_.allocate(&first_) == kSuccess && f_.allocate(&second_) == kSuccess &&
           f_.sample(device_, first_) == kSuccess;
  }

  void EndMeasuring() {
    if (second_ == nullptr || f_.sample(device_, second_) != kSuccess) return;
    auto metrics = std::make_unique<Metrics>();
    metrics->version = kVersion;
    metrics->count = 2;
    metrics->first = first_;
    metrics->second = second_;
    metrics->metrics[0].id = kGraphicsUtil;
    metrics->metrics[1].id = kAnyTensorUtil;
    if (f_.metrics(metrics.get()) != kSuccess) return;
    const auto share = [&](std::size_t i) {
      const Metric& metric = metrics->metrics[i];
      return metric.result == kSuccess ? std::optional<double>(metric.value / 100) : std::nullopt;
    };
    gpu_.engine = share(0);
    gpu_.tensor = share(1);
  }

  NvmlGpu Read() {
    Utilization utilization{};
    if (f_.utilization != nullptr && f_.utilization(device_, &utilization) == kSuccess)
      gpu_.util_percent = utilization.gpu;
    unsigned long long energy = 0;
    if (f_.energy != nullptr && f_.energy(device_, &energy) == kSuccess) gpu_.energy_mj = energy;
    Memory memory{};
    if (f_.memory != nullptr && f_.memory(device_, &memory) == kSuccess) {
      gpu_.memory_used_mib = memory.used / kMib;
      gpu_.memory_free_mib = memory.free / kMib;
    }
    return gpu_;
  }

 private:
  const NvmlFunctions& f_;
  Device device_ = nullptr;
  Sample first_ = nullptr;
  Sample second_ = nullptr;
  NvmlGpu gpu_;
};

}  // namespace

Nvml::Nvml(void* library, std::unique_ptr<NvmlFunctions> functions)
    : library_(library), functions_(std::move(functions)) {}

Nvml::~Nvml() {
  functions_->shutdown();
  dlclose(library_);
}

std::unique_ptr<Nvml> Nvml::Load(std::string& problem) {
  void* const library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    problem = std::string("NVIDIA's driver is not installed: ") + dlerror();
    return nullptr;
  }
  auto functions = std::make_unique<NvmlFunctions>();
  const bool all = FindAll(library, *functions);
  const Return started = all ? functions->init() : kSuccess;
  if (all && started == kSuccess) return std::unique_ptr<Nvml>(new Nvml(library, std::move(functions)));
  problem = all ? std::string("NVIDIA's driver does not answer: ") + functions->error(started)
                : "libnvidia-ml.so.1 is too old";
  dlclose(library);
  return nullptr;
}

std::vector<NvmlGpu> Nvml::Read(int measure_ms, std::string& problem) const {
  unsigned count = 0;
  if (const Return result = functions_->count(&count); result != kSuccess) {
    problem = std::string("the GPUs cannot be counted: ") + functions_->error(result);
    return {};
  }
  std::vector<OneGpu> gpus;
  bool measuring = false;
  for (unsigned index = 0; index < count && index < kMostGpus; ++index) {
    OneGpu gpu(*functions_, index);
    if (const Return result = gpu.Open(); result != kSuccess) {
      problem = "GPU " + std::to_string(index) + " does not answer: " + functions_->error(result);
      continue;
    }
    const bool begun = gpu.BeginMeasuring();
    measuring = measuring || begun;
    gpus.push_back(std::move(gpu));
  }
  if (measuring) std::this_thread::sleep_for(std::chrono::milliseconds(measure_ms));
  std::vector<NvmlGpu> read;
  for (OneGpu& gpu : gpus) {
    gpu.EndMeasuring();
    read.push_back(gpu.Read());
  }
  return read;
}

}  // namespace goodput
