// sgoodput: argument parsing for all subcommands. CLI11 is only included here, since it is slow to compile.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config.h"
#include "tools/base/help_formatter.h"
#include "tools/base/installed_program.h"
#include "tools/sgoodput/fleet_program.h"
#include "tools/sgoodput/options.h"
#include "tools/sgoodput/program_call.h"
#include "tools/sgoodput/remote.h"
#include "tools/sources/import_export/export_formats.h"

namespace {

using goodput::CommonOptions;

void AddTarget(CLI::App& app, goodput::TargetOptions& target) {
  app.add_option("JOB", target.job, "job id: 12, 12_3, 12+1; or the name of a run");
  app.add_option("--run", target.run, "all jobs of the run NAME (--goodput-run)")->type_name("NAME");
  app.add_option("-M,--cluster", target.cluster, "select by cluster")->type_name("CLUSTER");
  app.add_option("-u,--user", target.user,
                 "with --run: the run of this user, if several users have a run of that name")
      ->type_name("USER");
  app.add_option("--submitted", target.submitted, "if the job id was reused: the job that had it at TIME")
      ->type_name("TIME");
}

void AddCommon(CLI::App& app, CommonOptions& options, bool json) {
  app.add_option("--config", options.config, "read FILE instead of /etc/slurm-goodput/goodput.conf")
      ->type_name("FILE");
  app.add_option("--db", options.db, "use the database FILE")->type_name("FILE");
  app.add_option("--url", options.url, "query goodputd at URL instead: http://HOST:PORT or unix:/PATH")
      ->type_name("URL");
  app.add_flag("--no-refresh", options.no_refresh, "read the database as it is, without updating it first");
  if (json) app.add_flag("--json", options.json, "print JSON (see sgoodput.schema.json)");
  app.add_option("--color", options.color, "auto, always or never")
      ->type_name("WHEN")
      ->check(CLI::IsMember({"auto", "always", "never"}));
}

// The long name of an option as it is written, or its short name if it has no long one.
std::string WrittenName(const CLI::Option& option) {
  return option.get_lnames().empty() ? "-" + option.get_snames().front() : "--" + option.get_lnames().front();
}

bool IsFlag(const CLI::Option& option) {
  return option.get_items_expected_max() == 0;
}

// The options of `app` with one of `option`'s names.
std::vector<CLI::Option*> SameNamed(CLI::App& app, const CLI::Option& option) {
  std::vector<CLI::Option*> found;
  const auto take = [&](const std::string& name) {
    CLI::Option* const same = app.get_option_no_throw(name);
    if (same != nullptr && std::find(found.begin(), found.end(), same) == found.end()) found.push_back(same);
  };
  for (const std::string& name : option.get_lnames()) take("--" + name);
  for (const std::string& name : option.get_snames()) take("-" + name);
  return found;
}

// An option before the subcommand means the same as after it; one that the subcommand does not have is
// refused.
void MoveOptionsTo(CLI::App& app, CLI::App& subcommand) {
  for (CLI::Option* option : app.get_options()) {
    if (option->count() == 0) continue;
    const std::vector<CLI::Option*> same = SameNamed(subcommand, *option);
    if (same.size() != 1 || IsFlag(*same.front()) != IsFlag(*option)) {
      throw CLI::ExtrasError(subcommand.get_name() +
                                 (same.empty() ? " has no option " : " has a different option ") +
                                 WrittenName(*option),
                             CLI::ExitCodes::ExtrasError);
    }
    for (const std::string& value : option->results()) same.front()->add_result(value);
    same.front()->run_callback();
  }
}

// Refuses arguments that no subcommand or option took.
void RefuseUnknownWord(const CLI::App& app) {
  for (const std::string& word : app.remaining()) {
    if (!word.empty() && word.front() != '-')
      throw CLI::ExtrasError("unknown subcommand '" + word + "'", CLI::ExitCodes::ExtrasError);
  }
}

// Refuses the first option, in the order of the command line, that the subcommand does not have.
void RefuseUnknownOption(const CLI::App& subcommand, const std::vector<std::string>& arguments) {
  const std::vector<std::string> unknown = subcommand.remaining();
  for (const std::string& word : arguments) {
    if (word.size() > 1 && word.front() == '-' &&
        std::find(unknown.begin(), unknown.end(), word) != unknown.end())
      throw CLI::ExtrasError(subcommand.get_name() + " has no option " + word, CLI::ExitCodes::ExtrasError);
  }
}

// The options given for a subcommand, for a query over --url.
goodput::RemoteQuestion QuestionOf(const std::string& subcommand, const CLI::App& app) {
  goodput::RemoteQuestion question;
  question.subcommand = subcommand;
  for (const CLI::Option* option : app.get_options()) {
    if (option->count() == 0) continue;
    const bool flag = IsFlag(*option);
    std::string name = option->get_lnames().empty() ? option->get_name(true) : option->get_lnames().front();
    for (char& letter : name) letter = CLI::detail::to_lower(std::string(1, letter)).front();
    for (const std::string& value : option->results())
      question.parameters.emplace_back(name, flag ? "1" : value);
  }
  return question;
}

void AddStallFactor(CLI::App& app, double& factor) {
  app.add_option("--stall-factor", factor, "a step this many times its usual length has stalled (5)")
      ->type_name("X")
      ->check(CLI::Range(1.0, 1e6));
}

// Only for --help: AsksFleetDatabase finds it first.
void AddFleetDatabase(CLI::App& app) {
  app.add_option("--fleet-db", "ask the fleet database of many clusters: postgresql://USER@HOST/DATABASE")
      ->type_name("URL");
}

constexpr const char* kAdviseExamples = R"(
Recommends how often to checkpoint and what else to change, from the run's own timeline and published
formulas. Without JOB and --run it uses only the values you give, and needs no database.

Goodput here is the share of time that becomes progress if failures are a Poisson process with the given MTTF
and each costs a restart plus the work since the last save. A restart lasts from the failure to the next
step, including the wait for resources. GPU-hours and money are per day.

Examples:
  sgoodput advise 1234
  sgoodput advise --run pretrain-7b --gpu-hour 2.10
  sgoodput advise 1234 --save 5s                suppose a save took 5 seconds
  sgoodput advise --nodes 2048 --failures-per-node-day 0.0065 --save 1m --restart 10m --interval 1h
  sgoodput advise --mttf 3h5m --save 1m --restart 10m --gpus 16384 --json)";

