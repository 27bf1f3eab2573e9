// What a reservation would have changed in Scheduling Goodput.
#include "tools/accounting/advise/reservation.h"

#include <gtest/gtest.h>

#include "tests/unit/run_builder.h"
#include "tools/accounting/advise/advice.h"

namespace goodput {
namespace {

// On spot machines: 100 s in the queue for resources, 60 s in vain, 121 s of back-off and 19 s in the queue
// until there are machines, 30 s of boot, 471 s of training, then behind other jobs for 1000 s.
RunBuilder OnSpot() {
  RunBuilder run;
  run.Attempt().Submitted(0).Eligible(0).Started(100).Gpus(8).Reason("Resources").Ended(160, "NODE_FAIL");
  MachineLack lack;
  lack.t = At(159);
  lack.kind = MachineLack::Kind::kStockout;
  lack.node = "n1";
  run.Last().facts.lacks = {lack};
  run.Attempt().Submitted(160).Eligible(281).Started(300).Gpus(8).Ready(330).Srun(0, 331, 801, 0);
  run.Last().Steps(0, 46, 331, 10).Ended(801, "COMPLETED");
  AttemptBuilder& last = run.Attempt(2);
  last.Submitted(801)
      .Eligible(801)
      .Started(1801)
      .Gpus(8)
      .Reason("Priority")
      .Ready(1831)
      .Srun(0, 1831, 2801, 0);
  last.Steps(47, 143, 1831, 10).Ended(2801, "COMPLETED");
  return run;
}

RollupSubject OnPartition(const std::string& partition) {
  return {"eve", "acc", partition, "run", {}};
}

TEST(Reservation, ChangesOnlyWaitsForMachines) {
  RunBuilder run = OnSpot();
  const ReservationEffect effect = EffectOfReservation(OnPartition("a3-spot"), run.Build());
  ASSERT_EQ(effect.unknown, "");
  EXPECT_EQ(effect.instead_of, "spot");
  EXPECT_EQ(effect.allocations, 3);
  EXPECT_EQ(effect.wanted, GpuNs{8} * 2801 * kSecond);
  // After the stockout, without the time in vain and the boot: back-off and queue.
  EXPECT_EQ(effect.stockouts, GpuNs{8} * 140 * kSecond);
  // And: in vain, the boots, the queue for resources. Not the wait by priority.
  EXPECT_EQ(effect.waits, GpuNs{8} * (140 + 60 + 30 + 30 + 100) * kSecond);
  const double up = 471 + 970;
  EXPECT_NEAR(effect.scheduling, up / 2801, 1e-9);
  EXPECT_NEAR(effect.with_reservation[0], up / (2801 - 140), 1e-9);
  EXPECT_NEAR(effect.with_reservation[1], up / (2801 - 360), 1e-9);
  const std::vector<Advice> advice = AdviseReservation(effect);
  ASSERT_EQ(advice.size(), 1U);
  EXPECT_NEAR(*advice[0].gain, 360.0 / 2801, 1e-9);
  EXPECT_NE(advice[0].evidence.find("would have been 54.2% to 59.0%"), std::string::npos)
      << advice[0].evidence;
}

TEST(Reservation, IsNotAdvisedWithoutStockoutsOrOnTooLittle) {
  RunBuilder run = OnSpot();
  RunFacts facts = run.Facts();
  facts.attempts[0].lacks.clear();
  const ReservationEffect unlucky = EffectOfReservation(OnPartition("a3-spot"), BuildTimeline(facts));
  EXPECT_TRUE(unlucky.known());
  EXPECT_EQ(unlucky.stockouts, 0);
  EXPECT_TRUE(AdviseReservation(unlucky).empty());
  facts.attempts.resize(2);
  const ReservationEffect young = EffectOfReservation(OnPartition("a3-spot"), BuildTimeline(facts));
  EXPECT_EQ(young.unknown, "it had 2 allocations on spot machines, and fewer than 3 say too little");
  EXPECT_TRUE(AdviseReservation(young).empty());
  EXPECT_EQ(EffectOfReservation(OnPartition("a3"), run.Build()).instead_of, "") << "nothing says spot";
  EXPECT_TRUE(AdviseReservation(EffectOfReservation(OnPartition("reserved"), run.Build())).empty());
}

}  // namespace
}  // namespace goodput
