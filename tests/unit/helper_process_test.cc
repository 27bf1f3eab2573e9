// A helper process that may hang, die or be stopped, and a parent that continues.
#include "tools/base/helper_process.h"

#include <grp.h>
#include <gtest/gtest.h>
#include <pwd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include "tools/base/helper_message.h"
#include "tools/sources/shared_spool/ingest_helper.h"
#include "tools/sources/shared_spool/ship_helper.h"

namespace goodput {
namespace {

std::string Listed(std::vector<gid_t> groups) {
  std::sort(groups.begin(), groups.end());
  std::string text;
  for (const gid_t group : groups) text += std::to_string(group) + " ";
  return text;
}

// The tests' helper executes its request: "echo TEXT", "hang", "spin" (for ever), "work" (for a second),
// "die", "slow N" (N signs of progress), "uid", "groups".
HelperAnswers TestHelper(const std::vector<std::string>& arguments) {
  return [arguments](std::string_view request, const HelperProgress& at) -> std::string {
    if (request == "hang") {
      at("a bad place");
      while (true) pause();
    }
    if (request == "work" || request == "spin") {
      const auto until =
          std::chrono::steady_clock::now() + std::chrono::seconds(request == "work" ? 1 : 3600);
      while (std::chrono::steady_clock::now() < until) continue;
    }
    if (request == "die") _exit(3);
    if (request == "groups") {
      std::vector<gid_t> groups(static_cast<std::size_t>(getgroups(0, nullptr)));
      if (getgroups(static_cast<int>(groups.size()), groups.data()) < 0) return "?";
      return Listed(groups);
    }
    if (request == "uid") return std::to_string(getuid()) + ":" + std::to_string(getgroups(0, nullptr));
    if (request == "arguments") {
      std::string all;
      for (const std::string& argument : arguments) all += argument + ";";
      return all;
    }
    if (request == "slow") {
      for (int i = 0; i < 5; ++i) {
        usleep(500'000);
        at("step " + std::to_string(i));
      }
    }
    return std::string(request);
  };
}

// The answer, or the error.
std::string Said(HelperProcess& helper, std::string_view request) {
  const absl::StatusOr<std::string> answer = helper.Call(request);
  return answer.ok() ? *answer : answer.status().ToString();
}

// Tests that expect an answer wait long, because the machine may be busy; tests that expect none do not.
constexpr absl::Duration kNotForLong = absl::Seconds(2);

HelperProcess::Options OptionsOf(AbandonedHelpers& abandoned) {
  HelperProcess::Options options;
  options.name = "test";
  options.abandoned = &abandoned;
  options.timeout = absl::Seconds(20);
  options.longest_pause = absl::ZeroDuration();
  return options;
}

TEST(HelperMessage, WhatIsMalformedIsNothingAndSaysSo) {
  const auto text = [](std::string_view bytes) { return MessageWriter().Text(bytes).Take(); };
  {
    const std::string seven = text("1234567");
    MessageReader reader(seven);
    EXPECT_EQ(reader.OptionalNumber(), std::nullopt);
    EXPECT_FALSE(reader.ok()) << "neither a number nor its absence";
  }
  {
    const std::string two = MessageWriter().Number(2).Take();
    MessageReader reader(two);
    EXPECT_FALSE(reader.Flag());
    EXPECT_FALSE(reader.ok());
  }
  {
    const std::string cut = text("abc").substr(0, 6);
    MessageReader reader(cut);
    EXPECT_EQ(reader.Text(), "");
    EXPECT_FALSE(reader.ok());
  }
  {
    const std::string no_text = MessageWriter().Number(0).Take();
    MessageReader reader(no_text);
    EXPECT_TRUE(absl::IsInternal(reader.Status())) << "half a status is no success";
  }
}

TEST(HelperProcess, AnswersOneRequestAfterTheOtherFromOneProcess) {
  AbandonedHelpers abandoned(1);
  HelperProcess::Options options = OptionsOf(abandoned);
  options.arguments = {"a", "b c"};
  HelperProcess helper(options);
  EXPECT_EQ(Said(helper, "arguments"), "a;b c;");
  const pid_t pid = helper.pid();
  EXPECT_EQ(Said(helper, ""), "");
  const std::string large(kMaxHelperMessage - 1, 'x');
  EXPECT_EQ(Said(helper, large), large);
  EXPECT_FALSE(helper.Call(large + "x").ok());
  EXPECT_EQ(helper.pid(), pid);
}

TEST(HelperProcess, OneThatHangsIsKilledAndTheNextAnswers) {
  AbandonedHelpers abandoned(1);
  HelperProcess::Options options = OptionsOf(abandoned);
  options.timeout = kNotForLong;
  HelperProcess helper(options);
  const auto hung = helper.Call("hang");
  EXPECT_TRUE(absl::IsDeadlineExceeded(hung.status())) << hung.status();
  EXPECT_EQ(helper.where(), "a bad place");
  EXPECT_EQ(Said(helper, "x"), "x");
}

TEST(HelperProcess, OneThatWasStoppedIsKilledAndTheNextAnswers) {
  AbandonedHelpers abandoned(1);
  HelperProcess::Options options = OptionsOf(abandoned);
  options.timeout = kNotForLong;
  HelperProcess helper(options);
  ASSERT_TRUE(helper.Call("x").ok());
  ASSERT_TRUE(helper.Call("slow").ok());
  kill(helper.pid(), SIGSTOP);
  EXPECT_TRUE(absl::IsDeadlineExceeded(helper.Call("x").status()));
  EXPECT_EQ(helper.where(), "") << "it had nothing to do";
  EXPECT_EQ(Said(helper, "x"), "x");
}

TEST(HelperProcess, OneThatDiesIsReportedAndTheNextAnswers) {
  AbandonedHelpers abandoned(1);
  HelperProcess helper(OptionsOf(abandoned));
  EXPECT_TRUE(absl::IsUnavailable(helper.Call("die").status()));
  EXPECT_EQ(Said(helper, "x"), "x");
}

TEST(HelperProcess, ProgressGivesItMoreTime) {
  AbandonedHelpers abandoned(1);
  HelperProcess::Options options = OptionsOf(abandoned);
  options.timeout = kNotForLong;
  HelperProcess helper(options);
  EXPECT_EQ(Said(helper, "slow"), "slow");
}

TEST(HelperProcess, OneThatWorksHasMoreTimeThanOneThatWaits) {
  AbandonedHelpers abandoned(2);
  HelperProcess::Options options = OptionsOf(abandoned);
  options.timeout = absl::Milliseconds(200);
  HelperProcess helper(options);
  EXPECT_EQ(Said(helper, "work"), "work");
  const absl::Time began = absl::Now();
  EXPECT_EQ(Said(helper, "spin"), "DEADLINE_EXCEEDED: no answer for 200ms");
  EXPECT_GE(absl::Now() - began, HelperProcess::kBusyTimeouts * options.timeout) << "but not for ever";
}

TEST(HelperProcess, AfterTroubleThereIsAPauseThatSaysTheSame) {
  AbandonedHelpers abandoned(1);
  HelperProcess::Options options = OptionsOf(abandoned);
  options.longest_pause = absl::Seconds(1000);
  HelperProcess helper(options);
  const absl::Status trouble = helper.Call("die").status();
  EXPECT_EQ(helper.Call("x").status(), trouble);
  EXPECT_EQ(helper.pid(), 0) << "none was started";
}

TEST(HelperProcess, InAHurryNobodyWaitsLong) {
  AbandonedHelpers abandoned(1);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  HelperProcess::Options options = OptionsOf(abandoned);
  options.timeout = absl::Seconds(1000);
  options.longest_pause = absl::Seconds(1000);
  options.last_timeout = absl::Milliseconds(10);
  options.hurry_fd = ends[0];
  HelperProcess helper(options);
  std::thread later([&] {
    usleep(100'000);
    EXPECT_EQ(write(ends[1], "x", 1), 1);
  });
  EXPECT_TRUE(absl::IsDeadlineExceeded(helper.Call("hang").status()));
  later.join();
  // There is no pause either: a helper that is stopped gets another chance.
  EXPECT_TRUE(absl::IsDeadlineExceeded(helper.Call("hang").status()));
  for (const int end : ends) close(end);
}

TEST(HelperProcess, NoMoreThanSoManyAreLeftBehind) {
  AbandonedHelpers abandoned(1);
  // A process that does not end when it is killed, as far as its parent can see.
  const pid_t stays = fork();
  if (stays == 0) {
    while (true) pause();
  }
  abandoned.Take(stays);
  EXPECT_TRUE(abandoned.MayStart()) << "it may be about to end";
  EXPECT_EQ(abandoned.Count().ending, 1U);
  for (int tries = 0; tries < 1000 && abandoned.MayStart(); ++tries) usleep(10'000);
  EXPECT_EQ(abandoned.Count().hanging, 1U);
  HelperProcess helper(OptionsOf(abandoned));
  EXPECT_TRUE(absl::IsUnavailable(helper.Call("x").status()));
  kill(stays, SIGKILL);
  // The next caller reaps it.
  for (int tries = 0; tries < 1000 && !abandoned.MayStart(); ++tries) usleep(10'000);
  EXPECT_EQ(abandoned.Count().hanging, 0U);
  EXPECT_EQ(Said(helper, "x"), "x");
}

TEST(HelperProcess, IsAnotherUserBeforeItDoesAnything) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  AbandonedHelpers abandoned(1);
  HelperProcess::Options options = OptionsOf(abandoned);
  options.user = HelperUser{65534, 65534};
  HelperProcess helper(options);
  EXPECT_EQ(Said(helper, "uid"), "65534:0");
}

TEST(HelperProcess, HasAllGroupsOfItsUserWhereThatIsAskedFor) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  // A user with several groups, if there is one on this machine.
  passwd nobody = *getpwuid(65534);
  std::string name = nobody.pw_name;
  HelperUser user{nobody.pw_uid, nobody.pw_gid, true};
  std::vector<gid_t> groups;
  const auto look = [&](const std::string& of, gid_t gid) {
    int count = 64;
    groups.resize(64);
    getgrouplist(of.c_str(), gid, groups.data(), &count);
    groups.resize(static_cast<std::size_t>(count));
  };
  setgrent();
  while (const group* const entry = getgrent()) {
    if (entry->gr_mem[0] == nullptr) continue;
    const passwd* const member = getpwnam(entry->gr_mem[0]);
    if (member == nullptr || member->pw_uid == 0) continue;
    name = member->pw_name;
    user = {member->pw_uid, member->pw_gid, true};
    break;
  }
  endgrent();
  look(name, user.gid);
  AbandonedHelpers abandoned(1);
  HelperProcess::Options options = OptionsOf(abandoned);
  options.user = user;
  HelperProcess helper(options);
  EXPECT_EQ(Said(helper, "groups"), Listed(groups)) << name;
  // An unknown user has none.
  options.user = HelperUser{4'000'000'000, 4'000'000'000, true};
  HelperProcess unknown(options);
  EXPECT_EQ(Said(unknown, "uid"), "4000000000:0");
}

TEST(HelperProcess, IsNotEndedBySigterm) {
  AbandonedHelpers abandoned(1);
  HelperProcess helper(OptionsOf(abandoned));
  ASSERT_TRUE(helper.Call("x").ok());
  const pid_t pid = helper.pid();
  kill(pid, SIGTERM);
  kill(pid, SIGINT);
  EXPECT_EQ(Said(helper, "x"), "x");
  EXPECT_EQ(helper.pid(), pid);
}

}  // namespace
}  // namespace goodput

int main(int argc, char** argv) {
  const auto code = goodput::RunHelper(argc, argv,
                                       {{"test", goodput::TestHelper},
                                        {goodput::kIngestHelper, goodput::IngestHelper},
                                        {goodput::kShipHelper, goodput::ShipHelper}});
  if (code) return *code;
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
