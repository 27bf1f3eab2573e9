// Resolves paths that a job named, from the point of view of a process of the job. Call with the rights of
// the job's user.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace goodput {

// The process's environment from the kernel: "NAME=value" ended by NULs, at most 1 MiB. Empty if it cannot be
// read or the process is gone.
std::string ProcessEnvironment(std::int64_t pid);

// The value of a variable in such an environment; empty if it has none.
std::string VariableOf(std::string_view environment, std::string_view name);

// Replaces %A (the array's id, or the job's), %a (its task), %j (the job), %u (the user), %x (the job's name)
// and %% with values from `environment` ("NAME=value" ended by NULs). Others are not changed.
std::string ExpandPath(std::string_view path, std::int64_t job, std::string_view environment,
                       std::string_view user);

// A path that the job named, expanded and made absolute with the process's working directory. Empty: unknown.
std::string ResolveJobPath(const std::string& named, std::int64_t job, std::int64_t pid);

// Opens a directory as the process sees it: an absolute path in its mount namespace and below its root,
// including links. Returns -1 with errno: ENOENT if the process sees none, EACCES if it must not be
// inspected, ESRCH if the process is gone.
int OpenFolderOf(std::int64_t pid, const std::string& path);

// Whether the process sees a place in which it could create a folder with that path. True if unknown.
bool CouldMakeFolder(std::int64_t pid, const std::string& path);

// Containers of a job other than those of its tasks: started by a task (podman, bubblewrap, a script), or by
// a daemon on behalf of one (docker).
struct JobContainers {
  std::vector<std::int64_t> pids;  // one process per mount namespace other than those of the given processes
  std::string client;              // running client of a container daemon; empty: none
};
// Descendants of the given processes and all processes in their cgroup belong to the job.
JobContainers ContainersOf(const std::vector<std::int64_t>& pids);

// A file to which a program of the job writes, which may not be the standard output or error of the script:
//   - All files that an srun of the script writes. With `srun --output=FILE` and no %t, %N or %n, the tasks'
//     output goes through srun.
//   - The standard output and error of a program that the script or a task starts, if it redirects them
//     (`python train.py > FILE`).
struct ProgramOutput {
  std::int64_t pid = 0;
  std::string link;     // in /proc
  std::string file;     // the link's text
  bool append = false;  // it was opened to append by `>>`
  bool srun = false;
};
// `pids`: of the script and a task; the first one's files are those that Slurm opened.
std::vector<ProgramOutput> ProgramOutputs(const std::vector<std::int64_t>& pids);

// Whether the process is still slurmstepd: a task whose container is being set up.
bool IsBeingSetUp(std::int64_t pid);

}  // namespace goodput
