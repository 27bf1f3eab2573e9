// Notices about the host: HTTP with misbehaving servers, the metadata server's protocol, and which jobs get
// which record, once.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "spank/event.h"
#include "sql/text.h"
#include "tests/spank/temp_folder.h"
#include "tools/base/config.h"
#include "tools/base/http_client.h"
#include "tools/goodputd/host/host_loop.h"
#include "tools/goodputd/host/metadata_watch.h"
#include "tools/goodputd/host/notice_recorder.h"

namespace goodput {
namespace {

// A TCP server on the loopback device with a thread per connection, which serves requests until `serve`
// returns false.
class Server {
 public:
  using Serve = std::function<bool(int fd, const std::string& request)>;
  explicit Server(Serve serve) : serve_(std::move(serve)) {
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    if (bind(listener_, generic, size) != 0 || listen(listener_, 16) != 0 ||
        getsockname(listener_, generic, &size) != 0)
      std::abort();
    port_ = ntohs(address.sin_port);
    accepting_ = std::thread([this] { Accept(); });
  }
  ~Server() {
    shutdown(listener_, SHUT_RDWR);
    accepting_.join();
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      for (const int fd : fds_) shutdown(fd, SHUT_RDWR);
    }
    for (std::thread& one : serving_) one.join();
    for (const int fd : fds_) close(fd);
    close(listener_);
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  std::string host() const { return "127.0.0.1:" + std::to_string(port_); }
  std::string url(const std::string& path = "/") const { return "http://" + host() + path; }

 private:
  void Accept() {
    while (true) {
      const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (fd < 0) return;
      const std::lock_guard<std::mutex> lock(mutex_);
      fds_.push_back(fd);
      serving_.emplace_back([this, fd] {
        std::string request;
        char byte = 0;
        while (recv(fd, &byte, 1, 0) == 1) {
          request.push_back(byte);
          if (request.size() < 4 || request.substr(request.size() - 4) != "\r\n\r\n") continue;
          if (!serve_(fd, request)) break;
          request.clear();
        }
        shutdown(fd, SHUT_RDWR);
      });
    }
  }

