// sgoodput: argument parsing for all subcommands. CLI11 is included here alone: it takes long to compile.
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
#include "tools/sgoodput/help_formatter.h"
#include "tools/sgoodput/options.h"
#include "tools/sgoodput/remote.h"

namespace {

using goodput::CommonOptions;

void AddTarget(CLI::App& app, goodput::TargetOptions& target) {
  app.add_option("JOB", target.job, "job id: 12, 12_3, 12+1; or the name of a run");
  app.add_option("--run", target.run, "all jobs of the run NAME (--goodput-run)")->type_name("NAME");
  app.add_option("-M,--cluster", target.cluster, "the one of this cluster")->type_name("CLUSTER");
  app.add_option("-u,--user", target.user, "with --run: of this user, where several have a run of that name")
      ->type_name("USER");
  app.add_option("--submitted", target.submitted,
                 "where job ids were used again: the job that had JOB at TIME")
      ->type_name("TIME");
}

void AddCommon(CLI::App& app, CommonOptions& options, bool json) {
  app.add_option("--config", options.config, "read FILE instead of /etc/slurm-goodput/goodput.conf")
      ->type_name("FILE");
  app.add_option("--db", options.db, "read the database FILE")->type_name("FILE");
  app.add_option("--url", options.url, "ask goodputd at URL instead: http://HOST:PORT or unix:/PATH")
      ->type_name("URL");
  app.add_flag("--no-refresh", options.no_refresh, "answer from the database as it is");
  if (json) app.add_flag("--json", options.json, "print JSON (see sgoodput.schema.json)");
  app.add_option("--color", options.color, "auto, always or never")
      ->type_name("WHEN")
      ->check(CLI::IsMember({"auto", "always", "never"}));
}

// The long name of an option as it is written; of one without, its short name.
std::string WrittenName(const CLI::Option& option) {
  return option.get_lnames().empty() ? "-" + option.get_snames().front() : "--" + option.get_lnames().front();
}

bool IsFlag(const CLI::Option& option) {
  return option.get_items_expected_max() == 0;
}

// The options of `app` that are written as one of `option`'s names.
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

// An option before the subcommand means what it means behind it; one that the subcommand does not have is
// refused, as it would be there.
void MoveOptionsTo(CLI::App& app, CLI::App& subcommand) {
  for (CLI::Option* option : app.get_options()) {
    if (option->count() == 0) continue;
    const std::vector<CLI::Option*> same = SameNamed(subcommand, *option);
    if (same.size() != 1 || IsFlag(*same.front()) != IsFlag(*option)) {
      throw CLI::ExtrasError(subcommand.get_name() +
                                 (same.empty() ? " has no option " : " has another option ") +
                                 WrittenName(*option),
                             CLI::ExitCodes::ExtrasError);
    }
    for (const std::string& value : option->results()) same.front()->add_result(value);
    same.front()->run_callback();
  }
}

// The words that no subcommand and no option took.
void RefuseUnknownWord(const CLI::App& app) {
  for (const std::string& word : app.remaining()) {
    if (!word.empty() && word.front() != '-')
      throw CLI::ExtrasError("there is no subcommand '" + word + "'", CLI::ExitCodes::ExtrasError);
  }
}

// What was given of a subcommand's options, for asking somebody else.
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

constexpr const char* kAdviseExamples = R"(
How often to checkpoint, and what else to change: what the run's own timeline shows, put into the published
formulas. Without JOB and --run only what is given counts, and no database is needed.

Goodput is the share of time that becomes progress if failures are a Poisson process of the given MTTF and
each costs a restart and what was trained since the last save. A restart is the wait for resources and from
there to the first step. GPU-hours and money are those of one day.

Examples:
  sgoodput advise 1234
  sgoodput advise --run pretrain-7b --gpu-hour 2.10
  sgoodput advise 1234 --save 5s                what if a save took 5 seconds
  sgoodput advise --nodes 2048 --failures-per-node-day 0.0065 --save 1m --restart 10m --interval 1h
  sgoodput advise --mttf 3h5m --save 1m --restart 10m --gpus 16384 --json)";

constexpr const char* kBackfillExamples = R"(
Asks slurmdbd for a day at a time, the latest first, and for less where that is too much. What was read is remembered:
it may be interrupted, and run again goes on. goodputd does it for the last week (`backfill` of goodput.conf).

