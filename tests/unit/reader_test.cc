// Queries over HTTP: which are allowed, who may see what, and what is cached.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <memory>
#include <thread>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "sql/text.h"
#include "tests/spank/temp_folder.h"
#include "tools/accounting/metrics/exposition.h"
#include "tools/base/unix_socket.h"
#include "tools/base/viewer.h"
#include "tools/reader/answer.h"
#include "tools/reader/answer_cache.h"
#include "tools/reader/control.h"
#include "tools/reader/host_names.h"
#include "tools/reader/http_server.h"
#include "tools/reader/munge.h"
#include "tools/reader/question.h"
#include "tools/reader/rights.h"
#include "tools/reader/sandbox.h"
#include "tools/reader/work_queue.h"

namespace goodput {
namespace {

std::string Command(std::string_view path, const UrlParameters& parameters) {
  const absl::StatusOr<CommandQuestion> question = ReadQuestion(path, parameters);
  return question.ok() ? absl::StrJoin(question->arguments, " ") : Message(question.status());
}

TEST(Question, IsACommandLine) {
  EXPECT_EQ(Command("/v1/list", {}), "--allusers --json --color=never --no-refresh");
  EXPECT_EQ(Command("/v1/list", {{"user", "ada"}, {"state", "CD,F"}, {"as", "text"}}),
            "--user=ada --state=CD,F --color=never --no-refresh");
  EXPECT_EQ(Command("/v1/show", {{"sensitivity", "1"}, {"chain", "0"}, {"job", "12_3"}}),
            "show --sensitivity --json --color=never --no-refresh -- 12_3");
  EXPECT_EQ(Command("/v1/watch", {{"job", "1"}}), "watch --once --color=never --no-refresh -- 1")
      << "a client asks again by itself";
  EXPECT_EQ(Command("/v1/diff", {{"b", "2"}, {"a", "1"}, {"color", "always"}}),
            "diff --json --color=always --no-refresh -- 1 2");
  EXPECT_EQ(Command("/v1/export", {{"run", "r"}}), "export --run=r --color=never --no-refresh");
}

TEST(Question, ValuesThatLookLikeOptionsStayValues) {
  EXPECT_EQ(Command("/v1/show", {{"job", "--db=/etc/passwd"}}),
            "show --json --color=never --no-refresh -- --db=/etc/passwd");
  EXPECT_EQ(Command("/v1/show", {{"run", "--db=/etc/passwd"}}),
            "show --run=--db=/etc/passwd --json --color=never --no-refresh");
}

TEST(Question, AnEmptyValueIsNone) {
  EXPECT_EQ(Command("/v1/list", {{"after", ""}, {"user", ""}}),
            "--allusers --json --color=never --no-refresh");
}

TEST(Question, WhatIsNotListedDoesNotGetThrough) {
  for (const char* path :
       {"/", "/v1", "/v1/", "/v1/import", "/v1/ingest", "/v1/mark", "/v2/list", "/v1/list/"}) {
    EXPECT_TRUE(absl::IsNotFound(ReadQuestion(path, {}).status())) << path;
  }
  for (const char* name :
       {"db", "config", "url", "spool", "output", "html", "no-refresh", "json", "", "--user"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ReadQuestion("/v1/list", {{name, "x"}}).status())) << name;
    EXPECT_TRUE(absl::IsInvalidArgument(ReadQuestion("/v1/show", {{name, "x"}}).status())) << name;
  }
}

TEST(Question, NoOptionWritesToTheCloud) {
  EXPECT_TRUE(absl::IsInvalidArgument(
      ReadQuestion("/v1/export", {{"run", "r"}, {"cloud-log", "projects/p/logs/l"}}).status()));
  EXPECT_FALSE(ReadQuestion("/v1/metrics", {{"cloud-monitoring", "projects/p"}}).ok());
}

TEST(Question, ValuesAreBounded) {
  const auto refused = [](const std::string& name, const std::string& value) {
    return absl::IsInvalidArgument(ReadQuestion("/v1/list", {{name, value}}).status());
  };
  EXPECT_FALSE(refused("user", std::string(4096, 'x')));
  EXPECT_TRUE(refused("user", std::string(4097, 'x')));
  EXPECT_TRUE(refused("user", std::string("a\0b", 3)));
  EXPECT_TRUE(refused("user", "a\nb"));
  EXPECT_TRUE(refused("allusers", "yes please"));
  EXPECT_TRUE(refused("color", "auto"));
  EXPECT_TRUE(refused("as", "html"));
  EXPECT_TRUE(absl::IsInvalidArgument(ReadQuestion("/v1/show", {{"job", "1"}, {"job", "2"}}).status()));
  for (const char* zone : {"Europe/Berlin", "EST5EDT,M3.2.0,M11.1.0", "<+03>-3", "UTC"})
    EXPECT_FALSE(refused("tz", zone)) << zone;
  for (const char* zone : {"/etc/passwd", ":/etc/passwd", "../../etc/passwd", "", "a b"})
    EXPECT_TRUE(refused("tz", zone)) << zone;
}

TEST(Question, SumsOverTheClusterAreToldApart) {
  EXPECT_TRUE(ReadQuestion("/v1/report", {{"fleet", "1"}})->of_everybody);
  EXPECT_FALSE(ReadQuestion("/v1/report", {{"fleet", "0"}})->of_everybody);
}

TEST(Viewer, SeesTheirOwnAndTheirAccounts) {
  const Viewer all = ParseViewer("all:root");
  EXPECT_TRUE(all.Sees("ada", "a") && all.Sees("", ""));
  const Viewer ada = ParseViewer("own:ada:physics,math");
  EXPECT_TRUE(ada.Sees("ada", ""));
  EXPECT_TRUE(ada.Sees("eve", "math"));
  EXPECT_FALSE(ada.Sees("eve", "text"));
  EXPECT_FALSE(ada.Sees("", ""));
  EXPECT_EQ(ViewerText(ada), "own:ada:math,physics");
  EXPECT_EQ(ViewerText(all), "all:root");
}

TEST(Viewer, NonsenseSeesNothing) {
  for (const char* text :
       {"", "all", "own", "own:", "own:ada", "everything:root", "own:ada:x:y", "ALL:root", "all:a:b"}) {
    const Viewer viewer = ParseViewer(text);
    EXPECT_FALSE(viewer.Sees("", "")) << text;
    EXPECT_FALSE(viewer.Sees("eve", "x")) << text;
  }
}

constexpr const char* kConfig =
    "Configuration data as of 2026-11-22T06:41:00\n"
    "AuthAltTypes            = auth/jwt\n"
    "AuthInfo                = socket=/run/m/socket,cred_expire=6\n"
    "PrivateData             = %s\n"
    "SlurmUser               = slurm(64030)\n";

std::string ConfigText(const std::string& private_data) {
  std::string text = kConfig;
  return text.replace(text.find("%s"), 2, private_data);
}

TEST(Rights, PrivateDataIsReadAsSlurmPrintsIt) {
  const absl::StatusOr<PrivacyPolicy> open = ParsePrivacyPolicy(ConfigText("none"));
  ASSERT_TRUE(open.ok());
  EXPECT_FALSE(open->is_private);
  EXPECT_EQ(open->slurm_user, uid_t{64030});
  EXPECT_EQ(open->munge_socket, "/run/m/socket");
  EXPECT_TRUE(open->takes_tokens);
  for (const char* data : {"jobs", "nodes,usage", "accounts", "reservations,users"})
    EXPECT_TRUE(ParsePrivacyPolicy(ConfigText(data))->is_private) << data;
  EXPECT_FALSE(ParsePrivacyPolicy(ConfigText("nodes,partitions"))->is_private);
  EXPECT_FALSE(ParsePrivacyPolicy("slurm_load_ctl_conf error").ok());
}

TEST(Rights, RolesAreThoseOfThatUserAlone) {
  const std::string text = "adam|None|\nada|None|math,physics\nman|Operator|\nroot|Administrator|\n";
  EXPECT_EQ(ParseAccountingRole(text, "ada").accounts, (std::set<std::string>{"math", "physics"}));
  EXPECT_FALSE(ParseAccountingRole(text, "ada").sees_all);
  EXPECT_TRUE(ParseAccountingRole(text, "man").sees_all);
  EXPECT_TRUE(ParseAccountingRole(text, "root").sees_all);
  EXPECT_FALSE(ParseAccountingRole(text, "ad").sees_all || !ParseAccountingRole(text, "ad").accounts.empty());
}

std::string Token(const std::string& payload) {
  return Cat("h.", absl::WebSafeBase64Escape(payload), ".s");
}

TEST(Rights, ATokenNamesOneUser) {
  EXPECT_EQ(*UserOfToken(Token(R"({"exp":1,"sun":"ada"})"), "sun"), "ada");
  for (const char* payload :
       {R"({"exp":1})", R"({"sun":1})", R"({"sun":""})", R"({"sun":"ada","sun":"root"})", "{", ""})
    EXPECT_FALSE(UserOfToken(Token(payload), "sun").ok()) << payload;
  for (const char* token : {"", "a", "a.b", "a.b.c.d", "a.!!.c"})
    EXPECT_FALSE(UserOfToken(token, "sun").ok()) << token;
}

// A Slurm with fixed answers that counts queries.
struct FakeSlurm {
  std::string private_data = "jobs";
  bool answers = true;
  std::string roles;
  int configs = 0;
  int users = 0;
  int asked = 0;
  std::vector<std::string> tokens;  // that it accepts