  Serve serve_;
  int listener_ = -1;
  int port_ = 0;
  std::thread accepting_;
  std::mutex mutex_;
  std::vector<int> fds_;
  std::vector<std::thread> serving_;
};

bool Send(int fd, const std::string& bytes) {
  return send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
}

std::string Reply(const std::string& status, const std::string& headers, const std::string& body) {
  return "HTTP/1.1 " + status + "\r\n" + headers + "Content-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + body;
}

HttpAnswer Get(const HttpRequest& request) {
  HttpClient client;
  client.Start(request);
  const std::vector<HttpAnswer> answers = client.Wait(-1, absl::Seconds(30));
  EXPECT_EQ(answers.size(), 1U);
  return answers.empty() ? HttpAnswer() : answers[0];
}

HttpAnswer Get(const std::string& url) {
  HttpRequest request;
  request.url = url;
  return Get(request);
}

TEST(Http, AnAnswerHasItsCodeHeadersAndBody) {
  std::string asked;
  Server server([&](int fd, const std::string& request) {
    asked = request;
    return Send(fd, Reply("404 Not Found", "Metadata-Flavor:  Google \r\nETAG: abc\r\n", "no such thing"));
  });
  HttpRequest request;
  request.url = server.url("/a?b=c");
  request.headers = {"Metadata-Flavor: Google"};
  const HttpAnswer answer = Get(request);
  EXPECT_TRUE(answer.status.ok()) << answer.status;
  EXPECT_EQ(answer.code, 404);
  EXPECT_EQ(answer.headers.at("metadata-flavor"), "Google");
  EXPECT_EQ(answer.headers.at("etag"), "abc");
  EXPECT_EQ(answer.body, "no such thing");
  EXPECT_EQ(asked.rfind("GET /a?b=c HTTP/1.1\r\n", 0), 0U);
  EXPECT_NE(asked.find("Metadata-Flavor: Google\r\n"), std::string::npos);
}

TEST(Http, ABodyIsPosted) {
  std::string asked;
  std::string body(9, ' ');
  Server server([&](int fd, const std::string& request) {
    asked = request;
    if (recv(fd, body.data(), body.size(), MSG_WAITALL) != 9) body.clear();
    return Send(fd, Reply("200 OK", "", "taken"));
  });
  HttpRequest request;
  request.url = server.url("/v1/x");
  request.headers = {"Content-Type: application/json"};
  request.body = std::string("{\"a\":\0 0}", 9);
  EXPECT_EQ(Get(request).body, "taken");
  EXPECT_EQ(asked.rfind("POST /v1/x HTTP/1.1\r\n", 0), 0U);
  EXPECT_NE(asked.find("Content-Length: 9\r\n"), std::string::npos);
  EXPECT_NE(asked.find("Content-Type: application/json\r\n"), std::string::npos);
  EXPECT_EQ(body, *request.body);
}

TEST(Http, ARedirectIsAnAnswer) {
  std::atomic<int> visits{0};
  Server elsewhere(
      [&](int fd, const std::string&) { return ++visits, Send(fd, Reply("200 OK", "", "caught")); });
  Server server([&](int fd, const std::string&) {
    return Send(fd, Reply("302 Found", "Location: " + elsewhere.url() + "\r\n", ""));
  });
  const HttpAnswer answer = Get(server.url());
  EXPECT_EQ(answer.code, 302);
  EXPECT_EQ(visits, 0);
}

TEST(Http, ProxiesOfTheEnvironmentAreNotUsed) {
  std::atomic<int> visits{0};
  Server proxy([&](int fd, const std::string&) { return ++visits, Send(fd, Reply("200 OK", "", "caught")); });
  Server server([](int fd, const std::string&) { return Send(fd, Reply("200 OK", "", "right")); });
  setenv("http_proxy", proxy.url().c_str(), 1);
  setenv("ALL_PROXY", proxy.url().c_str(), 1);
  EXPECT_EQ(Get(server.url()).body, "right");
  unsetenv("http_proxy");
  unsetenv("ALL_PROXY");
  EXPECT_EQ(visits, 0);
}

TEST(Http, OnlyHttp) {
  for (const char* url : {"file:///etc/passwd", "https://127.0.0.1/", "ftp://127.0.0.1/", "", "::"})
    EXPECT_FALSE(Get(std::string(url)).status.ok()) << url;
}

TEST(Http, TooMuchIsCutOff) {
  const std::string mega(std::size_t{1} << 20U, 'x');
  Server long_body([&](int fd, const std::string&) { return Send(fd, Reply("200 OK", "", mega)); });
  EXPECT_EQ(Get(long_body.url()).status.code(), absl::StatusCode::kOutOfRange);
  Server endless([&](int fd, const std::string&) {
    Send(fd, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    while (Send(fd, "1000\r\n" + std::string(4096, 'y') + "\r\n")) {
    }
    return false;
  });
  const HttpAnswer answer = Get(endless.url());
  EXPECT_EQ(answer.status.code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(answer.body, "");
  Server headers([&](int fd, const std::string&) {
    Send(fd, "HTTP/1.1 200 OK\r\n");
    for (int i = 0; Send(fd, "X-" + std::to_string(i) + ": " + std::string(900, 'z') + "\r\n"); ++i) {
    }
    return false;
  });
  EXPECT_FALSE(Get(headers.url()).status.ok());
}

TEST(Http, WhatDripsIsGivenUp) {
  Server server([](int fd, const std::string&) {
    Send(fd, "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n");
    while (Send(fd, ".")) poll(nullptr, 0, 5);
    return false;
  });
  HttpRequest request;
  request.url = server.url();
  request.answer_timeout = absl::Milliseconds(100);
  EXPECT_EQ(Get(request).status.code(), absl::StatusCode::kDeadlineExceeded);
}

TEST(Http, SilenceEndsAtItsTimeout) {
  Server server([](int fd, const std::string&) {
    char byte = 0;
    return recv(fd, &byte, 1, 0) == 1;
  });
  HttpRequest request;
  request.url = server.url();
  request.timeout = absl::Milliseconds(100);
  const HttpAnswer answer = Get(request);
  EXPECT_EQ(answer.status.code(), absl::StatusCode::kUnavailable);
  EXPECT_GE(answer.took, absl::Milliseconds(100));
}

TEST(Http, ABrokenAnswerIsNone) {
  for (const std::string& bytes :
       {std::string("HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhalf"), std::string("hello"),
        std::string("\0\xFF\n", 3), std::string("HTTP/9.9 what\r\n\r\n"),
        std::string("HTTP/1.1 200 OK\r\nContent-Length: -4\r\n\r\nx"), std::string()}) {
    for (const bool reset : {false, true}) {
      Server server([&](int fd, const std::string&) {
        Send(fd, bytes);
        const linger now{1, 0};
        if (reset) setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
        return false;
      });
      const HttpAnswer answer = Get(server.url());
      EXPECT_FALSE(answer.status.ok()) << bytes;
      EXPECT_EQ(answer.body, "");
    }
  }
  EXPECT_FALSE(Get("http://127.0.0.1:9/").status.ok()) << "nobody listens there";
}

TEST(Http, SeveralAtATimeUntilTold) {
  Server slow([](int fd, const std::string&) {
    char byte = 0;
    return recv(fd, &byte, 1, 0) == 1;
  });
  Server quick([](int fd, const std::string&) { return Send(fd, Reply("200 OK", "", "quick")); });
  HttpClient client;
  HttpRequest request;
  request.url = slow.url();
  const int first = client.Start(request);
  request.url = quick.url();
  const int second = client.Start(request);
  EXPECT_NE(first, second);
  const std::vector<HttpAnswer> answers = client.Wait(-1, absl::Seconds(30));
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers[0].id, second);
  const int stop = eventfd(1, EFD_CLOEXEC);
  EXPECT_TRUE(client.Wait(stop, absl::Hours(1)).empty()) << "told to stop, it does not wait for the slow one";
  close(stop);
}

// --- the protocol

HttpAnswer Answered(const std::string& body, const std::string& etag = "e1", int code = 200) {
  HttpAnswer answer;
  answer.code = code;
  answer.headers = {{"metadata-flavor", "Google"}};
  if (!etag.empty()) answer.headers["etag"] = etag;
  answer.body = body;
  answer.took = absl::Seconds(20);
  return answer;
}

HttpAnswer Failed() {
  HttpAnswer answer;
  answer.status = absl::UnavailableError("it is gone");
  return answer;
}

TEST(Metadata, AsksForTheValueThenForTheNextOne) {
  MetadataWatch watch(HostKey::kMaintenance, "169.254.169.254");
  const std::string base = "http://169.254.169.254/computeMetadata/v1/instance/maintenance-event";
  EXPECT_EQ(watch.NextRequest().url, base);
  EXPECT_EQ(watch.NextRequest().headers, std::vector<std::string>{"Metadata-Flavor: Google"});
  const auto first = watch.Take(Answered("NONE\n", "6bf9d2"));
  EXPECT_TRUE(first.of_server);
  EXPECT_EQ(first.change->value, "NONE");
  EXPECT_EQ(first.wait, absl::ZeroDuration());
  EXPECT_EQ(watch.NextRequest().url, base + "?wait_for_change=true&timeout_sec=60&last_etag=6bf9d2");
  EXPECT_GT(watch.NextRequest().timeout, absl::Seconds(60));
  const auto timed_out = watch.Take(Answered("NONE", "6bf9d2"));
  EXPECT_FALSE(timed_out.change.has_value());
  EXPECT_EQ(timed_out.wait, absl::ZeroDuration());
  const auto hour_ahead = watch.Take(Answered("TERMINATE_ON_HOST_MAINTENANCE", "6bf9d3"));
  EXPECT_EQ(hour_ahead.change->value, "TERMINATE_ON_HOST_MAINTENANCE");
  EXPECT_NE(watch.NextRequest().url.find("last_etag=6bf9d3"), std::string::npos);
  EXPECT_EQ(MetadataWatch(HostKey::kUpcomingMaintenance, "h").NextRequest().url,
            "http://h/computeMetadata/v1/instance/upcoming-maintenance?alt=json&recursive=true");
}

TEST(Metadata, BacksOffExactly) {
  const std::vector<HttpAnswer> troubles{Failed(),
                                         Answered("NONE", "e", 503),
                                         Answered("NONE", "e", 429),
                                         Answered("NONE", "e", 302),
                                         Answered("", "e"),
                                         Answered("<html>", "e"),
                                         Answered(std::string(100, 'A'), "e"),
                                         Answered("MAYBE\xFF", "e")};
  for (const HttpAnswer& trouble : troubles) {
    MetadataWatch watch(HostKey::kMaintenance, "h");
    watch.Take(Answered("NONE", "e1"));
    for (int round = 0; round < 2; ++round) {
      for (const int seconds : {1, 2, 4, 8, 16, 16, 16}) {
        const auto outcome = watch.Take(trouble);
        EXPECT_EQ(outcome.wait, absl::Seconds(seconds)) << trouble.body;
        EXPECT_NE(outcome.trouble, "");
        EXPECT_FALSE(outcome.change.has_value());
      }
      EXPECT_NE(watch.NextRequest().url.find("last_etag=e1"), std::string::npos) << "it knows what it knew";
      const auto back = watch.Take(Answered("NONE", "e1"));
      EXPECT_EQ(back.trouble, "");
      EXPECT_EQ(back.wait, absl::ZeroDuration());
    }
  }
}

TEST(Metadata, WithoutTheFlavorItIsNotTheServer) {
  for (const char* flavor : {"", "google", "Google, not"}) {
    HttpAnswer answer = Answered("TERMINATE_ON_HOST_MAINTENANCE");
    answer.headers.erase("metadata-flavor");
    if (*flavor != '\0') answer.headers["metadata-flavor"] = flavor;
    MetadataWatch watch(HostKey::kMaintenance, "h");
    const auto outcome = watch.Take(answer);
    EXPECT_FALSE(outcome.of_server);
    EXPECT_FALSE(outcome.change.has_value());
    EXPECT_EQ(outcome.wait, absl::Seconds(1));
  }
}

TEST(Metadata, AServerThatDoesNotWaitIsAskedSlowerAndSlower) {
  for (const char* etag : {"e1", "", "a b&c=d"}) {
    MetadataWatch watch(HostKey::kPreempted, "h");
    HttpAnswer at_once = Answered("FALSE", etag);
    at_once.took = absl::Milliseconds(1);
    watch.Take(at_once);
    EXPECT_EQ(watch.NextRequest().url.find("&c=d"), std::string::npos);
    std::vector<absl::Duration> waits;
    for (int i = 0; i < 6; ++i) waits.push_back(watch.Take(at_once).wait);
    EXPECT_GE(waits.front(), absl::Seconds(1)) << etag;
    EXPECT_EQ(waits.back(), absl::Seconds(16)) << etag;
    at_once.body = "TRUE";
    const auto outcome = watch.Take(at_once);
    EXPECT_EQ(outcome.change->value, "TRUE");
    EXPECT_EQ(outcome.wait, absl::Seconds(1)) << "one that flips is asked once a second";
  }
}

TEST(Metadata, MaintenanceThatIsAnnounced) {
  const auto parse = [](const std::string& body) { return ParseNotice(HostKey::kUpcomingMaintenance, body); };
  const auto word = parse(R"({"can_reschedule":"true","latest_window_start_time":"2026-01-02T04:00:00Z",
      "maintenance_status":"PENDING","type":"SCHEDULED","window_end_time":"2026-01-02T05:00:00+00:00",
      "window_start_time":"2026-01-02T03:00:00.5Z"})");
  ASSERT_TRUE(word.ok()) << word.status();
  EXPECT_EQ(word->value, "SCHEDULED/PENDING");
  EXPECT_EQ(word->window_s, 1767322800);
  EXPECT_EQ(word->window_end_s, 1767330000);
  EXPECT_EQ(parse("{}")->value, "NONE");
  const auto reversed = parse(
      R"({"type":"UNSCHEDULED","window_start_time":"2026-01-02T03:00:00Z","window_end_time":"2025-01-02T03:00:00Z"})");
  EXPECT_EQ(reversed->window_end_s, std::nullopt);
  for (const char* body : {"", "[]", "null", "{", "\"PENDING\"", "{\"type\":1}", R"({"type":"SCHEDULED"})",
                           R"({"type":"SCHEDULED","window_start_time":"tomorrow"})",
                           R"({"type":"a\nb","window_start_time":"2026-01-02T03:00:00Z"})"})
    EXPECT_FALSE(parse(body).ok()) << body;
  EXPECT_FALSE(parse(std::string(60000, '[')).ok());
  // Most machines never have one.
  MetadataWatch watch(HostKey::kUpcomingMaintenance, "h");
  EXPECT_EQ(watch.Take(Answered("no notifications", "0", 503)).change->value, "NONE");
  std::vector<absl::Duration> waits;
  for (int i = 0; i < 8; ++i) waits.push_back(watch.Take(Answered("not found", "0", 404)).wait);
  EXPECT_EQ(waits.back(), absl::Seconds(60));
  EXPECT_EQ(watch.NextRequest().url.find("wait_for_change"), std::string::npos);
}

TEST(Metadata, TheAddressIsOne) {
  for (const char* host :
       {"169.254.169.254", "metadata.google.internal", "127.0.0.1:8080", "[fd20:ce::254]:80"})
    EXPECT_TRUE(IsMetadataHost(host)) << host;
  for (const char* host : {"", "a/b", "user@host", "a b", "h?x=1", "h#", "h\r\nX: y"})
    EXPECT_FALSE(IsMetadataHost(host)) << host;
}

// --- with a fake clock

std::int64_t fake_now = 0;
constexpr Clock kFakeClock = {[]() noexcept { return fake_now; }, []() noexcept { return fake_now; }};
constexpr std::int64_t kS = 1'000'000'000;

TEST(HostWatch, OffTheCloudIsOneProbeAndThenQuiet) {
  fake_now = 5 * kS;
  HostWatch watch("h", false, kFakeClock);
  for (int hour = 0; hour < 3; ++hour) {
    const auto due = watch.TakeDue();
    ASSERT_EQ(due.size(), 1U);
    EXPECT_EQ(due[0].key, HostKey::kMaintenance);
    EXPECT_TRUE(watch.TakeDue().empty()) << "it is under way";
    EXPECT_FALSE(watch.Take(due[0].key, Failed()).has_value());
    EXPECT_FALSE(watch.found());
    fake_now += 3599 * kS;
    EXPECT_TRUE(watch.TakeDue().empty());
    EXPECT_EQ(watch.UntilDue(absl::Hours(2)), absl::Seconds(1));
    fake_now += kS;
  }
}

TEST(HostWatch, OnTheCloudItAsksForEverythingAndKeepsAsking) {
  fake_now = 5 * kS;
  HostWatch watch("h", true, kFakeClock);
  ASSERT_EQ(watch.TakeDue().size(), 1U);
  watch.Take(HostKey::kMaintenance, Failed());  // there is no network yet
  EXPECT_EQ(watch.trouble(), "it is gone");
  std::vector<std::int64_t> asked;
  for (int i = 0; i < 4; ++i) {
    while (watch.TakeDue().empty()) fake_now += absl::ToInt64Nanoseconds(watch.UntilDue(absl::Seconds(1)));
    asked.push_back(fake_now / kS);
    watch.Take(HostKey::kMaintenance, Failed());
  }
  EXPECT_EQ(asked, (std::vector<std::int64_t>{6, 8, 12, 20}));
  fake_now += 16 * kS;
  ASSERT_EQ(watch.TakeDue().size(), 1U);
  EXPECT_EQ(watch.Take(HostKey::kMaintenance, Answered("NONE"))->value, "NONE");
  EXPECT_TRUE(watch.found());
  EXPECT_EQ(watch.TakeDue().size(), 5U);
  EXPECT_EQ(watch.trouble(), "");
  // What the machine is does not change: it is asked for once a day. A server that does not know is no
  // trouble.
  EXPECT_EQ(watch.Take(HostKey::kZone, Answered("projects/1/zones/us-east4-b"))->value, "us-east4-b");
  EXPECT_FALSE(watch.Take(HostKey::kScheduling, Answered("", "e", 404)));
  EXPECT_EQ(watch.trouble(), "");
  fake_now += 23 * 3600 * kS;
  EXPECT_TRUE(watch.TakeDue().empty());
  fake_now += 3600 * kS;
  EXPECT_EQ(watch.TakeDue().size(), 2U);
  EXPECT_FALSE(watch.Take(HostKey::kZone, Answered("projects/1/zones/us-east4-b"))) << "nothing new";
}

TEST(Metadata, SaysHowTheMachineWasObtainedAndWhereItIs) {
  const auto model = [](const std::string& body) {
    const absl::StatusOr<NoticeKind> said = ParseNotice(HostKey::kScheduling, body);
    return said.ok() ? said->value : "?";
  };
  EXPECT_EQ(model(R"({"automaticRestart":"FALSE","preemptible":"TRUE","provisioningModel":"SPOT"})"), "SPOT");
  EXPECT_EQ(model(R"({"preemptible":"FALSE","provisioningModel":"FLEX_START"})"), "FLEX_START");
  EXPECT_EQ(model(R"({"automaticRestart":"TRUE","preemptible":"FALSE"})"), "NOT_SPOT");
  EXPECT_EQ(model(R"({"preemptible":"TRUE"})"), "SPOT");
  for (const char* const body : {"", "TRUE", "{}", R"({"preemptible":"maybe"})", R"({"preemptible":"TRUE")"})
    EXPECT_EQ(model(body), "?") << body;
  const auto zone = [](const std::string& body) {
    const absl::StatusOr<NoticeKind> said = ParseNotice(HostKey::kZone, body);
    return said.ok() ? said->value : "?";
  };
  EXPECT_EQ(zone("projects/123/zones/us-central1-a\n"), "us-central1-a");
  for (const char* const body : {"", "us-central1-a", "projects/1/zones/", "projects/1/zones/<b>"})
    EXPECT_EQ(zone(body), "?") << body;
  EXPECT_EQ(MetadataWatch(HostKey::kScheduling, "h").NextRequest().url,
            "http://h/computeMetadata/v1/instance/scheduling/?alt=json&recursive=true");
  EXPECT_EQ(MetadataWatch(HostKey::kZone, "h").NextRequest().url,
            "http://h/computeMetadata/v1/instance/zone");
}

TEST(HostNotices, AreAskedForAsTheSiteSays) {
  EXPECT_EQ(ParseConfig("", "c")->host_notices, HostNotices::kAuto);
  for (const HostNotices when : {HostNotices::kAuto, HostNotices::kOn, HostNotices::kOff})
    EXPECT_EQ(ParseConfig(Cat("host_notices = ", HostNoticesName(when)), "c")->host_notices, when);
  for (const char* value : {"", "yes", "AUTO", "on off"})
    EXPECT_FALSE(ParseConfig(Cat("host_notices = ", value), "c").ok()) << value;
}

// --- records per job

class Spool {
 public:
  void Line(const std::string& node, const std::string& members) {
    std::filesystem::create_directories(folder_.path() + "/" + node);
    std::ofstream(folder_.path() + "/" + node + "/boot.2026010100Z.jsonl", std::ios::app)
        << "\n{" << members << "}\n";
  }
  void Prolog(const std::string& node, int job) {
    ++t_;
    Line(node, Cat(R"("v":1,"t":)", t_, R"(,"m":)", t_, R"(,"node":")", node,
                   R"(","kind":"job_prolog","cluster":"c","job":)", job, R"(,"uid":7)"));
  }
  void Epilog(const std::string& node, int job) {
    ++t_;
    Line(node, Cat(R"("v":1,"t":)", t_, R"(,"m":)", t_, R"(,"node":")", node,
                   R"(","kind":"job_epilog","job":)", job));
  }
  void Step(const std::string& node, int job, const char* step) {
    stepds_[{job, step}] = ++t_;
    Line(node, Cat(R"("v":1,"t":)", t_, R"(,"m":)", t_, R"(,"node":")", node, R"(","stepd":)", t_,
                   R"(,"kind":"step_start","job":)", job, R"(,"uid":7,"slurm_step":")", step, "\""));
  }
  void StepEnd(const std::string& node, int job, const char* step) {
    ++t_;
    Line(node,
         Cat(R"("v":1,"t":)", t_, R"(,"m":)", t_, R"(,"node":")", node, R"(","stepd":)", stepds_[{job, step}],
             R"(,"kind":"step_end","job":)", job, R"(,"uid":7,"slurm_step":")", step, "\""));
  }
  // The daemon starts.
  void Start() {
    jobs = std::make_unique<NodeJobs>(folder_.path(), kFakeClock, "boot");
    recorder = std::make_unique<NoticeRecorder>(
        [this](const NodeJob& job, std::string_view record) {
          ++tries;
          if (!full) Line(job.node, std::string(record.substr(2, record.size() - 4)));
          if (!full) told.push_back(job.node + " " + std::string(record));
          return !full;
        },
        kFakeClock);
  }
  void Tell() {
    jobs->Refresh();
    recorder->Tell(*jobs);
  }