Examples:
  sgoodput backfill -S now-90days
  sgoodput backfill -S 2024-01-01 -E 2025-01-01)";

constexpr const char* kImportExamples = R"(
Reads the log of Google's goodput library and Orbax (JSON lines, or what gcloud logging read --format=json
prints), and what sacct -P -D printed. A file that was imported before is taken anew if it changed.

Examples:
  sgoodput import goodput.jsonl                 a run of its own, named as in the log
  sgoodput import --run pretrain-7b goodput.jsonl
  sgoodput import --run pretrain-7b -u ada goodput.jsonl
  sgoodput import -j 1234 goodput.jsonl         what job 1234 itself said
  sgoodput import -j 1234 --log-profile=megatron slurm-1234.out
  gcloud logging read 'logName:goodput' --format=json | sgoodput import -
  sacct -a -P -D -X -S 2026-01-01 -o Cluster,JobIDRaw,JobID,Submit,Eligible,Start,End,State,ExitCode,User,\
Account,Partition,QOS,NNodes,NodeList,AllocTRES,ReqTRES,Reason,JobName > jobs.txt; sgoodput import jobs.txt)";

constexpr const char* kDiffExamples = R"(
Examples:
  sgoodput diff 1234 1240                  did preloading the image or keeping the compile cache pay?
  sgoodput diff pretrain-7b pretrain-7b-v2 --json)";

constexpr const char* kProfileExamples = R"(
A log profile says how a framework prints its steps, saves and phases. Jobs name one with --goodput-log-profile;
a site's own are files NAME.profile in the folder `log_profiles` of goodput.conf.

Examples:
  sgoodput profile list
  sgoodput profile test megatron slurm-1234.out
  sgoodput profile show megatron > ours.profile; sgoodput profile test ./ours.profile slurm-1234.out

Exit status: 0 found something, 1 found nothing, 2 no such profile, or one that must not be used.)";

constexpr const char* kExportExamples = R"(
Writes the log that Google's goodput library and Orbax write, one entry a line; with --format=spool the records
of its nodes and of the controller's watch as they were written (slurm-goodput's SPOOL_FORMAT.md).

Examples:
  sgoodput export 1234 > goodput.jsonl
  sgoodput export 1234 --format=spool > records.jsonl
  sgoodput export --run pretrain-7b -o goodput.jsonl)";

constexpr const char* kShowExamples = R"(
Examples:
  sgoodput show 1234                        where the time of job 1234 went
  sgoodput show --run pretrain-7b           ... of a run over all its jobs
  sgoodput show 1234 --explain lost_work    when, and by which evidence
  sgoodput show 1234 --html run.html        the same as a page for a browser)";

constexpr const char* kAttemptsExamples = R"(
Examples:
  sgoodput attempts 1234
  sgoodput attempts --run pretrain-7b -P    for a script)";

constexpr const char* kMetricsExamples = R"(
Examples:
  sgoodput metrics > /var/lib/node_exporter/slurm_goodput.prom)";

constexpr const char* kSqlExamples = R"(
Tables: events (each record), steps (each training step), marks (other marks), and those of SCHEMA.md.

Examples:
  sgoodput sql "SELECT kind, count(*) FROM events WHERE job_id = 1234 GROUP BY kind"
  sgoodput sql --csv "SELECT train_step, t_ns FROM steps WHERE job_id = 1234" > steps.csv)";

constexpr const char* kIngestExamples = R"(
Makes the database where there is none. goodputd does all of this by itself.

Examples:
  sgoodput ingest
  sgoodput ingest --spool /backup/spool --db old.db)";

constexpr const char* kDoctorExamples = R"(
Examples:
  sgoodput doctor

Exit status: 0 all is well, 1 something is not.)";

constexpr const char* kWatchExamples = R"(
Shows what would be lost if the run died now (the steps no checkpoint covers), how old its last step is, the
buckets so far and the last signals. Ends when the run does; q or Ctrl-C before.

Examples:
  sgoodput watch 1234
  sgoodput watch --run pretrain-7b -i 30
  sgoodput watch 1234 --once             one look, for a script or a prompt)";

constexpr const char* kReportExamples = R"(
Columns: GPUh what was wanted, in GPU-hours; Alloc what was allocated; Progress what became kept steps; Lost what
was lost with steps that were not kept. Rows add up to the total exactly.

