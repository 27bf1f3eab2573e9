// The entry points that Slurm loads: the plugin's symbols, each hook under the crash guard, dispatched to the
// file of its context. Every hook returns success whatever happens inside it.
#include "config.h"
#include "spank/duplicate_load.h"
#include "spank/faults.h"
#include "spank/guard.h"
#include "spank/hooks.h"
#include "spank/slurm_spank.h"

#pragma GCC visibility push(default)
extern "C" {
// SPANK_PLUGIN defines const objects, which C++ would make local to this file.
extern const char plugin_name[];
extern const char plugin_type[];
extern const unsigned int plugin_version;
extern const unsigned int spank_plugin_version;
SPANK_PLUGIN(goodput, 1)
}
#pragma GCC visibility pop

namespace goodput {
namespace {

// All state of this image. Hooks of a process run in one thread, one after the other.
struct {
  Plugin* plugin = nullptr;
  bool inert = false;   // another image is active
  bool broken = false;  // a fault was contained: `plugin` must not be used
  // The same file listed twice is one image, each of whose hooks is called twice in a row; the second call
  // does nothing.
  bool init_done = false;
  bool post_opt_done = false;
  bool script_done = false;
  bool exit_done = false;
  int started_task = -1;
  int exited_task = -1;
} g;

bool Once(bool* done) {
  const bool first = !*done;
  *done = true;
  return first;
}

bool OncePerTask(spank_t spank, int* last) {
  int task = -1;
  if (spank_get_item(spank, S_TASK_ID, &task) != ESPANK_SUCCESS || task == *last) return false;
  *last = task;
  return true;
}

Plugin* ThisPlugin(int argc, char** argv) {
  if (g.plugin == nullptr) {
    auto* made = new Plugin;
    made->site = ParseSite(argc, argv, nullptr);
    g.plugin = made;
  }
  return g.plugin;
}

// Runs one hook's body. After a fault this process records nothing more, and logs that once.
template <typename Body>
void Hook(const char* name, Body body) noexcept {
  if (g.inert || g.broken) return;
  const GuardResult result = RunGuarded(body);
  if (result.outcome == Outcome::kDone || result.outcome == Outcome::kBusy) return;
  g.broken = true;
  // srun, sbatch and salloc print "info" on the user's terminal.
  const spank_context_t context = spank_context();
  const auto log = context == S_CTX_LOCAL || context == S_CTX_ALLOCATOR ? slurm_verbose : slurm_info;
  if (result.outcome == Outcome::kFaulted) {
    log("goodput: signal %d in %s was contained; this process records nothing more", result.signal, name);
  } else {
    log("goodput: an exception in %s was contained; this process records nothing more", name);
  }
  RunGuarded([] {
    if (g.plugin != nullptr) g.plugin->spool.CountDrop(Drop::kFault);
  });
}

int OnOption(int id, const char* value, int remote) {
  int result = 0;
  Hook("option", [&] {
    if (g.plugin != nullptr) result = TakeOption(id, value, remote != 0, g.plugin);
  });
  return result;
}

void Init(spank_t spank, int argc, char** argv) {
  if (!IsFirstImage()) {
    g.inert = true;
    return;
  }
  switch (spank_context()) {
    case S_CTX_SLURMD:
      SlurmdInit(argc, argv);
      return;
    case S_CTX_LOCAL:
    case S_CTX_ALLOCATOR:
    case S_CTX_JOB_SCRIPT:
      ThisPlugin(argc, argv);
      RegisterOptions(spank, OnOption);
      return;
    case S_CTX_REMOTE:
      StepInit(ThisPlugin(argc, argv));
      RegisterOptions(spank, OnOption);
      return;
    case S_CTX_ERROR:
      return;
  }
}

}  // namespace
}  // namespace goodput

using namespace goodput;  // NOLINT(google-build-using-namespace): the rest of this file is C's side of the
                          // boundary

extern "C" {

int slurm_spank_init(spank_t spank, int argc, char* argv[]) {
  if (!Once(&g.init_done)) return ESPANK_SUCCESS;
  Hook("init", [&] {
    InjectFault("init", argc, argv);
    Init(spank, argc, argv);
  });
  return ESPANK_SUCCESS;
}

int slurm_spank_init_post_opt(spank_t spank, int argc, char* argv[]) {
  if (g.plugin == nullptr || !Once(&g.post_opt_done)) return ESPANK_SUCCESS;
  Hook("init_post_opt", [&] {
    InjectFault("init_post_opt", argc, argv);
    if (spank_context() == S_CTX_REMOTE) {
      StepPostOpt(spank, g.plugin);
    } else {
      SubmitPostOpt(spank);
    }
  });
  return ESPANK_SUCCESS;
}

int slurm_spank_task_post_fork(spank_t spank, int argc, char* argv[]) {
  if (g.plugin == nullptr) return ESPANK_SUCCESS;
  Hook("task_post_fork", [&] {
    InjectFault("task_post_fork", argc, argv);
    if (OncePerTask(spank, &g.started_task)) TaskPostFork(spank, g.plugin);
  });
  return ESPANK_SUCCESS;
}

int slurm_spank_task_exit(spank_t spank, int argc, char* argv[]) {
  if (g.plugin == nullptr) return ESPANK_SUCCESS;
  Hook("task_exit", [&] {
    InjectFault("task_exit", argc, argv);
    if (OncePerTask(spank, &g.exited_task)) TaskExit(spank, g.plugin);
  });
  return ESPANK_SUCCESS;
}

int slurm_spank_exit(spank_t spank, int argc, char* argv[]) {
  if (g.plugin == nullptr || !Once(&g.exit_done)) return ESPANK_SUCCESS;
  Hook("exit", [&] {
    InjectFault("exit", argc, argv);
    if (spank_context() == S_CTX_REMOTE) StepExit(spank, g.plugin);
  });
  return ESPANK_SUCCESS;
}

// slurmd runs these two in their own process, without init.
int slurm_spank_job_prolog(spank_t spank, int argc, char* argv[]) {
  if (!Once(&g.script_done)) return ESPANK_SUCCESS;
  Hook("job_prolog", [&] {
    InjectFault("job_prolog", argc, argv);
    if (IsFirstImage()) JobProlog(spank, ThisPlugin(argc, argv));
  });
  return ESPANK_SUCCESS;
}

int slurm_spank_job_epilog(spank_t spank, int argc, char* argv[]) {
  if (!Once(&g.script_done)) return ESPANK_SUCCESS;
  Hook("job_epilog", [&] {
    InjectFault("job_epilog", argc, argv);
    if (IsFirstImage()) JobEpilog(spank, ThisPlugin(argc, argv));
  });
  return ESPANK_SUCCESS;
}

}  // extern "C"