constexpr const char* kBackfillExamples = R"(
Reads slurmdbd one day at a time, latest first, and in smaller pieces if a day is too much. You can interrupt it;
the next run continues where it stopped. goodputd does this for the last week (`backfill` in goodput.conf).

Examples:
  sgoodput backfill -S now-90days
  sgoodput backfill -S 2024-01-01 -E 2025-01-01)";

constexpr const char* kImportExamples = R"(
Reads logs of Google's goodput library and Orbax (JSON lines, or the output of gcloud logging read
--format=json), spans of OpenTelemetry from Megatron-LM, NeMo and NVRx (console output, and archives of
OpenTelemetry's collector; also with gzip), the cycle_info files of NVRx, the output of sacct -P -D, and, with
--log-profile, the output of a training framework.
Importing a file again replaces what was imported from it if the file changed.

Examples:
  sgoodput import goodput.jsonl                 a run of its own, named as in the log
  sgoodput import --run pretrain-7b goodput.jsonl
  sgoodput import --run pretrain-7b -u ada goodput.jsonl
  sgoodput import -j 1234 goodput.jsonl         add the log to job 1234
  sgoodput import -j 1234 --log-profile=megatron slurm-1234.out
  sgoodput import --db my.db --run old train.log             into a database of your own, as any user
  sgoodput import -j 1234 --format=otel slurm-1234.out       spans among a program's other output
  sgoodput import --run pretrain-7b traces-*.jsonl.gz traces.jsonl     all files of a collector at once
  sgoodput import -j 1234 cycle_infos/cycle_info.1234.*      which nodes trained and which stood by, by NVRx
  gcloud logging read 'logName:goodput' --format=json | sgoodput import -
  sgoodput import --cloud-log=projects/ml/logs/goodput --job-name train -S now-30days
  sacct -a -P -D -X --delimiter=$(cat /proc/sys/kernel/random/uuid) -S 2026-01-01 -o Cluster,JobIDRaw,JobID,\
Submit,Eligible,Start,End,State,ExitCode,User,Account,Partition,QOS,NNodes,NodeList,AllocTRES,ReqTRES,Reason,\
JobName > jobs.txt; sgoodput import jobs.txt)";

constexpr const char* kDiffExamples = R"(
Examples:
  sgoodput diff 1234 1240                  whether a cached image or compile cache helped
  sgoodput diff pretrain-7b pretrain-7b-v2 --json)";

constexpr const char* kProfileExamples = R"(
A log profile describes how a framework prints its steps, saves and phases. Jobs select one with
--goodput-log-profile. Site profiles are files NAME.profile in the folder `log_profiles` of goodput.conf.

Examples:
  sgoodput profile list
  sgoodput profile test megatron slurm-1234.out
  sgoodput profile learn slurm-1234.out > ours.profile      for a program that no profile matches
  sgoodput profile show megatron > ours.profile; sgoodput profile test ./ours.profile slurm-1234.out

Exit status: 0 something found or learned, 1 nothing, 2 unknown or invalid profile.)";

constexpr const char* kExportExamples = R"(
Examples:
  sgoodput export 1234 > goodput.jsonl
  sgoodput export 1234 --format=trace -o trace.json       open it in ui.perfetto.dev
  sgoodput export 1234 --format=folded | sort -k2 -n     ... or give it to flamegraph.pl
  sgoodput export --run pretrain-7b -o goodput.jsonl
  sgoodput export --run pretrain-7b --cloud-log=projects/ml/logs/goodput
  TZ=UTC sgoodput export --grain=attempt-day --format=csv -S 2026-10-01 -o lake
  sgoodput export --grain=attempt-day --bigquery=projects/ml/datasets/goodput)";

constexpr const char* kShowExamples = R"(
Examples:
  sgoodput show 1234                        where the time of job 1234 went
  sgoodput show --run pretrain-7b           ... of a run, across all its jobs
  sgoodput show 1234 --explain lost_work    the intervals of a bucket, with their evidence
  sgoodput show 1234 --html run.html        the same as a web page)";

constexpr const char* kAttemptsExamples = R"(
Examples:
  sgoodput attempts 1234
  sgoodput attempts --run pretrain-7b -P    for a script)";

constexpr const char* kMetricsExamples = R"(
Examples:
  sgoodput metrics > /var/lib/node_exporter/slurm_goodput.prom
  sgoodput metrics --cloud-monitoring=projects/ml -a -S now-10minutes     each minute: for Google's dashboards)";

constexpr const char* kCloudExamples = R"(
Each minute, for cloud_import, cloud_export and cloud_metrics in goodput.conf: imports new entries of logs in Cloud
Logging, exports runs that ended, and writes a point of each running run to Cloud Monitoring. goodput-cloud.service
runs it on the controller.

Examples:
  sgoodput cloud sync --once     on the controller: what is new now
  sgoodput cloud status          when each of these last succeeded, and what is wrong

Exit status: 0 done, 1 a service refused something or did not answer, 2 bad usage, or the database cannot be read.)";

