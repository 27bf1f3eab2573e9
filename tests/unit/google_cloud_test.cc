// Cloud Logging without a network: requests and answers are functions, time passes only while something
// sleeps.
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "spank/json_text.h"
#include "sql/text.h"
#include "tools/sources/google_cloud/access_token.h"
#include "tools/sources/google_cloud/check_log.h"
#include "tools/sources/google_cloud/check_monitoring.h"
#include "tools/sources/google_cloud/log_name.h"
#include "tools/sources/google_cloud/logging_service.h"
#include "tools/sources/google_cloud/metadata_server.h"
#include "tools/sources/google_cloud/monitoring_service.h"
#include "tools/sources/google_cloud/read_entries.h"
#include "tools/sources/google_cloud/signature.h"
#include "tools/sources/google_cloud/write_entries.h"
#include "tools/sources/google_cloud/write_series.h"

namespace goodput {
namespace {

using ::testing::Test;

constexpr const char* kAudience = "https://logging.googleapis.com/";
const LogName kLog{"lab-1", "goodput"};

struct Key {
  explicit Key(unsigned bits) : pair(EVP_RSA_gen(bits), EVP_PKEY_free) {
    const std::unique_ptr<BIO, decltype(&BIO_free)> out(BIO_new(BIO_s_mem()), BIO_free);
    PEM_write_bio_PrivateKey(out.get(), pair.get(), nullptr, nullptr, 0, nullptr, nullptr);
    char* text = nullptr;
    const long length = BIO_get_mem_data(out.get(), &text);
    pem.assign(text, static_cast<std::size_t>(length));
  }
  bool Signed(const std::string& text, const std::string& signature) const {
    const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
    EVP_DigestVerifyInit(context.get(), nullptr, EVP_sha256(), nullptr, pair.get());
    return EVP_DigestVerify(context.get(), reinterpret_cast<const unsigned char*>(signature.data()),
                            signature.size(), reinterpret_cast<const unsigned char*>(text.data()),
                            text.size()) == 1;
  }
  std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> pair;
  std::string pem;
};

HttpAnswer Answer(int code, std::string body = "{}") {
  HttpAnswer answer;
  answer.code = code;
  answer.body = std::move(body);
  return answer;
}

HttpAnswer NoAnswer() {
  HttpAnswer answer;
  answer.status = absl::UnavailableError("Connection refused");
  return answer;
}

// The metadata server gives out tokens; the service answers with what is in `answers`, then with `last`.
class GoogleCloudTest : public Test {
 protected:
  GoogleCloudTest() {
    world_.now = [this] { return now_; };
    world_.sleep = [this](absl::Duration time) {
      slept_.push_back(time);
      now_ += time;
    };
    world_.random = [this] { return random_; };
    world_.variable = [this](const std::string& name) -> std::optional<std::string> {
      const auto found = variables_.find(name);
      return found == variables_.end() ? std::nullopt : std::optional(found->second);
    };
    world_.read_file = [this](const std::string& path, std::size_t) -> absl::StatusOr<std::string> {
      const auto found = files_.find(path);
      if (found == files_.end()) return absl::NotFoundError(path);
      return found->second;
    };
    world_.send = [this](const HttpRequest& request) { return Send(request); };
  }

  HttpAnswer Send(const HttpRequest& request) {
    if (absl::StrContains(request.url, "/computeMetadata/")) {
      ++token_calls_;
      HttpAnswer answer = metadata_;
      if (answer.body.empty())
        answer.body = Cat("{\"access_token\":\"token-", token_calls_, "\",\"expires_in\":3599}");
      answer.headers["metadata-flavor"] = flavor_;
      return answer;
    }
    requests_.push_back(request);
    times_.push_back(now_);
    if (answers_.empty()) return last_;
    HttpAnswer answer = std::move(answers_.front());
    answers_.pop_front();
    return answer;
  }

  LoggingService Service() {
    absl::StatusOr<LoggingService> service = LoggingService::Connect(world_);
    EXPECT_TRUE(service.ok()) << service.status();
    return *std::move(service);
  }
  std::string Bearer(std::size_t request) const {
    for (const std::string& header : requests_.at(request).headers) {
      if (absl::StartsWith(header, "Authorization: Bearer ")) return header.substr(22);
    }
    return "";
  }

