// The plugin's hooks, one file per SPANK context, and the state they share. plugin.cc dispatches to them.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "spank/job_state.h"
#include "spank/options.h"
#include "spank/slurm_spank.h"
#include "spank/spool.h"

namespace goodput {

// What one process remembers between hooks. Created by the first hook and never destroyed: after a contained
// fault nothing in it may be used again, not even by a destructor.
struct Plugin {
  Site site;
  Spool spool;
  JobOptions given;  // from the command line, as the option callbacks received it
  // Only in slurmstepd.
  bool switched_off = false;  // by the kill switch
  bool recording = false;
  JobState note;  // written by the job's prolog, or what is known without it
};

// submit.cc: srun, sbatch, salloc. Validates options; writes nothing.
void RegisterOptions(spank_t spank, spank_opt_cb_f callback);
// Returns 0, or -1 to refuse the submission (only if `remote` is false).
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

// Opens the node's spool as the site configured it. A refusal is logged in one line of slurmd's log. Returns
// false if the kill switch is set.
bool OpenNodeSpool(Plugin* plugin);
Stamp NodeStamp();

// Reads the options' environment variables with `get(name)`, which returns null or a value. Invalid ones are
// omitted; the submission has already warned about them.
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