  std::unique_ptr<NodeJobs> jobs;
  std::unique_ptr<NoticeRecorder> recorder;
  std::vector<std::string> told;
  int tries = 0;
  bool full = false;

 private:
  TempFolder folder_;
  std::int64_t t_ = 0;
  std::map<std::pair<int, std::string>, std::int64_t> stepds_;
};

const NoticeKind kNone{"NONE", std::nullopt, std::nullopt};
const NoticeKind kTerminate{"TERMINATE_ON_HOST_MAINTENANCE", std::nullopt, std::nullopt};

TEST(NoticeRecorder, WhereSlurmdCallsNoPrologAnAttemptBeginsWithItsFirstStep) {
  Spool spool;
  spool.Start();
  spool.recorder->Set(HostKey::kUpcomingMaintenance, {"SCHEDULED/PENDING", 1000, 2000});
  const auto told = [&](std::initializer_list<const char*> steps) {
    spool.told.clear();
    for (const char* step : steps) spool.Step("n1", 1, step);
    spool.Tell();
    return spool.told.size();
  };
  EXPECT_EQ(told({"extern"}), 1U);
  EXPECT_EQ(told({"batch", "0", "1"}), 0U);
  EXPECT_EQ(told({"extern"}), 1U) << "requeued";
  EXPECT_EQ(told({"batch", "0"}), 0U);
  spool.Prolog("n1", 1);
  EXPECT_EQ(told({"extern", "batch"}), 1U);
  EXPECT_EQ(told({"batch"}), 1U) << "without an extern step";
}

