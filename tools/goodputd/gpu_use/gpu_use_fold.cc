#include "tools/goodputd/gpu_use/gpu_use_fold.h"

#include <algorithm>
#include <cmath>

namespace goodput {
namespace {

constexpr double kTenThousand = 10'000;

// The GPUs of one job, before and now.
struct GpuPair {
  const GpuReading* before = nullptr;
  const GpuReading* now = nullptr;
};

// The mean in ten-thousandths; empty if one of them does not tell.
std::vector<std::int64_t> MeanOf(const std::vector<GpuPair>& gpus,
                                 std::optional<double> GpuReading::*const which) {
  double sum = 0;
  for (const GpuPair& gpu : gpus) {
    const std::optional<double>& share = gpu.now->*which;
    if (!share) return {};
    sum += *share;
  }
  return {std::llround(sum / static_cast<double>(gpus.size()) * kTenThousand)};
}

// The counter begins anew with the driver.
std::vector<std::int64_t> EnergyOf(const std::vector<GpuPair>& gpus) {
  std::int64_t sum = 0;
  for (const GpuPair& gpu : gpus) {
    if (!gpu.before->energy_mj || !gpu.now->energy_mj || *gpu.now->energy_mj < *gpu.before->energy_mj)
      return {};
    sum += *gpu.now->energy_mj - *gpu.before->energy_mj;
  }
  return {sum};
}

void SeeMemory(const GpuReading& gpu, GpuUseRecord& record) {
  if (!gpu.memory_used_mib || *gpu.memory_used_mib <= record.memory_mib.value_or(-1)) return;
  record.memory_mib = gpu.memory_used_mib;
  record.memory_of_mib.reset();
  if (gpu.memory_free_mib)
    record.memory_of_mib = *gpu.memory_used_mib + *gpu.memory_free_mib + gpu.memory_reserved_mib.value_or(0);
}

void Append(std::vector<std::int64_t>& into, const std::vector<std::int64_t>& from) {
  into.insert(into.end(), from.begin(), from.end());
}

// Whether `next` continues `open`: the same GPUs, and the same things measured.
bool Continues(const GpuUseRecord& open, const GpuUseRecord& next) {
  return open.end_ms == next.end_ms - next.ms.front() && open.gpus == next.gpus &&
         open.busy.empty() == next.busy.empty() && open.util.empty() == next.util.empty() &&
         open.tensor.empty() == next.tensor.empty() && open.mj.empty() == next.mj.empty();
}

void Extend(GpuUseRecord& open, const GpuUseRecord& next) {
  open.end_ms = next.end_ms;
  Append(open.ms, next.ms);
  Append(open.busy, next.busy);
  Append(open.util, next.util);
  Append(open.tensor, next.tensor);
  Append(open.mj, next.mj);
  if (next.memory_mib.value_or(-1) <= open.memory_mib.value_or(-1)) return;
  open.memory_mib = next.memory_mib;
  open.memory_of_mib = next.memory_of_mib;
}

const GpuReading* FindGpu(const ExporterReading& reading, const std::string& uuid, std::size_t& at) {
  for (at = 0; at < reading.gpus.size(); ++at) {
    if (reading.gpus[at].uuid == uuid) return &reading.gpus[at];
  }
  return nullptr;
}

}  // namespace

std::map<GpuUseFold::Key, GpuUseRecord> GpuUseFold::TimesBetween(const OwnedReading& before,
                                                                 const OwnedReading& now) const {
  std::map<Key, GpuUseRecord> times;
  const std::int64_t ms = now.at_ms - before.at_ms;
  if (ms <= 0 || absl::Milliseconds(ms) > 1.5 * interval_) return times;
  std::map<Key, std::vector<GpuPair>> gpus_of;
  for (std::size_t i = 0; i < now.reading.gpus.size(); ++i) {
    const std::shared_ptr<const NodeJob>& job = now.owners[i];
    std::size_t at = 0;
    const GpuReading* const gpu = FindGpu(before.reading, now.reading.gpus[i].uuid, at);
    if (job == nullptr || gpu == nullptr || before.owners[at] == nullptr) continue;
    const Key key{job->node, job->job, job->since_ns};
    const NodeJob& was = *before.owners[at];
    if (key != Key{was.node, was.job, was.since_ns}) continue;
    gpus_of[key].push_back({gpu, &now.reading.gpus[i]});
    times[key].job = job;
  }
  for (auto& [key, record] : times) {
    const std::vector<GpuPair>& gpus = gpus_of[key];
    record.end_ms = now.at_ms;
    record.gpus = static_cast<std::int64_t>(gpus.size());
    record.ms = {ms};
    record.busy = MeanOf(gpus, &GpuReading::engine);
    if (record.busy.empty()) record.util = MeanOf(gpus, &GpuReading::util);
    record.tensor = MeanOf(gpus, &GpuReading::tensor);
    record.mj = EnergyOf(gpus);
    for (const GpuPair& gpu : gpus) SeeMemory(*gpu.now, record);
  }
  return times;
}

std::vector<GpuUseRecord> GpuUseFold::Add(OwnedReading now) {
  std::vector<GpuUseRecord> done;
  std::map<Key, GpuUseRecord> times;
  if (last_) times = TimesBetween(*last_, now);
  last_ = std::move(now);
  for (auto at = open_.begin(); at != open_.end();) {
    const auto next = times.find(at->first);
    if (next != times.end() && Continues(at->second, next->second)) {
      Extend(at->second, next->second);
      times.erase(next);
    }
    const bool full = at->second.ms.size() >= kMostTimes;
    if (full || at->second.end_ms != last_->at_ms) {
      done.push_back(std::move(at->second));
      at = open_.erase(at);
    } else {
      ++at;
    }
  }
  for (auto& [key, record] : times) open_.insert_or_assign(key, std::move(record));
  return done;
}

std::vector<GpuUseRecord> GpuUseFold::Finish() {
  std::vector<GpuUseRecord> done;
  for (auto& [key, record] : open_) done.push_back(std::move(record));
  open_.clear();
  last_.reset();
  return done;
}

}  // namespace goodput