Examples:
  sgoodput report -a -S now-7days --by account --gpu-hour=2.50
  sgoodput report -a -S now-7days --by cause     what interruptions cost, by cause
  sgoodput report -a -S 2026-11-01 --window=1d   day by day
  sgoodput report -j 1234 --by node
  sgoodput report -a -S now-30days --by reservation   reserved, spot, flex-start, on demand
  sgoodput report --fleet -S now-7days --by partition)";

// As sacct has them.
void AddSelection(CLI::App& app, goodput::SelectionOptions& select) {
  app.add_option("-j,--jobs", select.jobs, "these jobs: 12, 12_3, 12+1")
      ->type_name("JOB[,JOB]")
      ->allow_extra_args(false);
  app.add_option("-u,--user", select.users, "jobs of these users")
      ->type_name("USER[,USER]")
      ->allow_extra_args(false);
  app.add_option("-A,--accounts", select.accounts, "jobs of these accounts")
      ->type_name("ACCOUNT[,..]")
      ->allow_extra_args(false);
  app.add_option("-r,--partition", select.partitions, "jobs in these partitions")
      ->type_name("PART[,..]")
      ->allow_extra_args(false);
  app.add_option("-s,--state", select.states, "jobs of these states (of any attempt)")
      ->type_name("STATE[,..]")
      ->allow_extra_args(false);
  app.add_option("-N,--nodelist", select.nodes, "jobs that ran on any of these nodes")
      ->type_name("NODES")
      ->allow_extra_args(false);
  app.add_option("-M,--clusters", select.clusters, "jobs of these clusters")
      ->type_name("CLUSTER[,..]")
      ->allow_extra_args(false);
  app.add_option("--name", select.names, "jobs of these names")
      ->type_name("NAME[,NAME]")
      ->allow_extra_args(false);
  app.add_option("--exclude", select.exclude, "leave these windows of time out of all sums")
      ->type_name("FROM/TO[,..]")
      ->allow_extra_args(false);
  app.add_flag("-X,--allocations", select.allocations, "no steps, as always here");
  app.add_flag("-a,--allusers", select.all_users, "jobs of all users");
  app.add_flag("-L,--allclusters", select.all_clusters, "jobs of all clusters");
  app.add_option("-S,--starttime", select.start, "jobs that were there after TIME (default: midnight)")
      ->type_name("TIME");
  app.add_option("-E,--endtime", select.end, "jobs that were there before TIME")->type_name("TIME");
  app.add_flag("-T,--truncate", select.truncate, "count only the time between -S and -E");
}

constexpr const char* kExamples = R"(
Examples:
  sgoodput                             your runs since midnight, one line each
  sgoodput -S now-7days -a -P          everybody's of the last week, for a script
  sgoodput show 1234                   where the time of job 1234 went
  sgoodput show --run pretrain-7b      ... of a run over all its jobs
  sgoodput show 1234 --explain stall   when, and by which evidence
  sgoodput watch 1234                  the same while it runs, redrawn
  sgoodput advise 1234                 how often to save, and what else to change
  sgoodput import goodput.jsonl        what another program wrote about a run
  sgoodput mark step 100               in a job: training step 100 begins

Exit status: 0 answered, 1 nothing matched, 2 bad usage or unreadable input.)";