TEST(NoticeRecorder, WhereSlurmdCallsNoEpilogAJobEndsWithItsLastStep) {
  Spool spool;
  spool.Start();
  for (const char* step : {"extern", "batch", "0"}) spool.Step("n1", 1, step);
  spool.Step("n1", 2, "extern");
  for (const char* step : {"0", "batch"}) spool.StepEnd("n1", 1, step);
  spool.jobs->Refresh();
  EXPECT_TRUE(spool.jobs->IsOnNode(1)) << "its extern step runs";
  spool.StepEnd("n1", 1, "extern");
  spool.jobs->Refresh();
  EXPECT_FALSE(spool.jobs->IsOnNode(1));
  EXPECT_TRUE(spool.jobs->IsOnNode(2));
  spool.Prolog("n1", 3);
  spool.Step("n1", 3, "0");
  spool.StepEnd("n1", 3, "0");
  spool.jobs->Refresh();
  EXPECT_TRUE(spool.jobs->IsOnNode(3)) << "its epilog is to come";
  spool.Epilog("n1", 3);
  spool.jobs->Refresh();
  EXPECT_FALSE(spool.jobs->IsOnNode(3));
}

TEST(NoticeRecorder, EachJobOnTheNodeIsToldOnceAWord) {
  Spool spool;
  spool.Start();
  spool.Prolog("n1", 1);
  spool.Prolog("n2", 1);
  spool.Prolog("n1", 2);
  spool.Epilog("n1", 2);
  spool.recorder->Set(HostKey::kMaintenance, kNone);
  spool.Tell();
  EXPECT_TRUE(spool.told.empty()) << "nothing is no news";
  EXPECT_FALSE(spool.recorder->HasNotice());
  fake_now = 77;
  spool.recorder->Set(HostKey::kUpcomingMaintenance, {"SCHEDULED/PENDING", 1000, 2000});
  EXPECT_TRUE(spool.recorder->HasNotice());
  for (int i = 0; i < 3; ++i) spool.Tell();
  ASSERT_EQ(spool.told.size(), 2U);
  for (const char* part : {"n1 ", R"("t":77)", R"("kind":"host")", R"("cluster":"c")", R"("job":1)",
                           R"("uid":7)", R"("notice":"upcoming_maintenance")",
                           R"("value":"SCHEDULED/PENDING")", R"("window_s":1000)", R"("window_end_s":2000)"})
    EXPECT_NE(spool.told[0].find(part), std::string::npos) << part << spool.told[0];
  // A job that starts while the notice is in force; a window that moves; a notice that is withdrawn.
  spool.Prolog("n1", 3);
  spool.Tell();
  EXPECT_EQ(spool.told.size(), 3U);
  spool.recorder->Set(HostKey::kUpcomingMaintenance, {"SCHEDULED/PENDING", 1500, 2000});
  spool.Tell();
  EXPECT_EQ(spool.told.size(), 6U);
  spool.recorder->Set(HostKey::kUpcomingMaintenance, kNone);
  spool.Tell();
  spool.Tell();
  EXPECT_EQ(spool.told.size(), 9U);
  EXPECT_NE(spool.told.back().find(R"("value":"NONE")"), std::string::npos);
}

