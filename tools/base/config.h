// goodput.conf: what goodputd and sgoodput share. `key = value` lines, `#` comments.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tools/base/gpu_peaks.h"

namespace goodput {

inline constexpr std::string_view kDefaultConfigPath = "/etc/slurm-goodput/goodput.conf";

// Whether the cloud is asked what will become of this host: kAuto where there is a metadata server.
enum class HostNotices : std::uint8_t { kAuto, kOn, kOff };
std::string_view HostNoticesName(HostNotices when);

struct Config {
  std::string spool = "/var/spool/slurm-goodput";
  std::string database = "/var/lib/slurm-goodput/goodput.db";
  std::string cluster;              // of records that do not name one; empty: Slurm's
  std::string socket = "@goodput";  // of marks; "@name" is abstract, else a path
  std::string socket_path;          // a second one, for other network namespaces; empty: none
  bool node_role = true;            // take marks
  bool controller_role = true;      // watch the queue, ingest
  // The holder of the database whose sign has not changed for so long is taken for dead.
  absl::Duration database_lease = absl::Seconds(30);
  absl::Duration backfill = absl::Hours(24 * 7);     // how far back slurmdbd is read at first
  absl::Duration queue_interval = absl::Seconds(5);  // shortest time between two looks at the queue
  std::int64_t spool_max = 256LL << 20;
  std::string shared_spool;                          // where node folders are copied to; empty: nowhere
  std::string shared_spool_user;                     // who writes there; empty: root
  absl::Duration keep_spool = absl::Hours(24 * 30);  // files whose records are all ingested
  // Records of nodes, in the database; then a summary (sql/tables/record_blocks.h). Infinite: for ever.
  absl::Duration keep_events = absl::Hours(24 * 90);
  absl::Duration heartbeat = absl::Seconds(10);              // between two looks at which jobs live
  absl::Duration checkpoint_scan = absl::Seconds(30);        // shortest time between two looks at a directory
  std::string log_profiles = "/etc/slurm-goodput/profiles";  // the site's own
  bool signals = true;                                       // trace them
  HostNotices host_notices = HostNotices::kAuto;
  std::string listen = "127.0.0.1:9645";                       // questions by TCP; empty: none
  std::string query_socket = "/run/slurm-goodput/query.sock";  // and of every user here; empty: none
  std::string reader_user;     // who answers them; empty: the owner of the database's folder
  std::string url;             // whom sgoodput asks instead of a database; empty: nobody
  std::string database_copy;   // the folder of daily copies of the database; empty: none
  std::vector<GpuPeak> peaks;  // besides the published ones
  // What nccl-tests should reach between nodes with large messages, in GB/s; 0: nobody says.
  double busbw = 0;
};

// From "node", "controller" or both with a comma.
absl::Status SetRoles(std::string_view value, Config& config);

// An error names the line and how to mend it.
absl::StatusOr<Config> ParseConfig(std::string_view text, std::string_view file_name);

// Reads `path`; where `path` is empty the default file (or $GOODPUT_CONF), which may be missing.
absl::StatusOr<Config> LoadConfig(const std::string& path);

}  // namespace goodput
