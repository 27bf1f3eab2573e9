// What `sgoodput doctor` prints: one line per finding, and below each problem how to fix it.
#pragma once

#include <cstdio>
#include <string>

#include "sql/database.h"
#include "tools/base/config.h"
#include "tools/base/format.h"

namespace goodput {

class Findings {
 public:
  void Good(const std::string& line) { Print("ok", line); }
  void Note(const std::string& line) { Print("--", line); }
  void Bad(const std::string& line, const std::string& fix) {
    Print("!!", line);
    std::printf("      fix: %s\n", fix.c_str());
    ++bad_;
  }
  int bad() const { return bad_; }

 private:
  static void Print(const char* sign, const std::string& line) {
    constexpr std::size_t kMostFinding = 1000;
    std::printf("%s  %s\n", sign, Printable(line, kMostFinding).c_str());
  }
  int bad_ = 0;
};

// Checks that everything was built for the running Slurm, and that it loads the plugin with arguments that
// agree with goodput.conf.
void CheckSlurm(const Config& config, Findings& findings);

// Checks which daemon writes to the database and answers queries, the database copies, and which nodes record
// nothing.
void CheckController(Database& db, const Config& config, Findings& findings);

// If goodput.conf names a fleet database: checks that it has what this cluster sends. `config_file`:
// --config, or empty.
void CheckFleetDatabase(const Config& config, const std::string& config_file, Findings& findings);
void CheckCloud(const Config& config, Findings& findings);
void CheckEvents(const Config& config, Findings& findings);
void CheckTelemetry(const Config& config, const std::string& config_file, Findings& findings);

}  // namespace goodput
