// Packed steps: unpacking restores them, and the data available without unpacking are right.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "sql/blocks/deflate.h"
#include "sql/blocks/duration_histogram.h"
#include "sql/blocks/step_block.h"
#include "sql/blocks/varint.h"
#include "tests/unit/format_document.h"

namespace goodput {
namespace {

// What a loop of half a second a step writes, its times to `unit_ns`.
std::vector<PackedStep> Loop(std::size_t count, std::int64_t unit_ns) {
  std::mt19937_64 random(7);
  std::vector<PackedStep> steps;
  PackedStep step{1'767'225'600'000'000'000, 100, 0, 4096};
  for (std::size_t i = 0; i < count; ++i) {
    steps.push_back(step);
    const auto jitter = static_cast<std::int64_t>(random() % 10'000'000);
    step.t_ns += (495'000'000 + jitter) / unit_ns * unit_ns;
    ++step.step;
    step.offset += 230 + static_cast<std::int64_t>(random() % 2);
  }
  return steps;
}

std::string Frames(const std::vector<PackedStep>& steps) {
  std::string data;
  PackedStep before;
  for (std::size_t at = 0; at < steps.size(); at += kMarksPerFrame) {
    const std::size_t end = std::min(steps.size(), at + kMarksPerFrame);
    PackFrame(
        before,
        {steps.begin() + static_cast<std::ptrdiff_t>(at), steps.begin() + static_cast<std::ptrdiff_t>(end)},
        data);
    before = steps[end - 1];
  }
  return data;
}

void ExpectSame(const std::vector<PackedStep>& again, const std::vector<PackedStep>& steps) {
  ASSERT_EQ(again.size(), steps.size());
  for (std::size_t i = 0; i < steps.size(); ++i) {
    EXPECT_EQ(again[i].t_ns, steps[i].t_ns) << i;
    EXPECT_EQ(again[i].step, steps[i].step) << i;
    EXPECT_EQ(again[i].task, steps[i].task) << i;
    EXPECT_EQ(again[i].offset, steps[i].offset) << i;
  }
}

void ExpectBack(const std::vector<PackedStep>& steps) {
  std::vector<PackedStep> again;
  ASSERT_TRUE(UnpackSteps(Frames(steps), again));
  ExpectSame(again, steps);
}

TEST(StepBlock, AMarkOfALoopTakesThreeBytesAndABit) {
  EXPECT_LT(static_cast<double>(Frames(Loop(4096, 1)).size()) / 4096, 3.3) << "to a nanosecond";
  EXPECT_LT(static_cast<double>(Frames(Loop(4096, 1000)).size()) / 4096, 2.4) << "to a microsecond";
  ExpectBack(Loop(4096, 1));
  ExpectBack(Loop(1000, 1000));
}

TEST(StepBlock, IsAsItsDocumentSays) {
  std::vector<PackedStep> steps;
  ASSERT_TRUE(UnpackSteps(ExampleOf("step_block.md"), steps));
  const std::vector<PackedStep> written{{1000, 7, 0, 1}, {1500, 8, 0, 101}, {2250, 9, 0, 201}};
  ExpectSame(steps, written);
  // Compressed bytes differ between releases of zlib, what they say does not.
  ExpectBack(written);
}

TEST(StepBlock, AnEventEveryTenthStepCostsWhatItIsWorth) {
  std::vector<PackedStep> steps = Loop(4096, 1000);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto saves = static_cast<std::int64_t>(i / 10);
    steps[i].t_ns += saves * 3'000'000'000;
    steps[i].offset += saves * 480;
  }
  EXPECT_LT(static_cast<double>(Frames(steps).size()) / 4096, 3.0);
  ExpectBack(steps);
}

TEST(StepBlock, AnyNumbersComeBack) {
  std::mt19937_64 random(11);
  std::vector<PackedStep> steps;
  for (int i = 0; i < 2500; ++i) {
    const unsigned bits = static_cast<unsigned>(random() % 64);
    const auto any = [&] {
      return static_cast<std::int64_t>(random() >> bits) * (random() % 2 == 0 ? 1 : -1);
    };
    steps.push_back({any(), any(), any(), any()});
  }
  steps.push_back({INT64_MAX, INT64_MIN, INT64_MAX, INT64_MIN});
  steps.push_back({INT64_MIN, INT64_MAX, INT64_MIN, INT64_MAX});
  ExpectBack(steps);
  ExpectBack({steps.front()});
}

TEST(StepBlock, BytesThatEndInsideAFrameAreNoBlock) {
  const std::string data = Frames(Loop(kMarksPerFrame + 100, 1));
  for (std::size_t size = 1; size < data.size(); ++size) {
    std::vector<PackedStep> steps;
    const bool whole = UnpackSteps(data.substr(0, size), steps);
    EXPECT_TRUE(!whole || steps.size() == kMarksPerFrame) << size;
  }
}

std::int64_t LowerMedian(std::vector<std::int64_t> values) {
  std::sort(values.begin(), values.end());
  return values[(values.size() - 1) / 2];
}

TEST(DurationHistogram, IsAsItsDocumentSays) {
  const std::string example = ExampleOf("duration_histogram.md");
  DurationHistogram histogram;
  for (const std::int64_t duration : {500, 750, 500, 5000}) histogram.Add(duration);
  EXPECT_EQ(histogram.Encode(), example);
  DurationHistogram read;
  EXPECT_TRUE(read.AddEncoded(example));
  EXPECT_EQ(read.count(), 4);
  EXPECT_EQ(read.Encode(), example);
}

TEST(DurationHistogram, IsExactUntilItIsLargeAndThenRightToAFortiethOfAPercent) {
  std::mt19937_64 random(3);
  for (const std::size_t count : {1U, 2U, 4095U, 4096U, 4097U, 50'000U}) {
    for (const std::int64_t scale : std::vector<std::int64_t>{3, 5'000, 700'000'000, INT64_MAX / 4}) {
      DurationHistogram histogram;
      std::vector<std::int64_t> values;
      for (std::size_t i = 0; i < count; ++i) {
        values.push_back(scale + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(scale)));
        histogram.Add(values.back());
      }
      const std::int64_t median = LowerMedian(values);
      const double error =
          std::abs(static_cast<double>(*histogram.Median()) / static_cast<double>(median) - 1);
      EXPECT_LE(error, count <= kExactDurations ? 0 : 0.00025) << count << " of " << scale;
      EXPECT_GE(histogram.UpperBound(), *std::max_element(values.begin(), values.end()));
      EXPECT_EQ(histogram.count(), static_cast<std::int64_t>(count));
    }
  }
}

TEST(DurationHistogram, HowItWasPutTogetherChangesNothing) {
  std::mt19937_64 random(5);
  DurationHistogram whole;
  DurationHistogram merged;
  DurationHistogram encoded;
  for (int block = 0; block < 7; ++block) {
    DurationHistogram part;
    for (int i = 0; i < 3000; ++i) {
      const auto value = static_cast<std::int64_t>(random() % 1'000'000'000'000);
      whole.Add(value);
      part.Add(value);
    }
    merged.Merge(part);
    ASSERT_TRUE(encoded.AddEncoded(part.Encode()));
  }
  EXPECT_EQ(merged.Median(), whole.Median());
  EXPECT_EQ(encoded.Median(), whole.Median());
  EXPECT_EQ(encoded.Encode(), whole.Encode());
  DurationHistogram counted;
  counted.Add(5, 10'000);
  counted.Add(7, 10'001);
  EXPECT_EQ(counted.Median(), 7);
}

TEST(DurationHistogram, WhatIsRemovedWasNeverThere) {
  for (const int count : {100, 9000}) {  // exact, and in bins
    std::mt19937_64 random(7);
    DurationHistogram kept;
    DurationHistogram both;
    std::vector<std::int64_t> others;
    for (int i = 0; i < count; ++i) {
      kept.Add(static_cast<std::int64_t>(random() % 1'000'000'000));
      others.push_back(static_cast<std::int64_t>(random() % 1'000'000'000));
      both.Add(others.back());
    }
    both.Merge(kept);
    for (const std::int64_t other : others) both.Remove(other);
    EXPECT_EQ(both.count(), kept.count());
    EXPECT_EQ(both.Encode(), kept.Encode());
    both.Remove(-1);
    both.Remove(5'000'000'000);
    EXPECT_EQ(both.count(), kept.count()) << "what is not there cannot be removed";
  }
}

TEST(DurationHistogram, IsEmptyUntilSomethingIsAdded) {
  DurationHistogram histogram;
  EXPECT_FALSE(histogram.Median());
  EXPECT_EQ(histogram.UpperBound(), 0);
  EXPECT_TRUE(histogram.AddEncoded(""));
  EXPECT_FALSE(histogram.AddEncoded("\x80"));
  EXPECT_FALSE(histogram.AddEncoded(std::string_view("\x05\x00", 2))) << "a bin without a value";
  EXPECT_FALSE(histogram.AddEncoded(std::string_view("\xff\xff\xff\xff\x7f\x01", 6)))
      << "a bin there cannot be";
  EXPECT_EQ(histogram.count(), 0);
}

TEST(StepBlock, AFrameOfTooManyMarksOrWithMoreThanItsColumnsIsDamaged) {
  // Four columns of marks that are all the same: a difference of 0, a unit of 1, and no bytes.
  const auto frame = [](std::size_t marks, const std::string& more) {
    std::string plain;
    for (int column = 0; column < 4; ++column) plain += std::string("\0\1\0", 3);
    plain += more;
    const std::string packed = Deflate(plain, DeflateFor::kColumns);
    std::string data;
    PutVarint(marks, data);
    PutVarint(plain.size(), data);
    PutVarint(packed.size(), data);
    return data + packed;
  };
  std::vector<PackedStep> steps;
  EXPECT_TRUE(UnpackSteps(frame(kMarksPerFrame, ""), steps));
  EXPECT_EQ(steps.size(), kMarksPerFrame);
  EXPECT_FALSE(UnpackSteps(frame(kMarksPerFrame + 1, ""), steps));
  EXPECT_FALSE(UnpackSteps(frame(kMarksPerFrame, "x"), steps));
}

}  // namespace
}  // namespace goodput
