#include "tools/goodputd/host/host_loop.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>
#include <utility>

#include "sql/text.h"
#include "tools/goodputd/host/notice_recorder.h"
#include "tools/goodputd/log.h"
#include "tools/goodputd/node_jobs.h"
#include "tools/goodputd/node_spools.h"

namespace goodput {
namespace {

constexpr const char* kHostVariable = "GCE_METADATA_HOST";
// An address, so that no name server can delay or falsify it.
constexpr const char* kDefaultHost = "169.254.169.254";
constexpr const char* kProductName = "/sys/class/dmi/id/product_name";
// New jobs get a record of a notice in force within this time.
constexpr absl::Duration kTick = absl::Seconds(1);
// And one of what the machine is within this.
constexpr absl::Duration kFactTick = absl::Seconds(10);
constexpr absl::Duration kIdle = absl::Minutes(1);

std::int64_t ToNs(absl::Duration time) {
  return absl::ToInt64Nanoseconds(time);
}

// The firmware says so before there is a network.
bool IsOnComputeEngine() {
  std::ifstream in(kProductName);
  std::string name;
  return std::getline(in, name) && name.rfind("Google", 0) == 0;
}

class HostLoop {
 public:
  HostLoop(const NodeContext& node, std::string host)
      : host_(std::move(host)),
        stop_fd_(node.stop_fd),
        on_cloud_(node.config.host_notices == HostNotices::kOn || IsOnComputeEngine()),
        watch_(host_, on_cloud_),
        jobs_(node.jobs),
        recorder_(node.spools.store()) {}

  void Run() {
    while (true) {
      for (const HostWatch::Due& due : watch_.TakeDue()) asked_[http_.Start(due.request)] = due.key;
      const bool facts = recorder_.HasMachineFact();
      const absl::Duration longest = recorder_.HasNotice() ? kTick : facts ? kFactTick : kIdle;
      bool news = false;
      for (const HttpAnswer& answer : http_.Wait(stop_fd_, watch_.UntilDue(longest))) {
        const HostKey key = asked_[answer.id];
        asked_.erase(answer.id);
        if (std::optional<NoticeKind> word = watch_.Take(key, answer)) {
          recorder_.Set(key, *std::move(word));
          news = true;
        }
        Report();
      }
      if (IsReadable(stop_fd_)) return;
      if (news || facts || recorder_.HasNotice()) {
        jobs_.Refresh();
        recorder_.Tell(jobs_);
      }
    }
  }

 private:
  static bool IsReadable(int fd) {
    pollfd polled{fd, POLLIN, 0};
    return poll(&polled, 1, 0) != 0;
  }

  void Report() {
    if (watch_.found() && !said_found_)
      Log(Cat("watching the metadata server at ", host_, " for notices about this host"));
    said_found_ = said_found_ || watch_.found();
    const std::string why = watch_.trouble();
    if (said_found_) {
      trouble_.Say(why.empty() ? "" : Cat("no notices about this host from ", host_, ": ", why));
    } else if ((on_cloud_ || host_ != kDefaultHost) && !said_none_ && !why.empty()) {
      Log(Cat("no metadata server at ", host_, " (", why, "): there are no notices about this host"));
      said_none_ = true;
    }
  }

  std::string host_;
  int stop_fd_;
  bool on_cloud_;  // according to the configuration or firmware; elsewhere a missing server is not logged
  HostWatch watch_;
  HttpClient http_;
  NodeJobs& jobs_;
  NoticeRecorder recorder_;
  std::map<int, HostKey> asked_;
  Complaint trouble_;
  bool said_found_ = false;
  bool said_none_ = false;
};

}  // namespace

HostWatch::HostWatch(const std::string& host, bool patient, Clock clock) : patient_(patient), clock_(clock) {
  for (const HostKey key : {HostKey::kMaintenance, HostKey::kPreempted, HostKey::kUpcomingMaintenance,
                            HostKey::kScheduling, HostKey::kZone})
    watched_.push_back({MetadataWatch(key, host), 0, false, ""});
}

std::vector<HostWatch::Due> HostWatch::TakeDue() {
  std::vector<Due> due;
  const std::int64_t now = clock_.mono_ns();
  for (Watched& watched : watched_) {
    // One probe is enough to know that there is no server.
    if (!found_ && &watched != &watched_.front()) break;
    if (watched.under_way || now < watched.due_ns) continue;
    watched.under_way = true;
    due.push_back({watched.watch.key(), watched.watch.NextRequest()});
  }
  return due;
}

std::optional<NoticeKind> HostWatch::Take(HostKey key, const HttpAnswer& answer) {
  const auto watched = std::find_if(watched_.begin(), watched_.end(),
                                    [&](const Watched& one) { return one.watch.key() == key; });
  MetadataWatch::Outcome outcome = watched->watch.Take(answer);
  found_ = found_ || outcome.of_server;
  watched->under_way = false;
  watched->trouble = std::move(outcome.trouble);
  watched->due_ns = clock_.mono_ns() + ToNs(found_ || patient_ ? outcome.wait : kLookAgain);
  return outcome.change;
}

absl::Duration HostWatch::UntilDue(absl::Duration longest) const {
  const std::int64_t now = clock_.mono_ns();
  absl::Duration until = longest;
  for (const Watched& watched : watched_) {
    if (!found_ && &watched != &watched_.front()) break;
    if (!watched.under_way) until = std::min(until, absl::Nanoseconds(watched.due_ns - now));
  }
  return std::max(until, absl::ZeroDuration());
}

std::string HostWatch::trouble() const {
  for (const Watched& watched : watched_) {
    if (!watched.trouble.empty()) return watched.trouble;
  }
  return "";
}

void RunHostLoop(const NodeContext& node) {
  if (node.config.host_notices == HostNotices::kOff) return;
  const char* named = std::getenv(kHostVariable);
  const std::string host = named == nullptr || *named == '\0' ? kDefaultHost : named;
  if (!IsMetadataHost(host)) {
    Log(Cat(kHostVariable, " is not a host name or address: notices about this host are disabled"));
    return;
  }
  HostLoop(node, host).Run();
}

}  // namespace goodput
