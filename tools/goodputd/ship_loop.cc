#include "tools/goodputd/ship_loop.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <optional>
#include <string>
#include <utility>

#include "spank/clock.h"
#include "sql/text.h"
#include "tools/base/helper_process.h"
#include "tools/goodputd/log.h"
#include "tools/goodputd/polling.h"
#include "tools/goodputd/problem_log.h"
#include "tools/goodputd/spool_tail.h"
#include "tools/sources/shared_spool/ship_helper.h"
#include "tools/sources/shared_spool/shipper.h"

namespace goodput {
namespace {

constexpr std::int64_t kLastNs = 5'000'000'000;

// A file of the spool that says why records are kept on this node, or is empty, so that doctor need not touch
// a folder that may hang.
class Word {
 public:
  explicit Word(std::string path) : path_(std::move(path)) {}
  void Say(const std::string& trouble) {
    if (said_ == trouble) return;
    std::ofstream out(path_ + ".new", std::ios::trunc);
    out << trouble << "\n";
    out.close();
    // The plugin creates the folder at the first job.
    if (out && std::rename((path_ + ".new").c_str(), path_.c_str()) == 0) said_ = trouble;
  }

 private:
  std::string path_;
  std::optional<std::string> said_;
};

}  // namespace

void RunShipLoop(const Config& config, int stop_fd) {
  Complaint trouble;
  Word word(Cat(config.spool, "/", kShippingName));
  Problems problems("shipping");
  AbandonedHelpers abandoned(kMostAbandoned);
  HelperProcess::Options helper;
  helper.name = kShipHelper;
  helper.arguments = {config.shared_spool};
  helper.abandoned = &abandoned;
  helper.hurry_fd = stop_fd;
  Shipper::Options options;
  options.spool_root = config.spool;
  options.keep_s = absl::ToInt64Seconds(config.keep_spool);
  options.most_bytes = config.spool_max / 2;
  options.owner = geteuid();
  options.boot_id = BootId();
  pollfd stop{stop_fd, POLLIN, 0};
  // The user's name may be in a directory service that is not available yet.
  while (!config.shared_spool_user.empty() && !helper.user) {
    const absl::StatusOr<HelperUser> user = FindHelperUser(config.shared_spool_user);
    const std::string why =
        user.ok() ? "" : Cat("shared_spool_user: ", Message(user.status()), "; records are kept on the node");
    trouble.Say(why);
    word.Say(why);
    if (user.ok()) helper.user = *user;
    if (!user.ok() && poll(&stop, 1, kLongestPauseMs) != 0) return;
  }
  HelperProcess process(helper);
  RemoteSharedFolder shared(process, config.shared_spool);
  Shipper shipper(options, shared);
  int pause_ms = kLookEveryMs;
  bool stopping = false;
  std::int64_t until_ns = 0;
  const auto stopped = [&] {
    if (!stopping && poll(&stop, 1, 0) != 0) {
      stopping = true;
      until_ns = kSystemClock.mono_ns() + kLastNs;
    }
    return stopping;
  };
  while (true) {
    const bool last = stopped();
    const ShipReport report = shipper.Pass([&] { return stopped() && kSystemClock.mono_ns() >= until_ns; });
    const std::string why = report.shared.ok() ? "" : Message(report.shared);
    trouble.Say(why);
    word.Say(why);
    problems.Say(report.problems);
    if (last && report.whole) return;
    if (stopping && kSystemClock.mono_ns() >= until_ns) {
      Log("stopped before all records were copied; the rest stay on this node");
      return;
    }
    pause_ms = report.shared.ok() ? kLookEveryMs : std::min(2 * pause_ms, kLongestPauseMs);
    if (stopping) {
      if (!report.whole) poll(nullptr, 0, 100);
    } else {
      poll(&stop, 1, pause_ms);
    }
  }
}

}  // namespace goodput
