// The permissions that the kernel requires to trace the whole machine, and what is missing if it refuses.
#pragma once

#include <optional>
#include <string>

namespace goodput {

struct TracePermission {
  std::optional<int> paranoid;  // sysctl kernel.perf_event_paranoid; empty: not readable
  bool perfmon = false;         // CAP_PERFMON
  bool sys_admin = false;       // CAP_SYS_ADMIN
};

// The calling thread's effective capabilities, and the current sysctl.
TracePermission ReadTracePermission();
std::optional<int> ReadParanoid(const std::string& path = "/proc/sys/kernel/perf_event_paranoid");

struct TraceRefusal {
  std::string why;  // what the kernel requires and `has` lacks
  std::string mend;
};
// Why perf_event_open failed with EACCES or EPERM for a thread with these permissions.
TraceRefusal ExplainTraceRefusal(const TracePermission& has);

// Removes CAP_SYS_ADMIN from the effective capabilities of the calling thread, and so of threads that it
// starts later. It stays permitted, so that a program it executes may have it again.
void DoWithoutSysAdmin();

}  // namespace goodput