  CloudWorld world_;
  absl::Time now_ = absl::FromUnixSeconds(1'790'000'000);
  double random_ = 0.5;
  std::map<std::string, std::string> variables_;
  std::map<std::string, std::string> files_;
  std::string flavor_ = "Google";
  HttpAnswer metadata_ = Answer(200, "");
  std::deque<HttpAnswer> answers_;
  HttpAnswer last_ = Answer(200);
  std::vector<HttpRequest> requests_;
  std::vector<absl::Time> times_;
  std::vector<absl::Duration> slept_;
  int token_calls_ = 0;
};

// --- Tokens

TEST(SignatureTest, ThePublicKeyVerifiesIt) {
  const Key key(2048);
  const absl::StatusOr<std::string> signature = SignRs256(key.pem, "words");
  ASSERT_TRUE(signature.ok()) << signature.status();
  EXPECT_TRUE(key.Signed("words", *signature));
  EXPECT_FALSE(key.Signed("other words", *signature));
}

TEST(SignatureTest, OtherKeysAreRefusedWithoutAWordOfThem) {
  const Key small(1024);
  for (const std::string& pem : {std::string("secret"), small.pem, std::string()}) {
    const absl::Status status = SignRs256(pem, "words").status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_FALSE(absl::StrContains(Message(status), "secret"));
  }
}

TEST(SignatureTest, DigestsAreThoseOfTheStandard) {
  EXPECT_EQ(absl::BytesToHexString(Sha256("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(AccessTokenTest, AKeySignsForOneServiceAndAnHour) {
  const Key key(2048);
  const absl::Time now = absl::FromUnixSeconds(1'790'000'000);
  const absl::StatusOr<std::string> token = SignedToken({"a@b", "id\"1", key.pem}, kAudience, now);
  ASSERT_TRUE(token.ok()) << token.status();
  const std::vector<std::string> parts = absl::StrSplit(*token, '.');
  ASSERT_EQ(parts.size(), 3U);
  std::string header;
  std::string claims;
  std::string signature;
  ASSERT_TRUE(absl::WebSafeBase64Unescape(parts[0], &header));
  ASSERT_TRUE(absl::WebSafeBase64Unescape(parts[1], &claims));
  ASSERT_TRUE(absl::WebSafeBase64Unescape(parts[2], &signature));
  EXPECT_EQ(header, R"({"alg":"RS256","typ":"JWT","kid":"id\"1"})");
  EXPECT_EQ(
      claims,
      R"({"iss":"a@b","sub":"a@b","aud":"https://logging.googleapis.com/","iat":1790000000,"exp":1790003600})");
  EXPECT_TRUE(key.Signed(parts[0] + "." + parts[1], signature));
  EXPECT_EQ(token->find_first_of("=+/"), std::string::npos);
}

TEST(AccessTokenTest, OtherCredentialsAreRefusedWithAHint) {
  for (const char* json : {R"({"type":"external_account"})", R"({"type":"authorized_user"})", "{}", "[", "",
                           R"({"type":"service_account","client_email":"a@b"})"}) {
    const absl::Status status = ParseServiceAccountKey(json).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << json;
  }
  EXPECT_TRUE(absl::StrContains(Message(ParseServiceAccountKey(R"({"type":"external_account"})").status()),
                                "external_account are not supported; use the key of a service account"));
}

TEST_F(GoogleCloudTest, ATokenIsKeptAndRenewedBeforeItEnds) {
  AccessToken token(world_, kAudience);
  EXPECT_EQ(token.Get().value_or(""), "token-1");
  now_ += absl::Seconds(3599 - 226);
  EXPECT_EQ(token.Get().value_or(""), "token-1");
  now_ += absl::Seconds(1);
  EXPECT_EQ(token.Get().value_or(""), "token-2");
  token.Forget();
  EXPECT_EQ(token.Get().value_or(""), "token-3");
}

TEST_F(GoogleCloudTest, OnlyATokenOfGooglesServerIsTaken) {
  AccessToken token(world_, kAudience);
  flavor_ = "";
  EXPECT_TRUE(absl::IsUnauthenticated(token.Get().status()));
  flavor_ = "Google";
  for (const char* body :
       {"{}", "[]", "x", R"({"access_token":"a b","expires_in":9})",
        R"({"access_token":"a\r\nX: y","expires_in":9})", R"({"access_token":"a"})",
        R"({"access_token":"a","expires_in":-1})", R"({"access_token":7,"expires_in":9})"}) {
    metadata_ = Answer(200, body);
    EXPECT_TRUE(absl::IsUnauthenticated(token.Get().status())) << body;
  }
  metadata_ = Answer(404, "none");
  EXPECT_TRUE(absl::StrContains(Message(token.Get().status()), "no service account"));
  EXPECT_EQ(requests_.size(), 0U);
}

TEST_F(GoogleCloudTest, AMetadataServerThatIsBusyIsAskedThreeTimes) {
  AccessToken token(world_, kAudience);
  metadata_ = Answer(503, "busy");
  EXPECT_FALSE(token.Get().ok());
  EXPECT_EQ(token_calls_, 3);
}

TEST_F(GoogleCloudTest, AKeyIsPreferredToTheMachinesAccount) {
  const Key key(2048);
  variables_["GOOGLE_APPLICATION_CREDENTIALS"] = "key.json";
  files_["key.json"] =
      Cat(R"({"type":"service_account","client_email":"a@b","private_key":)", QuotedJson(key.pem), "}");
  AccessToken token(world_, kAudience);
  EXPECT_EQ(std::vector<std::string>(absl::StrSplit(token.Get().value_or(""), '.')).size(), 3U);
  EXPECT_EQ(token_calls_, 0);
  files_.clear();
  token.Forget();
  EXPECT_TRUE(absl::IsUnauthenticated(token.Get().status()));
}

// --- Calls

TEST(PaceTest, CallsAreApart) {
  Pace pace(absl::Seconds(1));
  const absl::Time start = absl::FromUnixSeconds(100);
  EXPECT_EQ(pace.Next(start), absl::ZeroDuration());
  EXPECT_EQ(pace.Next(start), absl::Seconds(1));
  EXPECT_EQ(pace.Next(start + absl::Milliseconds(1500)), absl::Milliseconds(500));
  EXPECT_EQ(pace.Next(start + absl::Seconds(60)), absl::ZeroDuration());
}

TEST_F(GoogleCloudTest, NoMinuteHasMoreThanSixtyReads) {
  LoggingService service = Service();
  for (int i = 0; i < 200; ++i) {
    if (i % 7 == 0) answers_.push_back(Answer(503));
    EXPECT_TRUE(service.List("{}").ok());
  }
  for (std::size_t i = 0; i + 60 < times_.size(); ++i)
    EXPECT_GE(times_[i + 60] - times_[i], absl::Minutes(1));
}

TEST(RetriesTest, TheyGrowToAMinuteAndEndAfterTen) {
  Retries retries;
  absl::Time now = absl::FromUnixSeconds(0);
  EXPECT_EQ(retries.Next(now, 0, absl::Minutes(10)), absl::ZeroDuration());
  EXPECT_EQ(retries.Next(now, 1, absl::Minutes(10)), absl::Milliseconds(130));
  EXPECT_EQ(retries.Next(now, 0.5, absl::Minutes(10)), absl::Milliseconds(84.5));
  absl::Duration longest;
  while (true) {
    const absl::Duration wait = retries.Next(now, 1, absl::Minutes(10));
    if (wait == absl::InfiniteDuration()) break;
    longest = std::max(longest, wait);
    now += wait;
  }
  EXPECT_EQ(longest, absl::Minutes(1));
  EXPECT_GE(now, absl::FromUnixSeconds(600));
  EXPECT_LT(now, absl::FromUnixSeconds(660));
}

TEST_F(GoogleCloudTest, WhatMayPassIsRepeatedWithTheSameBody) {
  for (const int code : {429, 500, 503, 504}) answers_.push_back(Answer(code));
  answers_.push_back(NoAnswer());
  LoggingService service = Service();
  EXPECT_TRUE(service.Write("{\"x\":1}").ok());
  ASSERT_EQ(requests_.size(), 6U);
  for (const HttpRequest& request : requests_) {
    EXPECT_EQ(request.url, "https://logging.googleapis.com/v2/entries:write");
    EXPECT_EQ(request.body.value_or(""), "{\"x\":1}");
  }
  // Half of 100 ms x 1.3^n.
  EXPECT_EQ(slept_.at(0), absl::Milliseconds(50));
  EXPECT_EQ(slept_.at(1), absl::Milliseconds(65));
}

TEST_F(GoogleCloudTest, WhatWillNotPassIsNotRepeated) {
  LoggingService service = Service();
  const std::vector<std::pair<int, absl::StatusCode>> codes = {{400, absl::StatusCode::kInvalidArgument},
                                                               {403, absl::StatusCode::kPermissionDenied},
                                                               {404, absl::StatusCode::kNotFound},
                                                               {302, absl::StatusCode::kUnknown}};
  for (const auto& [code, expected] : codes) {
    requests_.clear();
    last_ = Answer(code, R"({"error":{"message":"no\u001b[2J"}})");
    const absl::Status status = service.List("{}").status();
    EXPECT_EQ(status.code(), expected) << status;
    EXPECT_EQ(requests_.size(), 1U);
    EXPECT_FALSE(absl::StrContains(Message(status), "\x1b"));
  }
}

TEST_F(GoogleCloudTest, ARefusedTokenIsRenewedOnce) {
  answers_.push_back(Answer(401));
  LoggingService service = Service();
  EXPECT_TRUE(service.List("{}").ok());
  EXPECT_EQ(Bearer(0), "token-1");
  EXPECT_EQ(Bearer(1), "token-2");
  last_ = Answer(401);
  requests_.clear();
  EXPECT_TRUE(absl::IsUnauthenticated(service.List("{}").status()));
  EXPECT_EQ(requests_.size(), 2U);
}

TEST_F(GoogleCloudTest, ItGivesUpAfterTenMinutesOrThirtySecondsIfNothingEverAnswered) {
  last_ = NoAnswer();
  LoggingService service = Service();
  const absl::Time began = now_;
  EXPECT_TRUE(absl::IsUnavailable(service.Write("{}").status()));
  EXPECT_LT(now_ - began, absl::Minutes(1));
  answers_.push_back(Answer(200));
  EXPECT_TRUE(service.Write("{}").ok());
  const absl::Time again = now_;
  last_ = Answer(429);
  EXPECT_TRUE(absl::IsResourceExhausted(service.Write("{}").status()));
  EXPECT_GE(now_ - again, absl::Minutes(10));
  EXPECT_LT(now_ - again, absl::Minutes(11));
}

TEST_F(GoogleCloudTest, WhatIsMissingIsNamed) {
  LoggingService service = Service();
  const auto why = [&](const char* reason, bool write) {
    last_ = Answer(403, Cat(R"({"error":{"message":"denied","details":[{"reason":")", reason, "\"}]}}"));
    return Message((write ? service.Write("{}") : service.List("{}")).status());
  };
  EXPECT_TRUE(absl::StrContains(why("IAM_PERMISSION_DENIED", true), "roles/logging.logWriter"));
  EXPECT_TRUE(absl::StrContains(why("IAM_PERMISSION_DENIED", false), "roles/logging.viewer"));
  EXPECT_TRUE(absl::StrContains(why("ACCESS_TOKEN_SCOPE_INSUFFICIENT", true), "logging.write"));
  EXPECT_TRUE(absl::StrContains(why("ACCESS_TOKEN_SCOPE_INSUFFICIENT", false), "logging.read"));
  EXPECT_TRUE(absl::StrContains(why("SERVICE_DISABLED", false), "gcloud services enable"));
}

TEST_F(GoogleCloudTest, EndpointsAreEncryptedOrOnThisMachine) {
  for (const char* good : {"https://logging-x.p.googleapis.com/", "http://127.0.0.1:80", "http://localhost/",
                           "http://[::1]:8080"}) {
    variables_["CLOUDSDK_API_ENDPOINT_OVERRIDES_LOGGING"] = good;
    EXPECT_TRUE(LoggingService::Connect(world_).ok()) << good;
  }
  for (const char* bad :
       {"http://10.0.0.1", "http://localhost.x", "http://127.0.0.1@x/", "logging", "http://[::1]x", ""}) {
    variables_["CLOUDSDK_API_ENDPOINT_OVERRIDES_LOGGING"] = bad;
    EXPECT_FALSE(LoggingService::Connect(world_).ok()) << bad;
  }
}

// --- Reading

TEST(LogNameTest, NamesAreThoseOfTheService) {
  EXPECT_EQ(ParseLogName("projects/p-1/logs/goodput")->Text(), "projects/p-1/logs/goodput");
  EXPECT_EQ(ParseLogName("projects/example.com:p/logs/a/b c")->Text(),
            "projects/example.com:p/logs/a%2Fb%20c");
  EXPECT_EQ(ParseLogName("projects/p/logs/a%2Fb")->Text(), "projects/p/logs/a%2Fb");
  for (const char* bad :
       {"goodput", "projects//logs/x", "projects/p/logs/", "projects/P/logs/x", "logs/x", "",
        "projects/p/x/logs/y", "projects/../logs/x", "folders/1/logs/x", "projects/\"/logs/x"})
    EXPECT_FALSE(ParseLogName(bad).ok()) << bad;
}

TEST(LogFilterTest, IsGooglesOwn) {
  const LogQuestion question{kLog, "a\"b", absl::FromUnixSeconds(0), absl::FromUnixSeconds(60)};
  EXPECT_EQ(
      LogFilter(question, std::nullopt),
      R"(logName="projects/lab-1/logs/goodput" AND severity=INFO AND jsonPayload.job_name="a\"b")"
      R"( AND timestamp>"1970-01-01T00:00:00.000000000Z" AND timestamp<="1970-01-01T00:01:00.000000000Z")");
  EXPECT_EQ(
      LogFilter({kLog, "", question.after, question.until}, LogPosition{"1970-01-01T00:00:01.5Z", "i"}),
      R"(logName="projects/lab-1/logs/goodput" AND severity=INFO)"
      R"( AND (timestamp > "1970-01-01T00:00:01.5Z" OR (timestamp = "1970-01-01T00:00:01.5Z" AND insertId > "i")))"
      R"( AND timestamp<="1970-01-01T00:01:00.000000000Z")");
}

class ReadEntriesTest : public GoogleCloudTest {
 protected:
  // Seconds since the minute began, and its id.
  static std::string Entry(double t, const std::string& id) {
    return absl::StrFormat(
        R"({"logName":"projects/lab-1/logs/goodput","timestamp":"2026-09-21T12:00:%06.3fZ",)"
        R"("insertId":"%s","jsonPayload":{"job_name":"llm","step_count":1}})",
        t, id);
  }
  static HttpAnswer Page(const std::vector<std::string>& entries, const std::string& token) {
    std::string body = "{\"entries\":[";
    for (const std::string& one : entries) body += (&one == &entries.front() ? "" : ",\n  ") + one;
    return Answer(200, body + "]" + (token.empty() ? "" : ",\"nextPageToken\":\"" + token + "\"") + "}");
  }
  absl::StatusOr<ReadEntriesReport> ReadAll() {
    return reader_.Read(
        [&](std::string_view line) {
          lines_.emplace_back(line);
          return absl::OkStatus();
        },
        [](const ReadEntriesReport&, const std::string&) {});
  }
  std::string Body(std::size_t request) const { return requests_.at(request).body.value_or(""); }

  LoggingService service_ = Service();
  EntryReader reader_{service_,
                      {kLog, "llm", absl::FromUnixSeconds(0), absl::FromUnixSeconds(1'800'000'000)}};
  std::vector<std::string> lines_;
};

TEST_F(ReadEntriesTest, PagesFollowEachOtherUnderOneFilter) {
  answers_ = {Page({Entry(1, "a"), Entry(2, "b")}, "t1"), Page({}, "t2"), Page({Entry(3, "c")}, "")};
  const absl::StatusOr<ReadEntriesReport> report = ReadAll();
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->entries, 3);
  EXPECT_EQ(lines_,
            (std::vector<std::string>{Entry(1, "a") + "\n", Entry(2, "b") + "\n", Entry(3, "c") + "\n"}));
  EXPECT_TRUE(absl::StrContains(Body(0), R"("orderBy":"timestamp asc","pageSize":1000})"));
  EXPECT_TRUE(absl::StrContains(Body(1), R"("pageToken":"t1"})"));
  EXPECT_EQ(Body(1).substr(0, Body(0).size() - 1), Body(0).substr(0, Body(0).size() - 1));
  EXPECT_TRUE(absl::StrContains(Body(2), R"("pageToken":"t2"})"));
}

TEST_F(ReadEntriesTest, WithoutItsPageTokenItContinuesBehindTheLastEntry) {
  answers_ = {Page({Entry(1, "a"), Entry(2, "b")}, "t1"), Answer(400), Page({Entry(2, "c")}, "t3"),
              Page({Entry(4, "d")}, "")};
  const absl::StatusOr<ReadEntriesReport> report = ReadAll();
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->entries, 4);
  EXPECT_FALSE(absl::StrContains(Body(2), "pageToken"));
  EXPECT_TRUE(absl::StrContains(Body(2), R"(insertId > \"b\")"));
  EXPECT_TRUE(absl::StrContains(Body(3), R"(insertId > \"b\")")) << "the filter of the token";
}

TEST_F(ReadEntriesTest, AFilterThatIsRefusedEndsIt) {
  last_ = Answer(400);
  EXPECT_TRUE(absl::IsInvalidArgument(ReadAll().status()));
  EXPECT_EQ(requests_.size(), 1U);
}

TEST_F(ReadEntriesTest, APageThatIsTooLongIsAskedForInParts) {
  HttpAnswer long_one;
  long_one.status = absl::OutOfRangeError("the response is too long");
  answers_ = {Page({Entry(1, "a")}, "t1"), long_one, Page({Entry(2, "b")}, "")};
  EXPECT_EQ(ReadAll().value_or(ReadEntriesReport{}).entries, 2);
  EXPECT_TRUE(absl::StrContains(Body(2), "\"pageSize\":100}"));
}

TEST_F(ReadEntriesTest, RepeatedEntriesAreOne) {
  answers_ = {Page({Entry(1, "a"), Entry(1, "a"), Entry(1, "b"), Entry(2, "a")}, "t"),
              Page({Entry(2, "a"), Entry(3, "a")}, "")};
  const absl::StatusOr<ReadEntriesReport> report = ReadAll();
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->entries, 4);
  EXPECT_EQ(report->repeated, 2);
}

TEST_F(ReadEntriesTest, ItContinuesBehindKnownEntriesLessWhatArrivesLate) {
  ASSERT_TRUE(reader_.Know(Entry(1, "a")).ok());
  ASSERT_TRUE(reader_.Know(Entry(50, "b")).ok());
  answers_ = {Page({Entry(20, "late"), Entry(50, "b"), Entry(51, "c")}, "")};
  EXPECT_EQ(ReadAll().value_or(ReadEntriesReport{}).entries, 2);
  EXPECT_TRUE(absl::StrContains(Body(0), R"(timestamp>\"2026-09-21T12:00:16.000000000Z\")")) << Body(0);
  EXPECT_EQ(lines_.front(), Entry(20, "late") + "\n");
}

TEST_F(ReadEntriesTest, BehindKnownEntriesNothingIsLeftOutWhateverTheBegin) {
  EntryReader later(
      service_, {kLog, "llm", absl::FromUnixSeconds(1'799'000'000), absl::FromUnixSeconds(1'800'000'000)});
  ASSERT_TRUE(later.Know(Entry(50, "b")).ok());
  ASSERT_TRUE(later
                  .Read([](std::string_view) { return absl::OkStatus(); },
                        [](const ReadEntriesReport&, const std::string&) {})
                  .ok());
  EXPECT_TRUE(absl::StrContains(Body(0), R"(timestamp>\"2026-09-21T12:00:16.000000000Z\")")) << Body(0);
}

TEST_F(ReadEntriesTest, OtherEntriesAreNotKnown) {
  for (
      const char* line :
      {"", "{}", "x", R"({"timestamp":"2026-09-21T12:00:00Z","logName":"projects/lab-1/logs/x"})",
       R"({"timestamp":"now","logName":"projects/lab-1/logs/goodput"})",
       R"({"timestamp":"2026-09-21T12:00:00Z","logName":"projects/lab-1/logs/goodput","jsonPayload":{"job_name":"x"}})"})
    EXPECT_TRUE(absl::IsInvalidArgument(reader_.Know(line))) << line;
}

TEST_F(ReadEntriesTest, AnAnswerThatIsNotOneIsAnError) {
  for (const char* body : {"<html>", R"({"entries":[{}]})", R"({"entries":[{"timestamp":"x"}]})"}) {
    last_ = Answer(200, body);
    EXPECT_TRUE(absl::IsDataLoss(ReadAll().status())) << body;
  }
}

// --- Writing

class WriteEntriesTest : public GoogleCloudTest {
 protected:
  static std::string Step(double t, int step) {
    return absl::StrFormat(R"({"job_name":"llm","step_count":%d,"step_start_time":%.3f})", step,
                           1'790'000'000 + t);
  }
  EntryWriter Writer() {
    WriteEntriesOptions options;
    options.log = kLog;
    options.labels = {{"goodput_cluster", "c"}};
    options.now = now_;
    return EntryWriter(service_, options);
  }
  static std::vector<std::string> Fields(const std::string& body, std::string_view name) {
    std::vector<std::string> values;
    const std::string key = Cat("\"", name, "\":\"");
    for (std::size_t at = body.find(key); at != std::string::npos; at = body.find(key, at + 1)) {
      const std::size_t begin = at + key.size();
      values.push_back(body.substr(begin, body.find('"', begin) - begin));
    }
    return values;
  }
  std::string Body(std::size_t request) const { return requests_.at(request).body.value_or(""); }

  LoggingService service_ = Service();
};

TEST_F(WriteEntriesTest, AnEntryIsAsTheServiceTakesIt) {
  EntryWriter writer = Writer();
  ASSERT_TRUE(writer.Take(Step(1.5, 7)).ok());
  ASSERT_TRUE(writer.Finish().ok());
  const std::string id = Fields(Body(0), "insertId").at(0);
  EXPECT_EQ(id.size(), 30U);
  EXPECT_EQ(
      Body(0),
      Cat(R"({"logName":"projects/lab-1/logs/goodput","resource":{"type":"global","labels":{"project_id":"lab-1"}},)",
          R"("labels":{"goodput_cluster":"c"},"partialSuccess":true,"entries":[{"timestamp":"2026-09-21T14:13:21.500000000Z",)",
          R"("severity":"INFO","insertId":")", id, R"(","jsonPayload":)", Step(1.5, 7), "}]}"));
}

TEST_F(WriteEntriesTest, ARequestHasAThousandEntriesOrFiveMegabytes) {
  EntryWriter writer = Writer();
  for (int i = 0; i < 2500; ++i) ASSERT_TRUE(writer.Take(Step(i, i)).ok());
  ASSERT_TRUE(writer.Finish().ok());
  ASSERT_EQ(requests_.size(), 3U);
  EXPECT_EQ(Fields(Body(0), "insertId").size(), 1000U);
  EXPECT_EQ(Fields(Body(2), "insertId").size(), 500U);
  EXPECT_EQ(writer.report().written, 2500);
  requests_.clear();
  EntryWriter of_long = Writer();
  for (int i = 0; i < 60; ++i) {
    const std::string padding(200'000, 'x');
    ASSERT_TRUE(
        of_long.Take(Cat(Step(i, i).substr(0, Step(i, i).size() - 1), ",\"x\":\"", padding, "\"}")).ok());
  }
  ASSERT_TRUE(of_long.Finish().ok());
  EXPECT_EQ(requests_.size(), 3U);
  for (std::size_t i = 0; i < requests_.size(); ++i) EXPECT_LE(Body(i).size(), EntryWriter::kMostBytes);
}

TEST_F(WriteEntriesTest, TheSameEntryHasTheSameIdAndDoesNotGoBackInTime) {
  const std::vector<std::string> lines = {Step(1, 1), Step(1, 1), Step(5, 2), Step(3, 3), Step(6, 4)};
  std::vector<std::string> ids;
  for (int i = 0; i < 2; ++i) {
    EntryWriter writer = Writer();
    for (const std::string& line : lines) ASSERT_TRUE(writer.Take(line).ok());
    ASSERT_TRUE(writer.Finish().ok());
    const std::vector<std::string> these = Fields(Body(static_cast<std::size_t>(i)), "insertId");
    EXPECT_EQ(these, i == 0 ? these : ids);
    ids = these;
  }
  EXPECT_EQ(std::set<std::string>(ids.begin(), ids.end()).size(), lines.size());
  EXPECT_LT(ids[0], ids[1]) << "entries of one time are read in the order of their ids";
  EXPECT_LT(ids[2], ids[3]);
  const std::vector<std::string> times = Fields(Body(0), "timestamp");
  EXPECT_EQ(times[3], times[2]);
  EXPECT_TRUE(std::is_sorted(times.begin(), times.end()));
}

TEST_F(WriteEntriesTest, TimesAreInMicrosecondsSoThatTheLibraryReadsOnBehindThem) {
  EntryWriter writer = Writer();
  for (const char* t : {"1790000000.1234561", "1790000000.1234569", "1790000000.123457"}) {
    ASSERT_TRUE(writer.Take(Cat(R"({"job_name":"llm","job_start_time":)", t, "}")).ok());
  }
  ASSERT_TRUE(writer.Finish().ok());
  EXPECT_EQ(Fields(Body(0), "timestamp"),
            (std::vector<std::string>{"2026-09-21T14:13:20.123456000Z", "2026-09-21T14:13:20.123456000Z",
                                      "2026-09-21T14:13:20.123457000Z"}));
  const std::vector<std::string> ids = Fields(Body(0), "insertId");
  EXPECT_LT(ids[0], ids[1]);
}

TEST_F(WriteEntriesTest, WhatTheLogWouldNotShowIsCountedAndNotSent) {
  EntryWriter writer = Writer();
  const double day = 86'400;
  ASSERT_TRUE(writer.Take(Step(-30 * day - 1, 1)).ok());
  ASSERT_TRUE(writer.Take(Step(-30 * day, 2)).ok());
  ASSERT_TRUE(writer.Take(Step(day + 1, 3)).ok());
  ASSERT_TRUE(writer.Take(Step(day, 4)).ok()) << "one that is too far ahead holds up no other";
  ASSERT_TRUE(writer.Finish().ok());
  EXPECT_EQ(writer.report().too_old, 1);
  EXPECT_EQ(writer.report().too_new, 1);
  EXPECT_EQ(writer.report().written, 2);
  EXPECT_EQ(Fields(Body(0), "insertId").size(), 2U);
}

TEST_F(WriteEntriesTest, RefusedEntriesAreCounted) {
  last_ = Answer(400, R"({"error":{"message":"some","details":[{"@type":"x","logEntryErrors":)"
                      R"({"0":{"code":3,"message":"why"},"2":{"code":3,"message":"other"}}}]}})");
  EntryWriter writer = Writer();
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(writer.Take(Step(i, i)).ok());
  ASSERT_TRUE(writer.Take(Cat(R"({"job_name":"llm","x":")", std::string(260'000, 'x'), "\"}")).ok());
  ASSERT_TRUE(writer.Finish().ok());
  EXPECT_EQ(writer.report().written, 3);
  EXPECT_EQ(writer.report().refused, 3);
  EXPECT_EQ(requests_.size(), 1U);
  last_ = Answer(400, R"({"error":{"message":"all"}})");
  ASSERT_TRUE(writer.Take(Step(9, 9)).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(writer.Finish()));
}

TEST_F(WriteEntriesTest, WhatIsNoEntryIsAnError) {
  EntryWriter writer = Writer();
  EXPECT_FALSE(writer.Take("{}").ok());
  EXPECT_FALSE(writer.Take("").ok());
  EXPECT_TRUE(writer.Finish().ok());
  EXPECT_TRUE(requests_.empty());
}

// --- doctor

TEST_F(GoogleCloudTest, TheDoctorWritesNothing) {
  LoggingService service = Service();
  std::vector<CloudFinding> findings;
  EXPECT_FALSE(CheckLog(service, kLog, now_, [&](const CloudFinding& one) { findings.push_back(one); }));
  // The fake server names no scopes that would do.
  ASSERT_EQ(findings.size(), 4U);
  EXPECT_TRUE(absl::StrContains(findings[1].what, "logging.read and logging.write"));
  EXPECT_TRUE(absl::StrContains(requests_.at(1).body.value_or(""), "\"dryRun\":true"));
  EXPECT_TRUE(absl::StrContains(requests_.at(0).body.value_or(""), "\"pageSize\":1}"));
}

// --- Cloud Monitoring

class WriteSeriesTest : public GoogleCloudTest {
 protected:
  WriteSeriesTest() : service_(*MonitoringService::Connect(world_)) {}
  static std::string Series(int number) {
    return Cat(R"({"workload_id":"c/7","metric":{"type":"compute.googleapis.com/workload/goodput_time",)",
               R"("labels":{"goodput_source":"TOTAL","number":")", number,
               R"("}},"valueType":"DOUBLE","value":{"doubleValue":0.5}})");
  }
  absl::Status Write(int series) {
    for (int i = 0; i < series; ++i) {
      if (absl::Status status = writer_.Take(Series(i)); !status.ok()) return status;
    }
    return writer_.Finish();
  }
  MonitoringService service_;
  SeriesWriter writer_{service_, {"lab-1", "us-east5-a", absl::FromUnixSeconds(1'790'000'000)}};
};

TEST_F(WriteSeriesTest, APointOfEachSeries) {
  ASSERT_TRUE(Write(1).ok());
  ASSERT_EQ(requests_.size(), 1U);
  EXPECT_EQ(requests_[0].url, "https://monitoring.googleapis.com/v3/projects/lab-1/timeSeries");
  EXPECT_EQ(
      requests_[0].body,
      R"({"timeSeries":[{"metric":{"type":"compute.googleapis.com/workload/goodput_time","labels":)"
      R"({"goodput_source":"TOTAL","number":"0"}},"resource":{"type":"compute.googleapis.com/Workload",)"
      R"("labels":{"location":"us-east5-a","workload_id":"c/7","replica_id":"0"}},"metricKind":"GAUGE",)"
      R"("valueType":"DOUBLE","points":[{"interval":{"endTime":"2026-09-21T14:13:20.000000000Z"},)"
      R"("value":{"doubleValue":0.5}}]}]})");
}

TEST_F(WriteSeriesTest, ARequestHasAtMost200Series) {
  ASSERT_TRUE(Write(401).ok());
  ASSERT_EQ(requests_.size(), 3U);
  const auto count = [&](std::size_t i) {
    return absl::StrSplit(requests_[i].body.value_or(""), "\"points\"")
               .
               operator std::vector<std::string>()
               .size() -
           1;
  };
  EXPECT_EQ(count(0), 200U);
  EXPECT_EQ(count(1), 200U);
  EXPECT_EQ(count(2), 1U);
  EXPECT_EQ(writer_.report().written, 401);
}

TEST_F(WriteSeriesTest, WithoutSeriesNothingIsAsked) {
  ASSERT_TRUE(Write(0).ok());
  EXPECT_TRUE(requests_.empty());
  EXPECT_EQ(token_calls_, 0);
}

TEST_F(WriteSeriesTest, WhatFailsIsNotRepeated) {
  for (const HttpAnswer& answer : {Answer(500), Answer(503), Answer(504), Answer(429), NoAnswer()}) {
    requests_.clear();
    last_ = answer;
    const absl::Status status = Write(250);
    EXPECT_TRUE(absl::IsUnavailable(status) || absl::IsResourceExhausted(status)) << status;
    EXPECT_EQ(requests_.size(), 1U) << "neither this request, nor the next one";
    EXPECT_EQ(writer_.report().written, 0);
    EXPECT_EQ(writer_.Finish().ok(), true) << "what failed is not kept";
  }
  EXPECT_TRUE(slept_.empty());
}

TEST_F(WriteSeriesTest, ARefusedTokenIsRenewedOnceSinceNothingWasWritten) {
  answers_.push_back(Answer(401));
  ASSERT_TRUE(Write(1).ok());
  EXPECT_EQ(requests_.size(), 2U);
  EXPECT_NE(Bearer(0), Bearer(1));
  last_ = Answer(401);
  EXPECT_TRUE(absl::IsUnauthenticated(Write(1)));
  EXPECT_EQ(requests_.size(), 4U);
}

TEST_F(WriteSeriesTest, RefusedPointsAreCounted) {
  answers_.push_back(
      Answer(400, R"({"error":{"code":400,"message":"some","details":[{"@type":"x","totalPointCount":200,)"
                  R"("successPointCount":197,"errors":[{"status":{"code":3,"message":"too often"},)"
                  R"("pointCount":3}]}]}})"));
  ASSERT_TRUE(Write(250).ok());
  EXPECT_EQ(writer_.report().refused, 3);
  EXPECT_EQ(writer_.report().written, 247);
  EXPECT_EQ(writer_.report().why_refused, "too often");
  // Without successPointCount: none.
  last_ = Answer(400, R"({"error":{"details":[{"totalPointCount":1,"errors":[]}]}})");
  ASSERT_TRUE(Write(1).ok());
  EXPECT_EQ(writer_.report().refused, 4);
  EXPECT_EQ(writer_.report().written, 247);
}

TEST_F(WriteSeriesTest, ABadRequestDoesNotHoldUpTheOthers) {
  answers_.push_back(Answer(400, R"({"error":{"message":"not a request"}})"));
  const absl::Status status = Write(250);
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_TRUE(absl::StrContains(status.message(), "not a request"));
  EXPECT_EQ(writer_.report().written, 50);
}

TEST_F(WriteSeriesTest, WhatIsMissingIsSaid) {
  last_ = Answer(403, R"({"error":{"message":"denied"}})");
  EXPECT_TRUE(absl::StrContains(Write(1).message(), "roles/monitoring.metricWriter"));
  last_ =
      Answer(403, R"({"error":{"message":"no","details":[{"reason":"ACCESS_TOKEN_SCOPE_INSUFFICIENT"}]}})");
  EXPECT_TRUE(absl::StrContains(Write(1).message(), "monitoring.write"));
  last_ = Answer(403, R"({"error":{"message":"no","details":[{"reason":"SERVICE_DISABLED"}]}})");
  EXPECT_TRUE(absl::StrContains(Write(1).message(), "services enable monitoring.googleapis.com"));
}

TEST_F(WriteSeriesTest, WhatIsNoSeriesIsAnError) {
  for (const char* line : {"", "{}", R"({"workload_id":"c/7","metric":{},"valueType":1,"value":{}})"})
    EXPECT_TRUE(absl::IsInvalidArgument(writer_.Take(line))) << line;
}

TEST_F(GoogleCloudTest, ProjectsAndZones) {
  EXPECT_EQ(*ParseProject("projects/lab-1"), "lab-1");
  EXPECT_EQ(*ParseProject("projects/-"), "-");
  for (const char* wrong : {"", "lab-1", "projects/", "projects/a b", "projects/a/logs/b", "projects/../x"})
    EXPECT_FALSE(ParseProject(wrong).ok()) << wrong;
  metadata_ = Answer(200, "projects/123/zones/us-east5-a\n");
  EXPECT_EQ(*ZoneOfMachine(world_), "us-east5-a");
  flavor_ = "";
  const absl::Status other_cloud = ZoneOfMachine(world_).status();
  EXPECT_TRUE(absl::StrContains(other_cloud.message(), "--location")) << other_cloud;
  flavor_ = "Google";
  metadata_ = Answer(200, "a \"zone\"");
  EXPECT_FALSE(ZoneOfMachine(world_).ok());
}

TEST_F(GoogleCloudTest, TheDoctorSaysThatTheRoleCannotBeTried) {
  MonitoringService service = *MonitoringService::Connect(world_);
  metadata_ = Answer(200, R"({"access_token":"t","expires_in":3599})");
  std::vector<CloudFinding> findings;
  EXPECT_FALSE(
      CheckMonitoring(world_, service, "lab-1", [&](const CloudFinding& one) { findings.push_back(one); }));
  EXPECT_TRUE(requests_.empty()) << "nothing is written";
  EXPECT_TRUE(absl::StrContains(findings.at(1).what, "lacks monitoring.write"));
  EXPECT_FALSE(findings.back().tried);
}

}  // namespace
}  // namespace goodput