  // The lines of the user whom `sacctmgr show user name=USER` is about.
  std::string RolesOf(const std::vector<std::string>& command) const {
    std::string lines;
    for (const absl::string_view line : absl::StrSplit(roles, '\n', absl::SkipEmpty())) {
      const std::string name = absl::StrCat("name=", line.substr(0, line.find('|')));
      if (std::find(command.begin(), command.end(), name) != command.end())
        absl::StrAppend(&lines, line, "\n");
    }
    return lines;
  }

  Rights::Run Run() {
    return [this](const std::vector<std::string>& command,
                  const std::vector<std::pair<std::string, std::string>>& environment)
               -> absl::StatusOr<CommandResult> {
      CommandResult result;
      ++asked;
      if (!answers) {
        result.exit_code = 1;
        return result;
      }
      if (command[0] == "sacctmgr") {
        ++users;
        result.out = RolesOf(command);
        return result;
      }
      ++configs;
      result.out = ConfigText(private_data);
      for (const auto& [name, value] : environment)
        result.exit_code = std::find(tokens.begin(), tokens.end(), value) == tokens.end() ? 1 : 0;
      return result;
    };
  }
};

std::int64_t fake_now = 0;
Clock FakeClock() {
  return {[]() noexcept { return fake_now; }, []() noexcept { return fake_now; }};
}

TEST(Policy, AnythingThatHidesJobsMakesAClusterPrivate) {
  for (const char* what : {"jobs", "usage", "users", "accounts", "all", "nodes,jobs", "ALL"})
    EXPECT_TRUE(ParsePrivacyPolicy(ConfigText(what))->is_private) << what;
  for (const char* what : {"none", "nodes", "reservations,events"})
    EXPECT_FALSE(ParsePrivacyPolicy(ConfigText(what))->is_private) << what;
}

TEST(Rights, OnlyAPrivateClusterWantsProof) {
  FakeSlurm slurm;
  Rights rights(slurm.Run(), FakeClock());
  EXPECT_TRUE(absl::IsPermissionDenied(rights.Of(std::nullopt).status()));
  slurm.private_data = "none";
  Rights open(slurm.Run(), FakeClock());
  EXPECT_TRUE(open.Of(std::nullopt)->all);
  EXPECT_TRUE(open.Of(uid_t{65534})->all);
}

TEST(Rights, RootAndSlurmsUserSeeAllOthersTheirOwn) {
  FakeSlurm slurm;
  Rights rights(slurm.Run(), FakeClock());
  EXPECT_TRUE(rights.Of(uid_t{0})->all);
  EXPECT_TRUE(rights.Of(uid_t{64030})->all);
  const absl::StatusOr<Viewer> nobody = rights.Of(uid_t{65534});
  ASSERT_TRUE(nobody.ok());
  EXPECT_FALSE(nobody->all);
  EXPECT_TRUE(nobody->Sees("nobody", "x"));
  EXPECT_FALSE(nobody->Sees("games", "x"));
}

TEST(Rights, AnOperatorsRoleIsNobodyElses) {
  FakeSlurm slurm;
  slurm.roles = "nobody|Operator|\ndaemon|None|physics\n";
  Rights rights(slurm.Run(), FakeClock());
  EXPECT_TRUE(rights.Of(uid_t{65534})->all);
  const absl::StatusOr<Viewer> daemon = rights.Of(uid_t{1});
  ASSERT_TRUE(daemon.ok());
  EXPECT_FALSE(daemon->all);
  EXPECT_TRUE(daemon->Sees("games", "physics")) << "a coordinator";
  EXPECT_FALSE(daemon->Sees("games", "chemistry"));
}

TEST(Rights, AreRememberedForSecondsAndThroughAnOutage) {
  fake_now = 1;
  FakeSlurm slurm;
  slurm.roles = "nobody|Operator|\n";
  Rights rights(slurm.Run(), FakeClock());
  EXPECT_TRUE(rights.Of(uid_t{65534})->all);
  EXPECT_TRUE(rights.Of(uid_t{65534})->all);
  EXPECT_EQ(slurm.configs, 1);
  EXPECT_EQ(slurm.users, 1);
  fake_now += 11'000'000'000;
  slurm.answers = false;
  // It is still known that data are private, but no longer that the user is an operator.
  EXPECT_FALSE(rights.Of(uid_t{65534})->all);
  EXPECT_TRUE(absl::IsPermissionDenied(rights.Of(std::nullopt).status()));
}

TEST(Rights, WhoDoesNotAnswerIsNotAskedForEachQuestion) {
  fake_now = 1;
  FakeSlurm slurm;
  Rights rights(slurm.Run(), FakeClock());
  EXPECT_TRUE(rights.Of(uid_t{65534}).ok());
  slurm.answers = false;
  fake_now += 11'000'000'000;
  const int before = slurm.asked;
  EXPECT_TRUE(rights.Of(uid_t{65534}).ok());
  EXPECT_TRUE(rights.Of(uid_t{1}).ok());
  EXPECT_EQ(slurm.asked, before + 2);
  fake_now += 31'000'000'000;
  slurm.answers = true;
  slurm.roles = "daemon|Operator|\n";
  EXPECT_TRUE(rights.Of(uid_t{1})->all);
}

TEST(Rights, WhatWasNeverSaidIsNotGuessed) {
  FakeSlurm slurm;
  slurm.answers = false;
  Rights rights(slurm.Run(), FakeClock());
  EXPECT_TRUE(absl::IsUnavailable(rights.Of(std::nullopt).status()));
  EXPECT_TRUE(absl::IsUnavailable(rights.Of(uid_t{65534}).status()));
}

TEST(Rights, ATokenIsWorthWhatSlurmctldSays) {
  FakeSlurm slurm;
  const std::string good = Token(R"({"sun":"nobody"})");
  const std::string bad = Token(R"({"sun":"root"})");
  slurm.tokens = {good};
  Rights rights(slurm.Run(), FakeClock());
  EXPECT_EQ(*rights.OfToken(good), uid_t{65534});
  EXPECT_TRUE(absl::IsPermissionDenied(rights.OfToken(bad).status()));
  EXPECT_TRUE(absl::IsPermissionDenied(rights.OfToken("; rm -rf /").status()));
  EXPECT_TRUE(absl::IsPermissionDenied(rights.OfToken(std::string(9000, 'a')).status()));
}

TEST(Control, AnswersComeBackToWhoAsked) {
  std::array<int, 2> ends{};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends.data()), 0);
  std::thread goodputd([&] {
    const auto answers = [](std::string_view word,
                            const std::string& argument) -> absl::StatusOr<std::string> {
      if (word == "viewer" && argument.empty()) return absl::PermissionDeniedError("who?");
      if (word == "viewer") return Cat("own:u", argument, ":");
      if (word == "token")
        return argument == "good" ? absl::StatusOr<std::string>("7") : absl::StatusOr<std::string>("seven");
      return std::string(word);
    };
    while (AnswerControl(ends[1], answers)) std::this_thread::yield();
  });
  {
    Control control(ends[0]);
    std::vector<std::thread> askers;
    for (uid_t uid = 1; uid <= 8; ++uid) {
      askers.emplace_back([&control, uid] { EXPECT_EQ(control.ViewerOf(uid)->user, Cat("u", uid)); });
    }
    for (std::thread& asker : askers) asker.join();
    EXPECT_TRUE(absl::IsPermissionDenied(control.ViewerOf(std::nullopt).status()));
    EXPECT_EQ(*control.UserOfToken("good"), uid_t{7});
    EXPECT_FALSE(control.UserOfToken("bad").ok());
    EXPECT_FALSE(control.UserOfToken(std::string(20000, 'x')).ok());
    EXPECT_EQ(*control.Health(), "health");
    close(ends[0]);
  }
  goodputd.join();
  close(ends[1]);
}

