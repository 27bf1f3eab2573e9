// What slurm-gcp's reasons say about machines that the cloud did not provide, and the waits that follow.
#include "tools/accounting/rollup/stockout.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tests/unit/run_builder.h"
#include "tools/accounting/rollup/rollup.h"
#include "tools/accounting/runs/lack_of_machines.h"

namespace goodput {
namespace {

using Kind = MachineLack::Kind;

std::string NameOfReason(const std::string& reason) {
  const std::optional<MachineLack> lack = ReadLackOfMachines(reason);
  return lack ? LackName(*lack) : "-";
}

TEST(LackOfMachines, IsReadFromSlurmGcpsReasons) {
  EXPECT_EQ(
      NameOfReason("GCP Error: ZONE_RESOURCE_POOL_EXHAUSTED: The zone 'projects/mine/zones/us-central1-a' "
                   "does not have enough resources available to fulfill the request.  Try a different zone, "
                   "or try again later."),
      "us-central1-a");
  EXPECT_EQ(
      NameOfReason("GCP Error: ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS: The zone "
                   "'projects/k8s-infra/zones/europe-west4-b' does not have enough resources available to "
                   "fulfill the request.  '(resource type:compute)'."),
      "europe-west4-b");
  EXPECT_EQ(NameOfReason("GCP Error: VM_MIN_COUNT_NOT_REACHED: Requested minimum count of 4 VMs could not be "
                         "created."),
            "unknown");
  EXPECT_EQ(NameOfReason("GCP Capacity Exhausted: The zone 'projects/1/zones/us-east5-a' does not have it"),
            "us-east5-a");
  EXPECT_EQ(NameOfReason("capacity-circuit:a3spot:attempt=2:cooldown=600s"), "unknown");
  EXPECT_EQ(
      NameOfReason("GCP Error: QUOTA_EXCEEDED: Quota 'NVIDIA_H100_GPUS' exceeded.  Limit: 8.0 in region "
                   "us-central1."),
      "quota");
  EXPECT_EQ(NameOfReason("GCP Quota Exceeded: Quota 'GPUS_ALL_REGIONS' exceeded."), "quota");
  EXPECT_EQ(NameOfReason("Waiting for reservation:big to start at 2026-12-01 00:00:00+00:00"), "reservation");
  EXPECT_EQ(NameOfReason("Reservation:big is after its end-time"), "reservation");
  EXPECT_EQ(NameOfReason("Reservation is not active, nodes cannot be resumed"), "reservation");
  EXPECT_EQ(NameOfReason("GCP Error: Required 'compute.instances.create' permission for 'x'"), "error");
  EXPECT_EQ(NameOfReason("GCP Error [INTERNAL]: try again"), "error");
  for (const char* const other :
       {"", "Preempted instance", "Unbacked instance", "Instance terminated", "Not responding",
        "replace GPU 3, does not have enough resources available", "VM is managed MIG, can not be resumed"})
    EXPECT_EQ(NameOfReason(other), "-") << other;
}

TEST(LackOfMachines, AZoneIsAsLongAsItsName) {
  const auto zone = [](const std::string& text) { return ReadLackOfMachines("GCP Error: " + text)->zone; };
  EXPECT_EQ(zone("/zones/us-a"), "us-a");
  EXPECT_EQ(zone("/zones/"), "");
  EXPECT_EQ(zone("/zones/US"), "");
  EXPECT_EQ(zone("/zones/" + std::string(64, 'a')), "");
  EXPECT_EQ(zone("/zones/us-a';DROP"), "us-a");
}

MachineLack Refusal(double s, Kind kind, const std::string& zone) {
  MachineLack lack;
  lack.t = At(s);
  lack.kind = kind;
  lack.zone = zone;
  lack.node = "n1";
  return lack;
}

// Refused in two zones, then by quota, then it trains; later its machine is lost and a new one is there at
// once.
RunBuilder Refused() {
  RunBuilder run;
  run.Attempt().Submitted(0).Eligible(0).Started(100).Gpus(8).Ended(160, "NODE_FAIL");
  run.Last().facts.lacks = {Refusal(159, Kind::kStockout, "us-a")};
  run.Attempt().Submitted(160).Eligible(281).Started(300).Gpus(8).Ended(350, "REQUEUED");
  run.Last().facts.lacks = {Refusal(349, Kind::kStockout, "us-b")};
  run.Attempt().Submitted(350).Eligible(471).Started(500).Gpus(8).Ready(530).Srun(0, 531, 1001, 0);
  run.Last().Steps(0, 46, 531, 10).Ended(1001, "NODE_FAIL");
  run.Attempt().Submitted(1001).Eligible(1122).Started(1130).Gpus(8).Ready(1131).Srun(0, 1132, 1602, 0);
  run.Last().Steps(47, 93, 1132, 10).Ended(1602, "COMPLETED");
  return run;
}

std::map<std::string, RollupRow> ByLack(const RunFacts& facts) {
  Rollup rollup(RollupBy::kStockout, "", {});
  rollup.Add({"eve", "acc", "a3", "run", {}}, BuildTimeline(facts));
  std::map<std::string, RollupRow> rows;
  for (RollupRow& row : rollup.Rows()) rows[row.group] = row;
  return rows;
}

TEST(Stockout, CountsFromTheAllocationInVainUntilTheMachinesAreThere) {
  auto rows = ByLack(Refused().Facts());
  ASSERT_EQ(rows.size(), 3U);
  // Submitted at 0, allocated at 100: the wait before that was not for the cloud.
  EXPECT_EQ(rows["us-a"].waited_ns(), (300 - 100) * kSecond) << "until the next allocation";
  EXPECT_EQ(rows["us-b"].waited_ns(), (530 - 300) * kSecond) << "until all resources were up";
  EXPECT_EQ(rows["us-a"].waited(), GpuNs{8} * 200 * kSecond);
  EXPECT_EQ(rows["-"].waited_ns(), (100 + 1131 - 1001) * kSecond) << "a node failure is no stockout";
  EXPECT_EQ(rows["us-a"].interruptions, 1);
  EXPECT_EQ(rows["us-b"].interruptions, 1);
  EXPECT_EQ(rows["-"].interruptions, 1);
}

TEST(Stockout, AnAllocationInVainIsProvisioning) {
  RunBuilder run;
  run.Attempt().Submitted(0).Eligible(0).Started(100).Gpus(16).Ended(160, "NODE_FAIL");
  EXPECT_EQ(run.Story(), "queue_other.reason not recorded 0-100 | unobserved.allocated 100-160");
  run.Last().facts.lacks = {Refusal(159, Kind::kStockout, "us-a")};
  EXPECT_EQ(run.Story(), "queue_other.reason not recorded 0-100 | provisioning 100-160");
  run.Last().Ready(120, "n2");  // the other node
  EXPECT_EQ(run.Story(), "queue_other.reason not recorded 0-100 | provisioning 100-160");
}

TEST(Stockout, IsTheCauseOfWhatNeverRan) {
  RunFacts facts = Refused().Facts();
  const Timeline timeline = BuildTimeline(facts);
  ASSERT_EQ(timeline.interruptions.size(), 3U);
  EXPECT_EQ(timeline.interruptions[0].cause, "stockout");
  EXPECT_EQ(timeline.interruptions[1].cause, "stockout");
  EXPECT_EQ(timeline.interruptions[2].cause, "node_fail");
  facts.attempts[0].lacks[0].kind = Kind::kQuota;
  EXPECT_EQ(BuildTimeline(facts).interruptions[0].cause, "node_fail") << "the zone may have had machines";
}

TEST(Stockout, OneOfAProgramThatRanIsNone) {
  RunFacts facts = Refused().Facts();
  for (AttemptFacts& attempt : facts.attempts) attempt.lacks.clear();
  facts.attempts[2].lacks = {Refusal(1000, Kind::kStockout, "us-a")};
  EXPECT_EQ(ByLack(facts).count("us-a"), 0U);
  EXPECT_NE(BuildTimeline(facts).interruptions[0].cause, "stockout");
}

TEST(Stockout, LastsWhileTheRunStillWaits) {
  RunBuilder run;
  run.Attempt().Submitted(0).Eligible(0).Started(10).Gpus(8).Ended(60, "NODE_FAIL");
  run.Last().facts.lacks = {Refusal(59, Kind::kStockout, "")};
  run.Attempt().Submitted(60).Gpus(8).State("PENDING").Waits(61, "BeginTime").Waits(200, "JobHeldUser");
  RunFacts facts = run.Facts();
  facts.now = At(500);
  auto rows = ByLack(facts);
  EXPECT_EQ(rows["unknown"].waited_ns(), (200 - 10) * kSecond);
  EXPECT_EQ(rows["-"].ns[static_cast<std::size_t>(Bucket::kHold)], 300 * kSecond) << "its user held it";
}

}  // namespace
}  // namespace goodput
