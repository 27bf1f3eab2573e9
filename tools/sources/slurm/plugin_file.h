// The plugin as plugstack.conf names it and as it lies on disk, read without loading it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace goodput {

inline constexpr std::string_view kPluginFileName = "spank_goodput.so";
inline constexpr std::string_view kPyxisFileName = "spank_pyxis.so";

// A line of plugstack.conf: `required|optional PATH [ARGUMENT ...]`.
struct PlugstackLine {
  std::string where;  // "FILE:LINE"
  bool required = false;
  std::string plugin;  // as written; without a slash it is looked for in PluginDir
  std::vector<std::string> arguments;
  std::string pyxis;  // where pyxis stands before it; empty: nowhere
};

// The value of the last argument NAME=VALUE, which counts.
std::optional<std::string> ArgumentOf(const PlugstackLine& line, std::string_view name);

// Every line of plugstack.conf that loads slurm-goodput's plugin, `include`d files too (wildcards; relative
// to the folder of the file that includes, as slurmd resolves them). A missing include is no error, as for
// Slurm.
absl::StatusOr<std::vector<PlugstackLine>> FindGoodputLines(const std::string& plugstack);

// What is known of where Slurm's configuration may be on this machine; empty: not known.
struct SlurmConfPlaces {
  std::string slurm_conf;    // $SLURM_CONF
  std::string plugstack;     // PlugStackConfig, as slurmctld says it of its own machine
  std::string slurmd_spool;  // SlurmdSpoolDir
  bool conf_server = false;  // slurmd or sackd runs here with --conf-server
};
struct PlugstackPlace {
  std::string path;
  bool from_controller = false;  // a copy that slurmd or sackd had sent to it
};
// The plugstack.conf that counts on this machine. With slurmd --conf-server or sackd, and where there is no
// slurm.conf, that is what they got from slurmctld, whatever else an image has. `exists`: of a path.
PlugstackPlace FindPlugstack(const SlurmConfPlaces& places,
                             const std::function<bool(const std::string&)>& exists);
// Of a command line, its words with a NUL behind each: is it that of a slurmd or sackd with --conf-server?
bool IsConfServerClient(std::string_view command_line);

// The Slurm release, such as "22.05", a plugin was built for: its symbol plugin_version, which Slurm compares
// when it loads it. An error says what is wrong with the file.
absl::StatusOr<std::string> ReleaseOfPlugin(const std::string& path);

// "22.05" of "slurm-wlm 22.05.8"; empty if there is no release in it.
std::string ReleaseOfVersion(std::string_view version);

}  // namespace goodput
