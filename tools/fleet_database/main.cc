// goodput-fleet-database: what sgoodput executes for `sgoodput fleet` and `sgoodput --fleet-db URL`. An
// option that the fleet database cannot answer does not exist here, and is refused.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>

#include "config.h"
#include "tools/base/help_formatter.h"
#include "tools/fleet_database/fleet_session.h"
#include "tools/fleet_database/options.h"

namespace {

constexpr const char* kFleetExamples = R"(
The fleet database is one PostgreSQL database for many clusters. Each cluster's controller sends its runs to it
(goodput-fleet.service runs `sgoodput fleet sync`), and sgoodput --fleet-db URL asks it.

Examples:
  sgoodput fleet init --fleet-db postgresql:///goodput       create the tables, as their owner
  sgoodput fleet add a3 --fleet-db postgresql:///goodput     a role that writes the rows of cluster a3
  sgoodput fleet sync --once                                 on the controller: send everything now
  sgoodput fleet verify                                      on the controller: is all of it there?
  sgoodput fleet status                                      which clusters have sent, and up to when
  sgoodput --fleet-db URL report -a -S now-30days --by cluster

Exit status: 0 answered, 1 nothing matched or something differs, 2 bad usage or no connection.)";

constexpr const char* kQuestionExamples = R"(
Examples:
  sgoodput --fleet-db URL -a -S now-7days                  all runs of all clusters, the latest first
  sgoodput --fleet-db URL report -a -S 2026-11-01 --by cluster,account
  sgoodput --fleet-db URL report -a -S 2026-01-01 --by month
  sgoodput --fleet-db URL report --fleet -S now-30days    how much of the fleet was idle or down
  sgoodput --fleet-db URL page >fleet.html                all of this as a page for a browser
  sgoodput --fleet-db URL show 1234 -M a3)";

void AddCommon(CLI::App& app, goodput::FleetCommon& common) {
  app.add_option("--fleet-db", common.fleet_db,
                 "the fleet database: postgresql://USER@HOST/DATABASE (`fleet` of goodput.conf)")
      ->type_name("URL");
  app.add_option("--config", common.config, "read FILE instead of /etc/slurm-goodput/goodput.conf")
      ->type_name("FILE");
}

void AddList(CLI::App& app, const char* name, std::vector<std::string>& into, const char* type,
             const char* help) {
  app.add_option(name, into, help)->type_name(type)->allow_extra_args(false);
}

// Whose runs.
void AddOwners(CLI::App& app, goodput::FleetSelectOptions& select) {
  AddList(app, "-u,--user", select.users, "USER[,USER]", "runs of these users");
  AddList(app, "-A,--accounts", select.accounts, "ACCOUNT[,..]", "runs of these accounts");
  AddList(app, "-r,--partition", select.partitions, "PART[,..]", "runs in these partitions");
  AddList(app, "-M,--clusters", select.clusters, "CLUSTER[,..]", "runs of these clusters");
  app.add_flag("-a,--allusers", select.all_users, "runs of all users");
  app.add_flag("-L,--allclusters", select.all_clusters, "runs of all clusters");
}

void AddSelection(CLI::App& app, goodput::FleetSelectOptions& select) {
  AddOwners(app, select);
  AddList(app, "-j,--jobs", select.jobs, "JOB[,JOB]", "these jobs: 12, 12_3, 12+1");
  AddList(app, "-s,--state", select.states, "STATE[,..]",
          "runs with any attempt in these states (long names)");
  AddList(app, "-N,--nodelist", select.nodes, "NODES", "runs on any of these nodes: n1,n[3-5]");
  AddList(app, "--name", select.names, "NAME[,NAME]", "runs with these job names");
  app.add_option("-S,--starttime", select.start, "runs in any state after TIME (default: midnight)")
      ->type_name("TIME");
  app.add_option("-E,--endtime", select.end, "runs in any state before TIME")->type_name("TIME");
}

