// The hooks of srun, sbatch and salloc: options are registered and validated here, where the user can still
// correct them.
#include <cstdlib>

#include "spank/hooks.h"

namespace goodput {

void RegisterOptions(spank_t spank, spank_opt_cb_f callback) {
  for (const OptionSpec& spec : kOptions) {
    // Slurm copies the struct; its members only lack const.
    spank_option option{};
    option.name = const_cast<char*>(spec.name);
    option.arginfo = const_cast<char*>(spec.arginfo);
    option.usage = const_cast<char*>(spec.usage);
    option.has_arg = 1;
    option.val = static_cast<int>(spec.id);
    option.cb = callback;
    spank_option_register(spank, &option);
  }
}

int TakeOption(int id, const char* value, bool remote, Plugin* plugin) {
  if (id < 0 || id >= static_cast<int>(kOptionCount)) return 0;
  const OptionSpec& spec = kOptions[id];
  if (value == nullptr) value = "";
  const std::string bad = ParseOption(spec.id, value, &plugin->given);
  if (bad.empty()) return 0;
  // On the node it is too late to refuse: a value that bypassed the check at submission is ignored.
  if (remote) return 0;
  slurm_spank_log("goodput: %s", ComplaintLine(std::string("--") + spec.name, value, bad).c_str());
  return -1;
}

void SubmitPostOpt(spank_t spank) {
  for (const OptionSpec& spec : kOptions) {
    const char* value = std::getenv(spec.env);  // NOLINT(concurrency-mt-unsafe): one thread, before any other
    if (value == nullptr || *value == '\0') continue;
    JobOptions unused;
    const std::string bad = ParseOption(spec.id, value, &unused);
    if (bad.empty()) {
      // A job's environment reaches its steps but not its prolog; this does. Options reach it by themselves.
      spank_job_control_setenv(spank, spec.env, value, 1);
    } else {
      slurm_spank_log("goodput: %s; it is ignored", ComplaintLine(spec.env, value, bad).c_str());
    }
  }
}

}  // namespace goodput