constexpr const char* kEventsExamples = R"(
Each minute: looks for interruptions of runs, runs that make no progress, the end of that, and nodes that fail more
often than by chance. Runs event_program of goodput.conf for each, or posts it to event_url. goodput-events.service
runs it on the controller.

Examples:
  sudo -u goodput sgoodput events test     sends a sample, and says what happened
  sgoodput events status                   what was sent, what waits, and what is wrong

Exit status: 0 done, 1 an event was not taken, 2 bad usage, or the database cannot be read.)";

constexpr const char* kSqlExamples = R"(
Tables: events (each record), steps (each training step), marks (other marks), and those of SCHEMA.md.

Examples:
  sgoodput sql "SELECT kind, count(*) FROM events WHERE job_id = 1234 GROUP BY kind"
  sgoodput sql --csv "SELECT train_step, t_ns FROM steps WHERE job_id = 1234" > steps.csv)";

constexpr const char* kIngestExamples = R"(
Creates the database if there is none. goodputd does this by itself.

Examples:
  sgoodput ingest
  sgoodput ingest --spool /backup/spool --db old.db)";

constexpr const char* kDoctorExamples = R"(
Examples:
  sgoodput doctor
  sgoodput doctor --cloud-log=projects/ml/logs/goodput
  sgoodput doctor --cloud-monitoring=projects/ml

Exit status: 0 no problem found, 1 problems found.)";

constexpr const char* kNowExamples = R"(
Lists what wastes GPUs at this moment, by the GPU time lost since it began: runs without progress, runs that hold
nodes without a task, starts that take far longer than earlier ones, and runs that save too rarely for their
failures; then the largest that wait. Each with what tells so, and the command that looks closer.

Examples:
  sgoodput now                           your runs
  sgoodput now -a                        the runs of all users
  sgoodput now -a --all                  also those that train
  sgoodput now -a -i 10                  again every 10 seconds, as squeue -i)";

constexpr const char* kCheckExamples = R"(
Prints one line as a Nagios plugin does, with performance data. A goodput that is only known as a range is
UNKNOWN unless the whole range is on one side of the limit.

Examples:
  sgoodput check --run pretrain-7b --rg 90% --window 1d
  sgoodput check 1234 --no-progress 10m --idle 15m

Exit status: 0 OK, 2 CRITICAL (a limit is not met), 3 UNKNOWN (also for wrong usage).)";

constexpr const char* kStatementExamples = R"(
What the month cost by the prices in goodput.conf (`price`), what became progress, what did not and what is not
known, and for each group the three largest avoidable losses, beside those of the month before.

Examples:
  sgoodput statement -a                      the last month, by account
  sgoodput statement -a --month 2026-10 --by user --csv
  sgoodput statement -a --by consumption --as reserved   what the same GPU-hours cost as reserved
  sgoodput statement -a --html > statement.html)";

constexpr const char* kMcpExamples = R"(
For clients of language models: reads and writes JSON-RPC messages, one per line, by the Model Context Protocol.
Its tools are now, list, show, attempts, report, advise, diff and check, read-only and with your rights.

Examples:
  in a client's configuration:
  {"mcpServers": {"goodput": {"command": "sgoodput", "args": ["mcp"]}}})";

constexpr const char* kWatchExamples = R"(
Shows what the run would lose if it died now (steps that no checkpoint covers), the age of its last step, the
buckets so far and the last signals. Exits when the run ends, or on q or Ctrl-C.

Examples:
  sgoodput watch 1234
  sgoodput watch --run pretrain-7b -i 30
  sgoodput watch 1234 --once             print once, for a script or a prompt)";

constexpr const char* kReportExamples = R"(
Columns, in GPU-hours: GPUh wanted, Alloc allocated, Progress spent in steps that were kept, Lost spent in steps
that were not kept. Rows add up to the total exactly.

Examples:
  sgoodput report -a -S now-7days --by account --gpu-hour=2.50
  sgoodput report -a -S now-7days --by cause     what interruptions cost, by cause
  sgoodput report -a -S 2026-11-01 --window=1d   day by day
  sgoodput report -j 1234 --by node
  sgoodput report -a -S now-30days --by consumption   reserved, spot, flex-start, on demand
  sgoodput report --fleet -S now-7days --by partition
  sgoodput report --fleet -S now-30days --by node     which nodes were idle, down or drained)";

// As in sacct.
// Whose runs.
void AddOwners(CLI::App& app, goodput::SelectionOptions& select) {
  app.add_option("-u,--user", select.users, "jobs of these users")
      ->type_name("USER[,USER]")
      ->allow_extra_args(false);
  app.add_option("-A,--accounts", select.accounts, "jobs of these accounts")
      ->type_name("ACCOUNT[,..]")
      ->allow_extra_args(false);
  app.add_option("-r,--partition", select.partitions, "jobs in these partitions")
      ->type_name("PART[,..]")
      ->allow_extra_args(false);
  app.add_option("-M,--clusters", select.clusters, "jobs of these clusters")
      ->type_name("CLUSTER[,..]")
      ->allow_extra_args(false);
  app.add_flag("-a,--allusers", select.all_users, "jobs of all users");
  app.add_flag("-L,--allclusters", select.all_clusters, "jobs of all clusters");
}

