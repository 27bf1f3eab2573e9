// What the kernel wants of whoever traces the whole machine, and what is missing where it refuses.
#pragma once

#include <optional>
#include <string>

namespace goodput {

struct TracePermission {
  std::optional<int> paranoid;  // sysctl kernel.perf_event_paranoid; nothing where it cannot be read
  bool perfmon = false;         // CAP_PERFMON
  bool sys_admin = false;       // CAP_SYS_ADMIN
};

// The calling thread's effective capabilities, and the sysctl as it is now.
TracePermission ReadTracePermission();
std::optional<int> ReadParanoid(const std::string& path = "/proc/sys/kernel/perf_event_paranoid");

struct TraceRefusal {
  std::string why;  // what the kernel wants and `has` lacks
  std::string mend;
};
// Why perf_event_open failed with EACCES or EPERM for somebody with this.
TraceRefusal ExplainTraceRefusal(const TracePermission& has);

// Takes CAP_SYS_ADMIN from the calling thread's effective capabilities, and so from the threads it starts
// later. A program it executes may have it again: it stays permitted.
void DoWithoutSysAdmin();

}  // namespace goodput
