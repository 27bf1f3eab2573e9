#include "tools/base/trace_permission.h"

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <fstream>

#include "sql/text.h"

namespace goodput {
namespace {

// Above this, the kernels of Debian and Ubuntu, and no others, require CAP_SYS_ADMIN.
constexpr int kParanoidPerfmonMayPass = 2;

// Both words of 32 capabilities each.
using Capabilities = std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3>;
__user_cap_header_struct ThisThread() {
  return {_LINUX_CAPABILITY_VERSION_3, 0};
}

std::uint32_t Bit(int capability) {
  return std::uint32_t{1} << (static_cast<unsigned>(capability) % 32U);
}

bool IsEffective(const Capabilities& has, int capability) {
  return (has[static_cast<std::size_t>(capability) / 32].effective & Bit(capability)) != 0;
}

std::string ParanoidIs(const TracePermission& has) {
  return has.paranoid ? Cat("kernel.perf_event_paranoid is ", *has.paranoid)
                      : std::string("kernel.perf_event_paranoid cannot be read");
}

}  // namespace

std::optional<int> ReadParanoid(const std::string& path) {
  std::ifstream in(path);
  int value = 0;
  if (!(in >> value)) return std::nullopt;
  return value;
}

TracePermission ReadTracePermission() {
  TracePermission has;
  has.paranoid = ReadParanoid();
  __user_cap_header_struct header = ThisThread();
  Capabilities capabilities{};
  if (syscall(SYS_capget, &header, capabilities.data()) != 0) return has;
  has.perfmon = IsEffective(capabilities, CAP_PERFMON);
  has.sys_admin = IsEffective(capabilities, CAP_SYS_ADMIN);
  return has;
}

TraceRefusal ExplainTraceRefusal(const TracePermission& has) {
  const std::string sysctl = ParanoidIs(has);
  constexpr const char* kElse =
      "SELinux (see goodputd.cil of the package) and a container's seccomp filter must allow "
      "perf_event_open, and kernel lockdown must not be 'confidentiality'";
  if (has.sys_admin)
    return {Cat("goodputd has CAP_SYS_ADMIN and ", sysctl, ": something else prevents tracing"), kElse};
  if (has.paranoid && *has.paranoid > kParanoidPerfmonMayPass) {
    return {Cat(sysctl, ", which requires CAP_SYS_ADMIN, but goodputd has ",
                has.perfmon ? "only CAP_PERFMON" : "neither that nor CAP_PERFMON"),
            Cat("give goodputd CAP_SYS_ADMIN, as its unit does (CapabilityBoundingSet), or ",
                has.perfmon ? "" : "CAP_PERFMON and ",
                "sysctl -w kernel.perf_event_paranoid=2; then restart it")};
  }
  if (has.perfmon) {
    return {Cat("goodputd has CAP_PERFMON and ", sysctl, ": something else prevents tracing"),
            Cat("restart goodputd if the sysctl was changed since it started; otherwise ", kElse)};
  }
  return {
      Cat("goodputd has neither CAP_PERFMON nor CAP_SYS_ADMIN, and ", sysctl),
      "give goodputd CAP_PERFMON, as its unit does, and restart it; a container must allow perf_event_open"};
}

void DoWithoutSysAdmin() {
  __user_cap_header_struct header = ThisThread();
  Capabilities capabilities{};
  if (syscall(SYS_capget, &header, capabilities.data()) != 0) return;
  capabilities[CAP_SYS_ADMIN / 32].effective &= ~Bit(CAP_SYS_ADMIN);
  syscall(SYS_capset, &header, capabilities.data());
}

}  // namespace goodput
