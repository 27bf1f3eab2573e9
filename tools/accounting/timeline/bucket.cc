#include "tools/accounting/timeline/bucket.h"

#include <algorithm>
#include <cstddef>

namespace goodput {
namespace {

struct Row {
  std::string_view name;
  Side side;
  std::string_view meaning;
};

constexpr std::array<Row, kBucketCount> kRows{{
    {"hold", Side::kExcluded, "held by its user, by --begin or by a job outside the run"},
    {"requeue_backoff", Side::kScheduling, "Slurm's enforced wait after a requeue"},
    {"resubmit_gap", Side::kScheduling, "no job of the run was submitted"},
    {"queue_resources", Side::kScheduling, "eligible, waiting for resources"},
    {"queue_priority", Side::kScheduling, "eligible, behind jobs of higher priority"},
    {"queue_other", Side::kScheduling, "eligible, waiting for another reason"},
    {"suspended", Side::kScheduling, "suspended by the scheduler"},
    {"provisioning", Side::kScheduling, "allocated, nodes not yet ready"},
    {"launch", Side::kRuntime, "nodes ready, no task of the program alive"},
    {"startup", Side::kRuntime, "program alive, before its first step"},
    {"productive", Side::kProductive, "steps whose result was kept"},
    {"at_risk", Side::kOpen, "steps no checkpoint covers yet"},
    {"checkpoint_save", Side::kRuntime, "training blocked by a save"},
    {"overhead", Side::kRuntime, "evaluation and other phases between steps"},
    {"stall", Side::kRuntime, "no progress beyond what a step needs"},
    {"lost_work", Side::kRuntime, "steps whose result was not kept"},
    {"drain", Side::kRuntime, "stop signal to exit, after the last step"},
    {"teardown", Side::kRuntime, "tasks gone, the step or the allocation not yet released"},
    {"unobserved", Side::kUnknown, "no evidence of what happened"},
}};

constexpr std::array<std::string_view, 6> kSides{"excluded",   "scheduling", "runtime",
                                                 "productive", "open",       "unknown"};
constexpr std::array<std::string_view, 7> kEvidence{"mark",      "log",        "file",    "signal",
                                                    "scheduler", "accounting", "inferred"};

}  // namespace

std::string_view BucketName(Bucket bucket) {
  return kRows[static_cast<std::size_t>(bucket)].name;
}
Side BucketSide(Bucket bucket) {
  return kRows[static_cast<std::size_t>(bucket)].side;
}
std::string_view SideName(Side side) {
  return kSides[static_cast<std::size_t>(side)];
}
std::string_view BucketMeaning(Bucket bucket) {
  return kRows[static_cast<std::size_t>(bucket)].meaning;
}
std::string_view EvidenceName(Evidence evidence) {
  return kEvidence[static_cast<std::size_t>(evidence)];
}
Evidence Weaker(Evidence a, Evidence b) {
  return std::max(a, b);
}

std::optional<Bucket> BucketFromName(std::string_view name) {
  for (Bucket bucket : AllBuckets()) {
    if (BucketName(bucket) == name) return bucket;
  }
  return std::nullopt;
}

std::array<Bucket, kBucketCount> AllBuckets() {
  std::array<Bucket, kBucketCount> all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<Bucket>(i);
  return all;
}

}  // namespace goodput
