// Finds the plugin in plugstack.conf and reads its file, without loading it.
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
  std::string plugin;  // as written; without a slash, it is searched in PluginDir
  std::vector<std::string> arguments;
  std::string pyxis;  // where pyxis comes before it; empty: nowhere
};

// The value of the last argument NAME=VALUE, which is the one that counts.
std::optional<std::string> ArgumentOf(const PlugstackLine& line, std::string_view name);

// Every line of plugstack.conf that loads slurm-goodput's plugin, including `include`d files (wildcards;
// relative to the folder of the including file, as slurmd resolves them). A missing include is not an error,
// as in Slurm.
absl::StatusOr<std::vector<PlugstackLine>> FindGoodputLines(const std::string& plugstack);

// What is known about where Slurm's configuration may be on this machine; empty: unknown.
struct SlurmConfPlaces {
  std::string slurm_conf;    // $SLURM_CONF
  std::string plugstack;     // PlugStackConfig, as slurmctld reports it for its own machine
  std::string slurmd_spool;  // SlurmdSpoolDir
  bool conf_server = false;  // slurmd or sackd runs here with --conf-server
};
struct PlugstackPlace {
  std::string path;
  bool from_controller = false;  // a copy received by slurmd or sackd
};
// The plugstack.conf that applies on this machine. With slurmd --conf-server or sackd, and without a
// slurm.conf, that is the one received from slurmctld, whatever else is installed. `exists`: tests a path.
PlugstackPlace FindPlugstack(const SlurmConfPlaces& places,
                             const std::function<bool(const std::string&)>& exists);
// Whether a command line, as words ended by NULs, is that of a slurmd or sackd with --conf-server.
bool IsConfServerClient(std::string_view command_line);
// The slurm.conf that a slurmd was told to read (-f); empty: none; absent: this is no slurmd.
std::optional<std::string> ConfOfSlurmd(std::string_view command_line);

// The Slurm release, such as "22.05", for which a plugin was built: its symbol plugin_version, which Slurm
// compares when it loads it. An error says what is wrong with the file.
absl::StatusOr<std::string> ReleaseOfPlugin(const std::string& path);

// "22.05" from "slurm-wlm 22.05.8"; empty if there is no release in it.
std::string ReleaseOfVersion(std::string_view version);

}  // namespace goodput
