// Why a cloud did not provide a machine, from the reason that slurm-gcp sets for its node. Pure.
//
// slurm-gcp (community/modules/scheduler/schedmd-slurm-gcp-v6-controller/modules/slurm_files/scripts of
// GoogleCloudPlatform/cluster-toolkit) sets a node down with these reasons, and gives the first two to the
// job as its AdminComment, too:
//   resume.py     GCP Error: CODE: MESSAGE; CODE: MESSAGE    a machine was not created; or the request's
//   error:
//                 GCP Error: MESSAGE
//                 Reservation is not active, nodes cannot be resumed
//   slurmsync.py  Waiting for reservation:NAME to start at TIME
//                 Reservation:NAME is after its end-time
//   error_handler.py of newer releases
//                 GCP Capacity Exhausted: MESSAGE, GCP Quota Exceeded: MESSAGE, GCP Error [CODE]: MESSAGE
//   capacity_circuit.py of newer releases
//                 capacity-circuit:NODESET:attempt=N:cooldown=Ns
// Compute Engine's codes for a zone without capacity (https://cloud.google.com/compute/docs/resource-error):
// ZONE_RESOURCE_POOL_EXHAUSTED and ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS, with the message "The zone
// 'projects/PROJECT/zones/ZONE' does not have enough resources available to fulfill the request. ...".
#pragma once

#include <optional>
#include <string_view>

#include "tools/accounting/timeline/facts.h"

namespace goodput {

// What a node's reason says; absent if it says nothing of the kind, such as "Preempted instance", "Unbacked
// instance" and Slurm's own reasons. The time and the node are the caller's to set. The zone is the one that
// the text names; a message without one leaves it empty, whatever the node's name is.
std::optional<MachineLack> ReadLackOfMachines(std::string_view reason);

}  // namespace goodput