TEST(WorkQueue, TellsThoseItHasNoRoomFor) {
  std::atomic<int> done{0};
  std::atomic<int> refused{0};
  std::atomic<bool> go{false};
  std::atomic<bool> begun{false};
  {
    WorkQueue queue(1, 2, absl::Hours(1));
    queue.Add("a", [&](bool /*in_time*/) {
      begun = true;
      while (!go) std::this_thread::yield();
    });
    while (!begun) std::this_thread::yield();
    for (int i = 0; i < 5; ++i) queue.Add("a", [&](bool in_time) { ++(in_time ? done : refused); });
    EXPECT_EQ(refused, 3);
    go = true;
    while (done < 2) std::this_thread::yield();
  }
  EXPECT_EQ(done, 2);
}

TEST(WorkQueue, NobodyWaitsForEver) {
  std::atomic<int> refused{0};
  {
    WorkQueue queue(1, 10, absl::ZeroDuration());
    std::atomic<int> seen{0};
    for (int i = 0; i < 3; ++i) {
      queue.Add("a", [&](bool in_time) {
        refused += in_time ? 0 : 1;
        ++seen;
      });
    }
    while (seen < 3) std::this_thread::yield();
  }
  EXPECT_EQ(refused, 3);
}

TEST(WorkQueue, OneWhoAsksALotLeavesOthersTheirTurn) {
  std::atomic<bool> go{false};
  std::atomic<int> busy{0};
  std::atomic<int> other{0};
  std::atomic<int> rejected{0};
  WorkQueue queue(3, 20, absl::Hours(1));
  for (int i = 0; i < 50; ++i) {
    queue.Add("greedy", [&](bool in_time) {
      if (!in_time) return void(++rejected);
      ++busy;
      while (!go) std::this_thread::yield();
    });
  }
  while (busy < 2) std::this_thread::yield();
  // Two threads are the other's at most, and its waiting work gives way.
  for (int i = 0; i < 5; ++i) queue.Add("other", [&](bool in_time) { other += in_time ? 1 : 0; });
  while (other < 5) std::this_thread::yield();
  EXPECT_EQ(busy, 2);
  EXPECT_GE(rejected, 28);
  go = true;
}