void AddSelection(CLI::App& app, goodput::SelectionOptions& select) {
  AddOwners(app, select);
  app.add_option("-j,--jobs", select.jobs, "these jobs: 12, 12_3, 12+1")
      ->type_name("JOB[,JOB]")
      ->allow_extra_args(false);
  app.add_option("-s,--state", select.states, "jobs with any attempt in these states")
      ->type_name("STATE[,..]")
      ->allow_extra_args(false);
  app.add_option("-N,--nodelist", select.nodes, "jobs that ran on any of these nodes")
      ->type_name("NODES")
      ->allow_extra_args(false);
  app.add_option("--name", select.names, "jobs with these names")
      ->type_name("NAME[,NAME]")
      ->allow_extra_args(false);
  app.add_option("--exclude", select.exclude, "exclude these time windows from all sums")
      ->type_name("FROM/TO[,..]")
      ->allow_extra_args(false);
  app.add_flag("-X,--allocations", select.allocations,
               "accepted for compatibility with sacct; jobs are never listed by step");
  app.add_option("-S,--starttime", select.start, "jobs in any state after TIME (default: midnight)")
      ->type_name("TIME");
  app.add_option("-E,--endtime", select.end, "jobs in any state before TIME")->type_name("TIME");
  app.add_flag("-T,--truncate", select.truncate, "count only the time between -S and -E");
}

constexpr const char* kExamples = R"(
Examples:
  sgoodput                             your runs since midnight, one line each
  sgoodput -S now-7days -a -P          all runs of the last week, for a script
  sgoodput show 1234                   where the time of job 1234 went
  sgoodput show --run pretrain-7b      ... of a run, across all its jobs
  sgoodput show 1234 --explain stall   the intervals of a bucket, with their evidence
  sgoodput watch 1234                  the same, updated while it runs
  sgoodput now -a                      who wastes GPUs at this moment, and since when
  sgoodput advise 1234                 how often to save, and what else to change
  sgoodput import goodput.jsonl        read a log that another program wrote
  sgoodput mark step 100               in a job: training step 100 begins

Exit status: 0 answered, 1 nothing matched, 2 bad usage or unreadable input.)";

