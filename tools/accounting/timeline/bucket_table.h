// The table of buckets, in the order in which reports print them: waiting first, then the phases of an
// allocation.
//
// A row is X(constant, name, side, colour, colour on dark, meaning). Every list of buckets is generated from
// it: bucket.h and bucket.cc by the compiler, the page's names and colours by tools/web/embed. To add a
// bucket, see CONTRIBUTING.md.
#pragma once

// clang-format off
#define GOODPUT_BUCKETS(X) \
  X(kHold, "hold", kExcluded, "#b9c0cb", "#5b6472", "held by its user, by --begin or by a job outside the run") \
  X(kRequeueBackoff, "requeue_backoff", kScheduling, "#7c6bd0", "#7c6bd0", "Slurm's enforced wait after a requeue") \
  X(kResubmitGap, "resubmit_gap", kScheduling, "#a08fe0", "#a08fe0", "no job of the run was submitted") \
  X(kQueueResources, "queue_resources", kScheduling, "#4a7fd6", "#4a7fd6", "eligible, waiting for resources") \
  X(kQueuePriority, "queue_priority", kScheduling, "#6f9de4", "#6f9de4", "eligible, behind jobs of higher priority") \
  X(kQueueOther, "queue_other", kScheduling, "#93b8ee", "#93b8ee", "eligible, waiting for another reason") \
  X(kSuspended, "suspended", kScheduling, "#5566a8", "#5566a8", "suspended by the scheduler") \
  X(kProvisioning, "provisioning", kScheduling, "#2fa4b8", "#2fa4b8", "allocated, nodes not yet ready") \
  X(kMissing, "missing", kScheduling, "#35648c", "#4f86b5", "GPUs that an elastic program wanted and did not have, while it ran") \
  X(kLaunch, "launch", kRuntime, "#e3b341", "#e3b341", "nodes ready, no task of the program alive") \
  X(kStartup, "startup", kRuntime, "#e58f2a", "#e58f2a", "program alive, before its first step") \
  X(kProductive, "productive", kProductive, "#2e9e5b", "#2e9e5b", "steps whose result was kept") \
  X(kAtRisk, "at_risk", kOpen, "#9ad3a8", "#5d9a70", "steps no checkpoint covers yet") \
  X(kCheckpointSave, "checkpoint_save", kRuntime, "#c7a200", "#c7a200", "training blocked by a save") \
  X(kOverhead, "overhead", kRuntime, "#cf9d6a", "#cf9d6a", "evaluation and other phases between steps") \
  X(kStall, "stall", kRuntime, "#d6453d", "#d6453d", "no progress beyond what a step needs") \
  X(kLostWork, "lost_work", kRuntime, "#a8231c", "#a8231c", "steps whose result was not kept") \
  X(kDrain, "drain", kRuntime, "#d98aa2", "#d98aa2", "stop signal to exit, after the last step") \
  X(kTeardown, "teardown", kRuntime, "#b08968", "#b08968", "tasks gone, the step or the allocation not yet released") \
  X(kStandby, "standby", kRuntime, "#8c9f6a", "#8c9f6a", "spare GPUs, while others trained") \
  X(kIdleMember, "idle_member", kRuntime, "#c05a7a", "#c05a7a", "allocated GPUs whose member was lost or had not joined, while others trained") \
  X(kUnobserved, "unobserved", kUnknown, "#8a8f98", "#6a7079", "no evidence of what happened")
// clang-format on