TEST(WorkQueue, TurnsGoRoundSoThatOneQuestionDoesNotWaitBehindTheManyOfOthers) {
  std::atomic<bool> go{false};
  std::atomic<bool> begun{false};
  std::string order;  // only the single thread adds to it
  {
    WorkQueue queue(1, 20, absl::Hours(1));
    std::atomic<int> done{0};
    const auto add = [&](const std::string& asker) {
      queue.Add(asker, [&, asker](bool /*in_time*/) {
        begun = true;
        while (!go) std::this_thread::yield();
        order += asker;
        ++done;
      });
    };
    add("a");
    while (!begun) std::this_thread::yield();
    for (const char* asker : {"a", "a", "b", "b", "b", "c"}) add(asker);
    go = true;
    while (done < 7) std::this_thread::yield();
  }
  EXPECT_EQ(order, "abcabab");
}

TEST(WorkQueue, WhatIsLateIsRejectedWhileAllAreBusy) {
  std::atomic<bool> go{false};
  std::atomic<bool> begun{false};
  std::atomic<int> late{0};
  WorkQueue queue(1, 20, absl::Milliseconds(50));
  queue.Add("a", [&](bool /*in_time*/) {
    begun = true;
    while (!go) std::this_thread::yield();
  });
  while (!begun) std::this_thread::yield();
  for (int i = 0; i < 3; ++i) queue.Add("b", [&](bool in_time) { late += in_time ? 0 : 1; });
  while (late < 3) std::this_thread::yield();
  go = true;
}

