// doctor's checks of Slurm: its release, its plugstack.conf, and the plugin file.
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "absl/strings/str_split.h"
#include "config.h"
#include "sql/text.h"
#include "tools/base/mark_message.h"
#include "tools/base/subprocess.h"
#include "tools/sgoodput/findings.h"
#include "tools/sources/slurm/plugin_file.h"

namespace goodput {
namespace {

namespace fs = std::filesystem;

constexpr absl::Duration kPatience = absl::Seconds(10);

struct SlurmPaths {
  PlugstackPlace plugstack;
  std::vector<std::string> plugin_dirs;
  std::string slurm_conf;  // as in the environment; empty: Slurm's default
  std::string auth;        // "slurm" of auth/slurm; empty: unknown
};

bool IsThere(const std::string& path) {
  return access(path.c_str(), F_OK) == 0;
}

std::string TextOf(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// The folders in /proc of the processes whose command line passes.
template <typename Passes>
std::vector<fs::path> ProcessesThat(const Passes& passes) {
  std::vector<fs::path> found;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc", error)) {
    if (entry.path().filename().string().find_first_not_of("0123456789") != std::string::npos) continue;
    if (passes(TextOf(entry.path() / "cmdline"))) found.push_back(entry.path());
  }
  return found;
}

// Whether this machine's slurmd or sackd gets its configuration from slurmctld.
bool ConfServerClientRuns() {
  return !ProcessesThat(IsConfServerClient).empty();
}

// slurmd looks for plugins with a prolog or epilog when it starts, and keeps them mapped.
void CheckSlurmdLoadedIt(const std::string& slurm_conf, Findings& findings) {
  const auto is_ours = [&](std::string_view command_line) {
    const std::optional<std::string> conf = ConfOfSlurmd(command_line);
    const bool usual = conf && conf->empty() && slurm_conf.rfind("/etc/", 0) == 0;
    return conf && (usual || *conf == slurm_conf);
  };
  for (const fs::path& process : ProcessesThat(is_ours)) {
    const std::string maps = TextOf(process / "maps");  // empty: another user's
    if (maps.empty() || maps.find(kPluginFileName) != std::string::npos) continue;
    findings.Bad(Cat("slurmd (process ", process.filename().string(),
                     ") has not loaded the plugin, and calls neither its prolog nor its epilog: it looks for "
                     "plugins only when it starts"),
                 "systemctl restart slurmd (running jobs go on)");
  }
}

// From the controller; while it is down, Slurm's default places.
SlurmPaths AskPaths() {
  SlurmPaths paths;
  SlurmConfPlaces places;
  const char* conf = std::getenv("SLURM_CONF");  // NOLINT(concurrency-mt-unsafe): one thread
  if (conf != nullptr) places.slurm_conf = conf;
  const absl::StatusOr<CommandResult> config =
      RunCommand({"scontrol", "show", "config"}, {kPatience, 1U << 20U, {}});
  if (config.ok()) {
    for (const absl::string_view line : absl::StrSplit(config->out, '\n')) {
      const std::vector<std::string> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
      if (words.size() != 3 || words[1] != "=") continue;
      if (words[0] == "PlugStackConfig" && words[2] != "(null)") places.plugstack = words[2];
      if (words[0] == "SlurmdSpoolDir") places.slurmd_spool = words[2];
      if (words[0] == "PluginDir") paths.plugin_dirs = absl::StrSplit(words[2], ':', absl::SkipEmpty());
      if (words[0] == "AuthType") paths.auth = words[2].substr(words[2].rfind('/') + 1);
    }
  }
  paths.slurm_conf = places.slurm_conf;
  places.conf_server = places.slurm_conf.empty() && ConfServerClientRuns();
  paths.plugstack = FindPlugstack(places, IsThere);
  return paths;
}

std::string PathOf(const PlugstackLine& line, const SlurmPaths& paths) {
  if (line.plugin.find('/') != std::string::npos) return line.plugin;
  struct stat info {};
  for (const std::string& dir : paths.plugin_dirs) {
    std::string path = Cat(dir, "/", line.plugin);
    if (stat(path.c_str(), &info) == 0) return path;
  }
  return line.plugin;
}

void CheckPluginFile(const std::string& path, const std::string& running, Findings& findings) {
  const absl::StatusOr<std::string> release = ReleaseOfPlugin(path);
  if (!release.ok()) {
    findings.Bad(Cat("Slurm cannot load the plugin: ", Message(release.status())),
                 "install it again with `make install`, which replaces the file atomically");
    return;
  }
  if (!running.empty() && *release != running) {
    findings.Bad(
        Cat("the plugin ", path, " was built for Slurm ", *release, ", but this is Slurm ", running,
            ": Slurm skips it, and nothing is recorded on this node"),
        "rebuild it for this Slurm (--with-slurm=PREFIX) and run `make install`; no restart is needed");
    return;
  }
  struct stat info {};
  if (stat(path.c_str(), &info) == 0 && (info.st_uid != 0 || (info.st_mode & 0022U) != 0)) {
    findings.Bad(Cat("users other than root can write the plugin ", path, ", which Slurm runs as root"),
                 Cat("chown root ", path, "; chmod go-w ", path));
    return;
  }
  findings.Good(Cat("the plugin ", path, " is built for Slurm ", *release));
}

// Arguments of the plugin that must agree with goodput.conf.
void CheckArguments(const PlugstackLine& line, const Config& config, Findings& findings) {
  if (!config.node_role) return;
  const Config usual;
  const auto compare = [&](std::string_view name, std::string_view unless_said, std::string_view daemon) {
    const std::string plugin = ArgumentOf(line, name).value_or(std::string(unless_said));
    if (plugin == daemon) return;
    findings.Bad(Cat("the plugin's ", name, " is ", plugin, " (", line.where, "), but goodputd's is ", daemon,
                     " (goodput.conf)"),
                 Cat("set ", name, "=", daemon, " in ", line.where, ", or change goodput.conf"));
  };
  compare("spool", usual.spool, config.spool);
  compare("socket", usual.socket, config.socket);
  // If goodput.conf does not have it, systemd's applies.
  if (!config.socket_path.empty()) compare("socket_path", kMarkSocketPath, config.socket_path);
}

void CheckPlugstack(const SlurmPaths& paths, const std::string& running, const Config& config,
                    Findings& findings) {
  const std::string& plugstack = paths.plugstack.path;
  const absl::StatusOr<std::vector<PlugstackLine>> lines = FindGoodputLines(plugstack);
  // A node without its own slurm.conf gets both files from slurmctld.
  const std::string where =
      paths.plugstack.from_controller
          ? std::string(
                "the controller's plugstack.conf and run `scontrol reconfigure`: this machine gets its "
                "configuration from there")
          : Cat(plugstack, " on every node (of a configless cluster: on the controller)");
  const std::string mend = Cat("add the line `optional PATH/", kPluginFileName, "` to ", where,
                               "; new steps use it at once, prolog and epilog after a restart of slurmd");
  if (!lines.ok()) {
    findings.Bad(Cat("Slurm's plugins: ", Message(lines.status())), mend);
    return;
  }
  if (paths.plugstack.from_controller)
    findings.Good(Cat("Slurm's configuration comes from the controller, in ", plugstack));
  if (lines->empty()) findings.Bad(Cat(plugstack, " does not load ", kPluginFileName), mend);
  for (const PlugstackLine& line : *lines) {
    if (line.required) {
      findings.Bad(Cat(line.where,
                       " makes the plugin `required`: if it ever fails to load, jobs fail and nodes drain"),
                   "use `optional`");
    }
    if (!line.pyxis.empty()) {
      findings.Bad(Cat(line.where, " comes after pyxis (", line.pyxis,
                       "): the end of a task is recorded only when its container has been removed, and that "
                       "time counts as training"),
                   "move the line before the one of pyxis");
    }
    CheckPluginFile(PathOf(line, paths), running, findings);
    CheckArguments(line, config, findings);
  }
  if (!lines->empty()) CheckSlurmdLoadedIt(paths.slurm_conf, findings);
  if (lines->size() > 1) {
    findings.Bad(Cat(plugstack, " loads the plugin ", lines->size(), " times: only the first copy works"),
                 "keep one line");
  }
}

}  // namespace

void CheckSlurm(const Config& config, Findings& findings) {
  const absl::StatusOr<CommandResult> version = RunCommand({"sinfo", "--version"}, {kPatience, 4096, {}});
  if (!version.ok()) {
    findings.Note("no Slurm commands on this machine (sinfo): it cannot read accounting");
    return;
  }
  const std::string running = ReleaseOfVersion(version->out);
  if (running.empty()) {
    findings.Note(
        Cat("Slurm's commands fail on this machine: ", version->err.substr(0, version->err.find('\n'))));
  } else if (running == GOODPUT_SLURM_RELEASE) {
    findings.Good(Cat("built for this Slurm, ", running));
  } else {
    findings.Bad(
        Cat("this is Slurm ", running, ", but sgoodput and goodputd were built for ", GOODPUT_SLURM_RELEASE),
        "rebuild them for this Slurm: configure --with-slurm=PREFIX");
  }
  const SlurmPaths paths = AskPaths();
  if (paths.auth == "slurm") {
    findings.Good("Slurm uses auth/slurm: MUNGE is not needed");
  }
  CheckPlugstack(paths, running, config, findings);
}

}  // namespace goodput
