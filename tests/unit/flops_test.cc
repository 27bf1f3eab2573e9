// Model FLOPs utilization: FLOPs of a step, peaks of GPUs, and when MFU is unknown.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/unit/run_builder.h"
#include "tools/accounting/flops/program_flops.h"
#include "tools/accounting/flops/step_flops.h"
#include "tools/base/gpu_peaks.h"

namespace goodput {
namespace {

double Tflops(const std::string& type, const std::string& precision, const std::vector<GpuPeak>& more = {}) {
  const absl::StatusOr<double> peak = PeakFlops(more, type, precision);
  return peak.ok() ? *peak / 1e12 : 0;
}

TEST(Golden, ModelFlopUtilisation) {
  std::ifstream file(GOLDEN_FORMULAS);
  const nlohmann::json golden = nlohmann::json::parse(file);
  int checked = 0;
  for (const auto& one : golden["cases"]) {
    if (!one["out"].contains("mfu")) continue;
    const auto& in = one["in"];
    const absl::StatusOr<double> peak =
        PeakFlops({}, in["gpu"].get<std::string>(), in["precision"].get<std::string>());
    ASSERT_TRUE(peak.ok()) << one["id"];
    EXPECT_NEAR(Utilisation(in["tflops_per_gpu"].get<double>() * 1e12, 1, *peak),
                one["out"]["mfu"].get<double>(), one["tolerance"].get<double>())
        << one["id"];
    ++checked;
  }
  EXPECT_GE(checked, 1);
}

TEST(Peaks, TypesAreRecognisedAsSlurmSitesNameThem) {
  for (const char* type : {"h100", "H100", "H100-80GB", "nvidia_h100_80gb_hbm3", "NVIDIA H100 80GB HBM3",
                           "h100-sxm", "h100sxm5", "nvidia-h100-mega-80gb", "nvidia_h100", "h100.sxm5"}) {
    EXPECT_EQ(Tflops(type, "bf16"), 989) << type;
  }
  EXPECT_EQ(Tflops("nvidia-a100-sxm4-40gb", "bf16"), 312);
  EXPECT_EQ(Tflops("tesla_a100_pcie_40gb", "bf16"), 312);
  EXPECT_EQ(Tflops("nvidia-h200-141gb", "fp8"), 1978);
  EXPECT_EQ(Tflops("nvidia_b200", "bf16"), 2250);
}

TEST(Peaks, WhatIsOrMayBeAnotherGpuIsNotRecognised) {
  for (const char* type :
       {"", "h100-pcie", "nvidia_h100_nvl", "gh200", "gb200", "h20", "h800", "h1000", "h100_1g.10gb",
        "nvidia_h100_80gb_hbm3_1g.10gb", "nvidia_h100_80gb_hbm3_3g.40gb", "h100-mig", "v100", "gpu", "nvidia",
        "mi300x", "h100-a100", "h200-nvl", "h100-quarter"}) {
    EXPECT_EQ(Tflops(type, "bf16"), 0) << type;
  }
  EXPECT_EQ(Tflops("a100", "fp8"), 0);  // it has no fp8
  EXPECT_EQ(Tflops("h100", ""), 0);
}

TEST(Peaks, TheAdministratorsComeFirst) {
  const std::vector<GpuPeak> more = {
      {"mi300x", "bf16", 1307.4}, {"h100", "bf16", 900}, {"h100", "bf16", 901}, {"h100-pcie", "bf16", 756}};
  EXPECT_EQ(Tflops("amd-mi300x", "bf16", more), 0);  // no configured name matches exactly
  EXPECT_EQ(Tflops("mi300x", "bf16", more), 1307.4);
  EXPECT_EQ(Tflops("h100", "bf16", more), 901);  // the last entry
  EXPECT_EQ(Tflops("h100", "fp8", more), 1978);  // not configured: the built-in value
  EXPECT_EQ(Tflops("nvidia_h100_pcie_80gb", "bf16", more), 756);
}

TEST(Peaks, AnErrorSaysHowToMendIt) {
  EXPECT_EQ(
      PeakFlops({}, "mi300x", "bf16").status().message(),
      "the peak of GPUs of type mi300x is not known; add `peak = TYPE PRECISION TFLOPS` to goodput.conf");
  EXPECT_EQ(PeakFlops({}, "a100", "fp8").status().message(),
            "the peak of GPUs of type a100 in fp8 is not known; add `peak = TYPE PRECISION TFLOPS` to "
            "goodput.conf");
}

TEST(Peaks, ALineOfTheConfigurationIsThreeWords) {
  const absl::StatusOr<GpuPeak> peak = ParsePeak("H100-PCIe  BF16\t756.5");
  ASSERT_TRUE(peak.ok());
  EXPECT_EQ(peak->gpu_type, "h100-pcie");
  EXPECT_EQ(peak->precision, "bf16");
  EXPECT_EQ(peak->tflops, 756.5);
  for (const char* wrong :
       {"", "h100", "h100 bf16", "h100 bf16 989 1", "h100 bf17 989", "h100 bf16 0", "h100 bf16 -1",
        "h100 bf16 nan", "h100 bf16 inf", "h100 bf16 many", "h100 bf16 1e30", "- bf16 989"}) {
    EXPECT_FALSE(ParsePeak(wrong).ok()) << wrong;
  }
}

TEST(StepFlops, SixPerParameterAndTokenAndAttentionWhereTheShapeIsKnown) {
  EXPECT_DOUBLE_EQ(FlopsOfStep(*ParseModel("params=70e9,tokens-per-step=4194304")), 6 * 70e9 * 4194304);
  // PaLM 540B, its own appendix: 118 layers, 48 heads of 256, sequences of 2048.
  const double palm =
      FlopsOfStep(*ParseModel("params=540e9,tokens-per-step=1,layers=118,hidden=12288,seq=2048"));
  EXPECT_DOUBLE_EQ(palm, 6 * 540e9 + 12.0 * 118 * 12288 * 2048);
  for (const char* wrong :
       {"", "params=70e9", "tokens-per-step=1", "params=70e9,tokens-per-step=0", "params=x,tokens-per-step=1",
        "params=1,params=1,tokens-per-step=1", "params=1,tokens-per-step=1,layers=3",
        "params=1,tokens-per-step=1,layers=3,seq=5", "params=1,tokens-per-step=1,layers=3,hidden=5",
        "params=1,tokens-per-step=1,hidden=3,seq=5", "params,tokens-per-step=1",
        "params=nan,tokens-per-step=1", "params=1,tokens-per-step=1,depth=3"}) {
    EXPECT_FALSE(ParseModel(wrong).ok()) << wrong;
  }
}

TEST(ProgramFlops, NeedFlopsPrecisionAndOnePeak) {
  const DeclaredFlops whole{1e18, "", "bf16"};
  const absl::StatusOr<ProgramFlops> program = FlopsOfProgram({whole, whole}, {"h100"}, {});
  ASSERT_TRUE(program.ok());
  EXPECT_EQ(program->flops_per_step, 1e18);
  EXPECT_EQ(program->peak_flops, 989e12);
  EXPECT_EQ(program->evidence, "1e+18 FLOPs per step as declared; peak 989 TFLOP/s per GPU (h100, bf16)");
  const auto why = [](const std::vector<DeclaredFlops>& declared, const std::set<std::string>& types) {
    const absl::StatusOr<ProgramFlops> refused = FlopsOfProgram(declared, types, {});
    return refused.ok() ? std::string() : std::string(refused.status().message());
  };
  EXPECT_NE(why({}, {"h100"}).find("FLOPs per step are not known"), std::string::npos);
  EXPECT_NE(why({{1e18, "", ""}}, {"h100"}).find("precision is not known"), std::string::npos);
  EXPECT_NE(why({whole}, {}).find("does not report the type"), std::string::npos);
  EXPECT_NE(why({whole}, {"mi300x"}).find("mi300x"), std::string::npos);
  EXPECT_NE(why({whole}, {"h100", "a100"}).find("several types: a100, h100"), std::string::npos);
  EXPECT_NE(why({whole, {2e18, "", "bf16"}}, {"h100"}).find("different FLOPs"), std::string::npos);
  EXPECT_NE(why({whole, {1e18, "", "fp8"}}, {"h100"}).find("different precisions: bf16, fp8"),
            std::string::npos);
  EXPECT_NE(why({{std::nullopt, "params=1", "bf16"}}, {"h100"}).find("incomplete"), std::string::npos);
  // Different GPU names with the same peak, and a model with the same FLOPs as a number.
  EXPECT_EQ(why({whole}, {"h100", "nvidia_h100_80gb_hbm3", "h200"}), "");
  EXPECT_EQ(why({{6e18, "", "bf16"}, {std::nullopt, "params=1e12,tokens-per-step=1e6", ""}}, {"h100"}), "");
}

// 100 steps of 10 s on 8 GPUs after a wait of 100 s.
RunBuilder Trains(int gpus) {
  RunBuilder run;
  run.Attempt()
      .Gpus(gpus)
      .Submitted(0)
      .Started(100)
      .Ready(100)
      .TaskStarts(100, 0)
      .Steps(0, 99, 100, 10)
      .TaskExits(1100, 0, 0)
      .Ended(1100, "COMPLETED");
  return run;
}

TEST(ProgramGoodput, IsKeptFlopsOverWhatTheProductiveTimeCouldHaveDone) {
  RunBuilder run = Trains(8);
  const Timeline timeline = run.Build();
  Account account = TakeAccount(timeline);
  const double peak = 989e12;
  const double per_step = 0.4 * 10 * 8 * peak;
  EXPECT_EQ(TakeProgramGoodput(timeline.steps, per_step, peak, account), "");
  EXPECT_NEAR(*account.goodput.program, 0.4, 1e-12);
  EXPECT_NEAR(*account.goodput.mpg, 0.4 * 1000 / 1100, 1e-12);
  EXPECT_NEAR(*account.goodput.mpg,
              *account.goodput.scheduling * *account.goodput.runtime * *account.goodput.program, 1e-12);
  // Kept FLOPs divided by T times peak.
  EXPECT_NEAR(*account.goodput.mpg, 100 * per_step / (1100.0 * 8 * peak), 1e-12);
}

TEST(ProgramGoodput, StepsDoneTwiceCountOnce) {
  RunBuilder run;
  run.Attempt()
      .Gpus(8)
      .Submitted(0)
      .Started(0)
      .Ready(0)
      .TaskStarts(0, 0)
      .Steps(0, 19, 0, 10)
      .TaskKilled(200, 0, 9)
      .Ended(200, "NODE_FAIL");
  run.Attempt()
      .Gpus(8)
      .Submitted(200)
      .Eligible(200)
      .Started(200)
      .Ready(200)
      .TaskStarts(200, 0)
      .Steps(10, 19, 200, 10)
      .TaskExits(300, 0, 0)
      .Ended(300, "COMPLETED");
  const Timeline timeline = run.Build();
  Account account = TakeAccount(timeline);
  const double per_step = 0.5 * 10 * 8 * 1e12;
  ASSERT_EQ(TakeProgramGoodput(timeline.steps, per_step, 1e12, account), "");
  EXPECT_NEAR(*account.goodput.program, 0.5, 1e-12);
  EXPECT_NEAR(*account.goodput.mpg, 20 * per_step / (300.0 * 8 * 1e12), 1e-12);
}

TEST(ProgramGoodput, IsRefusedWhereItCannotBe) {
  const auto why = [](RunBuilder run, double per_step) {
    const Timeline timeline = run.Build();
    Account account = TakeAccount(timeline);
    const std::string reason = TakeProgramGoodput(timeline.steps, per_step, 1e12, account);
    EXPECT_FALSE(account.goodput.program);
    EXPECT_FALSE(account.goodput.mpg);
    return reason;
  };
  EXPECT_EQ(why(Trains(0), 1e12), "the run had no GPUs");
  EXPECT_NE(why(Trains(8), 81e12).find("exceed the peak of the GPUs"), std::string::npos);
  RunBuilder silent;
  silent.Attempt().Gpus(8).Submitted(0).Started(0).Ended(100, "COMPLETED");
  EXPECT_EQ(why(silent, 1e12), "no steps were seen");
}

}  // namespace
}  // namespace goodput
