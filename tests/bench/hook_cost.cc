// Measures what the hooks of one job cost on a node.
//
//   hook_cost PLUGIN JOBS [ARGUMENT ...]
//
// Calls every hook of a plugin for JOBS jobs with four tasks, in Slurm's order, with a fresh image of the
// plugin for each process that Slurm would start. Prints a line per hook, such as "job_prolog 93.1 118.7":
// median and 90th percentile in microseconds. Hooks that the plugin lacks are left out. Only the call is
// timed; ARGUMENTs are those of plugstack.conf.
#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "spank/clock.h"
#include "tests/spank/spank_host.h"

namespace {

constexpr int kTasks = 4;

class Bench {
 public:
  Bench(const char* plugin, std::vector<std::string> arguments)
      : plugin_(plugin), arguments_(std::move(arguments)) {
    for (std::string& argument : arguments_) argv_.push_back(argument.data());
  }
  void Job() {
    ++host.job;
    Process(S_CTX_JOB_SCRIPT, [this] { Call("job_prolog"); });
    Process(S_CTX_REMOTE, [this] {
      Call("init");
      Call("init_post_opt");
      for (const char* hook : {"task_post_fork", "task_exit"}) {
        for (host.task = 0; host.task < kTasks; ++host.task) Call(hook);
      }
      host.task = -1;
      Call("exit");
    });
    Process(S_CTX_JOB_SCRIPT, [this] { Call("job_epilog"); });
  }
  void Print() {
    for (auto& [hook, times] : took_us_) {
      std::sort(times.begin(), times.end());
      std::printf("%s %.1f %.1f\n", hook.c_str(), times[times.size() / 2], times[times.size() * 9 / 10]);
    }
  }

 private:
  template <typename Body>
  void Process(spank_context_t context, Body body) {
    host.context = context;
    host.options.clear();
    host.job_env.clear();
    image_ = dlopen(plugin_, RTLD_LAZY);
    if (image_ == nullptr) {
      std::fprintf(stderr, "hook_cost: %s\n", dlerror());
      std::exit(2);
    }
    body();
    dlclose(image_);
  }
  void Call(const char* hook) {
    auto* const function =
        reinterpret_cast<spank_f*>(dlsym(image_, (std::string("slurm_spank_") + hook).c_str()));
    if (function == nullptr) return;
    const int64_t begin = goodput::kSystemClock.mono_ns();
    function(nullptr, static_cast<int>(argv_.size()), argv_.data());
    took_us_[hook].push_back(static_cast<double>(goodput::kSystemClock.mono_ns() - begin) / 1e3);
  }

  const char* plugin_;
  std::vector<std::string> arguments_;
  std::vector<char*> argv_;
  std::map<std::string, std::vector<double>> took_us_;
  void* image_ = nullptr;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: hook_cost PLUGIN JOBS [ARGUMENT ...]\n");
    return 2;
  }
  setenv("SLURMD_NODENAME", "n1", 1);
  setenv("SLURM_CLUSTER_NAME", "a3", 1);
  setenv("SLURM_JOB_GPUS", "0-7", 1);
  host.submitted = {{"goodput-run", "llama"}, {"goodput-precision", "bf16"}};
  Bench bench(argv[1], std::vector<std::string>(argv + 3, argv + argc));
  for (int i = std::atoi(argv[2]); i > 0; --i) bench.Job();
  bench.Print();
  return 0;
}
