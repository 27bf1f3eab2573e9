#include <linux/perf_event.h>

#include <algorithm>
#include <cstring>

#include "tools/goodputd/signals/signal_trace.h"

namespace goodput {
namespace {

template <typename T>
T At(const unsigned char* bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes + offset, sizeof(value));
  return value;
}

// perf_event_open(2): layout of a sample with PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_RAW.
constexpr std::size_t kPidAt = sizeof(perf_event_header);
constexpr std::size_t kTimeAt = kPidAt + 8;
constexpr std::size_t kRawSizeAt = kTimeAt + 8;
constexpr std::size_t kRawAt = kRawSizeAt + 4;
// And of PERF_RECORD_LOST: id, then the number.
constexpr std::size_t kLostAt = sizeof(perf_event_header) + 8;

std::int64_t TimeOf(const unsigned char* record) {
  return static_cast<std::int64_t>(At<std::uint64_t>(record, kTimeAt));
}

}  // namespace

std::uint64_t PerfRing::Drain(const Tracepoints& tracepoints, std::vector<SignalSample>& signals,
                              std::vector<ExecSample>& execs) {
  const SignalTracepoint& tracepoint = tracepoints.signal;
  auto* control = static_cast<perf_event_mmap_page*>(page_);
  const auto* data = static_cast<const unsigned char*>(page_) + page_size_;
  const std::uint64_t head = __atomic_load_n(&control->data_head, __ATOMIC_ACQUIRE);
  std::uint64_t tail = control->data_tail;
  std::uint64_t lost = 0;
  const auto copy = [&](std::uint64_t from, std::size_t size) {
    record_.resize(size);
    const std::size_t at = static_cast<std::size_t>(from) & (data_size_ - 1);
    const std::size_t first = std::min(size, data_size_ - at);
    std::memcpy(record_.data(), data + at, first);
    std::memcpy(record_.data() + first, data, size - first);
  };
  while (tail < head) {
    copy(tail, sizeof(perf_event_header));
    const auto header = At<perf_event_header>(record_.data(), 0);
    if (header.size < sizeof(header) || header.size > head - tail) {
      tail = head;  // impossible: its contents must not be read, nor read again and again
      ++lost;
      break;
    }
    copy(tail, header.size);
    tail += header.size;
    if (header.type == PERF_RECORD_LOST && header.size >= kLostAt + 8) {
      lost += At<std::uint64_t>(record_.data(), kLostAt);
      continue;
    }
    if (header.type != PERF_RECORD_SAMPLE) continue;
    // Every tracepoint's sample begins with its id.
    if (tracepoints.exec_id != 0 && header.size >= kRawAt + sizeof(std::uint16_t) &&
        At<std::uint16_t>(record_.data(), kRawAt) == tracepoints.exec_id) {
      execs.push_back({TimeOf(record_.data()), At<std::int32_t>(record_.data(), kPidAt)});
      continue;
    }
    if (header.size < kRawAt || header.size < kRawAt + tracepoint.size ||
        At<std::uint32_t>(record_.data(), kRawSizeAt) < tracepoint.size) {
      ++lost;
      continue;
    }
    const unsigned char* raw = record_.data() + kRawAt;
    SignalSample sample;
    sample.sender = At<std::int32_t>(record_.data(), kPidAt);
    sample.mono_ns = TimeOf(record_.data());
    sample.target_thread = At<std::int32_t>(raw, tracepoint.pid);
    sample.signo = At<std::int32_t>(raw, tracepoint.sig);
    sample.code = At<std::int32_t>(raw, tracepoint.code);
    sample.result = At<std::int32_t>(raw, tracepoint.result);
    const char* comm = reinterpret_cast<const char*>(raw) + tracepoint.comm;
    sample.comm.assign(comm, strnlen(comm, SignalTracepoint::kCommBytes));
    signals.push_back(std::move(sample));
  }
  __atomic_store_n(&control->data_tail, tail, __ATOMIC_RELEASE);
  return lost;
}

}  // namespace goodput