TEST(NamesThisServer, AreAddressesItsOwnNamesAndNoOthers) {
  const std::vector<std::string> names = {"ctl.example.com", "ctl"};
  for (const char* own : {"", "localhost", "LOCALHOST:9645", "127.0.0.1", "10.0.0.5:9645", "[::1]:9645",
                          "[fe80::1]", "ctl", "Ctl:9645", "ctl.example.com.:9645"})
    EXPECT_TRUE(NamesThisServer(own, names)) << own;
  for (const char* other : {"evil.example", "ctl.evil.example:9645", "127.0.0.1.evil.example", "ctl.",
                            "1.2.3", "localhost.evil.example", "[evil]", ":", "ctl.example.com.evil"})
    EXPECT_EQ(NamesThisServer(other, names), std::string(other) == "ctl.") << other;
}

HttpReply Text(const std::string& body, int code = 200) {
  HttpReply reply;
  reply.code = code;
  reply.body = body;
  return reply;
}

TEST(AnswerCache, IsComputedAgainAfterAWhileAndJoinedWithWhatWasBefore) {
  fake_now = 1;
  AnswerCache cache(absl::Seconds(10), FakeClock(), NeverLower);
  int computed = 0;
  const auto compute = [&] { return Text(Cat("a_total ", 10 - 5 * computed++, "\n")); };
  EXPECT_EQ(cache.Get("all", compute).body, "a_total 10\n");
  EXPECT_EQ(cache.Get("all", compute).body, "a_total 10\n");
  EXPECT_EQ(computed, 1);
  fake_now += 11'000'000'000;
  EXPECT_EQ(cache.Get("all", compute).body, "a_total 10\n");
  EXPECT_EQ(computed, 2);
  // Another viewer has other data.
  EXPECT_EQ(cache.Get("own:ada:", compute).body, "a_total 0\n");
  // Without a join, it is the newest.
  AnswerCache newest(absl::Seconds(5), FakeClock());
  EXPECT_EQ(newest.Get("all", [] { return Text("1"); }).body, "1");
  fake_now += 4'000'000'000;
  EXPECT_EQ(newest.Get("all", [] { return Text("2"); }).body, "1");
  fake_now += 2'000'000'000;
  EXPECT_EQ(newest.Get("all", [] { return Text("3"); }).body, "3");
}

