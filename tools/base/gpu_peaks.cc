#include "tools/base/gpu_peaks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "sql/text.h"

namespace goodput {
namespace {

constexpr double kTera = 1e12;
constexpr double kMostTflops = 1e9;
constexpr std::array<std::string_view, 8> kPrecisions = {"bf16", "fp16", "fp8",  "fp4",
                                                         "tf32", "fp32", "fp64", "int8"};

bool IsDigits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// sxm, sxm4, sxm5 ...
bool IsSocket(std::string_view word) {
  return word.substr(0, 3) == "sxm" && (word.size() == 3 || IsDigits(word.substr(3)));
}

// 80gb, 80g; a single digit means a slice: 1g.10gb.
bool IsMemory(std::string_view word) {
  const std::size_t digits = word.find_first_not_of("0123456789");
  if (digits == std::string_view::npos || digits < 2 || digits > 3) return false;
  return word.substr(digits) == "gb" || word.substr(digits) == "g";
}

bool ChangesNoPeak(std::string_view word) {
  constexpr std::array<std::string_view, 12> kWords = {"nvidia", "tesla", "gpu",  "hgx",   "dgx",  "mega",
                                                       "high",   "ultra", "hbm2", "hbm2e", "hbm3", "hbm3e"};
  return IsSocket(word) || IsMemory(word) || std::find(kWords.begin(), kWords.end(), word) != kWords.end();
}

// In lower case; h100sxm5 is two words.
std::set<std::string> WordsOf(std::string_view gpu_type) {
  const std::string lower = absl::AsciiStrToLower(ToAbsl(gpu_type));
  std::set<std::string> words;
  for (const absl::string_view word : absl::StrSplit(lower, absl::ByAnyChar("-_. /"), absl::SkipEmpty())) {
    const std::string text(word);
    const std::size_t socket = text.find("sxm");
    const bool glued =
        socket != std::string::npos && socket > 0 && IsSocket(std::string_view(text).substr(socket));
    words.insert(glued ? text.substr(0, socket) : text);
  }
  return words;
}

bool Matches(const std::set<std::string>& type, const std::set<std::string>& entry) {
  if (entry.empty() || !std::includes(type.begin(), type.end(), entry.begin(), entry.end())) return false;
  return std::all_of(type.begin(), type.end(),
                     [&](const std::string& word) { return entry.count(word) != 0 || ChangesNoPeak(word); });
}

bool IsPrecision(std::string_view word) {
  return std::find(kPrecisions.begin(), kPrecisions.end(), word) != kPrecisions.end();
}

}  // namespace

// NVIDIA A100 80GB datasheet (both form factors): TF32 156, BF16 and FP16 312. NVIDIA H100 datasheet, SXM
// column, halved since it states sparsity: TF32 494.5, BF16 and FP16 989, FP8 twice that. NVIDIA H200
// datasheet, SXM: the same. NVIDIA HGX B200 datasheet, an eighth of the board's dense figures: BF16 and FP16
// 2,250, FP8 4,500.
const std::vector<GpuPeak>& PublishedPeaks() {
  static const std::vector<GpuPeak> peaks = {
      {"a100", "bf16", 312},      {"a100", "fp16", 312},      {"a100", "tf32", 156},
      {"a100-pcie", "bf16", 312}, {"a100-pcie", "fp16", 312}, {"a100-pcie", "tf32", 156},
      {"h100", "bf16", 989},      {"h100", "fp16", 989},      {"h100", "fp8", 1978},
      {"h100", "tf32", 494.5},    {"h200", "bf16", 989},      {"h200", "fp16", 989},
      {"h200", "fp8", 1978},      {"h200", "tf32", 494.5},    {"b200", "bf16", 2250},
      {"b200", "fp16", 2250},     {"b200", "fp8", 4500},
  };
  return peaks;
}

absl::StatusOr<GpuPeak> ParsePeak(std::string_view text) {
  const std::vector<std::string> words =
      absl::StrSplit(ToAbsl(text), absl::ByAnyChar(" \t"), absl::SkipEmpty());
  constexpr const char* kForm = "use GPU type, precision and dense TFLOP/s per GPU, such as h100 bf16 989";
  if (words.size() != 3) return absl::InvalidArgumentError(Cat("'", text, "' is not a peak; ", kForm));
  GpuPeak peak{absl::AsciiStrToLower(words[0]), absl::AsciiStrToLower(words[1]), 0};
  if (!IsPrecision(peak.precision)) {
    std::string known;
    for (const std::string_view precision : kPrecisions) known += Cat(known.empty() ? "" : ", ", precision);
    return absl::InvalidArgumentError(Cat("'", words[1], "' is not a precision; use one of ", known));
  }
  if (!absl::SimpleAtod(words[2], &peak.tflops) || !std::isfinite(peak.tflops) || peak.tflops <= 0 ||
      peak.tflops > kMostTflops) {
    return absl::InvalidArgumentError(Cat("'", words[2], "' is not a number of TFLOP/s; ", kForm));
  }
  if (WordsOf(peak.gpu_type).empty()) {
    return absl::InvalidArgumentError(Cat("'", words[0], "' is not a GPU type; ", kForm));
  }
  return peak;
}

absl::StatusOr<double> PeakFlops(const std::vector<GpuPeak>& more, std::string_view gpu_type,
                                 std::string_view precision) {
  const std::set<std::string> type = WordsOf(gpu_type);
  const GpuPeak* best = nullptr;
  std::size_t best_words = 0;
  bool type_known = false;
  for (const std::vector<GpuPeak>* table : {&PublishedPeaks(), &more}) {
    for (const GpuPeak& entry : *table) {
      const std::set<std::string> words = WordsOf(entry.gpu_type);
      if (!Matches(type, words)) continue;
      type_known = true;
      if (entry.precision != precision || words.size() < best_words) continue;
      best = &entry;
      best_words = words.size();
    }
  }
  if (best != nullptr) return best->tflops * kTera;
  constexpr const char* kMend = "; add `peak = TYPE PRECISION TFLOPS` to goodput.conf";
  return absl::NotFoundError(
      type_known ? Cat("the peak of GPUs of type ", gpu_type, " in ", precision, " is not known", kMend)
                 : Cat("the peak of GPUs of type ", gpu_type, " is not known", kMend));
}

}  // namespace goodput
