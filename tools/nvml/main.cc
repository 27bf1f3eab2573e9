// goodput-nvml: prints how busy this machine's GPUs are, in the words of dcgm-exporter.
//
//   goodput-nvml [--http]
//
// With --http, it reads one request from standard input and writes one answer to standard output, as systemd
// wants it of a service with Accept=yes. It reads nothing else, and needs no rights but to open the GPUs'
// devices. Exit status: 0, or 1 if no GPU answers.
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "tools/nvml/nvml.h"

namespace goodput {
namespace {

constexpr int kMeasureMs = 1000;
constexpr int kRequestMs = 2000;
constexpr std::size_t kMostRequest = 8192;

// Waits for the end of a request's header, whatever it asks for.
void ReadRequest() {
  std::string request;
  std::array<char, 1024> piece{};
  pollfd in{STDIN_FILENO, POLLIN, 0};
  while (request.size() < kMostRequest && request.find("\r\n\r\n") == std::string::npos &&
         poll(&in, 1, kRequestMs) == 1) {
    const ssize_t got = read(STDIN_FILENO, piece.data(), piece.size());
    if (got <= 0) return;
    request.append(piece.data(), static_cast<std::size_t>(got));
  }
}

void AddLine(const char* metric, const NvmlGpu& gpu, const char* value, std::string& text) {
  std::array<char, 320> line{};
  std::snprintf(line.data(), line.size(), "%s{gpu=\"%u\",UUID=\"%s\"%s} %s\n", metric, gpu.index,
                gpu.uuid.c_str(), gpu.partitioned ? ",GPU_I_ID=\"\"" : "", value);
  text += line.data();
}

void AddGpu(const NvmlGpu& gpu, std::string& text) {
  std::array<char, 32> value{};
  const auto share = [&](const char* metric, const std::optional<double>& of) {
    if (!of) return;
    std::snprintf(value.data(), value.size(), "%.6f", *of);
    AddLine(metric, gpu, value.data(), text);
  };
  const auto whole = [&](const char* metric, const std::optional<std::uint64_t>& of) {
    if (!of) return;
    std::snprintf(value.data(), value.size(), "%" PRIu64, *of);
    AddLine(metric, gpu, value.data(), text);
  };
  share("DCGM_FI_PROF_GR_ENGINE_ACTIVE", gpu.engine);
  share("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", gpu.tensor);
  whole("DCGM_FI_DEV_GPU_UTIL", gpu.util_percent);
  whole("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", gpu.energy_mj);
  whole("DCGM_FI_DEV_FB_USED", gpu.memory_used_mib);
  whole("DCGM_FI_DEV_FB_FREE", gpu.memory_free_mib);
}

int Main(bool http) {
  if (http) ReadRequest();
  std::string problem;
  std::string text;
  const std::unique_ptr<Nvml> nvml = Nvml::Load(problem);
  if (nvml) {
    for (const NvmlGpu& gpu : nvml->Read(kMeasureMs, problem)) AddGpu(gpu, text);
  }
  const bool none = text.empty();
  if (none) text = (problem.empty() ? "there is no GPU" : problem) + "\n";
  if (!none && !problem.empty()) text = "# " + problem + "\n" + text;
  if (http)
    std::printf("HTTP/1.0 %s\r\nContent-Type: text/plain\r\nContent-Length: %zu\r\n\r\n",
                none ? "503 Service Unavailable" : "200 OK", text.size());
  std::fputs(text.c_str(), none && !http ? stderr : stdout);
  return std::fflush(stdout) == 0 && !none ? 0 : 1;
}

}  // namespace
}  // namespace goodput

int main(int argc, char** argv) {
  if (argc > 2 || (argc == 2 && std::strcmp(argv[1], "--http") != 0)) {
    std::fputs("usage: goodput-nvml [--http]\n", stderr);
    return 2;
  }
  return goodput::Main(argc == 2);
}
