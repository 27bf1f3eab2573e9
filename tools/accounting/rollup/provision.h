// How the machines of an allocation were obtained (their consumption model), by what says so; never guessed.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tools/accounting/timeline/facts.h"

namespace goodput {

// What is known about the machines of one allocation; everything is borrowed.
struct MachineEvidence {
  std::string_view reservation;  // Slurm's
  std::string_view partition;
  std::string_view cluster;
  // A node whose machine the cloud reclaimed, by the reason that slurm-gcp set for the node; empty: none.
  std::string_view taken_node;
  std::vector<std::string_view> nodes;     // their names; empty: unknown
  std::vector<std::string_view> features;  // of each node, separated by commas; empty: none is known
  std::vector<std::string_view>
      models;  // of each node, as its metadata server says (kModel...); empty: unknown
};

// Compute Engine's provisioning models (https://cloud.google.com/compute/docs/reference/rest/v1/instances,
// scheduling.provisioningModel). A server that names no model still says whether the machine is preemptible.
inline constexpr std::string_view kModelSpot = "SPOT";
inline constexpr std::string_view kModelStandard = "STANDARD";  // on demand or reserved
inline constexpr std::string_view kModelFlexStart = "FLEX_START";
inline constexpr std::string_view kModelReservationBound = "RESERVATION_BOUND";
inline constexpr std::string_view kModelNotSpot = "NOT_SPOT";  // not preemptible; more is not known

struct Provision {
  // reserved, calendar (DWS calendar mode), flex-start (DWS), spot or on-demand; "-": unknown.
  std::string kind = "-";
  std::string reservation;  // Slurm's, if `kind` is reserved
  // What says so: machine (its metadata server), reason (of a node), reservation, feature, node (its name),
  // partition; "-": nothing.
  std::string_view evidence = "-";

  // "reserved:NAME" in a Slurm reservation, otherwise the kind.
  std::string name() const;
};

// The first of these that knows counts: the metadata servers of all nodes; slurm-gcp's reason for a reclaimed
// machine, which it writes only if the machine is preemptible; Slurm's reservation; a word in the features of
// all nodes, in the names of all nodes (without the cluster's name), or in the partition's name. Only whole
// words count: "spot-a3" is spot, "spotlight" is not. What a name says is not believed if a metadata server
// says that a machine is another.
Provision ProvisionOf(const MachineEvidence& machines);
// The same for an attempt on these nodes. `features`: by node; null: none is known.
Provision ProvisionOfFacts(const AttemptFacts& attempt, const std::vector<std::string>& nodes,
                           std::string_view partition, std::string_view cluster,
                           const std::map<std::string, std::string>* features);

}  // namespace goodput
