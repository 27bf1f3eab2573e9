// goodput.conf, shared by goodputd and sgoodput: `key = value` lines, `#` comments.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tools/base/gpu_peaks.h"
#include "tools/base/gpu_prices.h"

namespace goodput {

inline constexpr std::string_view kDefaultConfigPath = "/etc/slurm-goodput/goodput.conf";

// Whether to ask the cloud about the future of this host; kAuto: if there is a metadata server.
enum class HostNotices : std::uint8_t { kAuto, kOn, kOff };
std::string_view HostNoticesName(HostNotices when);

// Where dcgm-exporter listens unless it is told otherwise, and where goodput-nvml.socket does.
inline constexpr std::string_view kDcgmUrl = "http://127.0.0.1:9400/metrics";
inline constexpr std::string_view kNvmlSocket = "unix:/run/slurm-goodput/nvml";

// What to collect about a job that makes no progress (tools/goodputd/hang/).
struct HangSources {
  bool proc = true;    // the state of its processes
  bool output = true;  // its last lines of output, if everyone may read them
  bool ras = false;    // ask NCCL
  bool py_spy = true;  // ask py-spy about jobs that want it
  bool any() const { return proc || output || ras || py_spy; }
};
std::string HangSourcesName(const HangSources& sources);  // "proc,output,py-spy"; "off"

struct Config {
  std::string spool = "/var/spool/slurm-goodput";
  std::string database = "/var/lib/slurm-goodput/goodput.db";
  std::string cluster;              // of records that do not name one; empty: Slurm's
  std::string socket = "@goodput";  // for marks; "@name" is abstract, otherwise a path
  std::string socket_path;          // a second one, for other network namespaces; empty: none
  bool node_role = true;            // record marks, signals, ...
  bool controller_role = true;      // watch the queue, ingest
  // A daemon whose lease has not been renewed for this long is considered dead.
  absl::Duration database_lease = absl::Seconds(30);
  absl::Duration backfill = absl::Hours(24 * 7);     // how far back slurmdbd is read at first
  absl::Duration queue_interval = absl::Seconds(5);  // shortest time between two looks at the queue
  std::int64_t spool_max = 256LL << 20;
  std::string shared_spool;                          // to which node folders are copied; empty: none
  std::string shared_spool_user;                     // user who writes there; empty: root
  absl::Duration keep_spool = absl::Hours(24 * 30);  // for files whose records are all ingested
  // Age at which a summary replaces the records of nodes in the database (sql/tables/record_blocks.h).
  // Infinite: never.
  absl::Duration keep_events = absl::Hours(24 * 90);
  absl::Duration heartbeat = absl::Seconds(10);              // between two looks at the live jobs
  absl::Duration checkpoint_scan = absl::Seconds(30);        // shortest time between two looks at a directory
  std::string log_profiles = "/etc/slurm-goodput/profiles";  // the site's own
  bool signals = true;                                       // trace them
  HostNotices host_notices = HostNotices::kAuto;
  std::string kernel_log = "/dev/kmsg";  // read for faulty hardware; empty: not read
  std::string gpu_use;  // URL of dcgm-exporter on this machine, or unix:PATH; empty: not asked
  absl::Duration gpu_use_interval = absl::Seconds(30);
  HangSources hang_evidence;
  std::string py_spy;  // the program; empty: one in /usr/local/bin or /usr/bin
  absl::Duration hang_evidence_after = absl::Minutes(5);       // without a sign of progress
  std::string listen = "127.0.0.1:9645";                       // for queries over TCP; empty: none
  std::string query_socket = "/run/slurm-goodput/query.sock";  // for queries of local users; empty: none
  std::string reader_user;   // user who answers queries; empty: the owner of the database folder
  std::string listen_names;  // by which clients call the controller, besides its host name; comma-separated
  std::string url;           // goodputd to query instead of a database; empty: none
  std::string fleet;         // URL of the fleet database to which the runs are sent; empty: none
  std::string cluster_url;   // at which others reach this goodputd, for those who ask the fleet; empty: none
  std::string otlp;          // OTLP endpoint to which telemetry is sent: http(s)://HOST:PORT; empty: none
  std::string otlp_headers_file;                // with its secrets; empty: none
  std::string otlp_protocol = "http/protobuf";  // or http/json
  bool otlp_metrics = true;
  bool otlp_traces = true;
  // Logs of Cloud Logging to import runs from, and one to export them to: projects/PROJECT/logs/LOG.
  std::vector<std::string> cloud_import;
  std::string cloud_export;    // empty: none
  std::string cloud_metrics;   // projects/PROJECT for Cloud Monitoring; empty: none
  std::string event_program;   // run for each event, see tools/accounting/live/events.h; empty: none
  std::string event_url;       // to which the events are posted: http(s)://...; empty: none
  std::string database_copy;   // folder for daily copies of the database; empty: none
  std::vector<GpuPeak> peaks;  // in addition to the published ones
  std::vector<GpuPrice> prices;
  std::string currency;  // of the prices, as it is printed; empty: none
  // Expected bus bandwidth of nccl-tests between nodes with large messages, in GB/s; 0: not set.
  double busbw = 0;
};

// `value`: "node", "controller", or both separated by a comma.
absl::Status SetRoles(std::string_view value, Config& config);

// An error names the line and how to fix it.
absl::StatusOr<Config> ParseConfig(std::string_view text, std::string_view file_name);

// Reads `path`. If it is empty, reads the default file (or $GOODPUT_CONF); the default may be missing.
absl::StatusOr<Config> LoadConfig(const std::string& path);

}  // namespace goodput
