// NVIDIA's management library, which the driver brings, as far as it tells how busy GPUs are.
//
// It is loaded when it is needed, so that this program can be built and installed where there is none. Types
// and numbers are those of nvml.h of the driver's release 580, whose functions keep their form; those that a
// driver does not have are not called.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace goodput {

// What one GPU tells; absent: it does not, or the driver cannot.
struct NvmlGpu {
  std::string uuid;
  unsigned index = 0;                      // the library's, in the order of PCI addresses
  bool partitioned = false;                // into MIG instances
  std::optional<double> engine;            // share of the measured time in which a kernel ran, 0..1
  std::optional<double> tensor;            // of the SMs' time in which a tensor core was active, 0..1
  std::optional<unsigned> util_percent;    // of the driver's last second at most in which a kernel ran
  std::optional<std::uint64_t> energy_mj;  // since the driver was loaded
  std::optional<std::uint64_t> memory_used_mib;
  std::optional<std::uint64_t> memory_free_mib;
};

struct NvmlFunctions;

class Nvml {
 public:
  // Null: it cannot be loaded, or does not start; then `problem` says why, in a line.
  static std::unique_ptr<Nvml> Load(std::string& problem);
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  // All GPUs that answer; `problem`: of one that does not. Takes `measure_ms` if any measures its engines
  // (Hopper and later), for all of them at once; at least 100, since the hardware counts in such steps.
  std::vector<NvmlGpu> Read(int measure_ms, std::string& problem) const;

 private:
  Nvml(void* library, std::unique_ptr<NvmlFunctions> functions);

  void* library_;
  std::unique_ptr<NvmlFunctions> functions_;
};

}  // namespace goodput
