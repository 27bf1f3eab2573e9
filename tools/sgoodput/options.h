// The values of a command line: main.cc fills these in, and each subcommand is a function of one of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace goodput {

// Exit statuses.
inline constexpr int kAnswered = 0;
inline constexpr int kNothingMatched = 1;
inline constexpr int kBadUsage = 2;

struct CommonOptions {
  std::string config;  // --config FILE
  std::string db;      // --db FILE, or goodput.conf's
  std::string url;     // --url URL, or goodput.conf's: goodputd to query instead
  bool no_refresh = false;
  bool json = false;
  std::string color = "auto";
};

// Selects runs. The flags mean the same as in sacct.
struct SelectionOptions {
  std::vector<std::string> jobs;  // -j
  std::vector<std::string> users;
  std::vector<std::string> accounts;
  std::vector<std::string> partitions;
  std::vector<std::string> states;
  std::vector<std::string> nodes;
  std::vector<std::string> clusters;
  std::vector<std::string> names;    // --name: job names
  std::vector<std::string> exclude;  // --exclude: time windows
  bool allocations = false;          // -X: accepted for compatibility with sacct
  bool all_users = false;
  bool all_clusters = false;
  std::string start;
  std::string end;
  bool truncate = false;  // -T
};

struct ListOptions {
  CommonOptions common;
  SelectionOptions select;
  std::vector<std::string> format;
  bool parsable = false;   // -p: a delimiter also at the end of the line
  bool parsable2 = false;  // -P
  bool csv = false;
  bool brief = false;       // -b
  bool all_fields = false;  // -l
  std::string sort;         // fields; a leading - puts the largest first
  bool no_header = false;
  bool help_format = false;
  std::int64_t limit = 0;  // runs; 0: all
  std::string after;       // where the previous page ended
  bool reverse = false;
  double stall_factor = 5;
};

struct NowOptions {
  CommonOptions common;
  SelectionOptions select;
  double interval_s = 0;  // 0: once
  double stall_factor = 5;
  bool all = false;
  bool wrong = false;  // only runs that waste GPUs or save too rarely
  bool csv = false;
};

struct BackfillOptions {
  CommonOptions common;
  std::string start;
  std::string end;
};

// Sums over runs.
struct RollupOptions {
  CommonOptions common;
  SelectionOptions select;
  bool fleet = false;           // --fleet: all GPUs of the cluster
  bool suspects = false;        // --suspects: only nodes that fail more often than by chance
  std::string by;               // empty: user, or all with windows
  std::string window;           // --window DURATION: one row per window
  std::optional<double> price;  // of a GPU-hour
  double stall_factor = 5;
  bool parsable2 = false;
  bool csv = false;
  std::string sort;  // columns; a leading - puts the largest first
  bool no_header = false;
};

struct StatementOptions {
  CommonOptions common;
  SelectionOptions select;
  std::string month;  // "2026-10"; empty: the last one
  std::string by = "account";
  std::string as;  // a consumption model; empty: the prices are those of how machines were obtained
  double stall_factor = 5;
  bool csv = false;
  bool html = false;
};

struct McpOptions {
  CommonOptions common;
};

struct MetricsOptions {
  CommonOptions common;
  // Instead of printing: write to projects/PROJECT in Cloud Monitoring. Only with it: the others.
  std::string cloud_monitoring;
  std::string location;  // zone; empty: of this machine
  SelectionOptions select;
};

// One run: a job, or all jobs with the same --goodput-run.
struct TargetOptions {
  std::string job;
  std::string run;
  std::string cluster;    // -M, if several clusters have it
  std::string submitted;  // --submitted TIME, if the id was reused: the job that had it then
  std::string user = {};  // -u, with --run: owner, if several users have a run of that name
  bool chain = false;     // --chain: include jobs that seem to belong to the same run
  bool tasks = false;     // for an array: all tasks
};

// Limits as they were written; empty: not given.
struct CheckOptions {
  CommonOptions common;
  TargetOptions target;
  std::string window;
  std::string scheduling;
  std::string runtime;
  std::string goodput;
  std::string mpg;
  std::string no_progress;
  std::string idle;
  std::string at_risk;
  double stall_factor = 5;
};

struct ShowOptions {
  CommonOptions common;
  TargetOptions target;
  std::string explain;               // a bucket
  std::vector<std::string> exclude;  // time windows to exclude
  std::string html;                  // write the page of this run to this file; "-" is stdout
  double stall_factor = 5;
  bool sensitivity = false;
  bool all = false;       // --all: print every section
  bool timeline = false;  // with --json: include the intervals
};