// Options of the list before a subcommand would have no effect.
void RefuseOptionsOfList(const CLI::App& app) {
  if (app.get_subcommands().empty()) return;
  for (const CLI::Option* option : app.get_options()) {
    const std::string name = option->get_name();
    if (option->count() > 0 && name != "--fleet-db" && name != "--config")
      throw CLI::ExtrasError("write " + name + " after the subcommand", CLI::ExitCodes::ExtrasError);
  }
}

int ParseAndRun(int argc, char** argv) {
  CLI::App app{"Asks the fleet database of many clusters how much GPU time became training progress.",
               "sgoodput"};
  app.formatter(std::make_shared<goodput::HelpFormatter>());
  app.footer(kQuestionExamples);
  app.set_version_flag("-V,--version", std::string("sgoodput ") + PACKAGE_VERSION);
  app.require_subcommand(0, 1);
  goodput::FleetCommon common;

  goodput::FleetListOptions list;
  AddCommon(app, common);
  AddSelection(app, list.select);
  app.add_option("--limit", list.limit, "print at most N runs (1000)")
      ->type_name("N")
      ->check(CLI::Range(1, 1'000'000));
  app.add_flag("-P,--parsable2", list.parsable2, "fields separated by |");
  app.add_flag("--csv", list.csv, "comma-separated values (RFC 4180)");
  app.add_flag("-n,--noheader", list.no_header, "no header line");

  goodput::FleetReportOptions report;
  CLI::App* report_app = app.add_subcommand("report", "sums over the runs of all clusters");
  AddCommon(*report_app, common);
  AddSelection(*report_app, report.select);
  report_app->add_flag("-T,--truncate", report.select.truncate,
                       "count only the days between -S and -E, in UTC");
  report_app
      ->add_option(
          "--by", report.by,
          "cluster, user, account, partition, reservation, consumption, stockout, run, gpu_type, month, day, "
          "cause, node, tag:KEY, all; or two: A,B")
      ->type_name("WHAT");
  report_app->add_option("--window", report.window, "one row per so many days from -S to -E: 1d, 7d")
      ->type_name("LENGTH");
  report_app->add_flag("--suspects", report.suspects,
                       "with --by node: only nodes that fail more often than by chance, and their list");
  report_app->add_flag("--fleet", report.fleet,
                       "all nodes of the clusters: allocated, idle, down, drained or unknown;\n"
                       "                              --by cluster, node, day, month, all");
  report_app->add_option("--gpu-hour", report.price, "price of one GPU-hour")->type_name("PRICE");
  report_app->add_flag("--json", common.json, "print JSON (see report.schema.json)");
  report_app->add_flag("-P,--parsable2", report.parsable2, "fields separated by |, without the total");
  report_app->add_flag("--csv", report.csv, "comma-separated values (RFC 4180), without the total");
  report_app->add_option("--sort", report.sort, "sort by these columns; -COLUMN for largest first")
      ->type_name("COLUMN[,..]");
  report_app->add_flag("-n,--noheader", report.no_header, "no header line");

  goodput::FleetPageOptions fleet_page;
  CLI::App* page_app = app.add_subcommand("page", "the fleet as a page for a browser, on stdout");
  AddCommon(*page_app, common);
  AddList(*page_app, "-M,--clusters", fleet_page.select.clusters, "CLUSTER[,..]", "these clusters");
  fleet_page.select.start = "now-30days";
  page_app
      ->add_option("-S,--starttime", fleet_page.select.start,
                   "from TIME on (now-30days), in whole days in UTC")
      ->type_name("TIME");
  page_app->add_option("-E,--endtime", fleet_page.select.end, "until TIME")->type_name("TIME");

  goodput::FleetStatementOptions statement;
  CLI::App* statement_app =
      app.add_subcommand("statement", "what a month cost, what became progress, and what was lost");
  AddCommon(*statement_app, common);
  AddOwners(*statement_app, statement.select);
  statement_app->add_option("--month", statement.month, "the month, in UTC (default: the last one)")
      ->type_name("YYYY-MM");
  statement_app
      ->add_option("--by", statement.by,
                   "cluster, account, user, partition, reservation, consumption or run (account)")
      ->type_name("WHAT");
  statement_app
      ->add_option("--as", statement.as, "also what the same GPU-hours cost as another consumption model")
      ->type_name("MODEL");
  statement_app->add_flag("--csv", statement.csv, "comma-separated values (RFC 4180)");
  statement_app->add_flag("--html", statement.html, "a page to mail");

  goodput::FleetShowOptions show;
  CLI::App* show_app = app.add_subcommand("show", "the buckets of one run");
  AddCommon(*show_app, common);
  show_app->add_option("JOB", show.job, "job id: 12, 12_3, 12+1; or the name of a run");
  show_app->add_option("--run", show.run, "the run NAME (--goodput-run)")->type_name("NAME");
  show_app->add_option("-M,--cluster", show.cluster, "select by cluster")->type_name("CLUSTER");
  show_app->add_flag("--json", common.json, "print JSON (see report.schema.json)");

  CLI::App* fleet = app.add_subcommand("fleet", "send runs to the fleet database of many clusters");
  fleet->require_subcommand(1);
  fleet->footer(kFleetExamples);
  CLI::App* init = fleet->add_subcommand("init", "create the tables, views and roles");
  CLI::App* migrate = fleet->add_subcommand("migrate", "upgrade the tables for this release");
  goodput::FleetAddOptions add;
  CLI::App* add_app = fleet->add_subcommand("add", "create the role that writes the rows of a cluster");
  add_app->add_option("CLUSTER", add.cluster, "name of the cluster")->required();
  add_app->add_option("ROLE", add.role, "the role (goodput_writer_CLUSTER)");
  CLI::App* status = fleet->add_subcommand("status", "which clusters have sent, and up to when");
  bool metrics = false;
  status->add_flag("--metrics", metrics, "print OpenMetrics text, for node_exporter's textfile collector");
  goodput::FleetSyncOptions sync;
  CLI::App* sync_app = fleet->add_subcommand("sync", "send this cluster's runs, and continue until killed");
  CLI::App* verify =
      fleet->add_subcommand("verify", "compare all of this cluster's runs with the fleet database");
  CLI::App* resend =
      fleet->add_subcommand("resend", "send all of this cluster's runs again, or those of a time");
  for (CLI::App* sends : {sync_app, verify, resend}) {
    sends->add_option("--db", sync.db, "read the database FILE")->type_name("FILE");
    sends->add_option("-M,--cluster", sync.cluster, "name of this cluster")->type_name("CLUSTER");
  }
  sync_app->add_flag("--once", sync.once, "compare and send everything once, and exit");
  resend->add_option("-S,--starttime", sync.start, "runs after TIME")->type_name("TIME");
  resend->add_option("-E,--endtime", sync.end, "runs before TIME")->type_name("TIME");
  for (CLI::App* command : {init, migrate, add_app, status, sync_app, verify, resend})
    AddCommon(*command, common);
  AddCommon(*fleet, common);

  try {
    try {
      app.parse(argc, argv);
    } catch (const CLI::Success& asked) {
      return app.exit(asked);
    }
    RefuseOptionsOfList(app);
  } catch (const CLI::ParseError& error) {
    std::fprintf(stderr, "sgoodput: with the fleet database: %s; see sgoodput fleet --help\n", error.what());
    return goodput::kFleetBadUsage;
  }
  list.common = report.common = statement.common = fleet_page.common = show.common = add.common =
      sync.common = common;
  if (*report_app) return goodput::RunFleetReport(report);
  if (*page_app) return goodput::RunFleetPage(fleet_page);
  if (*statement_app) return goodput::RunFleetStatement(statement);
  if (*show_app) return goodput::RunFleetShow(show);
  if (*init) return goodput::RunFleetInit(common);
  if (*migrate) return goodput::RunFleetMigrate(common);
  if (*add_app) return goodput::RunFleetAdd(add);
  if (*status) return goodput::RunFleetStatus(common, metrics);
  if (*sync_app) return goodput::RunFleetSync(sync);
  if (*verify) return goodput::RunFleetVerify(sync);
  if (*resend) return goodput::RunFleetResend(sync);
  return goodput::RunFleetList(list);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return ParseAndRun(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "sgoodput: %s\n", error.what());
    return goodput::kFleetBadUsage;
  }
}