int ParseAndRun(int argc, char** argv) {
  CLI::App app{"Reports how much of a job's GPU time became training progress, and where the rest went.",
               "sgoodput"};
  app.formatter(std::make_shared<goodput::HelpFormatter>());
  app.footer(kExamples);
  app.set_version_flag("-V,--version", std::string("sgoodput ") + PACKAGE_VERSION);
  app.require_subcommand(0, 1);

  goodput::ListOptions list;
  AddCommon(app, list.common, true);
  AddSelection(app, list.select);
  app.add_option("-o,--format", list.format, "these fields (see --helpformat)")
      ->type_name("FIELD[%W][,..]")
      ->allow_extra_args(false);
  app.add_flag("-p,--parsable", list.parsable, "fields separated by |, with one at the end");
  app.add_flag("-P,--parsable2", list.parsable2, "fields separated by |");
  app.add_flag("--csv", list.csv, "comma-separated values (RFC 4180)");
  app.add_flag("-b,--brief", list.brief, "JobID, State, ExitCode and Goodput only");
  app.add_flag("-l,--long", list.all_fields, "all fields but the buckets");
  app.add_option("--sort", list.sort, "sort by these fields; -FIELD for largest first")
      ->type_name("FIELD[,..]");
  app.add_flag("-n,--noheader", list.no_header, "no header line");
  AddStallFactor(app, list.stall_factor);
  app.add_option("--limit", list.limit, "print at most N runs")
      ->type_name("N")
      ->check(CLI::Range(1, 1'000'000));
  app.add_option("--after", list.after, "with --limit: continue after the previous page")
      ->type_name("CURSOR");
  app.add_flag("--reverse", list.reverse, "newest first");
  app.add_flag("--helpformat", list.help_format, "print the names of all fields");
  AddFleetDatabase(app);

  goodput::ShowOptions show;
  CLI::App* show_app = app.add_subcommand("show", "where the time of a run went");
  AddCommon(*show_app, show.common, true);
  AddTarget(*show_app, show.target);
  show_app->add_option("--explain", show.explain, "print the intervals of one bucket with their evidence")
      ->type_name("BUCKET");
  show_app->add_flag("--sensitivity", show.sensitivity,
                     "show how the numbers change under other assumptions");
  show_app->add_option("--exclude", show.exclude, "exclude these time windows from all sums")
      ->type_name("FROM/TO[,..]")
      ->allow_extra_args(false);
  show_app->add_flag("--all", show.all,
                     "print every section (signals, other definitions, proof) and long lists in full");
  show_app->add_option("--html", show.html, "write the run as a web page to FILE (-: stdout)")
      ->type_name("FILE");
  show_app->add_flag("--timeline", show.timeline, "with --json: include the intervals of the timeline");
  show_app->add_flag("--chain", show.target.chain,
                     "include jobs that seem to belong to the same run, by dependency or name");
  AddStallFactor(*show_app, show.stall_factor);
  AddFleetDatabase(*show_app);
  show_app->footer(kShowExamples);

  goodput::WatchOptions watch;
  CLI::App* watch_app = app.add_subcommand("watch", "follow a run until it ends");
  AddCommon(*watch_app, watch.common, false);
  AddTarget(*watch_app, watch.target);
  watch_app->add_option("-i,--interval", watch.interval_s, "seconds between updates (5)")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.2, 3600.0));
  watch_app->add_flag("--once", watch.once, "print once and exit");
  AddStallFactor(*watch_app, watch.stall_factor);
  watch_app->footer(kWatchExamples);

  goodput::NowOptions now;
  CLI::App* now_app = app.add_subcommand("now", "what is wrong now: runs that waste GPUs, and since when");
  AddCommon(*now_app, now.common, true);
  AddOwners(*now_app, now.select);
  CLI::Option* now_all = now_app->add_flag("--all", now.all, "all pending and running runs");
  now_app->add_flag("--wrong", now.wrong, "only runs that waste GPUs or save too rarely")->excludes(now_all);
  now_app->add_flag("--csv", now.csv, "comma-separated values (RFC 4180), all runs");
  now_app->add_option("-i,--iterate", now.interval_s, "print again every SECONDS")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.2, 3600.0));
  AddStallFactor(*now_app, now.stall_factor);
  now_app->footer(kNowExamples);

  goodput::CheckOptions check;
  CLI::App* check_app = app.add_subcommand("check", "compare a run with limits, for Nagios and CI");
  AddCommon(*check_app, check.common, false);
  AddTarget(*check_app, check.target);
  const auto limit = [&](const char* name, std::string& into, const char* type, const char* help) {
    check_app->add_option(name, into, help)->type_name(type)->group("Limits");
  };
  limit("--sg", check.scheduling, "FRACTION", "scheduling goodput is at least this");
  limit("--rg", check.runtime, "FRACTION", "runtime goodput is at least this");
  limit("--goodput", check.goodput, "FRACTION", "their product is at least this");
  limit("--mpg", check.mpg, "FRACTION", "ML Productivity Goodput is at least this");
  limit("--no-progress", check.no_progress, "DURATION", "it has made no progress for at most this long");
  limit("--idle", check.idle, "DURATION", "it holds nodes without a task for at most this long");
  limit("--at-risk", check.at_risk, "DURATION", "at most this much training is not covered by a checkpoint");
  check_app->add_option("--window", check.window, "goodput of the last DURATION instead of the whole run")
      ->type_name("DURATION");
  AddStallFactor(*check_app, check.stall_factor);
  check_app->footer(kCheckExamples);

  goodput::RollupOptions rollup;
  CLI::App* rollup_app =
      app.add_subcommand("report", "sums over runs, by user, node, cause and more, or by time window");
  rollup_app->footer(kReportExamples);
  AddCommon(*rollup_app, rollup.common, true);
  AddSelection(*rollup_app, rollup.select);
  rollup_app
      ->add_option("--by", rollup.by,
                   "one or two (A,B) of user, account, partition, reservation, consumption, stockout,\n"
                   "                              run, node, day, cause, recovery, tag:KEY, all")
      ->type_name("WHAT");
  rollup_app->add_flag("--fleet", rollup.fleet,
                       "all GPUs of the cluster: held, idle, down, drained; --by partition; or\n"
                       "                              all its nodes: --by node, day, month");
  rollup_app->add_flag("--suspects", rollup.suspects,
                       "with --by node: only nodes that fail more often than by chance, and their list");
  rollup_app->add_option("--window", rollup.window, "one row per LENGTH from -S to -E: 1h, 1d, 7d")
      ->type_name("LENGTH");
  AddStallFactor(*rollup_app, rollup.stall_factor);
  rollup_app->add_option("--gpu-hour", rollup.price, "price of one GPU-hour")->type_name("PRICE");
  rollup_app->add_flag("-P,--parsable2", rollup.parsable2, "fields separated by |, without the total");
  rollup_app->add_flag("--csv", rollup.csv, "comma-separated values (RFC 4180), without the total");
  rollup_app->add_option("--sort", rollup.sort, "sort by these columns; -COLUMN for largest first")
      ->type_name("COLUMN[,..]");
  rollup_app->add_flag("-n,--noheader", rollup.no_header, "no header line");

  AddFleetDatabase(*rollup_app);

  goodput::StatementOptions statement;
  CLI::App* statement_app =
      app.add_subcommand("statement", "what a month cost, what became progress, and what was lost");
  AddCommon(*statement_app, statement.common, false);
  AddOwners(*statement_app, statement.select);
  statement_app->add_option("--month", statement.month, "the month (default: the last one)")
      ->type_name("YYYY-MM");
  statement_app
      ->add_option("--by", statement.by,
                   "account, user, partition, reservation, consumption or run (account)")
      ->type_name("WHAT");
  statement_app
      ->add_option("--as", statement.as,
                   "what it costs at another price: reserved[:NAME], calendar, spot, flex-start, on-demand")
      ->type_name("MODEL");
  statement_app->add_flag("--csv", statement.csv, "comma-separated values (RFC 4180)");
  statement_app->add_flag("--html", statement.html, "a page to mail");
  AddStallFactor(*statement_app, statement.stall_factor);
  statement_app->footer(kStatementExamples);

  goodput::McpOptions mcp;
  CLI::App* mcp_app = app.add_subcommand("mcp", "answer a language model's client (Model Context Protocol)");
  AddCommon(*mcp_app, mcp.common, false);
  mcp_app->footer(kMcpExamples);

  goodput::MetricsOptions metrics;
  CLI::App* metrics_app = app.add_subcommand(
      "metrics", "print what goodputd serves to Prometheus as /metrics, or write to Cloud Monitoring");
  AddCommon(*metrics_app, metrics.common, false);
  metrics_app
      ->add_option("--cloud-monitoring", metrics.cloud_monitoring,
                   "write a point of each selected run to projects/PROJECT in Cloud Monitoring")
      ->type_name("PROJECT");
  const auto printing_options = static_cast<std::ptrdiff_t>(metrics_app->get_options().size());
  metrics_app
      ->add_option("--location", metrics.location, "with --cloud-monitoring: the zone (of this machine)")
      ->type_name("ZONE");
  AddSelection(*metrics_app, metrics.select);
  metrics_app->footer(kMetricsExamples);

  goodput::AttemptsOptions attempts;
  CLI::App* attempts_app = app.add_subcommand("attempts", "one line per attempt of a run");
  AddCommon(*attempts_app, attempts.common, true);
  AddTarget(*attempts_app, attempts.target);
  AddStallFactor(*attempts_app, attempts.stall_factor);
  attempts_app->add_flag("-P,--parsable2", attempts.parsable2, "fields separated by |");
  attempts_app->add_flag("-n,--noheader", attempts.no_header, "no header line");
  attempts_app->footer(kAttemptsExamples);

  goodput::AdviseOptions advise;
  CLI::App* advise_app = app.add_subcommand("advise", "how often to checkpoint, and what else to change");
  AddCommon(*advise_app, advise.common, false);
  advise_app->add_flag("--json", advise.common.json, "print JSON (see advise.schema.json)");
  AddTarget(*advise_app, advise.target);
  const auto what_if = [&](const char* name, std::string& into, const char* type, const char* help) {
    advise_app->add_option(name, into, help)->type_name(type)->group("What if");
  };
  what_if("--mttf", advise.mttf, "DURATION", "the job's mean time to failure: 90s, 10m, 1h30m, 2d");
  what_if("--nodes", advise.nodes, "N", "nodes of the job, with --failures-per-node-day");
  what_if("--failures-per-node-day", advise.failures_per_node_day, "R",
          "failures per node and day; the MTTF follows from it");
  what_if("--save", advise.save, "DURATION", "how long training waits for a checkpoint");
  what_if("--restart", advise.restart, "DURATION", "time from a failure to the next step");
  what_if("--interval", advise.interval, "DURATION", "present training time between two saves");
  what_if("--gpus", advise.gpus, "N", "GPUs of the job");
  what_if("--gpu-hour", advise.gpu_hour, "PRICE", "price of one GPU-hour");
  advise_app->footer(kAdviseExamples);

  goodput::IngestOptionsCli ingest;
  CLI::App* ingest_app = app.add_subcommand("ingest", "read new spool records into the database now");
  AddCommon(*ingest_app, ingest.common, false);
  ingest_app->add_option("--spool", ingest.spool, "read the spool DIR instead of goodput.conf's")
      ->type_name("DIR");
  ingest_app->footer(kIngestExamples);

  goodput::BackfillOptions backfill;
  CLI::App* backfill_app =
      app.add_subcommand("backfill", "read older attempts from slurmdbd into the database");
  AddCommon(*backfill_app, backfill.common, false);
  backfill_app->add_option("-S,--starttime", backfill.start, "from TIME")->type_name("TIME");
  backfill_app->add_option("-E,--endtime", backfill.end, "to TIME (now)")->type_name("TIME");
  backfill_app->footer(kBackfillExamples);

  goodput::ImportOptions import;
  CLI::App* import_app = app.add_subcommand("import", "read a log that another program wrote");
  AddCommon(*import_app, import.common, false);
  import_app->add_option("FILE", import.files,
                         "file to read; - is stdin; several only of formats otel and nvrx");
  import_app->add_option("--format", import.format, "auto, google-goodput, otel, nvrx or sacct")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"auto", "google-goodput", "otel", "nvrx", "sacct"}));
  import_app
      ->add_option("--log-profile", import.log_profile,
                   "log profile (see sgoodput profile), or a file NAME.profile, of a program's output (auto)")
      ->type_name("PROFILE");
  import_app->add_option("-j,--job", import.job, "add the log to job JOB")->type_name("JOB");
  import_app
      ->add_option("--run", import.run, "add the log to run NAME; create the run if no job belongs to it")
      ->type_name("NAME");
  import_app->add_option("-u,--user", import.user, "owner of the run")->type_name("USER");
  import_app->add_option("-M,--cluster", import.cluster, "cluster of the job")->type_name("CLUSTER");
  import_app
      ->add_option("--submitted", import.submitted, "if the job id was reused: the job that had it at TIME")
      ->type_name("TIME");
  import_app->add_option("--start", import.start, "time of the first line, for a log without times")
      ->type_name("TIME");
  const auto of_cloud = [&](const char* name, std::string& into, const char* type, const char* help) {
    import_app->add_option(name, into, help)->type_name(type)->group("Cloud Logging");
  };
  of_cloud("--cloud-log", import.cloud_log, "LOG", "read projects/PROJECT/logs/NAME instead of a file");
  of_cloud("--job-name", import.job_name, "NAME", "only entries of this job");
  of_cloud("-S,--starttime", import.from, "TIME", "entries after TIME (7 days before the end)");
  of_cloud("-E,--endtime", import.to, "TIME", "entries until TIME (now)");
  of_cloud("--keep", import.keep, "FILE", "keep the entries in FILE, and read only newer ones next time");
  import_app->footer(kImportExamples);

  goodput::DiffOptions diff;
  CLI::App* diff_app = app.add_subcommand("diff", "compare two runs bucket by bucket");
  AddCommon(*diff_app, diff.common, true);
  diff_app->add_option("A", diff.a, "job id or run name (or job:ID, run:NAME)")->required();
  diff_app->add_option("B", diff.b, "the run to compare it with")->required();
  diff_app->add_option("-M,--cluster", diff.cluster, "cluster of both")->type_name("CLUSTER");
  AddStallFactor(*diff_app, diff.stall_factor);
  diff_app->footer(kDiffExamples);

  goodput::ProfileOptions profile;
  CLI::App* profile_app = app.add_subcommand("profile", "list, print and test log profiles");
  profile_app->add_option("--config", profile.config, "read FILE instead of /etc/slurm-goodput/goodput.conf")
      ->type_name("FILE");
  profile_app->require_subcommand(1);
  profile_app->add_subcommand("list", "list built-in and site profiles");
  CLI::App* profile_show = profile_app->add_subcommand("show", "print a profile, as a start for your own");
  profile_show->add_option("NAME", profile.profile, "name of the profile")->required();
  CLI::App* profile_test = profile_app->add_subcommand("test", "show what a profile finds in a log");
  profile_test->add_option("PROFILE", profile.profile, "name of a profile, or a file NAME.profile")
      ->required();
  profile_test->add_option("LOG", profile.log, "output of the program; - is stdin")->required();
  profile_test->add_flag("-q,--quiet", profile.quiet, "print the sums only");
  CLI::App* profile_learn =
      profile_app->add_subcommand("learn", "infer a profile from logs that no profile matches");
  std::string learned_name = "ours";
  profile_learn->add_option("--name", learned_name, "name of the profile (ours)")->type_name("NAME");
  profile_learn->add_option("LOG", profile.logs, "output of the program; - is stdin")->required();
  for (CLI::App* sub : profile_app->get_subcommands({})) sub->fallthrough();  // --config
  profile_app->footer(kProfileExamples);

  goodput::ExportOptions out;
  std::vector<std::string> export_formats = goodput::ExportFormatNames();
  export_formats.insert(export_formats.end(), {"csv", "parquet"});
  CLI::App* export_app = app.add_subcommand("export", "write a run in another program's format");
  AddCommon(*export_app, out.common, false);
  AddTarget(*export_app, out.target);
  export_app->add_option("--format", out.format, "one of the formats below (google-goodput)")
      ->type_name("FORMAT")
      ->check(CLI::IsMember(export_formats));
  export_app->add_option("-o,--output", out.output, "write to FILE instead of stdout")->type_name("FILE");
  export_app
      ->add_option("--grain", out.grain,
                   "attempt-day: all runs, with --format=csv, into folders cluster=/month= below -o")
      ->type_name("GRAIN");
  export_app
      ->add_option("-S,--starttime", out.start, "with --grain: from the month that begins at TIME, in UTC")
      ->type_name("TIME");
  export_app->add_option("-E,--endtime", out.end, "with --grain: before the month that begins at TIME")
      ->type_name("TIME");
  export_app->add_option("--cloud-log", out.cloud_log, "write to projects/PROJECT/logs/NAME in Cloud Logging")
      ->type_name("LOG");
  export_app
      ->add_option("--bigquery", out.bigquery,
                   "with --grain: into projects/PROJECT/datasets/DATASET of BigQuery")
      ->type_name("DATASET");
  out.retention_days = 30;
  constexpr int kLongestRetention = 3650;
  export_app
      ->add_option("--retention", out.retention_days, "with --cloud-log: how long the log keeps entries (30)")
      ->type_name("DAYS")
      ->check(CLI::Range(1, kLongestRetention));
  export_app->footer(goodput::DescribeExportFormats() + kExportExamples);

  goodput::DoctorOptions doctor;
  CLI::App* doctor_app = app.add_subcommand("doctor", "check the installation and suggest fixes");
  AddCommon(*doctor_app, doctor.common, false);
  doctor_app
      ->add_option("--cloud-log", doctor.cloud_log,
                   "check only the access to projects/PROJECT/logs/NAME in Cloud Logging")
      ->type_name("LOG");
  doctor_app
      ->add_option("--cloud-monitoring", doctor.cloud_monitoring,
                   "check only the access to projects/PROJECT in Cloud Monitoring")
      ->type_name("PROJECT");
  doctor_app->footer(kDoctorExamples);

  goodput::SqlOptions sql;
  CLI::App* sql_app = app.add_subcommand("sql", "query the database with SQL, read-only");
  AddCommon(*sql_app, sql.common, true);
  sql_app->add_option("QUERY", sql.query, "one SELECT; see events, steps and marks in SCHEMA.md")->required();
  sql_app->add_flag("--csv", sql.csv, "rows of comma-separated values (RFC 4180)");
  sql_app->add_option("--timeout", sql.timeout, "stop a query that runs longer (5m)")->type_name("TIME");
  sql_app->footer(kSqlExamples);

  goodput::CloudOptions cloud;
  CLI::App* cloud_app =
      app.add_subcommand("cloud", "exchange runs with Google's Cloud Logging and Monitoring");
  cloud_app->require_subcommand(1);
  cloud_app->footer(kCloudExamples);
  CLI::App* cloud_sync = cloud_app->add_subcommand("sync", "do what is new, and continue until killed");
  CLI::App* cloud_status = cloud_app->add_subcommand("status", "when each part last succeeded");
  for (CLI::App* command : {cloud_sync, cloud_status}) {
    command
        ->add_option("--config", cloud.common.config, "read FILE instead of /etc/slurm-goodput/goodput.conf")
        ->type_name("FILE");
    command->add_option("--db", cloud.common.db, "use the database FILE")->type_name("FILE");
  }
  cloud_sync->add_flag("--once", cloud.once, "do what is new, and exit");

  goodput::EventsOptions events;
  CLI::App* events_app = app.add_subcommand("events", "tell a program or a URL what happens to runs");
  events_app->require_subcommand(1);
  events_app->footer(kEventsExamples);
  CLI::App* events_watch = events_app->add_subcommand("watch", "send what is new, and continue until killed");
  CLI::App* events_status = events_app->add_subcommand("status", "what was sent, and what is wrong");
  CLI::App* events_test = events_app->add_subcommand("test", "send one sample event");
  for (CLI::App* command : {events_watch, events_status, events_test}) {
    command
        ->add_option("--config", events.common.config, "read FILE instead of /etc/slurm-goodput/goodput.conf")
        ->type_name("FILE");
    command->add_option("--db", events.common.db, "use the database FILE")->type_name("FILE");
  }
  events_watch->add_flag("--once", events.once, "send what is new, and exit");

  // RunFleetProgram passes its arguments on, see main().
  app.add_subcommand("fleet", "send runs to the fleet database of many clusters (see sgoodput fleet --help)")
      ->allow_extras();

  // goodput-telemetry parses its arguments, see main().
  app.add_subcommand("telemetry", "send metrics and traces to OpenTelemetry (see sgoodput telemetry --help)")
      ->allow_extras();

  // RunMark and goodput-otlp parse their arguments, see main().
  app.add_subcommand("mark", "in a job: report training progress (see sgoodput mark --help)")->allow_extras();
  app.add_subcommand("otlp", "in a job: report steps from OpenTelemetry's spans (see sgoodput otlp --help)")
      ->allow_extras();

  try {
    try {
      app.parse(argc, argv);
    } catch (const CLI::Success& asked) {
      // Help for an unknown subcommand would look like an answer.
      if (app.get_subcommands().empty()) RefuseUnknownWord(app);
      return app.exit(asked);
    } catch (const CLI::ExtrasError&) {
      if (app.get_subcommands().empty()) RefuseUnknownWord(app);
      for (const CLI::App* subcommand : app.get_subcommands())
        RefuseUnknownOption(*subcommand, {argv + 1, argv + argc});
      throw;
    }
    if (!app.get_subcommands().empty()) MoveOptionsTo(app, *app.get_subcommands().front());
    const std::vector<CLI::Option*> of_metrics = metrics_app->get_options();
    const bool selects = std::any_of(of_metrics.begin() + printing_options, of_metrics.end(),
                                     [](const CLI::Option* option) { return option->count() > 0; });
    if (selects && metrics.cloud_monitoring.empty()) throw CLI::RequiredError("--cloud-monitoring");
    if (*import_app && import.files.empty() && import.cloud_log.empty()) throw CLI::RequiredError("FILE");
  } catch (const CLI::ParseError& error) {
    const std::vector<CLI::App*> begun = app.get_subcommands();
    const std::string command = begun.empty() ? "" : begun.front()->get_name() + " ";
    std::fprintf(stderr, "sgoodput: %s; see sgoodput %s--help\n", error.what(), command.c_str());
    return goodput::kBadUsage;
  }
  const CLI::App* chosen = app.get_subcommands().empty() ? nullptr : app.get_subcommands().front();
  goodput::RemoteQuestion question =
      chosen == nullptr ? QuestionOf("list", app) : QuestionOf(chosen->get_name(), *chosen);
  if (chosen == nullptr) question.needs_run = !list.help_format;
  if (*advise_app) question.needs_run = !advise.target.job.empty() || !advise.target.run.empty();
  const CommonOptions* common = *show_app                                               ? &show.common
                                : *watch_app                                            ? &watch.common
                                : *now_app                                              ? &now.common
                                : *check_app                                            ? &check.common
                                : *statement_app                                        ? &statement.common
                                : *rollup_app                                           ? &rollup.common
                                : *attempts_app                                         ? &attempts.common
                                : *advise_app                                           ? &advise.common
                                : *ingest_app                                           ? &ingest.common
                                : *backfill_app                                         ? &backfill.common
                                : *import_app                                           ? &import.common
                                : *export_app                                           ? &out.common
                                : *diff_app                                             ? &diff.common
                                : *metrics_app                                          ? &metrics.common
                                : *doctor_app                                           ? &doctor.common
                                : *profile_app || *sql_app || *cloud_app || *events_app ? nullptr
                                                                                        : &list.common;
  // It passes --url on.
  if (*mcp_app) return goodput::RunMcp(mcp);
  const bool is_local = !out.cloud_log.empty() || !metrics.cloud_monitoring.empty();
  if (common != nullptr && !is_local) {
    if (const std::optional<int> code = goodput::AskRemotely(*common, question)) return *code;
  }
  if (*show_app) return goodput::RunShow(show);
  if (*watch_app) return goodput::RunWatch(watch);
  if (*now_app) return goodput::RunNowCommand(now);
  if (*check_app) return goodput::RunCheck(check);
  if (*statement_app) return goodput::RunStatement(statement);
  if (*rollup_app) return goodput::RunRollup(rollup);
  if (*attempts_app) return goodput::RunAttempts(attempts);
  if (*advise_app) return goodput::RunAdvise(advise);
  if (*metrics_app) return goodput::RunMetricsCommand(metrics);
  if (*ingest_app) return goodput::RunIngest(ingest);
  if (*backfill_app) return goodput::RunBackfill(backfill);
  if (*import_app) return goodput::RunImport(import);
  if (*export_app) return goodput::RunExport(out);
  if (*sql_app) return goodput::RunSql(sql);
  if (*cloud_sync) return goodput::RunCloudSync(cloud);
  if (*cloud_status) return goodput::RunCloudStatus(cloud);
  if (*events_watch) return goodput::RunEventsWatch(events);
  if (*events_status) return goodput::RunEventsStatus(events);
  if (*events_test) return goodput::RunEventsTest(events);
  if (*diff_app) return goodput::RunDiff(diff);
  if (*profile_app) {
    using What = goodput::ProfileOptions::What;
    profile.what = *profile_test    ? What::kTest
                   : *profile_show  ? What::kShow
                   : *profile_learn ? What::kLearn
                                    : What::kList;
    if (*profile_learn) profile.profile = learned_name;
    return goodput::RunProfile(profile);
  }
  if (*doctor_app) return goodput::RunDoctor(doctor);
  return goodput::RunList(list);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    // Before anything slow: a job may run this at every step.
    if (argc > 1 && std::string_view(argv[1]) == "mark") return goodput::RunMark(argc - 2, argv + 2);
    if (argc > 1 && std::string_view(argv[1]) == "otlp") return goodput::RunOtlp(argc - 2, argv + 2);
    if (argc > 1 && std::string_view(argv[1]) == "telemetry")
      return goodput::RunInstalledProgram(goodput::InstalledProgram("telemetry", "goodput-telemetry"), argv);
    if (goodput::AsksFleetDatabase(argc, argv)) return goodput::RunFleetProgram(argv);
    return ParseAndRun(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "sgoodput: %s\n", error.what());
    return goodput::kBadUsage;
  }
}