TEST(AnswerCache, WhatTakesLongIsKeptForLonger) {
  fake_now = 1;
  AnswerCache cache(absl::Seconds(10), FakeClock());
  int computed = 0;
  const auto compute = [&] {
    ++computed;
    fake_now += 60'000'000'000;  // a minute
    return Text("1");
  };
  cache.Get("all", compute);
  fake_now += 600'000'000'000;
  cache.Get("all", compute);
  EXPECT_EQ(computed, 1) << "at most a twentieth of the time";
  fake_now += 700'000'000'000;
  cache.Get("all", compute);
  EXPECT_EQ(computed, 2);
}

// --- the server, on a Unix socket

class HttpServerTest : public testing::Test {
 protected:
  void Start(const HttpServer::Limits& limits, std::size_t reply_bytes = 2) {
    const std::string path = folder_.path() + "/socket";
    const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const UnixAddress address = UnixAddressOf(path);
    ASSERT_EQ(bind(listener, address.get(), address.length), 0);
    ASSERT_EQ(listen(listener, 16), 0);
    auto server = HttpServer::Start(
        listener, limits, [reply_bytes](const HttpQuestion&, const std::function<void(HttpReply)>& done) {
          HttpReply reply;
          reply.code = 200;
          reply.body = std::string(reply_bytes, 'x');
          done(reply);
        });
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }
  int Connect() const {
    const int client = ConnectUnixSocket(folder_.path() + "/socket", SOCK_STREAM);
    EXPECT_GE(client, 0);
    return client;
  }
  // The status of the reply; 0: the connection was closed without one.
  static int Ask(int client, const std::string& request) {
    // The server may have closed it already.
    if (send(client, request.data(), request.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(request.size()))
      return 0;
    pollfd polled{client, POLLIN, 0};
    EXPECT_EQ(poll(&polled, 1, 20'000), 1);
    std::array<char, 256> reply{};
    const ssize_t got = recv(client, reply.data(), reply.size(), 0);
    return got < 12 ? 0 : std::atoi(std::string(reply.data() + 9, 3).c_str());
  }
  int AskAnew(const std::string& request) const {
    const int client = Connect();
    const int code = Ask(client, request);
    close(client);
    return code;
  }
  // Within 20 s, whoever cuts it.
  bool IsCut(int client, bool reads) const {
    for (int tries = 0; tries < 2000; ++tries) {
      server_->CutSlowOnes();
      pollfd polled{client, static_cast<short>(reads ? POLLIN : 0), 0};
      if (poll(&polled, 1, 10) > 0 && (polled.revents & (POLLHUP | POLLERR)) != 0) return true;
    }
    return false;
  }

  TempFolder folder_;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpServerTest, TakesQuestionsAndNothingElse) {
  HttpServer::Limits limits;
  limits.parameters = 2;
  Start(limits);
  EXPECT_EQ(AskAnew("GET /v1/list?a=1&b=2 HTTP/1.1\r\nHost: x\r\n\r\n"), 200);
  EXPECT_EQ(AskAnew("GET /v1/list?a=1&b=2&c=3 HTTP/1.1\r\nHost: x\r\n\r\n"), 400);
  EXPECT_EQ(AskAnew("POST /v1/list HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"), 405);
  EXPECT_EQ(AskAnew("GET /v1/list HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc"), 413);
}

TEST_F(HttpServerTest, AUserHasAtMostItsConnections) {
  HttpServer::Limits limits;
  limits.connections_of_peer = 2;
  Start(limits);
  const std::string question = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
  const int first = Connect();
  const int second = Connect();
  EXPECT_EQ(Ask(first, question), 200);
  EXPECT_EQ(Ask(second, question), 200);
  EXPECT_EQ(AskAnew(question), 0);
  EXPECT_EQ(Ask(first, question), 200);
  close(first);
  close(second);
}

TEST_F(HttpServerTest, WhoSendsOrReadsTooSlowlyIsCut) {
  HttpServer::Limits limits;
  limits.idle = absl::Seconds(60);  // longer than this test waits
  limits.request = absl::Milliseconds(50);
  limits.answer = absl::Milliseconds(50);
  Start(limits, std::size_t{64} << 20U);
  const int sends = Connect();
  EXPECT_EQ(send(sends, "GET", 3, MSG_NOSIGNAL), 3);
  EXPECT_TRUE(IsCut(sends, true));
  const int reads = Connect();
  const std::string question = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
  EXPECT_EQ(send(reads, question.data(), question.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(question.size()));
  EXPECT_TRUE(IsCut(reads, false));
  close(sends);
  close(reads);
}

TEST(AnswerCache, OneThatFailsIsAskedAgain) {
  fake_now = 1;
  AnswerCache cache(absl::Seconds(10), FakeClock());
  EXPECT_EQ(cache.Get("all", [] { return Text("x", 503); }).code, 503);
  EXPECT_EQ(cache.Get("all", [] { return Text("now"); }).body, "now");
}

TEST(AnswerCache, WhoAsksWhileItIsComputedGetsTheOneBefore) {
  fake_now = 1;
  AnswerCache cache(absl::Seconds(5), FakeClock());
  cache.Get("all", [] { return Text("before"); });
  fake_now += 6'000'000'000;
  const HttpReply now = cache.Get("all", [&] {
    EXPECT_EQ(cache.Get("all", [] { return Text("twice"); }).body, "before");
    return Text("now");
  });
  EXPECT_EQ(now.body, "now");
}

TEST(Answer, StatusesAreThoseOfHttp) {
  const auto code = [](int exit_code, const std::string& out, const std::string& err) {
    CommandResult result;
    result.exit_code = exit_code;
    result.out = out;
    result.err = err;
    return ReplyOf(result, false);
  };
  EXPECT_EQ(code(0, "{}", "").code, 200);
  EXPECT_EQ(code(1, "", "sgoodput: job 9 is not known\n").code, 404);
  EXPECT_EQ(code(1, "", "sgoodput: job 9 is not known\n").body, "{\"error\":\"job 9 is not known\"}\n");
  EXPECT_EQ(code(1, "{}", "").body, "{}");
  EXPECT_EQ(code(2, "", "sgoodput: -S: bad\n").code, 400);
  EXPECT_EQ(code(128 + 9, "half", "").code, 503);
  EXPECT_EQ(ReplyOf(absl::DeadlineExceededError("late"), false).code, 503);
}

TEST(Answer, AChildIsBounded) {
  AnswerLimits limits;
  limits.time = absl::Seconds(2);
  limits.output_bytes = 100'000;
  EXPECT_FALSE(RunBounded("/bin/sh", {"-c", "sleep 100"}, {}, limits).ok());
  EXPECT_FALSE(RunBounded("/bin/sh", {"-c", "yes"}, {}, limits).ok());
  limits.time = absl::Seconds(100);
  limits.cpu_s = 1;
  const absl::StatusOr<CommandResult> busy = RunBounded("/bin/sh", {"-c", "while :; do :; done"}, {}, limits);
  ASSERT_TRUE(busy.ok()) << busy.status();
  EXPECT_GT(busy->exit_code, 128);
}

// What a confined child can still do: one letter per permission.
std::string ConfinedPowers(const std::string& folder, bool& landlock) {
  std::array<int, 2> pipes{};
  EXPECT_EQ(pipe(pipes.data()), 0);
  const pid_t child = fork();
  if (child == 0) {
    const uid_t uid = geteuid() == 0 ? 65534 : geteuid();
    const gid_t gid = geteuid() == 0 ? 65534 : getegid();
    const absl::StatusOr<bool> confined = Confine({uid, gid}, folder);
    std::string found = !confined.ok() ? "!" : *confined ? "L" : "-";
    const auto tries = [&found](const char* letter, bool can) { found += can ? letter : ""; };
    tries("d", open(Cat(folder, "/inside").c_str(), O_WRONLY | O_CREAT, 0600) >= 0);
    tries("o", open("/tmp/reader_test.outside", O_WRONLY | O_CREAT, 0600) >= 0);
    tries("l", symlink("/etc/passwd", Cat(folder, "/link").c_str()) == 0);
    tries("u", unlink(Cat(folder, "/inside").c_str()) == 0);
    tries("r", open("/etc/passwd", O_RDONLY) >= 0);
    tries("s", setuid(0) == 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    const int tcp = socket(AF_INET, SOCK_STREAM, 0);
    tries("b", bind(tcp, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0);
    if (write(pipes[1], found.data(), found.size()) < 0) _exit(1);
    _exit(0);
  }
  std::array<char, 64> text{};
  const ssize_t got = read(pipes[0], text.data(), text.size());
  waitpid(child, nullptr, 0);
  close(pipes[0]);
  close(pipes[1]);
  std::string found(text.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  landlock = !found.empty() && found.front() == 'L';
  return found.substr(std::min<std::size_t>(1, found.size()));
}

TEST(Confine, LeavesReadingAndTheDatabasesFolder) {
  const TempFolder folder;
  ASSERT_EQ(chmod(folder.path().c_str(), 0777), 0);
  bool landlock = false;
  const std::string found = ConfinedPowers(folder.path(), landlock);
  unlink("/tmp/reader_test.outside");
  EXPECT_EQ(found.find('s'), std::string::npos) << found;
  EXPECT_NE(found.find('d'), std::string::npos) << found;
  EXPECT_NE(found.find('r'), std::string::npos) << found;
  if (!landlock) GTEST_SKIP() << "this kernel has no Landlock";
  // Landlock covers TCP since Linux 6.7.
  EXPECT_TRUE(found == "dr" || found == "drb") << found;
}

TEST(Munge, ACredentialIsOfOneQuestion) {
  EXPECT_EQ(CredentialPayload("/v1/list?a=1"), "slurm-goodput GET /v1/list?a=1");
  // Without munged, no credential is accepted.
  EXPECT_FALSE(ReadCredential("MUNGE:AAAA:", "/nonexistent/socket").ok());
  EXPECT_FALSE(MakeCredential("x", "/nonexistent/socket").ok());
}

}  // namespace
}  // namespace goodput