int ParseAndRun(int argc, char** argv) {
  CLI::App app{
      "Says how much of the time and of the GPUs a job held became training progress, and where the rest "
      "went.",
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
  app.add_flag("-p,--parsable", list.parsable, "fields separated by |, one at the end too");
  app.add_flag("-P,--parsable2", list.parsable2, "fields separated by |");
  app.add_flag("--csv", list.csv, "fields separated by commas, quoted where they must be");
  app.add_flag("-b,--brief", list.brief, "JobID, State, ExitCode and Goodput only");
  app.add_flag("-l,--long", list.all_fields, "all fields but the buckets");
  app.add_option("--sort", list.sort, "by these fields, -FIELD the largest first")->type_name("FIELD[,..]");
  app.add_flag("-n,--noheader", list.no_header, "no header line");
  AddStallFactor(app, list.stall_factor);
  app.add_option("--limit", list.limit, "at most so many runs")
      ->type_name("N")
      ->check(CLI::Range(1, 1'000'000));
  app.add_option("--after", list.after, "with --limit: go on where the page before ended")
      ->type_name("CURSOR");
  app.add_flag("--reverse", list.reverse, "the newest first");
  app.add_flag("--helpformat", list.help_format, "print the names of all fields");

  goodput::ShowOptions show;
  CLI::App* show_app = app.add_subcommand("show", "where the time of one run went");
  AddCommon(*show_app, show.common, true);
  AddTarget(*show_app, show.target);
  show_app->add_option("--explain", show.explain, "print the intervals of one bucket with their evidence")
      ->type_name("BUCKET");
  show_app->add_flag("--sensitivity", show.sensitivity,
                     "print what the numbers would be had open questions been answered otherwise");
  show_app->add_option("--exclude", show.exclude, "leave these windows of time out of all sums")
      ->type_name("FROM/TO[,..]")
      ->allow_extra_args(false);
  show_app->add_flag(
      "--all", show.all,
      "also what says nothing new: signals, definitions of others, proof; and all of long lists");
  show_app->add_option("--html", show.html, "write the run as a page for a browser to FILE (- is stdout)")
      ->type_name("FILE");
  show_app->add_flag("--timeline", show.timeline, "with --json: what it was in, stretch by stretch");
  show_app->add_flag("--chain", show.target.chain,
                     "JOB together with the jobs it seems to be one run with: by dependencies, and by name");
  AddStallFactor(*show_app, show.stall_factor);
  show_app->footer(kShowExamples);

  goodput::WatchOptions watch;
  CLI::App* watch_app = app.add_subcommand("watch", "one run while it runs, redrawn until it ends");
  AddCommon(*watch_app, watch.common, false);
  AddTarget(*watch_app, watch.target);
  watch_app->add_option("-i,--interval", watch.interval_s, "seconds between two looks (5)")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.2, 3600.0));
  watch_app->add_flag("--once", watch.once, "look once");
  AddStallFactor(*watch_app, watch.stall_factor);
  watch_app->footer(kWatchExamples);

  goodput::RollupOptions rollup;
  CLI::App* rollup_app =
      app.add_subcommand("report", "sums over runs: by user, node, cause ..., and by windows");
  rollup_app->footer(kReportExamples);
  AddCommon(*rollup_app, rollup.common, true);
  AddSelection(*rollup_app, rollup.select);
  rollup_app
      ->add_option("--by", rollup.by,
                   "user, account, partition, reservation, run, node, day, cause, tag:KEY, all; or two: A,B")
      ->type_name("WHAT");
  rollup_app->add_flag("--fleet", rollup.fleet,
                       "of all GPUs of the cluster: held, idle, down, drained; --by partition");
  rollup_app->add_option("--window", rollup.window, "a row for each LENGTH from -S to -E: 1h, 1d, 7d")
      ->type_name("LENGTH");
  AddStallFactor(*rollup_app, rollup.stall_factor);
  rollup_app->add_option("--gpu-hour", rollup.price, "what an hour of a GPU costs")->type_name("PRICE");
  rollup_app->add_flag("-P,--parsable2", rollup.parsable2, "fields separated by |, and no total");
  rollup_app->add_flag("--csv", rollup.csv, "the same separated by commas, quoted where they must be");
  rollup_app->add_option("--sort", rollup.sort, "by these columns, -COLUMN the largest first")
      ->type_name("COLUMN[,..]");
  rollup_app->add_flag("-n,--noheader", rollup.no_header, "no header line");

  goodput::MetricsOptions metrics;
  CLI::App* metrics_app =
      app.add_subcommand("metrics", "what goodputd gives Prometheus as /metrics, in OpenMetrics");
  AddCommon(*metrics_app, metrics.common, false);
  metrics_app->footer(kMetricsExamples);

  goodput::AttemptsOptions attempts;
  CLI::App* attempts_app = app.add_subcommand("attempts", "one line an attempt of one run");
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
  what_if("--mttf", advise.mttf, "DURATION", "mean time to failure of the job: 90s, 10m, 1h30m, 2d");
  what_if("--nodes", advise.nodes, "N", "of the job, with --failures-per-node-day");
  what_if("--failures-per-node-day", advise.failures_per_node_day, "R", "from which the MTTF follows");
  what_if("--save", advise.save, "DURATION", "how long training waits for a checkpoint");
  what_if("--restart", advise.restart, "DURATION", "from a failure to the next step");
  what_if("--interval", advise.interval, "DURATION", "training between two saves, now");
  what_if("--gpus", advise.gpus, "N", "of the job");
  what_if("--gpu-hour", advise.gpu_hour, "PRICE", "of one GPU for one hour");
  advise_app->footer(kAdviseExamples);

  goodput::IngestOptionsCli ingest;
  CLI::App* ingest_app = app.add_subcommand("ingest", "take what the spool holds into the database, now");
  AddCommon(*ingest_app, ingest.common, false);
  ingest_app->add_option("--spool", ingest.spool, "read the spool DIR instead of goodput.conf's")
      ->type_name("DIR");
  ingest_app->footer(kIngestExamples);

  goodput::BackfillOptions backfill;
  CLI::App* backfill_app =
      app.add_subcommand("backfill", "take what slurmdbd knows of a long time into the database");
  AddCommon(*backfill_app, backfill.common, false);
  backfill_app->add_option("-S,--starttime", backfill.start, "since TIME")->type_name("TIME");
  backfill_app->add_option("-E,--endtime", backfill.end, "until TIME (now)")->type_name("TIME");
  backfill_app->footer(kBackfillExamples);

  goodput::ImportOptions import;
  CLI::App* import_app = app.add_subcommand("import", "take what another program wrote about a run");
  AddCommon(*import_app, import.common, false);
  import_app->add_option("FILE", import.file, "what to read; - is stdin")->required();
  import_app->add_option("--format", import.format, "what it is: auto, google-goodput, sacct")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"auto", "google-goodput", "sacct"}));
  import_app
      ->add_option("--log-profile", import.log_profile,
                   "it is what a framework printed: a profile's name (see sgoodput profile), or auto")
      ->type_name("PROFILE");
  import_app->add_option("-j,--job", import.job, "it is what job JOB said")->type_name("JOB");
  import_app
      ->add_option("--run", import.run,
                   "it is what the jobs of run NAME said; without such jobs, it is a run of that name")
      ->type_name("NAME");
  import_app
      ->add_option("-u,--user", import.user,
                   "the run is this user's: of several users' with that name, and where it is one of its own")
      ->type_name("USER");
  import_app->add_option("-M,--cluster", import.cluster, "the job is of this cluster")->type_name("CLUSTER");
  import_app
      ->add_option("--submitted", import.submitted,
                   "where job ids were used again: the job that had JOB at TIME")
      ->type_name("TIME");
  import_app
      ->add_option("--start", import.start,
                   "of a log none of whose lines has a time: when its first line was printed")
      ->type_name("TIME");
  import_app->footer(kImportExamples);

  goodput::DiffOptions diff;
  CLI::App* diff_app = app.add_subcommand("diff", "what changed between two runs, bucket by bucket");
  AddCommon(*diff_app, diff.common, true);
  diff_app->add_option("A", diff.a, "a job id, or the name of a run (or job:ID, run:NAME)")->required();
  diff_app->add_option("B", diff.b, "another")->required();
  diff_app->add_option("-M,--cluster", diff.cluster, "both are of this cluster")->type_name("CLUSTER");
  AddStallFactor(*diff_app, diff.stall_factor);
  diff_app->footer(kDiffExamples);

  goodput::ProfileOptions profile;
  CLI::App* profile_app =
      app.add_subcommand("profile", "log profiles: which there are, what one finds in a log");
  profile_app->add_option("--config", profile.config, "read FILE instead of /etc/slurm-goodput/goodput.conf")
      ->type_name("FILE");
  profile_app->require_subcommand(1);
  profile_app->add_subcommand("list", "those built in, and the site's");
  CLI::App* profile_show =
      profile_app->add_subcommand("show", "the text of one, e.g. to begin one's own with");
  profile_show->add_option("NAME", profile.profile, "of a profile")->required();
  CLI::App* profile_test = profile_app->add_subcommand("test", "what a profile finds in a log");
  profile_test->add_option("PROFILE", profile.profile, "a name, or a file NAME.profile")->required();
  profile_test->add_option("LOG", profile.log, "what the program printed; - is stdin")->required();
  profile_test->add_flag("-q,--quiet", profile.quiet, "the sums only");
  profile_app->footer(kProfileExamples);

  goodput::ExportOptions out;
  CLI::App* export_app = app.add_subcommand("export", "write a run for another program to read");
  AddCommon(*export_app, out.common, false);
  AddTarget(*export_app, out.target);
  export_app->add_option("--format", out.format, "google-goodput, or spool: what is recorded of it")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"google-goodput", "spool"}));
  export_app->add_option("-o,--output", out.output, "write to FILE instead of stdout")->type_name("FILE");
  export_app->footer(kExportExamples);

  goodput::DoctorOptions doctor;
  CLI::App* doctor_app = app.add_subcommand("doctor", "is everything in place here, and was anything lost?");
  AddCommon(*doctor_app, doctor.common, false);
  doctor_app->footer(kDoctorExamples);

  goodput::SqlOptions sql;
  CLI::App* sql_app = app.add_subcommand("sql", "query the database with SQL, read-only");
  AddCommon(*sql_app, sql.common, true);
  sql_app->add_option("QUERY", sql.query, "one SELECT; see events, steps and marks in SCHEMA.md")->required();
  sql_app->add_flag("--csv", sql.csv, "rows of comma-separated values (RFC 4180)");
  sql_app->add_option("--timeout", sql.timeout, "give up after so long; default 5m")->type_name("TIME");
  sql_app->footer(kSqlExamples);

  // Its words are its own parser's, see main().
  app.add_subcommand("mark", "in a job: say where training is (sgoodput mark --help)")->allow_extras();

  try {
    try {
      app.parse(argc, argv);
    } catch (const CLI::Success& asked) {
      // Help about what there is not would be taken for an answer.
      if (app.get_subcommands().empty()) RefuseUnknownWord(app);
      return app.exit(asked);
    } catch (const CLI::ExtrasError&) {
      if (app.get_subcommands().empty()) RefuseUnknownWord(app);
      throw;
    }
    if (!app.get_subcommands().empty()) MoveOptionsTo(app, *app.get_subcommands().front());
  } catch (const CLI::ParseError& error) {
    std::fprintf(stderr, "sgoodput: %s; see sgoodput --help\n", error.what());
    return goodput::kBadUsage;
  }
  const CLI::App* chosen = app.get_subcommands().empty() ? nullptr : app.get_subcommands().front();
  goodput::RemoteQuestion question =
      chosen == nullptr ? QuestionOf("list", app) : QuestionOf(chosen->get_name(), *chosen);
  if (chosen == nullptr) question.needs_run = !list.help_format;
  if (*advise_app) question.needs_run = !advise.target.job.empty() || !advise.target.run.empty();
  const CommonOptions* common = *show_app                  ? &show.common
                                : *watch_app               ? &watch.common
                                : *rollup_app              ? &rollup.common
                                : *attempts_app            ? &attempts.common
                                : *advise_app              ? &advise.common
                                : *ingest_app              ? &ingest.common
                                : *backfill_app            ? &backfill.common
                                : *import_app              ? &import.common
                                : *export_app              ? &out.common
                                : *diff_app                ? &diff.common
                                : *metrics_app             ? &metrics.common
                                : *doctor_app              ? &doctor.common
                                : *profile_app || *sql_app ? nullptr
                                                           : &list.common;
  if (common != nullptr) {
    if (const std::optional<int> code = goodput::AskRemotely(*common, question)) return *code;
  }
  if (*show_app) return goodput::RunShow(show);
  if (*watch_app) return goodput::RunWatch(watch);
  if (*rollup_app) return goodput::RunRollup(rollup);
  if (*attempts_app) return goodput::RunAttempts(attempts);
  if (*advise_app) return goodput::RunAdvise(advise);
  if (*metrics_app) return goodput::RunMetricsCommand(metrics);
  if (*ingest_app) return goodput::RunIngest(ingest);
  if (*backfill_app) return goodput::RunBackfill(backfill);
  if (*import_app) return goodput::RunImport(import);
  if (*export_app) return goodput::RunExport(out);
  if (*sql_app) return goodput::RunSql(sql);
  if (*diff_app) return goodput::RunDiff(diff);
  if (*profile_app) {
    using What = goodput::ProfileOptions::What;
    profile.what = *profile_test ? What::kTest : *profile_show ? What::kShow : What::kList;
    return goodput::RunProfile(profile);
  }
  if (*doctor_app) return goodput::RunDoctor(doctor);
  return goodput::RunList(list);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    // Before anything that costs time: a job may run this every step.
    if (argc > 1 && std::string_view(argv[1]) == "mark") return goodput::RunMark(argc - 2, argv + 2);
    return ParseAndRun(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "sgoodput: %s\n", error.what());
    return goodput::kBadUsage;
  }
}
