#include "tools/goodputd/gpu_use/gpu_use_loop.h"

#include <poll.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "spank/clock.h"
#include "spank/event.h"
#include "sql/status_macros.h"
#include "sql/text.h"
#include "tools/base/format.h"
#include "tools/base/http_client.h"
#include "tools/goodputd/counts_file.h"
#include "tools/goodputd/gpu_use/exporter_text.h"
#include "tools/goodputd/gpu_use/gpu_owners.h"
#include "tools/goodputd/gpu_use/gpu_use_fold.h"
#include "tools/goodputd/job_record.h"
#include "tools/goodputd/log.h"

namespace goodput {
namespace {

constexpr std::int64_t kNsOfMs = 1'000'000;
constexpr int kExporterOk = 200;

HttpRequest RequestOf(const Config& config) {
  HttpRequest request;
  constexpr std::string_view kUnix = "unix:";
  if (config.gpu_use.compare(0, kUnix.size(), kUnix) == 0) {
    request.url = "http://localhost/metrics";
    request.unix_socket = config.gpu_use.substr(kUnix.size());
  } else {
    request.url = config.gpu_use;
  }
  request.connect_timeout = absl::Seconds(1);
  request.timeout = std::min(absl::Seconds(5), config.gpu_use_interval);
  request.max_bytes = std::size_t{4} << 20U;  // a GPU with all of DCGM's fields takes about 100 KiB
  return request;
}

class GpuUseLoop {
 public:
  GpuUseLoop(const NodeContext& node, std::string driver_gpus)
      : config_(node.config),
        jobs_(node.jobs),
        store_(node.spools.store()),
        stop_fd_(node.stop_fd),
        driver_gpus_(std::move(driver_gpus)),
        fold_(node.config.gpu_use_interval),
        counts_(node.config.spool + kGpuUseCountsFile) {
    counts_.Read(Counts());
    totals_.reading = totals_.gpus = totals_.unowned = 0;
  }

  void Run() {
    std::int64_t due_ns = kSystemClock.mono_ns();
    while (!Stopped(due_ns)) {
      // Without a job that has GPUs there is nothing to ask.
      if (!AnyGpus() || !Look()) StoreAll(fold_.Finish());
      counts_.Write(Counts());
      // Readings keep their distance, however long one takes.
      const std::int64_t interval = absl::ToInt64Nanoseconds(config_.gpu_use_interval);
      due_ns = std::max(due_ns + interval, kSystemClock.mono_ns());
    }
    StoreAll(fold_.Finish());
    counts_.Write(Counts());
  }

 private:
  // Waits until it is due; true: the daemon stops.
  bool Stopped(std::int64_t due_ns) const {
    pollfd stop{stop_fd_, POLLIN, 0};
    const std::int64_t wait = std::max<std::int64_t>(0, due_ns - kSystemClock.mono_ns());
    return poll(&stop, 1, static_cast<int>((wait + kNsOfMs - 1) / kNsOfMs)) != 0;
  }

  bool AnyGpus() {
    jobs_.Refresh();
    on_node_.clear();
    for (NodeJobs::NoticedJob& noticed : jobs_.NoticedJobs()) on_node_.push_back(std::move(noticed.job));
    return std::any_of(on_node_.begin(), on_node_.end(),
                       [](const std::shared_ptr<const NodeJob>& job) { return job->gpus.value_or(0) > 0; });
  }

  // False: nothing was read.
  bool Look() {
    const absl::StatusOr<ExporterReading> reading = Ask();
    if (IsStopping()) return true;
    totals_.reading = reading.ok() ? 1 : 0;
    trouble_.Say(reading.ok() ? ""
                              : Cat("the use of GPUs is not read from ", config_.gpu_use, ": ",
                                    Message(reading.status()), " (sgoodput doctor says what to do)"));
    if (!reading.ok()) {
      ++totals_.failed;
      return false;
    }
    SeeGpus(*reading);
    GpuUseFold::OwnedReading now;
    now.at_ms = kSystemClock.mono_ns() / kNsOfMs;
    now.owners = OwnersOf(*reading);
    totals_.unowned = CountUnowned(now.owners);
    now.reading = *reading;
    StoreAll(fold_.Add(std::move(now)));
    return true;
  }

  absl::StatusOr<ExporterReading> Ask() {
    http_.Start(RequestOf(config_));
    const std::vector<HttpAnswer> answers = http_.Wait(stop_fd_, absl::Seconds(10));
    if (answers.empty()) return absl::DeadlineExceededError("no answer");
    const HttpAnswer& answer = answers.front();
    RETURN_IF_ERROR(answer.status);
    if (answer.code != kExporterOk)
      return absl::UnavailableError(Cat("it answers with HTTP status ", answer.code, ": ",
                                        Printable(answer.body.substr(0, answer.body.find('\n')), 200)));
    absl::StatusOr<ExporterReading> reading = ParseExporterText(answer.body);
    if (reading.ok() && reading->gpus.empty())
      return absl::NotFoundError("its answer has no metric of a GPU that goodputd knows");
    return reading;
  }

