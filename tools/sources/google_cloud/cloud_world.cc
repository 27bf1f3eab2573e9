#include "tools/sources/google_cloud/cloud_world.h"

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "sql/text.h"

namespace goodput {
namespace {

absl::StatusOr<std::string> ReadFile(const std::string& path, std::size_t most) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::ErrnoToStatus(errno, path);
  std::string text(most + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > most) return absl::OutOfRangeError(Cat(path, ": longer than ", most, " bytes"));
  return text;
}

HttpAnswer SendAndWait(HttpClient& client, const HttpRequest& request) {
  client.Start(request);
  while (true) {
    std::vector<HttpAnswer> answers = client.Wait(-1, request.timeout);
    if (!answers.empty()) return std::move(answers.front());
  }
}

}  // namespace

CloudWorld RealWorld() {
  const auto client = std::make_shared<HttpClient>(Reach::kInternet);
  const auto generator = std::make_shared<std::mt19937_64>(std::random_device{}());
  CloudWorld world;
  world.send = [client](const HttpRequest& request) { return SendAndWait(*client, request); };
  world.now = [] { return absl::Now(); };
  world.sleep = [](absl::Duration time) { absl::SleepFor(time); };
  world.random = [generator] { return std::uniform_real_distribution<double>(0, 1)(*generator); };
  world.variable = [](const std::string& name) -> std::optional<std::string> {
    const char* const value = std::getenv(name.c_str());  // NOLINT(concurrency-mt-unsafe): one thread
    if (value == nullptr || *value == '\0') return std::nullopt;
    return value;
  };
  world.read_file = ReadFile;
  return world;
}

}  // namespace goodput
