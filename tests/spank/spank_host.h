// Implements SPANK's functions with a few variables: a program linked with this can load the built plugin and
// call its hooks in Slurm's order without Slurm.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "spank/slurm_spank.h"

struct SpankHost {
  spank_context_t context = S_CTX_REMOTE;
  uint32_t job = 77;
  uint32_t step = 0;
  int task = -1;
  int status = 0;
  std::map<std::string, std::string> job_env;
  std::map<std::string, std::string> control_env;
  std::map<std::string, std::string> submitted;  // options as a prolog sees them
  std::vector<spank_option> options;
  std::vector<std::string> log;
};
extern SpankHost host;
