// The table of buckets, in the order in which reports print them: waiting first, then the phases of an
// allocation.
//
// A row is X(constant, name, side, colour, colour on dark, meaning). Every list of buckets is generated from
// it: bucket.h and bucket.cc by the compiler, the page's names and colours by tools/web/embed. To add a
// bucket, see CONTRIBUTING.md.
#pragma once

// clang-format off
#define GOODPUT_BUCKETS(X) \
  X(kHold, "hold", kExcluded, "#8f949c", "#6e8299", "held by its user, by --begin or by a job outside the run") \
  X(kRequeueBackoff, "requeue_backoff", kScheduling, "#8163dd", "#6b60ce", "Slurm's enforced wait after a requeue") \
  X(kResubmitGap, "resubmit_gap", kScheduling, "#9a87d2", "#aea0dd", "no job of the run was submitted") \
  X(kQueueResources, "queue_resources", kScheduling, "#266199", "#6086fb", "eligible, waiting for resources") \
  X(kQueuePriority, "queue_priority", kScheduling, "#4075d8", "#4786ac", "eligible, behind jobs of higher priority") \
  X(kQueueOther, "queue_other", kScheduling, "#5298dc", "#96b4f4", "eligible, waiting for another reason") \
  X(kSuspended, "suspended", kScheduling, "#5c6aaf", "#5468aa", "suspended by the scheduler") \
  X(kProvisioning, "provisioning", kScheduling, "#3d9ca7", "#4da8b7", "allocated, nodes not yet ready") \
  X(kMissing, "missing", kScheduling, "#3b668d", "#4e82b3", "GPUs that an elastic program wanted and did not have, while it ran") \
  X(kLaunch, "launch", kRuntime, "#b78d21", "#ebb84f", "nodes ready, no task of the program alive") \
  X(kStartup, "startup", kRuntime, "#a3640c", "#d3831e", "program alive, before its first step") \
  X(kProductive, "productive", kProductive, "#217a51", "#329065", "steps whose result was kept") \
  X(kAtRisk, "at_risk", kOpen, "#729d81", "#5bae6c", "steps no checkpoint covers yet") \
  X(kCheckpointSave, "checkpoint_save", kRuntime, "#b68c00", "#e5bb3c", "training blocked by a save") \
  X(kOverhead, "overhead", kRuntime, "#b98860", "#cf9e69", "evaluation and other phases between steps") \
  X(kStall, "stall", kRuntime, "#ce2841", "#e73919", "no progress beyond what a step needs") \
  X(kLostWork, "lost_work", kRuntime, "#a70f13", "#bd3e3a", "steps whose result was not kept") \
  X(kDrain, "drain", kRuntime, "#ce7b92", "#d891a4", "stop signal to exit, after the last step") \
  X(kTeardown, "teardown", kRuntime, "#ae8244", "#a16c38", "tasks gone, the step or the allocation not yet released") \
  X(kStandby, "standby", kRuntime, "#7e9b76", "#92a866", "spare GPUs, while others trained") \
  X(kIdleMember, "idle_member", kRuntime, "#c86c9d", "#c85993", "allocated GPUs whose member was lost or had not joined, while others trained") \
  X(kUnobserved, "unobserved", kUnknown, "#71757b", "#676c73", "no evidence of what happened")
// clang-format on