  bool IsStopping() const {
    pollfd stop{stop_fd_, POLLIN, 0};
    return poll(&stop, 1, 0) != 0;
  }

  // Asks the driver for its numbers once for the GPUs that are there.
  void SeeGpus(const ExporterReading& reading) {
    std::vector<std::string> uuids;
    for (const GpuReading& gpu : reading.gpus) uuids.push_back(gpu.uuid);
    if (uuids == uuids_) return;
    uuids_ = std::move(uuids);
    numbers_agree_ = GpuNumbersAgree(driver_gpus_);
    totals_.gpus = uuids_.size();
  }

  std::vector<std::shared_ptr<const NodeJob>> OwnersOf(const ExporterReading& reading) const {
    std::vector<GpuClaim> claims;
    for (const std::shared_ptr<const NodeJob>& job : on_node_)
      claims.push_back({job->job, job->gpus, job->gpu_ids});
    std::vector<std::shared_ptr<const NodeJob>> owners;
    for (const int owner : OwnersOfGpus(reading, claims, numbers_agree_))
      owners.push_back(owner == kNobody ? nullptr : on_node_[static_cast<std::size_t>(owner)]);
    return owners;
  }

  // How many of the GPUs that jobs have are not known to be theirs.
  std::uint64_t CountUnowned(const std::vector<std::shared_ptr<const NodeJob>>& owners) const {
    std::int64_t wanted = 0;
    for (const std::shared_ptr<const NodeJob>& job : on_node_) wanted += job->gpus.value_or(0);
    const auto nobodys = std::count(owners.begin(), owners.end(), nullptr);
    const auto owned = static_cast<std::int64_t>(owners.size()) - nobodys;
    return static_cast<std::uint64_t>(std::max<std::int64_t>(0, wanted - owned));
  }

  void StoreAll(const std::vector<GpuUseRecord>& records) {
    for (const GpuUseRecord& record : records) Store(record);
  }

  void Store(const GpuUseRecord& use) {
    const NodeJob& job = *use.job;
    JobRecord record(kind::kGpuUse, job, StampAtMono(kSystemClock, job.node, use.end_ms * kNsOfMs));
    record.Int(key::kGpus, use.gpus);
    record.Ints(key::kMs, use.ms.data(), use.ms.size());
    const auto add = [&](std::string_view name, const std::vector<std::int64_t>& values) {
      if (!values.empty()) record.Ints(name, values.data(), values.size());
    };
    add(key::kBusy, use.busy);
    add(key::kUtil, use.util);
    add(key::kTensor, use.tensor);
    add(key::kMj, use.mj);
    if (use.memory_mib) record.Int(key::kMemMib, *use.memory_mib);
    if (use.memory_of_mib) record.Int(key::kMemOfMib, *use.memory_of_mib);
    ++(store_(job, record.Finish()) ? totals_.recorded : totals_.not_stored);
  }

  CountsFile::Names Counts() {
    return {{"reading", &totals_.reading},       {"gpus", &totals_.gpus},
            {"unowned", &totals_.unowned},       {"recorded", &totals_.recorded},
            {"not_stored", &totals_.not_stored}, {"failed", &totals_.failed}};
  }

  struct Totals {
    std::uint64_t reading = 0;     // 1: the last question was answered
    std::uint64_t gpus = 0;        // of the exporter
    std::uint64_t unowned = 0;     // GPUs of jobs of which it is not known which they are
    std::uint64_t recorded = 0;    // records
    std::uint64_t not_stored = 0;  // such records
    std::uint64_t failed = 0;      // questions
  };

  const Config& config_;
  NodeJobs& jobs_;
  StoreRecord store_;
  int stop_fd_;
  std::string driver_gpus_;
  HttpClient http_;
  GpuUseFold fold_;
  CountsFile counts_;
  Totals totals_;
  Complaint trouble_;
  std::vector<std::shared_ptr<const NodeJob>> on_node_;
  std::vector<std::string> uuids_;
  bool numbers_agree_ = false;
};

}  // namespace

void RunGpuUseLoop(const NodeContext& node, const std::string& driver_gpus) {
  if (node.config.gpu_use.empty()) return;
  GpuUseLoop(node, driver_gpus).Run();
}

void RunGpuUseLoop(const NodeContext& node) {
  RunGpuUseLoop(node, kDriverGpus);
}

}  // namespace goodput
