// The plugin's hooks, one file per SPANK context, and what they share. plugin.cc dispatches to them.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "spank/job_state.h"
#include "spank/options.h"
#include "spank/slurm_spank.h"
#include "spank/spool.h"

namespace goodput {

// What one process remembers between hooks. Made in the first hook, never destroyed: after a contained fault
// nothing of it may be touched again, a destructor least of all.
struct Plugin {
  Site site;
  Spool spool;
  JobOptions given;  // by the command line, as the option callbacks saw it
  // slurmstepd only.
  bool switched_off = false;  // by the kill switch
  bool recording = false;
  JobState note;  // its prolog's, or as much as is known without
};

// submit.cc: srun, sbatch, salloc. Validates; writes nothing.
void RegisterOptions(spank_t spank, spank_opt_cb_f callback);
// 0, or -1 to refuse the submission (only where `remote` is false).
int TakeOption(int id, const char* value, bool remote, Plugin* plugin);
void SubmitPostOpt(spank_t spank);

// node.cc: slurmd and its prolog and epilog.
void SlurmdInit(int argc, char** argv);
void JobProlog(spank_t spank, Plugin* plugin);
void JobEpilog(spank_t spank, Plugin* plugin);

// stepd.cc: slurmstepd, as root.
void StepInit(Plugin* plugin);
void StepPostOpt(spank_t spank, Plugin* plugin);
void TaskPostFork(spank_t spank, Plugin* plugin);
void TaskExit(spank_t spank, Plugin* plugin);
void StepExit(spank_t spank, Plugin* plugin);

// Opens the node's spool as the site says. A refusal is one line in slurmd's log. False when the kill switch
// is set.
bool OpenNodeSpool(Plugin* plugin);
Stamp NodeStamp();

// Environment twins, read with `get(name)`, which returns null or a value. Invalid ones, which the submission
// has warned of, are left out.
template <typename Get>
JobOptions ReadTwins(Get get) {
  JobOptions twins;
  for (const OptionSpec& spec : kOptions) {
    const char* value = get(spec.env);
    if (value == nullptr || *value == '\0') continue;
    ParseOption(spec.id, value, &twins);
  }
  return twins;
}

}  // namespace goodput
