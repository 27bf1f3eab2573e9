// What a process of a job says about the paths the job named. Call with the rights of the job's user.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace goodput {

// Its environment as the kernel has it, "NAME=value" ended by NULs, at most 1 MiB of it; empty where it may
// not be read or the process is gone.
std::string ProcessEnvironment(std::int64_t pid);

// %A the array's id (or the job's), %a its task, %j the job, %u the user, %x the job's name,
// %% a percent sign; of `environment` ("NAME=value" ended by NULs). Others stay as they are.
std::string ExpandPath(std::string_view path, std::int64_t job, std::string_view environment,
                       std::string_view user);

// A path as the job named it, with %j %A %a %x %u expanded and made absolute by the process's working
// directory. Empty: not known.
std::string ResolveJobPath(const std::string& named, std::int64_t job, std::int64_t pid);

// Opens a directory as a process sees it: an absolute path in its mount namespace and below its root, links
// in it as well. -1 with errno: ENOENT where the process sees none, EACCES where it may not be looked into,
// ESRCH where it is gone.
int OpenFolderOf(std::int64_t pid, const std::string& path);

// Whether a process sees a place in which this one could make a folder of that path. True where that is not
// known.
bool CouldMakeFolder(std::int64_t pid, const std::string& path);

// What a job runs in containers that are not its tasks' own: started by a task (podman, bubblewrap, a
// script), or by a daemon at the request of one (docker).
struct JobContainers {
  std::vector<std::int64_t> pids;  // one process in each mount namespace that none of the given is in
  std::string client;              // the program that asks a daemon for containers; empty: none runs
};
// Of the job are the processes below the given ones, and all in its cgroup.
JobContainers ContainersOf(const std::vector<std::int64_t>& pids);

// Files that the sruns below a process write to, as links in /proc: with `srun --output=FILE` and no %t, %N
// or %n in it the tasks' output goes through srun, which writes the file.
std::vector<std::string> SrunOutputs(std::int64_t pid);

// Whether the process is still slurmstepd: a task whose container is being set up.
bool IsBeingSetUp(std::int64_t pid);

}  // namespace goodput