TEST(NoticeRecorder, WhatTheMachineIsIsRecordedOnceAJob) {
  Spool spool;
  spool.Start();
  spool.Prolog("n1", 1);
  EXPECT_FALSE(spool.recorder->HasMachineFact());
  spool.recorder->Set(HostKey::kScheduling, {"SPOT", std::nullopt, std::nullopt});
  spool.recorder->Set(HostKey::kZone, {"us-central1-a", std::nullopt, std::nullopt});
  EXPECT_FALSE(spool.recorder->HasNotice()) << "it is not urgent";
  EXPECT_TRUE(spool.recorder->HasMachineFact());
  for (int i = 0; i < 3; ++i) spool.Tell();
  ASSERT_EQ(spool.told.size(), 2U);
  EXPECT_NE(spool.told[0].find(R"("notice":"provisioning","value":"SPOT")"), std::string::npos)
      << spool.told[0];
  EXPECT_NE(spool.told[1].find(R"("notice":"zone","value":"us-central1-a")"), std::string::npos);
  spool.Prolog("n1", 2);
  spool.Tell();
  EXPECT_EQ(spool.told.size(), 4U);
}

TEST(NoticeRecorder, ARestartRepeatsNothing) {
  Spool spool;
  spool.Start();
  spool.Prolog("n1", 1);
  spool.recorder->Set(HostKey::kMaintenance, kTerminate);
  spool.Tell();
  spool.Start();
  spool.recorder->Set(HostKey::kMaintenance, kTerminate);
  spool.Tell();
  EXPECT_EQ(spool.told.size(), 1U);
  // Withdrawn while the daemon did not run.
  spool.Start();
  spool.recorder->Set(HostKey::kMaintenance, kNone);
  spool.Tell();
  EXPECT_EQ(spool.told.size(), 2U);
  // The same job's next attempt has no notice yet.
  spool.Epilog("n1", 1);
  spool.Prolog("n1", 1);
  spool.recorder->Set(HostKey::kMaintenance, kTerminate);
  spool.Tell();
  EXPECT_EQ(spool.told.size(), 3U);
}

