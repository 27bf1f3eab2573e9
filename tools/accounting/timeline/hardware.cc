#include "tools/accounting/timeline/hardware.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

#include "tools/accounting/timeline/text.h"

namespace goodput {
namespace {

constexpr std::size_t kMostHardwareSaid = 3;
constexpr std::size_t kMostNodesNamed = 4;

constexpr std::array<std::string_view, 7> kHardwareKinds{"xid",  "sxid",   "link", "nic",
                                                         "pcie", "memory", "cpu"};

constexpr std::string_view kDebugIt =
    "debug the program (compute-sanitizer); if it happens on one node only, test that node's GPUs (dcgmi "
    "diag)";
constexpr std::string_view kConsequence = "look for the error before it";
constexpr std::string_view kResetGpu =
    "drain the node, reset the GPU (nvidia-smi -r) and test it (dcgmi diag)";
constexpr std::string_view kResetLater =
    "reset the GPU when no job uses it (nvidia-smi -r); until then it can be used";
constexpr std::string_view kRestartNode =
    "drain the node and restart its machine; if it happens again, replace it";
constexpr std::string_view kTestLinks =
    "drain the node, and test its NVLinks (nvidia-smi nvlink -e, dcgmi diag); reset all of its GPUs";
constexpr std::string_view kTestNode = "drain the node and test it; if it happens again, replace it";
constexpr std::string_view kAskNvidia = "if it happens again, collect nvidia-bug-report.sh and ask NVIDIA";

constexpr std::string_view kCheckPower = "drain the node, and check the power cables of its GPUs";
constexpr std::string_view kUpdate = "update the driver and the firmware";
constexpr std::string_view kNothing = "nothing";
constexpr std::string_view kNamedAction = "nvidia-smi -q names the action";

// From NVIDIA's catalogue, https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html, as of
// October 2025, entry by entry except those that it calls unused, and for older GPUs its predecessor,
// https://docs.nvidia.com/deploy/xid-errors/index.html (45, 61): the meanings are shortened, and what to do
// are its actions in words, the immediate one (RESET_GPU, RESTART_BM, CHECK_MECHANICALS ...), or where that
// is IGNORE or RESTART_APP, the investigatory one. From 162 on it names no actions. By code.
constexpr std::array<XidMeaning, 79> kXids{{
    {8, Fault::kUnclear, "GPU stopped processing", kAskNvidia},
    {11, Fault::kUnclear, "invalid or corrupted push buffer stream", kDebugIt},
    {13, Fault::kProgram, "graphics engine exception", kDebugIt},
    {25, Fault::kUnclear, "invalid or illegal push buffer stream", kDebugIt},
    {31, Fault::kProgram, "GPU memory page fault", kDebugIt},
    {32, Fault::kUnclear, "invalid or corrupted push buffer stream", kDebugIt},
    {37, Fault::kUnclear, "driver firmware error", kDebugIt},
    {38, Fault::kUnclear, "driver firmware error", kAskNvidia},
    {39, Fault::kUnclear, "copy engine exception", kAskNvidia, 41},
    {43, Fault::kProgram, "GPU stopped processing", kDebugIt},
    {44, Fault::kUnclear, "graphics engine fault during a context switch", kAskNvidia},
    {45, Fault::kProgram, "cleanup after an earlier error or the program's end", kConsequence},
    {46, Fault::kUnclear, "GPU stopped processing", kResetGpu},
    {48, Fault::kHardware, "double bit ECC error", kResetGpu},
    {54, Fault::kHardware, "auxiliary power is not connected to the GPU board", kCheckPower},
    {60, Fault::kUnclear, "video processor exception", kAskNvidia},
    {61, Fault::kUnclear, "internal micro-controller warning", kAskNvidia},
    {62, Fault::kHardware, "internal micro-controller halt", kResetGpu},
    {63, Fault::kHardware, "a faulty row of memory was recorded for remapping", kResetLater},
    {64, Fault::kHardware, "a faulty row of memory could not be recorded for remapping", kResetGpu},
    {66, Fault::kUnclear, "illegal access by the driver", kAskNvidia, 67},
    {68, Fault::kUnclear, "video decoder exception", kAskNvidia},
    {69, Fault::kProgram, "graphics engine class error", kDebugIt},
    {70, Fault::kUnclear, "copy engine exception", kAskNvidia, 72},
    {74, Fault::kHardware, "NVLink error", kTestLinks},
    {75, Fault::kUnclear, "copy engine exception", kAskNvidia, 77},
    {78, Fault::kUnclear, "vGPU could not be started", kUpdate},
    {79, Fault::kHardware, "GPU has fallen off the bus", kRestartNode},
    {80, Fault::kUnclear, "corrupted data sent to the GPU", kDebugIt},
    {82, Fault::kUnclear, "JPEG decoder error", kAskNvidia},
    {83, Fault::kUnclear, "video decoder error", kAskNvidia, 84},
    {85, Fault::kUnclear, "copy engine exception", kAskNvidia},
    {86, Fault::kUnclear, "optical flow engine exception", kAskNvidia},
    {88, Fault::kUnclear, "video decoder error", kAskNvidia, 89},
    {92, Fault::kHardware, "high rate of single bit ECC errors", kAskNvidia},
    {93, Fault::kHardware, "the GPU's InfoROM is written more often than it should be", kAskNvidia},
    {94, Fault::kHardware, "contained memory error", kResetLater},
    {95, Fault::kHardware, "uncontained memory error", kResetGpu},
    {96, Fault::kUnclear, "video decoder error", kAskNvidia, 98},
    {99, Fault::kUnclear, "JPEG decoder error", kAskNvidia, 105},
    {106, Fault::kUnclear, "a test message", kNothing, 107},
    {109, Fault::kUnclear, "context switch timeout", kResetGpu},
    {110, Fault::kHardware, "security fault", kResetGpu},
    {119, Fault::kHardware, "the GPU's system processor (GSP) does not answer", kResetGpu},
    {120, Fault::kHardware, "error of the GPU's system processor (GSP)", kResetGpu},
    {121, Fault::kHardware, "error of the link between CPU and GPU (C2C)", kAskNvidia},
    {126, Fault::kUnclear, "copy engine exception", kAskNvidia, 135},
    {136, Fault::kHardware, "training of an NVLink failed", kTestLinks},
    {137, Fault::kUnclear, "NVLink privilege error", kDebugIt},
    {139, Fault::kUnclear, "optical flow engine error", kAskNvidia},
    {140, Fault::kHardware, "ECC error that was not recovered", kResetGpu},
    {141, Fault::kUnclear, "CUDA fast path error", kAskNvidia},
    {142, Fault::kUnclear, "video encoder error", kAskNvidia},
    {143, Fault::kHardware, "GPU could not be initialized", kResetGpu},
    {144, Fault::kHardware, "NVLink error (SAW)", kTestLinks},
    {145, Fault::kHardware, "NVLink error (RLW)", kTestLinks},
    {146, Fault::kHardware, "NVLink error (TLW)", kTestLinks},
    {147, Fault::kHardware, "NVLink error (TREX)", kAskNvidia},
    {148, Fault::kHardware, "NVLink error (NVLPW_CTRL)", kAskNvidia},
    {149, Fault::kHardware, "NVLink error (NETIR)", kTestLinks},
    {150, Fault::kHardware, "NVLink error (MSE)", kTestLinks},
    {151, Fault::kUnclear, "key rotation error", kRestartNode},
    {152, Fault::kUnclear, "error of the deep learning accelerator (DLA)", kAskNvidia, 153},
    {154, Fault::kUnclear, "the GPU's recovery action changed", kNamedAction},
    {155, Fault::kUnclear, "NVLink software defined error", kResetGpu},
    {156, Fault::kHardware, "a faulty resource was retired", kResetGpu},
    {157, Fault::kHardware, "a faulty resource could not be retired", kAskNvidia},
    {158, Fault::kHardware, "fatal timeout within the GPU", kResetGpu},
    {159, Fault::kUnclear, "error of the coherent link (CHI)", kAskNvidia},
    {160, Fault::kUnclear, "a channel was retired", kAskNvidia},
    {161, Fault::kUnclear, "a channel could not be retired", kAskNvidia},
    {162, Fault::kUnclear, "the state of power smoothing changed", kAskNvidia, 165},
    {166, Fault::kUnclear, "NVLink traffic before encryption was set up", kAskNvidia},
    {167, Fault::kHardware, "fatal PCIe timeout", kAskNvidia},
    {168, Fault::kHardware, "the GPU has less memory because of errors", kAskNvidia},
    {169, Fault::kHardware, "internal micro-controller halt (SEC2)", kAskNvidia},
    {170, Fault::kUnclear, "NVLink interrupt in confidential mode", kAskNvidia},
    {171, Fault::kHardware, "uncorrectable error of DRAM, with Xid 48", kResetGpu},
    {172, Fault::kHardware, "uncorrectable error of SRAM, with Xid 48", kResetGpu},
}};

std::string HowOften(std::int64_t count) {
  return count > 1 ? ", " + std::to_string(count) + " times" : "";
}

std::string NamedNodes(const std::vector<std::string>& nodes) {
  std::string text = nodes.size() == 1 ? "node " : "nodes ";
  for (std::size_t i = 0; i < std::min(nodes.size(), kMostNodesNamed); ++i)
    text += (i > 0 ? "," : "") + nodes[i];
  if (nodes.size() > kMostNodesNamed)
    text += " and " + std::to_string(nodes.size() - kMostNodesNamed) + " more";
  return text;
}

}  // namespace

std::string_view HardwareKindName(HardwareError::Kind kind) {
  return kHardwareKinds[static_cast<std::size_t>(kind)];
}

std::optional<HardwareError::Kind> HardwareKindOf(std::string_view name) {
  const auto found = std::find(kHardwareKinds.begin(), kHardwareKinds.end(), name);
  if (found == kHardwareKinds.end()) return std::nullopt;
  return static_cast<HardwareError::Kind>(found - kHardwareKinds.begin());
}

std::string_view FaultName(Fault fault) {
  return fault == Fault::kHardware ? "hardware" : fault == Fault::kProgram ? "program" : "unclear";
}

const XidMeaning* FindXid(std::int64_t code) {
  const auto found = std::find_if(kXids.begin(), kXids.end(), [&](const XidMeaning& meaning) {
    return code >= meaning.code && code <= std::max(meaning.code, meaning.last);
  });
  return found == kXids.end() ? nullptr : &*found;
}

Fault FaultOf(const HardwareError& error) {
  if (error.kind == HardwareError::Kind::kSxid)
    return StartsWith(error.text, "Fatal") ? Fault::kHardware : Fault::kUnclear;
  if (error.kind != HardwareError::Kind::kXid) return Fault::kHardware;
  const XidMeaning* const known = FindXid(error.code.value_or(-1));
  return known == nullptr ? Fault::kUnclear : known->fault;
}

std::string Meaning(const HardwareError& error) {
  const bool numbered = error.kind == HardwareError::Kind::kXid || error.kind == HardwareError::Kind::kSxid;
  if (!numbered || !error.code) return error.text;
  const bool xid = error.kind == HardwareError::Kind::kXid;
  const std::string number = (xid ? "Xid " : "SXid ") + std::to_string(*error.code);
  const XidMeaning* const known = xid ? FindXid(*error.code) : nullptr;
  if (known != nullptr) return number + ", " + std::string(known->meaning);
  return error.text.empty() ? number : number + ", \"" + error.text + "\"";
}

std::string_view WhatToDo(const HardwareError& error) {
  using Kind = HardwareError::Kind;
  if (error.kind == Kind::kXid) {
    const XidMeaning* const known = FindXid(error.code.value_or(-1));
    return known == nullptr ? kAskNvidia : known->what_to_do;
  }
  if (error.kind == Kind::kSxid) return kTestLinks;
  if (error.kind == Kind::kLink) return "check the cable, the port and the switch";
  return kTestNode;
}

std::vector<HardwareGroup> HardwareWithin(const AttemptFacts& attempt, Ns begin, Ns end) {
  std::vector<const HardwareError*> within;
  for (const HardwareError& error : attempt.hardware_errors) {
    if (error.last_t >= begin && error.t <= end) within.push_back(&error);
  }
  std::stable_sort(within.begin(), within.end(),
                   [](const HardwareError* a, const HardwareError* b) { return a->t < b->t; });
  std::vector<HardwareGroup> groups;
  std::map<std::tuple<HardwareError::Kind, std::int64_t, std::string>, std::size_t> places;
  for (const HardwareError* error : within) {
    const auto [place, fresh] =
        places.try_emplace({error->kind, error->code.value_or(-1), Meaning(*error)}, groups.size());
    if (fresh) groups.push_back({error, {}, 0});
    HardwareGroup& group = groups[place->second];
    group.count += error->count;
    if (std::find(group.nodes.begin(), group.nodes.end(), error->node) == group.nodes.end())
      group.nodes.push_back(error->node);
  }
  const auto rank = [](const HardwareGroup& group) {
    const Fault fault = FaultOf(*group.first);
    return fault == Fault::kHardware ? 0 : fault == Fault::kUnclear ? 1 : 2;
  };
  std::stable_sort(groups.begin(), groups.end(),
                   [&](const HardwareGroup& a, const HardwareGroup& b) { return rank(a) < rank(b); });
  return groups;
}

std::string InWords(const HardwareGroup& group) {
  const HardwareError& first = *group.first;
  return NamedNodes(group.nodes) + ": " + Meaning(first) +
         (first.device.empty() ? "" : " (" + first.device + ")") + HowOften(group.count) +
         (FaultOf(first) == Fault::kProgram ? "; usually the program's own error" : "");
}

std::vector<std::string> HardwareBefore(const AttemptFacts& attempt, std::optional<Ns> last_progress,
                                        Ns end) {
  const Ns just = end - kJustBefore;
  const Ns from = std::clamp(last_progress.value_or(just), end - kLongBefore, just) - kHardwareSlack;
  const std::vector<HardwareGroup> groups = HardwareWithin(attempt, from, end + kHardwareSlack);
  std::vector<std::string> said;
  for (const HardwareGroup& group : groups) {
    if (said.size() == kMostHardwareSaid) {
      said.push_back("and " + std::to_string(groups.size() - kMostHardwareSaid) +
                     " more by the kernel (--json has them)");
      break;
    }
    const Ns ahead = std::max<Ns>(0, end - group.first->t);
    said.push_back(InWords(group) + ", " + std::to_string(ahead / kSecond) + " s before the end");
  }
  return said;
}

std::vector<HardwareGroup> HardwareOf(const Timeline& timeline, const Stall& stall) {
  const auto attempt = static_cast<std::size_t>(stall.attempt);
  if (attempt >= timeline.attempts.size() || timeline.attempts[attempt].facts == nullptr) return {};
  return HardwareWithin(*timeline.attempts[attempt].facts, stall.last_progress - kHardwareSlack,
                        stall.end + kHardwareSlack);
}

}  // namespace goodput
