// Reads lines of the kernel's log that tell of faulty hardware. Pure.
//
// A line is text that users may have had a part in: a program's name (at most 15 bytes, chosen by the
// program) begins the kernel's lines about crashes, and is within NVIDIA's. Therefore
//   - only the kernel's own lines count: what a process writes to /dev/kmsg, even as root, never has
//     facility 0 (devkmsg_write in kernel/printk/printk.c);
//   - a line must match from its first byte, with more than 15 bytes that are the driver's;
//   - words that may be part of a program's name are left out of the text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace goodput {

// A record of /dev/kmsg, without the lines that name its device (Documentation/ABI/testing/dev-kmsg).
struct KernelRecord {
  std::int64_t facility = 0;  // 0: the kernel itself
  std::uint64_t seq = 0;      // increases since the boot
  std::int64_t clock_us = 0;  // the kernel's own clock, microseconds since the boot
  std::string_view text;      // within the line
};
// From `6,1234,567890,-;text`. Absent: it is no such line, or one that continues a record.
std::optional<KernelRecord> ParseKernelRecord(std::string_view line);

struct HardwareLine {
  // "xid" (NVIDIA's GPUs), "sxid" (NVSwitches), "link" (a network port lost its link), "nic" (a network card
  // does not work), "pcie" (a fatal error of the bus), "memory" (errors that were not corrected), "cpu"
  // (machine checks that were not corrected).
  std::string kind;
  std::string device;                // PCI address, network interface or processor; empty: not named
  std::optional<std::int64_t> code;  // of xid and sxid
  std::string text;                  // printable, at most kMostHardwareText
};
inline constexpr std::size_t kMostHardwareText = 200;
// Absent: it tells of no such thing, or of something that was corrected.
std::optional<HardwareLine> ParseHardwareLine(std::string_view text);

}  // namespace goodput
