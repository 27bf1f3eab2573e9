// What a command line asks for, as plain values: main.cc fills these in, each subcommand is a function of
// one.
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
  std::string db;      // --db FILE, else goodput.conf's
  std::string url;     // --url URL, else goodput.conf's: whom to ask instead
  bool no_refresh = false;
  bool json = false;
  std::string color = "auto";
};

// Which runs. The flags mean what they mean in sacct.
struct SelectionOptions {
  std::vector<std::string> jobs;  // -j
  std::vector<std::string> users;
  std::vector<std::string> accounts;
  std::vector<std::string> partitions;
  std::vector<std::string> states;
  std::vector<std::string> nodes;
  std::vector<std::string> clusters;
  std::vector<std::string> names;    // --name: of jobs
  std::vector<std::string> exclude;  // --exclude: windows of time
  bool allocations = false;          // -X, as sacct has it: what a run is counted by already
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
  bool parsable = false;   // -p: a delimiter at the end of the line too
  bool parsable2 = false;  // -P
  bool csv = false;
  bool brief = false;       // -b
  bool all_fields = false;  // -l
  std::string sort;         // fields, each with - in front for the largest first
  bool no_header = false;
  bool help_format = false;
  std::int64_t limit = 0;  // runs; 0: all
  std::string after;       // where the page before ended
  bool reverse = false;
  double stall_factor = 5;
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
  bool fleet = false;           // of all GPUs of the cluster instead
  std::string by;               // empty: user, or all where there are windows
  std::string window;           // --window DURATION: a row a window
  std::optional<double> price;  // of a GPU-hour
  double stall_factor = 5;
  bool parsable2 = false;
  bool csv = false;
  std::string sort;  // columns, each with - in front for the largest first
  bool no_header = false;
};

struct MetricsOptions {
  CommonOptions common;
};

// One run: a job, or all jobs that were given the same --goodput-run.
struct TargetOptions {
  std::string job;
  std::string run;
  std::string cluster;    // -M, where several clusters have it
  std::string submitted;  // --submitted TIME, where the id was used again: the job that had it then
  std::string user = {};  // -u, with --run: whose, where several users have a run of that name
  bool chain = false;     // --chain: with the jobs that JOB seems to be one run with
  bool tasks = false;     // of an array all tasks
};

struct ShowOptions {
  CommonOptions common;
  TargetOptions target;
  std::string explain;               // a bucket
  std::vector<std::string> exclude;  // windows of time to leave out
  std::string html;                  // write the page with this run to this file; "-" is stdout
  double stall_factor = 5;
  bool sensitivity = false;
  bool all = false;       // also what says nothing new
  bool timeline = false;  // with --json: when it was in which bucket
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

// Numbers and lengths of time as they were written; empty: not given.
struct AdviseOptions {
  CommonOptions common;
  TargetOptions target;  // neither JOB nor --run: only what is given counts, and no database is opened
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
  std::string spool;  // else goodput.conf's
};

struct ImportOptions {
  CommonOptions common;
  std::string file;             // "-" is stdin
  std::string format = "auto";  // google-goodput, sacct
  std::string log_profile;      // it is what a framework printed, by this profile
  std::string job;              // -j: what the log says is of this job
  std::string run;              // or of this run's jobs, else it is a run of that name
  std::string user;             // -u: whose run it is
  std::string cluster;          // -M
  std::string submitted;
  std::string start;  // of a log none of whose lines has a time
};

// Two runs: a job id or a run's name each.
struct DiffOptions {
  CommonOptions common;
  std::string a;
  std::string b;
  std::string cluster;
  double stall_factor = 5;
};

struct ProfileOptions {
  enum class What { kList, kShow, kTest };
  What what = What::kList;
  std::string config;
  std::string profile;  // a name or a file
  std::string log;
  bool quiet = false;  // the sums only
};

struct ExportOptions {
  CommonOptions common;
  TargetOptions target;
  std::string format = "google-goodput";
  std::string output;  // empty: stdout
};

struct SqlOptions {
  CommonOptions common;
  std::string query;
  bool csv = false;
  std::string timeout = "5m";
};

struct DoctorOptions {
  CommonOptions common;
};

int RunList(const ListOptions& options);
int RunRollup(const RollupOptions& options);
int RunShow(const ShowOptions& options);
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
// `sgoodput mark ...`: its own parser, because it runs once a training step and must take less than 5 ms.
int RunMark(int argc, char** argv);

}  // namespace goodput
