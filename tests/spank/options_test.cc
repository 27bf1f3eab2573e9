#include "spank/options.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace goodput {
namespace {

// The error for this value; "" if it is accepted.
std::string Try(OptionId id, std::string_view value, JobOptions* out = nullptr) {
  JobOptions unused;
  return ParseOption(id, value, out == nullptr ? &unused : out);
}

TEST(Options, TableIsInTheOrderOfItsIds) {
  for (std::size_t i = 0; i < kOptionCount; ++i) EXPECT_EQ(static_cast<std::size_t>(kOptions[i].id), i);
}

TEST(Options, EveryGoodExampleIsTaken) {
  const std::vector<std::pair<OptionId, std::string>> good = {
      {OptionId::kEnabled, "on"},
      {OptionId::kEnabled, "OFF"},
      {OptionId::kRun, "llama 70b/α #3"},
      {OptionId::kRun, std::string(128, 'r')},
      {OptionId::kCheckpointDir, "ckpt"},
      {OptionId::kCheckpointDir, "/scratch/%u/%x-%A_%a/%j/100%%"},
      {OptionId::kCheckpointSignal, "TERM"},
      {OptionId::kCheckpointSignal, "SIGUSR1,usr2,10,34"},
      {OptionId::kLogProfile, "megatron-lm"},
      {OptionId::kFlopsPerStep, "1.76e18"},
      {OptionId::kFlopsPerStep, "1000000"},
      {OptionId::kModel, "params=70e9,tokens-per-step=4194304"},
      {OptionId::kModel, "params=70e9,tokens-per-step=4194304,layers=80,hidden=8192,seq=8192"},
      {OptionId::kPrecision, "bf16"},
      {OptionId::kPrecision, "FP8"},
      {OptionId::kSpares, "0"},
      {OptionId::kSpares, "16777216"},
      {OptionId::kHangEvidence, "py-spy"},
      {OptionId::kTags, "team=nlp"},
      {OptionId::kTags, "team=nlp,phase=pre=train,empty="},
  };
  for (const auto& [id, value] : good) EXPECT_EQ(Try(id, value), "") << value;
}

TEST(Options, EveryBadExampleIsRefusedAndLeavesNothingBehind) {
  const std::vector<std::pair<OptionId, std::string>> bad = {
      {OptionId::kEnabled, ""},
      {OptionId::kEnabled, "maybe"},
      {OptionId::kRun, ""},
      {OptionId::kRun, std::string(129, 'r')},
      {OptionId::kRun, "a\nb"},
      {OptionId::kRun, " a"},
      {OptionId::kRun, "a "},
      {OptionId::kCheckpointDir, ""},
      {OptionId::kCheckpointDir, "a\x1b[1m"},
      {OptionId::kCheckpointDir, "/scratch/%q"},
      {OptionId::kCheckpointDir, "/scratch/%"},
      {OptionId::kCheckpointDir, std::string(1025, 'd')},
      {OptionId::kCheckpointSignal, ""},
      {OptionId::kCheckpointSignal, "TERM,"},
      {OptionId::kCheckpointSignal, "HELLO"},
      {OptionId::kCheckpointSignal, "USR1,STOP"},
      {OptionId::kCheckpointSignal, "19"},
      {OptionId::kCheckpointSignal, "0"},
      {OptionId::kCheckpointSignal, "65"},
      {OptionId::kCheckpointSignal, "-1"},
      {OptionId::kCheckpointSignal, "KILL"},
      {OptionId::kCheckpointSignal, "1,2,3,4,5,6,7,8,10,11"},
      {OptionId::kLogProfile, ""},
      {OptionId::kLogProfile, "../etc"},
      {OptionId::kLogProfile, "a/b"},
      {OptionId::kFlopsPerStep, ""},
      {OptionId::kFlopsPerStep, "0"},
      {OptionId::kFlopsPerStep, "-1"},
      {OptionId::kFlopsPerStep, "inf"},
      {OptionId::kFlopsPerStep, "nan"},
      {OptionId::kFlopsPerStep, "1e999"},
      {OptionId::kFlopsPerStep, "0x10"},
      {OptionId::kFlopsPerStep, "1e18 "},
      {OptionId::kFlopsPerStep, "1,5"},
      {OptionId::kModel, ""},
      {OptionId::kModel, "params=70e9"},
      {OptionId::kModel, "params=70e9,tokens-per-step=4194304,layers=80"},
      {OptionId::kModel, "params=70e9,params=70e9,tokens-per-step=1"},
      {OptionId::kModel, "params=70B,tokens-per-step=1"},
      {OptionId::kModel, "params=1,tokens-per-step=1,depth=4"},
      {OptionId::kPrecision, ""},
      {OptionId::kPrecision, "fp9"},
      {OptionId::kSpares, ""},
      {OptionId::kSpares, "-1"},
      {OptionId::kSpares, "1e3"},
      {OptionId::kSpares, "16777217"},
      {OptionId::kSpares, "99999999999999999999"},
      {OptionId::kHangEvidence, ""},
      {OptionId::kHangEvidence, "gdb"},
      {OptionId::kTags, ""},
      {OptionId::kTags, "team"},
      {OptionId::kTags, "=x"},
      {OptionId::kTags, "a=1,a=2"},
      {OptionId::kTags, "a b=1"},
      {OptionId::kTags, "a=\t"},
      {OptionId::kTags, "a=" + std::string(257, 'x')},
  };
  for (const auto& [id, value] : bad) {
    JobOptions out;
    const std::string complaint = Try(id, value, &out);
    EXPECT_NE(complaint, "") << value;
    EXPECT_EQ(complaint.find('\n'), std::string::npos);
    RecordBuilder record(kind::kJobProlog, {});
    const std::size_t before = RecordBuilder(kind::kJobProlog, {}).Finish().size();
    AddOptions(out, &record);
    EXPECT_EQ(record.Finish().size(), before) << "kept something of " << value;
    EXPECT_FALSE(out.enabled);
  }
}

TEST(Options, AComplaintIsOneClearLine) {
  EXPECT_EQ(
      ComplaintLine("--goodput-precision", "fp9", Try(OptionId::kPrecision, "fp9")),
      "--goodput-precision=fp9 is not a precision; use one of bf16, fp16, fp8, fp4, tf32, fp32, fp64, int8");
  EXPECT_EQ(ComplaintLine("GOODPUT_RUN",
                          "a\n\x1b\xff"
                          "b",
                          "is bad"),
            "GOODPUT_RUN=a???b is bad");
  EXPECT_EQ(ComplaintLine("sp\rool\x1b", "x", "is bad"), "sp?ool?=x is bad") << "what it is about, too";
  EXPECT_EQ(ComplaintLine("--goodput-run", std::string(500, 'r'), "is bad"),
            "--goodput-run=" + std::string(80, 'r') + "... is bad");
}

TEST(Options, SignalsAreKeptByTheirUsualName) {
  JobOptions out;
  ASSERT_EQ(Try(OptionId::kCheckpointSignal, "sigusr1,12,10,15,40", &out), "");
  EXPECT_EQ(out.checkpoint_signal, "USR1,USR2,TERM,40");
}

TEST(Options, TheFirstSourceThatSpeaksWins) {
  JobOptions option;
  JobOptions twin;
  JobOptions site;
  ASSERT_EQ(Try(OptionId::kPrecision, "fp8", &option), "");
  ASSERT_EQ(Try(OptionId::kPrecision, "bf16", &twin), "");
  ASSERT_EQ(Try(OptionId::kRun, "twin", &twin), "");
  ASSERT_EQ(Try(OptionId::kRun, "site", &site), "");
  ASSERT_EQ(Try(OptionId::kLogProfile, "nemo", &site), "");
  const JobOptions merged = Merge(option, Merge(twin, site));
  EXPECT_EQ(merged.precision, "fp8");
  EXPECT_EQ(merged.run, "twin");
  EXPECT_EQ(merged.log_profile, "nemo");
}

TEST(Options, AnOptionsFlopsAreNotContradictedByADefaultModel) {
  JobOptions option;
  JobOptions twin;
  ASSERT_EQ(Try(OptionId::kFlopsPerStep, "1e18", &option), "");
  ASSERT_EQ(Try(OptionId::kModel, "params=1,tokens-per-step=1", &twin), "");
  EXPECT_FALSE(Merge(option, twin).model);
  EXPECT_FALSE(Merge(twin, option).flops_per_step) << "nor a model by a default of FLOPs";
}

TEST(Options, AJobHasAtMostThirtyTwoTags) {
  std::string tags = "t0=x";
  for (int i = 1; i < 32; ++i) tags += ",t" + std::to_string(i) + "=x";
  JobOptions options;
  EXPECT_EQ(Try(OptionId::kTags, tags, &options), "");
  EXPECT_NE(Try(OptionId::kTags, tags + ",t32=x", &options), "");
}

TEST(Site, TakesItsArguments) {
  const char* argv[] = {"spool=/tmp/x",   "socket=/run/goodput.sock", "default=off",      "spool_max=2G",
                        "precision=bf16", "checkpoint_signal=USR1",   "tags=site=oregon", "log_profile=nemo"};
  std::vector<std::string> complaints;
  const Site site = ParseSite(8, argv, &complaints);
  EXPECT_TRUE(complaints.empty()) << complaints.front();
  EXPECT_EQ(site.spool, "/tmp/x");
  EXPECT_EQ(site.socket, "/run/goodput.sock");
  EXPECT_FALSE(site.enabled);
  EXPECT_EQ(site.spool_max, 2ULL << 30U);
  EXPECT_EQ(site.defaults.precision, "bf16");
  EXPECT_EQ(site.defaults.checkpoint_signal, "USR1");
  EXPECT_EQ(site.defaults.log_profile, "nemo");
}

TEST(Site, SaysWhatItDoesNotUnderstandAndGoesOnWithoutIt) {
  const char* argv[] = {"spool=relative", "sokcet=@x", "default=perhaps", "spool_max=1Z",
                        "precision=fp9",  "run=x",     "nothing",         "socket=@ok"};
  std::vector<std::string> complaints;
  const Site site = ParseSite(8, argv, &complaints);
  EXPECT_EQ(complaints.size(), 7U);
  for (const std::string& line : complaints) {
    EXPECT_EQ(line.rfind("plugstack.conf: ", 0), 0U) << line;
    EXPECT_EQ(line.find('\n'), std::string::npos);
  }
  EXPECT_EQ(site.spool, kDefaultSpool);
  EXPECT_TRUE(site.enabled);
  EXPECT_EQ(site.socket, "@ok");
}

TEST(Site, SizesHaveUnits) {
  EXPECT_EQ(ParseSize("1048576"), 1048576U);
  EXPECT_EQ(ParseSize("256M"), 256ULL << 20U);
  EXPECT_EQ(ParseSize("1t"), 1ULL << 40U);
  for (const char* bad : {"", "M", "12X", "1MB", "-1", "99999999999999999999", "17179869184T"}) {
    EXPECT_FALSE(ParseSize(bad)) << bad;
  }
}

}  // namespace
}  // namespace goodput
