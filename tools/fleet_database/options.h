// The values of a command line of the fleet: main.cc fills these in, and each command is a function of one of
// them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace goodput {

struct FleetCommon {
  std::string fleet_db;  // --fleet-db URL, or goodput.conf's
  std::string config;    // --config FILE
  bool json = false;
};

// Selects runs, as in sacct.
struct FleetSelectOptions {
  std::vector<std::string> clusters;
  std::vector<std::string> users;
  std::vector<std::string> accounts;
  std::vector<std::string> partitions;
  std::vector<std::string> states;
  std::vector<std::string> names;
  std::vector<std::string> jobs;
  std::vector<std::string> nodes;  // hostlists
  bool all_users = false;
  bool all_clusters = false;
  std::string start;
  std::string end;
  bool truncate = false;
};

struct FleetListOptions {
  FleetCommon common;
  FleetSelectOptions select;
  std::int64_t limit = 1000;
  bool parsable2 = false;
  bool csv = false;
  bool no_header = false;
};

struct FleetReportOptions {
  FleetCommon common;
  FleetSelectOptions select;
  std::string by = "cluster";
  std::string window;
  std::optional<double> price;
  bool parsable2 = false;
  bool csv = false;
  bool no_header = false;
  std::string sort;
  bool suspects = false;
  bool fleet = false;
};

// A page of the fleet: -M, -S and -E of `select`.
struct FleetPageOptions {
  FleetCommon common;
  FleetSelectOptions select;
};

struct FleetStatementOptions {
  FleetCommon common;
  FleetSelectOptions select;
  std::string month;
  std::string by = "account";
  std::string as;  // another consumption model
  bool csv = false;
  bool html = false;
};

struct FleetShowOptions {
  FleetCommon common;
  std::string job;
  std::string run;
  std::string cluster;
};

struct FleetAddOptions {
  FleetCommon common;
  std::string cluster;
  std::string role;
};

// Sends the runs of this cluster's database.
struct FleetSyncOptions {
  FleetCommon common;
  std::string db;       // or goodput.conf's
  std::string cluster;  // or goodput.conf's
  bool once = false;
  std::string start;  // resend
  std::string end;
};

int RunFleetList(const FleetListOptions& options);
int RunFleetReport(const FleetReportOptions& options);
// Writes the page to stdout.
int RunFleetPage(const FleetPageOptions& options);
int RunFleetStatement(const FleetStatementOptions& options);
int RunFleetShow(const FleetShowOptions& options);
int RunFleetInit(const FleetCommon& options);
int RunFleetMigrate(const FleetCommon& options);
int RunFleetAdd(const FleetAddOptions& options);
// `metrics`: prints OpenMetrics text.
int RunFleetStatus(const FleetCommon& options, bool metrics);
int RunFleetSync(const FleetSyncOptions& options);
int RunFleetVerify(const FleetSyncOptions& options);
int RunFleetResend(const FleetSyncOptions& options);

}  // namespace goodput
