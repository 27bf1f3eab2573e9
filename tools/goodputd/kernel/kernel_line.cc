#include "tools/goodputd/kernel/kernel_line.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "sql/text.h"
#include "tools/base/format.h"

namespace goodput {
namespace {

// Longer than any that the kernel writes (PRINTK_MESSAGE_MAX is 2048), and what a bad line costs at most.
constexpr std::size_t kMostKernelLine = 4096;
// TASK_COMM_LEN without its NUL.
constexpr std::size_t kMostProgramName = 15;
constexpr std::size_t kMostDevice = 32;

// Its own type in older releases, which Debian 12 has.
using Piece = re2::StringPiece;

std::string_view ViewOf(const Piece& piece) {
  return {piece.data(), piece.size()};
}

std::optional<HardwareLine> Made(std::string kind, std::string_view device, std::string_view text) {
  HardwareLine line;
  line.kind = std::move(kind);
  line.device = Printable(device, kMostDevice);
  line.text = Printable(text, kMostHardwareText);
  return line;
}

// "pid=1234, name=python3, Ch 00000010, ...", as the driver continues after the number. The name may have
// commas, so the message begins at the last one that it may have; what is before may be the name's.
std::string_view WithoutProgram(std::string_view text) {
  constexpr std::string_view kName = "name=";
  constexpr std::string_view kComma = ", ";
  if (text.substr(0, 4) != "pid=") return text;
  const std::size_t after_pid = text.find(kComma);
  if (after_pid == std::string_view::npos) return "";
  text.remove_prefix(after_pid + kComma.size());
  // Drivers before R470 do not name the program.
  if (text.substr(0, kName.size()) != kName) return text;
  text.remove_prefix(kName.size());
  std::size_t begin = text.find(kComma);
  for (std::size_t at = begin; at <= kMostProgramName; at = text.find(kComma, at + 1)) begin = at;
  return begin == std::string_view::npos ? "" : text.substr(begin + kComma.size());
}

// NVRM: Xid (PCI:0000:04:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.
std::optional<HardwareLine> ParseXid(const Piece& text) {
  static const RE2 pattern(
      R"(NVRM: Xid \((?:PCI:)?([0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.[0-7])?)(?: GPU-I:\d+)?\): )"
      R"((\d{1,4})(?:, (.*))?)");
  Piece device;
  Piece message;
  std::int64_t code = 0;
  if (!RE2::FullMatch(text, pattern, &device, &code, &message)) return std::nullopt;
  std::optional<HardwareLine> line = Made("xid", ViewOf(device), WithoutProgram(ViewOf(message)));
  line->code = code;
  return line;
}

// nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 28006, Non-fatal, Link 46 MC TS crumbstore MCTO (First)
// Further lines with the same number have registers.
std::optional<HardwareLine> ParseSxid(const Piece& text) {
  static const RE2 pattern(
      R"(nvidia-nvswitch\d+: SXid \(PCI:([0-9a-fA-F:.]+)\): (\d{1,6}), ((?:Fatal|Non-fatal), .*))");
  Piece device;
  Piece message;
  std::int64_t code = 0;
  if (!RE2::FullMatch(text, pattern, &device, &code, &message)) return std::nullopt;
  std::optional<HardwareLine> line = Made("sxid", ViewOf(device), ViewOf(message));
  line->code = code;
  return line;
}

// What drivers say of a device: "mlx5_core 0000:19:00.0 eth2: Link down".
std::optional<HardwareLine> ParseDevice(const Piece& text) {
  static const RE2 pattern(
      R"(([a-z0-9_-]+) ([0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])(?: ([A-Za-z0-9_.-]{1,15}))?: (.*))");
  Piece driver;
  Piece address;
  Piece interface;
  Piece message;
  if (!RE2::FullMatch(text, pattern, &driver, &address, &interface, &message)) return std::nullopt;
  static const RE2 link(
      R"((?:NIC |Device )?[Ll]ink (?:is )?[Dd]own\.?|Port module event(?:\[error\])?: module \d+, Cable (?:unplugged|error.*))");
  static const RE2 pcie(R"(PCIe Bus Error: severity=Uncorrect(?:ed|able) \(Fatal\).*)");
  static const RE2 health(R"((?:\w+:\d+:\(pid \d+\): )?device's health compromised.*)");
  const char* kind = RE2::FullMatch(message, link)     ? "link"
                     : RE2::FullMatch(message, pcie)   ? "pcie"
                     : RE2::FullMatch(message, health) ? "nic"
                                                       : nullptr;
  if (kind == nullptr) return std::nullopt;
  const Piece device = interface.empty() ? address : interface;
  return Made(kind, ViewOf(device), Cat(ViewOf(driver), ": ", ViewOf(message)));
}

// EDAC MC0: 1 UE memory read error on CPU_SrcID#0_MC#0_Chan#0_DIMM#0 (...), and what the kernel did about a
// page of memory.
std::optional<HardwareLine> ParseMemory(const Piece& text) {
  static const RE2 edac(R"(EDAC (MC\d+): \d+ (UE [A-Za-z0-9].* on .*))");
  static const RE2 page(R"(Memory failure: (0x[0-9a-f]+): (recovery action for .*))");
  Piece device;
  Piece message;
  if (!RE2::FullMatch(text, edac, &device, &message) && !RE2::FullMatch(text, page, &device, &message))
    return std::nullopt;
  return Made("memory", ViewOf(device), ViewOf(message));
}

// mce: [Hardware Error]: CPU 3: Machine Check Exception: 5 Bank 7: be00000000800400
// Bit 61 of the bank's status says that the error was not corrected (MCI_STATUS_UC).
std::optional<HardwareLine> ParseMachineCheck(const Piece& text) {
  static const RE2 pattern(
      R"(mce: \[Hardware Error\]: CPU (\d+): (Machine Check(?: Exception)?: \w+ Bank \d+: ([0-9a-f]{16})))");
  constexpr std::uint64_t kUncorrected = std::uint64_t{1} << 61U;
  Piece processor;
  Piece message;
  std::uint64_t status = 0;
  if (!RE2::FullMatch(text, pattern, &processor, &message, RE2::Hex(&status)) || (status & kUncorrected) == 0)
    return std::nullopt;
  return Made("cpu", Cat("CPU ", ViewOf(processor)), ViewOf(message));
}

}  // namespace

std::optional<KernelRecord> ParseKernelRecord(std::string_view line) {
  if (line.empty() || line.front() == ' ' || line.size() > kMostKernelLine) return std::nullopt;
  const std::size_t end = line.find(';');
  if (end == std::string_view::npos) return std::nullopt;
  const std::vector<absl::string_view> words = absl::StrSplit(absl::string_view(line.data(), end), ',');
  std::uint32_t priority = 0;
  KernelRecord record;
  constexpr unsigned kLevelBits = 3;
  if (words.size() < 4 || !absl::SimpleAtoi(words[0], &priority) ||
      !absl::SimpleAtoi(words[1], &record.seq) || !absl::SimpleAtoi(words[2], &record.clock_us) ||
      record.clock_us < 0)
    return std::nullopt;
  record.facility = priority >> kLevelBits;
  record.text = line.substr(end + 1);
  return record;
}

std::optional<HardwareLine> ParseHardwareLine(std::string_view line) {
  if (line.size() > kMostKernelLine) return std::nullopt;
  const Piece text(line.data(), line.size());
  for (const auto parse : {ParseXid, ParseSxid, ParseDevice, ParseMemory, ParseMachineCheck}) {
    if (std::optional<HardwareLine> found = parse(text)) return found;
  }
  return std::nullopt;
}

}  // namespace goodput
