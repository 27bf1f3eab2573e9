// Errors of the hardware: what NVIDIA's numbers mean, and which errors belong to a stall or an interruption.
// Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/accounting/timeline/timeline.h"

namespace goodput {

// "xid"; the class of a record (spank/SPOOL_FORMAT.md).
std::string_view HardwareKindName(HardwareError::Kind kind);
std::optional<HardwareError::Kind> HardwareKindOf(std::string_view name);

enum class Fault : std::uint8_t {
  kHardware,  // of the machine, its driver or firmware: another node would not have it
  kProgram,   // usually of the user's program, or a consequence of another error
  kUnclear,   // may be either, or has a number that is not in the table
};
std::string_view FaultName(Fault fault);  // "hardware"

// A row of NVIDIA's catalogue of Xids.
struct XidMeaning {
  std::int64_t code = 0;
  Fault fault = Fault::kUnclear;
  std::string_view meaning;
  std::string_view what_to_do;
  std::int64_t last = 0;  // of equal ones; 0: it is one
};
// Null: the table does not have it.
const XidMeaning* FindXid(std::int64_t code);

Fault FaultOf(const HardwareError& error);
// "Xid 79, GPU has fallen off the bus". Of numbers that the table has, in its words, not those of the log.
std::string Meaning(const HardwareError& error);
// What an operator or user does about it; empty: not known.
std::string_view WhatToDo(const HardwareError& error);

// Errors of one kind, code and meaning, of one or several nodes.
struct HardwareGroup {
  const HardwareError* first = nullptr;  // the earliest
  std::vector<std::string> nodes;        // each once, in the order of their first
  std::int64_t count = 0;
};
// Those within [begin, end], most telling first: hardware, then unclear, then the program's; earlier ones
// first.
std::vector<HardwareGroup> HardwareWithin(const AttemptFacts& attempt, Ns begin, Ns end);
// "node n12: Xid 79, GPU has fallen off the bus (0000:04:00)", and how many more nodes and times.
std::string InWords(const HardwareGroup& group);

// An interruption is told with errors since the program's last progress, but within kLongBefore of its end,
// and in any case within kJustBefore of it: a program that lost a GPU may wait for its watchdog, NCCL's for
// 10 minutes, PyTorch's for up to 30. Clocks and the order of events allow kHardwareSlack more at both ends.
inline constexpr Ns kJustBefore = 120 * kSecond;
inline constexpr Ns kLongBefore = 1800 * kSecond;
inline constexpr Ns kHardwareSlack = 5 * kSecond;
// At most a few sentences; `last_progress` is absent if there was none.
std::vector<std::string> HardwareBefore(const AttemptFacts& attempt, std::optional<Ns> last_progress, Ns end);

// A stall is told with errors from just before its last progress to its end.
std::vector<HardwareGroup> HardwareOf(const Timeline& timeline, const Stall& stall);

}  // namespace goodput
