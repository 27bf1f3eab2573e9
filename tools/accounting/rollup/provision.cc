#include "tools/accounting/rollup/provision.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "sql/text.h"

namespace goodput {
namespace {

constexpr const char* kUnknown = "-";

// Words between dashes.
constexpr std::array<std::pair<const char*, const char*>, 12> kWords{{{"-spot-", "spot"},
                                                                      {"-preemptible-", "spot"},
                                                                      {"-flex-start-", "flex-start"},
                                                                      {"-flexstart-", "flex-start"},
                                                                      {"-dws-flex-", "flex-start"},
                                                                      {"-ondemand-", "on-demand"},
                                                                      {"-on-demand-", "on-demand"},
                                                                      {"-reserved-", "reserved"},
                                                                      {"-reservation-", "reserved"},
                                                                      {"-dws-calendar-", "calendar"},
                                                                      {"-calendar-", "calendar"},
                                                                      {"-flex-", "flex-start"}}};

// Empty: no such word, or several.
std::string Says(std::string_view name) {
  const std::vector<std::string> words =
      absl::StrSplit(absl::AsciiStrToLower(ToAbsl(name)), absl::ByAnyChar("-_.,:/ "), absl::SkipEmpty());
  const std::string text = Cat("-", absl::StrJoin(words, "-"), "-");
  std::string said;
  for (const auto& [word, provision] : kWords) {
    if (text.find(word) == std::string::npos) continue;
    if (!said.empty() && said != provision) return "";
    said = provision;
  }
  return said;
}

// What they all say; empty if they differ, or one says nothing.
std::string AllSay(const std::vector<std::string_view>& names) {
  std::string said = names.empty() ? "" : Says(names.front());
  const bool agree =
      std::all_of(names.begin(), names.end(), [&](std::string_view n) { return Says(n) == said; });
  return agree ? said : "";
}

// "spot-12" of "mine-spot-12" in the cluster "mine": the nodeset and the number, as slurm-gcp names nodes.
std::vector<std::string_view> WithoutCluster(std::vector<std::string_view> nodes, std::string_view cluster) {
  for (std::string_view& node : nodes) {
    const std::size_t size = cluster.size();
    if (size > 0 && node.size() > size && node.substr(0, size) == cluster && node[size] == '-')
      node.remove_prefix(size + 1);
  }
  return nodes;
}

bool AllAre(const std::vector<std::string_view>& models, std::string_view model) {
  return !models.empty() &&
         std::all_of(models.begin(), models.end(), [&](std::string_view one) { return one == model; });
}

// Whether a machine says that it was obtained in another way.
bool Denied(const std::vector<std::string_view>& models, std::string_view kind) {
  return std::any_of(models.begin(), models.end(), [&](std::string_view model) {
    const bool spot = kind == "spot";
    const bool flex = kind == "flex-start";
    if (model == kModelSpot) return !spot;
    if (model == kModelFlexStart) return !flex;
    if (model == kModelReservationBound) return spot || flex || kind == "on-demand";
    if (model == kModelStandard) return spot || flex;
    return model == kModelNotSpot && spot;
  });
}

Provision OfMachines(const MachineEvidence& machines) {
  if (AllAre(machines.models, kModelSpot)) return {"spot", "", "machine"};
  if (AllAre(machines.models, kModelFlexStart)) return {"flex-start", "", "machine"};
  if (!machines.taken_node.empty() && !Denied(machines.models, "spot")) return {"spot", "", "reason"};
  if (!machines.reservation.empty() && !Denied(machines.models, "reserved"))
    return {"reserved", std::string(machines.reservation), "reservation"};
  return {};
}

Provision OfNames(const MachineEvidence& machines) {
  if (std::string said = AllSay(machines.features); !said.empty()) return {said, "", "feature"};
  if (std::string said = AllSay(WithoutCluster(machines.nodes, machines.cluster)); !said.empty())
    return {said, "", "node"};
  if (std::string said = Says(machines.partition); !said.empty()) return {said, "", "partition"};
  return {};
}

}  // namespace

std::string Provision::name() const {
  return reservation.empty() ? kind : Cat(kind, ":", reservation);
}

Provision ProvisionOf(const MachineEvidence& machines) {
  if (Provision known = OfMachines(machines); known.kind != kUnknown) return known;
  Provision named = OfNames(machines);
  if (named.kind != kUnknown && !Denied(machines.models, named.kind)) return named;
  // A calendar reservation has this model, too, but nothing says that it is one.
  if (AllAre(machines.models, kModelReservationBound)) return {"reserved", "", "machine"};
  return {};
}

Provision ProvisionOfFacts(const AttemptFacts& attempt, const std::vector<std::string>& nodes,
                           std::string_view partition, std::string_view cluster,
                           const std::map<std::string, std::string>* features) {
  MachineEvidence machines;
  machines.reservation = attempt.reservation;
  machines.partition = partition;
  machines.cluster = cluster;
  machines.taken_node = attempt.taken_node;
  std::map<std::string_view, std::string_view> models;
  for (const MachineFact& machine : attempt.machines) {
    if (!machine.model.empty()) models[machine.node] = machine.model;
  }
  for (const std::string& node : nodes) {
    machines.nodes.emplace_back(node);
    const auto model = models.find(node);
    if (!models.empty())
      machines.models.push_back(model == models.end() ? std::string_view() : model->second);
    if (features == nullptr) continue;
    const auto known = features->find(node);
    machines.features.push_back(known == features->end() ? std::string_view()
                                                         : std::string_view(known->second));
  }
  return ProvisionOf(machines);
}

}  // namespace goodput
