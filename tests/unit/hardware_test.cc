// What errors of the hardware mean, and which stalls and interruptions are told with them.
#include "tools/accounting/timeline/hardware.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/unit/run_builder.h"
#include "tools/accounting/timeline/hang_evidence.h"

namespace goodput {
namespace {

HardwareError Error(double s, std::int64_t xid, const std::string& node = "n1", std::int64_t count = 1) {
  HardwareError error;
  error.t = error.last_t = At(s);
  error.kind = HardwareError::Kind::kXid;
  error.node = node;
  error.device = "0000:04:00";
  error.code = xid;
  error.text = "what the driver says";
  error.count = count;
  return error;
}

HardwareError Other(HardwareError::Kind kind, const std::string& text) {
  HardwareError error;
  error.kind = kind;
  error.node = "n1";
  error.text = text;
  return error;
}

TEST(Hardware, TheTableHasEachNumberOnceInOrder) {
  std::int64_t last = 0;
  for (std::int64_t code = 1; code < 1000; ++code) {
    const XidMeaning* const found = FindXid(code);
    if (found == nullptr) continue;
    EXPECT_TRUE(found->code == code || (found->code < code && code <= found->last)) << code;
    EXPECT_GE(found->code, last);
    EXPECT_FALSE(found->meaning.empty() || found->what_to_do.empty()) << code;
    last = found->code;
  }
  EXPECT_EQ(last, 172);
  for (const std::int64_t program : {13, 31, 43, 45})
    EXPECT_EQ(FaultOf(Error(0, program)), Fault::kProgram) << program;
  for (const std::int64_t hardware : {48, 63, 64, 74, 79, 94, 95, 119, 120})
    EXPECT_EQ(FaultOf(Error(0, hardware)), Fault::kHardware) << hardware;
  EXPECT_EQ(FaultOf(Error(0, 999)), Fault::kUnclear) << "a number that nobody knows yet";
}

// https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html
TEST(Hardware, WhatToDoIsWhatTheCatalogueSays) {
  const auto says = [](std::int64_t code, const std::string& what) {
    return std::string(WhatToDo(Error(0, code))).find(what) != std::string::npos;
  };
  for (const std::int64_t reset_gpu : {46, 62, 64, 95, 109, 110, 119, 120, 136, 140, 143, 155, 156, 158})
    EXPECT_TRUE(says(reset_gpu, "reset") && says(reset_gpu, "drain the node")) << reset_gpu;
  for (const std::int64_t ignore :
       {37, 38, 43, 44, 63, 66, 67, 92, 93, 106, 107, 121, 137, 141, 147, 148, 152, 153, 157, 160, 161})
    EXPECT_FALSE(says(ignore, "drain the node")) << ignore;
  for (const std::int64_t check_app : {11, 25, 32, 37, 69, 80})
    EXPECT_TRUE(says(check_app, "debug the program")) << check_app;
  for (const std::int64_t restart_app_or_contact_support :
       {8,  39, 40, 41, 68, 70, 71, 72,  75,  76,  77,  82,  83,  84,
        85, 86, 88, 89, 96, 98, 99, 100, 105, 126, 130, 135, 139, 142})
    EXPECT_TRUE(says(restart_app_or_contact_support, "ask NVIDIA")) << restart_app_or_contact_support;
  EXPECT_TRUE(says(54, "power cables"));
  EXPECT_TRUE(says(78, "update the driver"));
  EXPECT_TRUE(says(79, "restart its machine"));
  for (const std::int64_t unused : {1, 10, 42, 47, 58, 65, 81, 87, 90, 91, 111, 118, 122, 125, 138})
    EXPECT_EQ(FindXid(unused), nullptr) << unused;
}

TEST(Hardware, InWords) {
  EXPECT_EQ(Meaning(Error(0, 79)), "Xid 79, GPU has fallen off the bus") << "not the words of the log";
  EXPECT_EQ(Meaning(Error(0, 999)), "Xid 999, \"what the driver says\"");
  using Kind = HardwareError::Kind;
  HardwareError sxid = Other(Kind::kSxid, "Fatal, Link 30 LTSSM Fault Up");
  sxid.code = 20034;
  EXPECT_EQ(Meaning(sxid), "SXid 20034, \"Fatal, Link 30 LTSSM Fault Up\"");
  EXPECT_EQ(FaultOf(sxid), Fault::kHardware);
  sxid.text = "Non-fatal, Link 46";
  EXPECT_EQ(FaultOf(sxid), Fault::kUnclear);
  EXPECT_EQ(Meaning(Other(Kind::kLink, "gve: Device link is down.")), "gve: Device link is down.");
  for (const Kind kind : {Kind::kLink, Kind::kNic, Kind::kPcie, Kind::kMemory, Kind::kCpu}) {
    EXPECT_EQ(FaultOf(Other(kind, "")), Fault::kHardware);
    EXPECT_EQ(HardwareKindOf(HardwareKindName(kind)), kind);
    EXPECT_FALSE(WhatToDo(Other(kind, "")).empty());
  }
  EXPECT_FALSE(HardwareKindOf("disk"));
}

TEST(Hardware, WhatIsEqualIsOneGroupAndHardwareComesFirst) {
  AttemptFacts attempt;
  attempt.hardware_errors = {Error(5, 43), Error(20, 79, "n2", 4), Error(10, 79), Error(11, 79, "n2"),
                             Error(12, 999)};
  const std::vector<HardwareGroup> groups = HardwareWithin(attempt, At(5), At(20));
  ASSERT_EQ(groups.size(), 3U);
  EXPECT_EQ(InWords(groups[0]), "nodes n1,n2: Xid 79, GPU has fallen off the bus (0000:04:00), 6 times");
  EXPECT_EQ(groups[1].first->code, 999);
  EXPECT_EQ(InWords(groups[2]),
            "node n1: Xid 43, GPU stopped processing (0000:04:00); usually the program's own error");
  EXPECT_EQ(HardwareWithin(attempt, At(6), At(9)).size(), 0U);
  for (int i = 0; i < 9; ++i) attempt.hardware_errors.push_back(Error(10, 79, "m" + std::to_string(i)));
  EXPECT_EQ(InWords(HardwareWithin(attempt, At(5), At(20))[0]).find("nodes n1,m0,m1,m2 and 7 more: "), 0U);
}

// Trains from 10 on in steps of 10 s; its task fails at `end`.
Interruption Failed(const std::vector<HardwareError>& errors, double end, std::int64_t steps = 8) {
  RunBuilder run;
  run.Attempt().Submitted(0).Started(5).Ready(6).TaskStarts(10, 0).In(0).Steps(0, steps, 10, 10);
  run.Last().TaskExits(end, 0, 1).Ended(end, "FAILED");
  run.Last().facts.hardware_errors = errors;
  const Timeline timeline = run.Build();
  EXPECT_EQ(timeline.interruptions.size(), 1U);
  return timeline.interruptions.empty() ? Interruption() : timeline.interruptions[0];
}

bool Tells(const Interruption& interruption, const std::string& words) {
  return std::any_of(interruption.evidence.begin(), interruption.evidence.end(),
                     [&](const std::string& one) { return one.find(words) != std::string::npos; });
}

TEST(Hardware, AFailureIsToldWithTheErrorsBeforeIt) {
  const Interruption end = Failed({Error(90, 79)}, 98);
  EXPECT_EQ(end.cause, "failed") << "evidence, not another cause";
  EXPECT_TRUE(Tells(end, "node n1: Xid 79, GPU has fallen off the bus (0000:04:00), 8 s before the end"));
  EXPECT_FALSE(Tells(Failed({}, 98), "Xid"));
  EXPECT_TRUE(Tells(Failed({Error(102, 45)}, 98), "Xid 45")) << "clocks differ";
  EXPECT_FALSE(Tells(Failed({Error(104, 45)}, 98), "Xid 45"));
  const Interruption many =
      Failed({Error(90, 79), Error(90, 48), Error(90, 94), Error(90, 95), Error(90, 119)}, 98);
  EXPECT_TRUE(Tells(many, "and 2 more by the kernel (--json has them)"));
}

TEST(Hardware, ErrorsLongBeforeAFailureAreNotItsEvidence) {
  // 2 minutes are enough for a program that noticed it at once.
  EXPECT_TRUE(Tells(Failed({Error(899, 79)}, 1015, 99), "116 s before the end"));
  EXPECT_FALSE(Tells(Failed({Error(880, 79)}, 1015, 99), "Xid")) << "it trained on for 2 minutes";
  // A program that waits for its watchdog: since its last progress, but not for ever.
  EXPECT_TRUE(Tells(Failed({Error(95, 79)}, 1000), "905 s before the end"));
  EXPECT_TRUE(Tells(Failed({Error(101, 79)}, 1900), "1799 s before the end"));
  EXPECT_FALSE(Tells(Failed({Error(94, 79)}, 1900), "Xid"));
}

TEST(Hardware, AStallIsToldWithTheErrorsDuringIt) {
  RunBuilder run;
  run.Attempt().Submitted(0).Started(1).Ready(1).TaskStarts(2, 0).Steps(0, 3, 10, 10);
  run.Last().Step(4, 400).Step(5, 410).Ended(420, "COMPLETED").TaskExits(420, 0, 0);
  run.Last().facts.hardware_errors = {Error(36, 79), Error(20, 48), Error(410, 94), Error(50, 31)};
  HangEvidence ras;
  ras.t = At(300);
  ras.source = HangEvidence::Source::kRas;
  ras.text = "rank 3 is behind";
  run.Last().facts.hang_evidence = {ras};
  const Timeline& timeline = run.Build();
  ASSERT_EQ(timeline.stalls.size(), 1U);
  const std::vector<std::string> said = AllInWords(timeline, timeline.stalls[0]);
  ASSERT_EQ(said.size(), 3U);
  EXPECT_EQ(said[0], "node n1: Xid 79, GPU has fallen off the bus (0000:04:00)");
  EXPECT_EQ(said[1].find("node n1: Xid 31, GPU memory page fault"), 0U);
  EXPECT_EQ(said[2], "NCCL: rank 3 is behind");
  EXPECT_EQ(MostTelling(timeline, timeline.stalls[0]), said[0]);
}

TEST(Hardware, WithoutErrorsTheMostTellingLineIsWhoIsBehindOrStuck) {
  RunBuilder run;
  run.Attempt().Submitted(0).Started(1).Ready(1).TaskStarts(2, 0).Steps(0, 3, 10, 10);
  run.Last().Step(4, 400).Step(5, 410).Ended(420, "COMPLETED").TaskExits(420, 0, 0);
  AttemptFacts& facts = run.Last().facts;
  const auto telling = [&] {
    const Timeline& timeline = run.Build();
    return MostTelling(timeline, timeline.stalls.at(0));
  };
  HangEvidence sleeps;
  sleeps.t = At(300);
  sleeps.node = "n1";
  sleeps.task = 0;
  sleeps.program = "python3";
  sleeps.state = "S";
  facts.hang_evidence = {sleeps};
  EXPECT_EQ(telling(), "") << "a program that waits sleeps";
  HangEvidence stuck = sleeps;
  stuck.state = "D";
  stuck.wchan = "nfs_wait";
  stuck.task = 7;
  facts.hang_evidence.push_back(stuck);
  EXPECT_EQ(telling(), "n1, task 7: python3 waits in the kernel and cannot be interrupted in nfs_wait");
  HangEvidence ras = sleeps;
  ras.source = HangEvidence::Source::kRas;
  ras.problem = "RAS does not listen";
  facts.hang_evidence.push_back(ras);
  EXPECT_EQ(telling().find("n1, task 7"), 0U) << "that NCCL says nothing tells nothing";
  ras.problem = "";
  ras.text = "rank 3 is behind";
  facts.hang_evidence.push_back(ras);
  EXPECT_EQ(telling(), "NCCL: rank 3 is behind");
}

}  // namespace
}  // namespace goodput
