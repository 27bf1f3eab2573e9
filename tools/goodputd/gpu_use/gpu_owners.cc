#include "tools/goodputd/gpu_use/gpu_owners.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "sql/text.h"

namespace goodput {
namespace {

// The only claim of this job; kNobody: none, or several (two nodes of one host).
int ClaimOf(std::int64_t job, const std::vector<GpuClaim>& claims) {
  int found = kNobody;
  for (std::size_t i = 0; i < claims.size(); ++i) {
    if (claims[i].job != job) continue;
    if (found != kNobody) return kNobody;
    found = static_cast<int>(i);
  }
  return found;
}

// The only claim with GPUs, if it has all of them.
int ClaimOfAll(std::size_t gpus, const std::vector<GpuClaim>& claims) {
  int found = kNobody;
  for (std::size_t i = 0; i < claims.size(); ++i) {
    if (claims[i].gpus.value_or(0) == 0) continue;
    if (found != kNobody) return kNobody;
    found = static_cast<int>(i);
  }
  const bool all =
      found != kNobody && static_cast<std::size_t>(*claims[static_cast<std::size_t>(found)].gpus) == gpus;
  return all ? found : kNobody;
}

int ClaimByNumber(const std::optional<std::int64_t>& number, const std::vector<GpuClaim>& claims) {
  int found = kNobody;
  for (std::size_t i = 0; number && i < claims.size(); ++i) {
    const std::vector<std::int64_t> ids = ParseGpuIds(claims[i].gpu_ids);
    if (std::find(ids.begin(), ids.end(), *number) == ids.end()) continue;
    if (found != kNobody) return kNobody;
    found = static_cast<int>(i);
  }
  return found;
}

// "Device Minor: \t 3"
std::optional<std::int64_t> MinorIn(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  for (int i = 0; i < 64 && std::getline(in, line); ++i) {
    absl::string_view rest = line;
    if (!absl::ConsumePrefix(&rest, "Device Minor:")) continue;
    std::int64_t minor = 0;
    if (!absl::SimpleAtoi(absl::StripAsciiWhitespace(rest), &minor)) return std::nullopt;
    return minor;
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::int64_t> ParseGpuIds(std::string_view ids) {
  std::vector<std::int64_t> numbers;
  for (const absl::string_view word : absl::StrSplit(ToAbsl(ids), ',')) {
    const std::vector<absl::string_view> ends = absl::StrSplit(word, '-');
    std::int64_t first = 0;
    std::int64_t last = 0;
    if (ends.size() > 2 || !absl::SimpleAtoi(ends.front(), &first) || !absl::SimpleAtoi(ends.back(), &last) ||
        first < 0 || last < first || last - first >= static_cast<std::int64_t>(kMostGpus - numbers.size()))
      return {};
    for (std::int64_t number = first; number <= last; ++number) numbers.push_back(number);
  }
  return numbers;
}

std::vector<int> OwnersOfGpus(const ExporterReading& reading, const std::vector<GpuClaim>& claims,
                              bool numbers_agree) {
  const int whole = ClaimOfAll(reading.gpus.size(), claims);
  std::vector<int> owners;
  for (const GpuReading& gpu : reading.gpus) {
    int owner = kNobody;
    if (gpu.partitioned) {
      owner = kNobody;
    } else if (reading.maps_jobs) {
      if (gpu.jobs.size() == 1) owner = ClaimOf(gpu.jobs.front(), claims);
    } else if (whole != kNobody) {
      owner = whole;
    } else if (numbers_agree) {
      owner = ClaimByNumber(gpu.index, claims);
    }
    owners.push_back(owner);
  }
  return owners;
}

bool GpuNumbersAgree(const std::string& folder) {
  namespace fs = std::filesystem;
  std::vector<std::string> addresses;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    addresses.push_back(at->path().filename());
    if (addresses.size() > kMostGpus) return false;
  }
  if (error || addresses.empty()) return false;
  std::sort(addresses.begin(), addresses.end());
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    if (MinorIn(Cat(folder, "/", addresses[i], "/information")) != static_cast<std::int64_t>(i)) return false;
  }
  return true;
}

}  // namespace goodput