struct AttemptsOptions {
  CommonOptions common;
  TargetOptions target;
  double stall_factor = 5;
  bool parsable2 = false;
  bool no_header = false;
};

struct WatchOptions {
  CommonOptions common;
  TargetOptions target;
  double interval_s = 5;
  double stall_factor = 5;
  bool once = false;
};

// Numbers and durations as they were written; empty: not given.
struct AdviseOptions {
  CommonOptions common;
  TargetOptions target;  // neither JOB nor --run: uses only given values, and opens no database
  std::string mttf;
  std::string nodes;
  std::string failures_per_node_day;
  std::string save;
  std::string restart;
  std::string interval;
  std::string gpus;
  std::string gpu_hour;
};

struct IngestOptionsCli {
  CommonOptions common;
  std::string spool;  // or goodput.conf's
};

struct ImportOptions {
  CommonOptions common;
  std::vector<std::string> files;  // "-" is stdin; several only of format otel
  std::string format = "auto";     // google-goodput, otel, sacct
  std::string log_profile;         // the file is a framework's output, read with this profile
  std::string job;                 // -j: add the log to this job
  std::string run;                 // or to this run's jobs; otherwise it becomes a run of that name
  std::string user;                // -u: owner of the run
  std::string cluster;             // -M
  std::string submitted;
  std::string start;  // for a log without times
  // Instead of files: a log in Cloud Logging.
  std::string cloud_log;  // projects/PROJECT/logs/LOG
  std::string job_name;   // only entries of this job
  std::string from;       // -S, -E
  std::string to;
  std::string keep;  // the entries stay in this file
};

// Two runs, each a job id or a run name.
struct DiffOptions {
  CommonOptions common;
  std::string a;
  std::string b;
  std::string cluster;
  double stall_factor = 5;
};

struct ProfileOptions {
  enum class What { kList, kShow, kTest, kLearn };
  What what = What::kList;
  std::string config;
  std::string profile;  // a name or a file
  std::string log;
  std::vector<std::string> logs;  // to learn from
  bool quiet = false;             // print only the sums
};

struct ExportOptions {
  CommonOptions common;
  TargetOptions target;
  std::string format = "google-goodput";  // see ExportFormats
  std::string output;                     // empty: stdout
  std::string grain;                      // --grain: rows of all runs instead of one run
  std::string start;                      // with --grain: months
  std::string end;
  std::string cloud_log;  // instead of a file: projects/PROJECT/logs/LOG in Cloud Logging
  int retention_days = 0;
  std::string bigquery;  // with --grain: projects/PROJECT/datasets/DATASET
};

struct SqlOptions {
  CommonOptions common;
  std::string query;
  bool csv = false;
  std::string timeout = "5m";
};

struct DoctorOptions {
  CommonOptions common;
  std::string cloud_log;         // check only access to this log
  std::string cloud_monitoring;  // check only access to this project
};

struct CloudOptions {
  CommonOptions common;
  bool once = false;
};

struct EventsOptions {
  CommonOptions common;
  bool once = false;
};

int RunList(const ListOptions& options);
// Until it is killed, unless `once`. Statuses: kNothingMatched if a service refused something.
int RunCloudSync(const CloudOptions& options);
int RunCloudStatus(const CloudOptions& options);
// Until it is killed, unless `once`. Statuses: kNothingMatched if an event was not taken.
int RunEventsWatch(const EventsOptions& options);
int RunEventsStatus(const EventsOptions& options);
int RunEventsTest(const EventsOptions& options);
int RunRollup(const RollupOptions& options);
int RunNowCommand(const NowOptions& options);
// Exit statuses of Nagios' plugins: 0, 2 and 3.
int RunCheck(const CheckOptions& options);
int RunShow(const ShowOptions& options);
int RunStatement(const StatementOptions& options);
int RunMcp(const McpOptions& options);
int RunMetricsCommand(const MetricsOptions& options);
int RunWatch(const WatchOptions& options);
int RunAttempts(const AttemptsOptions& options);
int RunAdvise(const AdviseOptions& options);
int RunIngest(const IngestOptionsCli& options);
int RunImport(const ImportOptions& options);
int RunExport(const ExportOptions& options);
int RunSql(const SqlOptions& options);
int RunDiff(const DiffOptions& options);
int RunProfile(const ProfileOptions& options);
int RunDoctor(const DoctorOptions& options);
int RunBackfill(const BackfillOptions& options);
// `sgoodput mark ...`: has its own parser, because it runs once per training step and must take less than 5
// ms.
int RunMark(int argc, char** argv);
int RunOtlp(int argc, char** argv);

}  // namespace goodput
