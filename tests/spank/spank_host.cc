#include "tests/spank/spank_host.h"

#include <cstdarg>
#include <cstdio>

SpankHost host;

namespace {

// An int in some releases, an enumerator in others.
constexpr auto kOk = static_cast<spank_err_t>(ESPANK_SUCCESS);

void Log(const char* format, va_list arguments) {
  char line[1024];
  std::vsnprintf(line, sizeof(line), format, arguments);  // NOLINT(clang-analyzer-valist.Uninitialized)
  host.log.emplace_back(line);
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {
// The plugin never destroys its state, which a test's dlclose makes unreachable.
int __lsan_is_turned_off();  // NOLINT(bugprone-reserved-identifier): LeakSanitizer's name for it
int __lsan_is_turned_off() {
  return 1;
}

spank_context_t spank_context() {
  return host.context;
}
spank_err_t spank_option_register(spank_t, spank_option* option) {
  host.options.push_back(*option);
  return kOk;
}
spank_err_t spank_option_getopt(spank_t, spank_option* option, char** value) {
  const auto found = host.submitted.find(option->name);
  if (found == host.submitted.end()) return static_cast<spank_err_t>(ESPANK_ERROR);
  *value = found->second.data();
  return kOk;
}
spank_err_t spank_get_item(spank_t, spank_item_t item, ...) {
  va_list arguments;
#ifdef __clang__
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wvarargs"  // Slurm's signature has the enum before the dots
#endif
  va_start(arguments, item);
#ifdef __clang__
#pragma clang diagnostic pop
#endif
  void* out = va_arg(arguments, void*);
  va_end(arguments);
  const auto set = [out](uint32_t value) {
    *static_cast<uint32_t*>(out) = value;
    return kOk;
  };
  switch (item) {
    case S_JOB_ID:
      return set(host.job);
    case S_JOB_UID:
    case S_JOB_GID:
      return set(1000);
    case S_JOB_STEPID:
      return set(host.step);
    case S_JOB_ARRAY_ID:
    case S_JOB_ARRAY_TASK_ID:
      return set(0);
    case S_JOB_NNODES:
      return set(3);
    case S_JOB_TOTAL_TASK_COUNT:
      return set(24);
    case S_JOB_LOCAL_TASK_COUNT:
      return set(8);
    case S_TASK_ID:
      return host.task < 0 ? static_cast<spank_err_t>(ESPANK_NOT_TASK)
                           : set(static_cast<uint32_t>(host.task));
    case S_TASK_GLOBAL_ID:
      return set(static_cast<uint32_t>(host.task) + 8);
    case S_TASK_PID:
      return set(4242);
    case S_TASK_EXIT_STATUS:
      return set(static_cast<uint32_t>(host.status));
    default:  // as slurmstepd answers for what it does not know
      return static_cast<spank_err_t>(ESPANK_BAD_ARG);
  }
}
spank_err_t spank_getenv(spank_t, const char* name, char* buffer, int size) {
  const auto found = host.job_env.find(name);
  if (found == host.job_env.end()) return static_cast<spank_err_t>(ESPANK_ENV_NOEXIST);
  std::snprintf(buffer, static_cast<std::size_t>(size), "%s", found->second.c_str());
  return kOk;
}
spank_err_t spank_setenv(spank_t, const char* name, const char* value, int overwrite) {
  if (overwrite != 0 || host.job_env.count(name) == 0) host.job_env[name] = value;
  return kOk;
}
spank_err_t spank_job_control_setenv(spank_t, const char* name, const char* value, int) {
  host.control_env[name] = value;
  return kOk;
}
#define LOG_FUNCTION(name)             \
  void name(const char* format, ...) { \
    va_list arguments;                 \
    va_start(arguments, format);       \
    Log(format, arguments);            \
    va_end(arguments);                 \
  }
LOG_FUNCTION(slurm_info)
LOG_FUNCTION(slurm_error)
LOG_FUNCTION(slurm_verbose)
LOG_FUNCTION(slurm_spank_log)
}
#pragma GCC visibility pop