TEST(NoticeRecorder, AFullSpoolIsNotTriedAgainAndAgain) {
  Spool spool;
  spool.Start();
  spool.Prolog("n1", 1);
  spool.full = true;
  spool.recorder->Set(HostKey::kPreempted, {"TRUE", std::nullopt, std::nullopt});
  for (int i = 0; i < 5; ++i) spool.Tell();
  EXPECT_EQ(spool.tries, 1);
  spool.full = false;
  spool.recorder->Set(HostKey::kMaintenance, kTerminate);
  spool.Tell();
  EXPECT_EQ(spool.told.size(), 1U);
}

// --- everything, with a server that implements the protocol

class MetadataServer {
 public:
  MetadataServer() : server_([this](int fd, const std::string& request) { return Answer(fd, request); }) {}
  ~MetadataServer() {
    const std::lock_guard<std::mutex> lock(mutex_);
    over_ = true;
    change_.notify_all();
  }
  void Say(const std::string& key, const std::string& value) {
    const std::lock_guard<std::mutex> lock(mutex_);
    values_[key] = {values_[key].first + 1, value};
    change_.notify_all();
  }
  std::string host() const { return server_.host(); }

 private:
  bool Answer(int fd, const std::string& request) {
    const std::string path = request.substr(0, request.find(" HTTP"));
    const std::size_t begin = path.rfind("/instance/") + 10;
    const std::string key = path.substr(begin, path.find('?') - begin);
    std::unique_lock<std::mutex> lock(mutex_);
    const std::size_t etag = path.find("last_etag=");
    if (path.find("wait_for_change=true") != std::string::npos && etag != std::string::npos) {
      change_.wait(lock,
                   [&] { return over_ || std::to_string(values_[key].first) != path.substr(etag + 10); });
    }
    if (over_) return false;
    const auto found = values_.find(key);
    const std::string flavor = "Metadata-Flavor: Google\r\n";
    if (found == values_.end() || request.find(flavor) == std::string::npos)
      return Send(fd, Reply("404 Not Found", flavor, ""));
    return Send(fd, Reply("200 OK", flavor + "ETag: " + std::to_string(found->second.first) + "\r\n",
                          found->second.second));
  }

  std::mutex mutex_;
  std::condition_variable change_;
  bool over_ = false;
  std::map<std::string, std::pair<int, std::string>> values_{{"maintenance-event", {1, "NONE"}},
                                                             {"preempted", {1, "FALSE"}}};
  Server server_;
};

TEST(HostWatch, HearsOfAChangeWhenItIsSaid) {
  auto server = std::make_unique<MetadataServer>();
  HostWatch watch(server->host(), false);
  HttpClient client;
  std::map<int, HostKey> asked;
  std::vector<std::string> heard;
  int requests = 0;
  const auto until = [&](std::size_t count) {
    for (int i = 0; heard.size() < count && i < 100; ++i) {
      for (const HostWatch::Due& due : watch.TakeDue())
        asked[client.Start(due.request)] = due.key, ++requests;
      for (const HttpAnswer& answer : client.Wait(-1, watch.UntilDue(absl::Milliseconds(100)))) {
        if (const auto word = watch.Take(asked[answer.id], answer))
          heard.push_back(std::string(NoticeName(asked[answer.id])) + " " + word->value);
      }
    }
  };
  until(3);
  EXPECT_EQ(heard.size(), 3U);
  server->Say("preempted", "TRUE");
  until(4);
  EXPECT_EQ(heard.back(), "preempted TRUE");
  server->Say("maintenance-event", "TERMINATE_ON_HOST_MAINTENANCE");
  until(5);
  EXPECT_EQ(heard.back(), "maintenance TERMINATE_ON_HOST_MAINTENANCE");
  EXPECT_LT(requests, 12) << "it waits, and does not poll";
}

}  // namespace
}  // namespace goodput
