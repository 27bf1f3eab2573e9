// Telemetry for OpenTelemetry: ids, encodings, sums, retries, targets, and the file of what was sent.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "tests/spank/temp_folder.h"
#include "tests/unit/run_builder.h"
#include "tools/sources/telemetry/delivery.h"
#include "tools/sources/telemetry/gpu_time.h"
#include "tools/sources/telemetry/otlp_request.h"
#include "tools/sources/telemetry/run_spans.h"
#include "tools/sources/telemetry/sent_state.h"
#include "tools/sources/telemetry/targets.h"

namespace goodput {
namespace {

// --- Spans

RunInfo Info(const std::string& cluster) {
  RunInfo info;
  info.cluster = cluster;
  info.job_id_text = "7";
  return info;
}

// Two attempts of job 7; the first is lost with its node.
void Describe(RunBuilder& run) {
  run.Attempt(7).Submitted(0).Started(10).Ready(12).Gpus(8);
  run.Last().SrunKilled(0, 15, 115).Steps(0, 9, 15, 10).Ended(116, "NODE_FAIL");
  run.Attempt(7).Submitted(116).Started(130).Ready(131).Gpus(8);
  run.Last().Srun(0, 135, 235, 0).Steps(5, 14, 135, 10).Ended(236, "COMPLETED");
}

std::vector<OtlpSpan> SpansIn(const std::vector<SpanGroup>& groups) {
  std::vector<OtlpSpan> spans;
  for (const SpanGroup& group : groups) spans.insert(spans.end(), group.spans.begin(), group.spans.end());
  return spans;
}

TEST(RunSpans, AreATreeInOneTrace) {
  RunBuilder run;
  Describe(run);
  const Timeline timeline = run.Build();
  const std::vector<OtlpSpan> spans = SpansIn(SpansOfRun(Info("a"), timeline));
  std::map<std::string, std::string> names;
  for (const OtlpSpan& span : spans) {
    EXPECT_EQ(span.trace_id.size(), 16U);
    EXPECT_EQ(span.span_id.size(), 8U);
    EXPECT_EQ(span.trace_id, spans.front().trace_id);
    EXPECT_LE(span.begin, span.end);
    EXPECT_TRUE(names.emplace(span.span_id, span.name).second) << span.name;
  }
  std::multiset<std::string> edges;
  for (const OtlpSpan& span : spans)
    edges.insert((span.parent_id.empty() ? "" : names.at(span.parent_id)) + ">" + span.name);
  EXPECT_EQ(edges, (std::multiset<std::string>{">run", "attempt>program", "attempt>program",
                                               "program>interruption", "run>attempt", "run>attempt"}));
}

TEST(RunSpans, HaveTheSameIdsAgainAndOthersElsewhere) {
  RunBuilder first;
  Describe(first);
  RunBuilder second;
  Describe(second);
  const Timeline one = first.Build();
  const Timeline two = second.Build();
  const std::vector<OtlpSpan> spans = SpansIn(SpansOfRun(Info("a"), one));
  const std::vector<OtlpSpan> again = SpansIn(SpansOfRun(Info("a"), two));
  const std::vector<OtlpSpan> elsewhere = SpansIn(SpansOfRun(Info("b"), two));
  ASSERT_EQ(spans.size(), again.size());
  for (std::size_t i = 0; i < spans.size(); ++i) {
    EXPECT_EQ(spans[i].span_id, again[i].span_id);
    EXPECT_EQ(spans[i].trace_id, again[i].trace_id);
    EXPECT_NE(spans[i].span_id, elsewhere[i].span_id);
    EXPECT_NE(spans[i].trace_id, elsewhere[i].trace_id);
  }
}

// The ids are a promise to whoever has spans of an earlier release.
TEST(RunSpans, KeepTheIdsOfEarlierReleases) {
  RunBuilder run;
  Describe(run);
  const Timeline timeline = run.Build();
  const std::vector<OtlpSpan> spans = SpansIn(SpansOfRun(Info("a"), timeline));
  EXPECT_EQ(absl::BytesToHexString(spans.front().trace_id), "62bce30752c45a74af46c00ab7d9066e");
  EXPECT_EQ(absl::BytesToHexString(spans.front().span_id), "1f190fd267c856ec");
}

TEST(RunSpans, OfARunThatContinuesAreThoseOfEndedAttempts) {
  RunBuilder run;
  run.Attempt(7).Submitted(0).Started(10).Ended(116, "NODE_FAIL");
  run.Attempt(7).Submitted(116).Started(130);
  const Timeline timeline = run.Build();
  const std::vector<SpanGroup> groups = SpansOfRun(Info("a"), timeline);
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(groups.front().spans.front().name, "attempt");
  EXPECT_EQ(groups.front().end, At(116));
}

TEST(RunSpans, OfARunThatWaitsAgainAreThoseOfEndedAttempts) {
  RunBuilder run;
  run.Attempt(7).Submitted(0).Started(10).Ended(116, "NODE_FAIL");
  run.Attempt(7).Submitted(116).State("PENDING");
  const Timeline timeline = run.Build();
  const std::vector<SpanGroup> groups = SpansOfRun(Info("a"), timeline);
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(groups.front().spans.front().name, "attempt");
}

TEST(RunSpans, AnInterruptionIsAnErrorUnlessItWasPlanned) {
  RunBuilder run;
  Describe(run);
  Timeline timeline = run.Build();
  ASSERT_EQ(timeline.interruptions.size(), 1U);
  const auto errors = [&] {
    std::multiset<std::string> of;
    for (const OtlpSpan& span : SpansIn(SpansOfRun(Info("a"), timeline))) {
      if (!span.error.empty()) of.insert(span.name + " " + span.error);
    }
    return of;
  };
  EXPECT_EQ(errors(),
            (std::multiset<std::string>{"attempt node_fail", "interruption node_fail", "program node_fail"}));
  timeline.interruptions.front().planned = true;
  EXPECT_TRUE(errors().empty());
}

TEST(RunSpans, OfARunThatWentOnHaveAnotherKeyButTheSameId) {
  RunBuilder early;
  early.Attempt(7).Submitted(0).Started(10).Ended(116, "COMPLETED");
  const Timeline before = early.Build();
  RunBuilder late;
  late.Attempt(7).Submitted(0).Started(10).Ended(116, "COMPLETED");
  late.Attempt(8).Submitted(200).Started(210).Ended(300, "COMPLETED");
  const Timeline after = late.Build();
  const SpanGroup one = SpansOfRun(Info("a"), before).back();
  const SpanGroup two = SpansOfRun(Info("a"), after).back();
  EXPECT_NE(one.key, two.key);
  EXPECT_EQ(one.spans.front().span_id, two.spans.front().span_id);
  EXPECT_EQ(SpansOfRun(Info("a"), before).front().key, SpansOfRun(Info("a"), after).front().key);
}

// --- Encodings

OtlpSpan AnySpan() {
  OtlpSpan span;
  span.trace_id = std::string(16, '\x01');
  span.span_id = std::string(8, '\x02');
  span.parent_id = std::string(8, '\x03');
  span.name = "run";
  span.begin = 1;
  span.end = 1'790'000'000'123'456'789;
  span.attributes = {{"t", std::string("a\"b")}, {"i", std::int64_t{-3}}, {"d", 0.5}, {"b", true}};
  span.error = "cause";
  return span;
}

TEST(OtlpRequest, JsonHasStringsForLongNumbersAndHexForIds) {
  EXPECT_EQ(
      EncodeSpan(AnySpan(), OtlpProtocol::kJson),
      R"({"traceId":"01010101010101010101010101010101","spanId":"0202020202020202",)"
      R"("parentSpanId":"0303030303030303","name":"run","kind":1,"startTimeUnixNano":"1",)"
      R"("endTimeUnixNano":"1790000000123456789","attributes":[{"key":"t","value":{"stringValue":"a\"b"}},)"
      R"({"key":"i","value":{"intValue":"-3"}},{"key":"d","value":{"doubleValue":0.5}},)"
      R"({"key":"b","value":{"boolValue":true}}],"status":{"message":"cause","code":2}})");
}

TEST(OtlpRequest, ProtobufIsByteForByteThatOfTheProtocol) {
  OtlpPoint point{{{"b", std::string("x")}}, 0.5, 1, 2};
  EXPECT_EQ(absl::BytesToHexString(EncodePoint(point, OtlpProtocol::kProtobuf)),
            "11"
            "0100000000000000"
            "19"
            "0200000000000000"
            "21"
            "000000000000e03f"
            "3a08"
            "0a0162"
            "1203"
            "0a0178");
  point.start = 0;
  EXPECT_EQ(absl::BytesToHexString(EncodePoint(point, OtlpProtocol::kProtobuf)).substr(0, 2), "19");
}

TEST(OtlpRequest, ReadsWhatAServerDidNotTake) {
  const std::string json = R"({"partialSuccess":{"rejectedSpans":"12","errorMessage":"old"}})";
  EXPECT_EQ(ReadPartialSuccess(json, OtlpProtocol::kJson).rejected, 12);
  EXPECT_EQ(ReadPartialSuccess(json, OtlpProtocol::kJson).message, "old");
  const std::string points = R"({"partialSuccess":{"rejectedDataPoints":3}})";
  EXPECT_EQ(ReadPartialSuccess(points, OtlpProtocol::kJson).rejected, 3);
  const std::string protobuf("\x0a\x08\x08\xac\x02\x12\x03old", 10);
  EXPECT_EQ(ReadPartialSuccess(protobuf, OtlpProtocol::kProtobuf).rejected, 300);
  EXPECT_EQ(ReadPartialSuccess(protobuf, OtlpProtocol::kProtobuf).message, "old");
}

TEST(OtlpRequest, AnAnswerThatIsNoneRejectsNothing) {
  const std::string protobuf("\x0a\x08\x08\xac\x02\x12\x03old", 10);
  for (const OtlpProtocol protocol : {OtlpProtocol::kJson, OtlpProtocol::kProtobuf}) {
    for (const std::string& body :
         {std::string(), std::string("<html>"), std::string("{}"), std::string(64, '\xff')})
      EXPECT_EQ(ReadPartialSuccess(body, protocol).rejected, 0) << body;
    for (std::size_t i = 0; i < protobuf.size(); ++i)
      (void)ReadPartialSuccess(protobuf.substr(0, i), protocol);
  }
}

// --- Sums

RunShare Share(const std::string& account, Bucket bucket, GpuNs gpu_ns) {
  RunShare share;
  share.account = account;
  share.partition = "p";
  share.gpu_ns = {{bucket, gpu_ns}};
  return share;
}

TEST(GpuTime, SumsNeverFallAndRiseAgainFromWhereTheyWouldBe) {
  GpuTimeSums sums;
  const GpuTimeKey stall{"a", "p", Bucket::kStall};
  RaiseSums({Share("a", Bucket::kStall, 10), Share("a", Bucket::kStall, 5)}, sums);
  EXPECT_EQ(static_cast<int>(sums.at(stall)), 15);
  RaiseSums({Share("a", Bucket::kStall, 9), Share("a", Bucket::kProductive, 6)}, sums);
  EXPECT_EQ(static_cast<int>(sums.at(stall)), 15);
  EXPECT_EQ(static_cast<int>(sums.at({"a", "p", Bucket::kProductive})), 6);
  RaiseSums({Share("a", Bucket::kStall, 9), Share("a", Bucket::kStall, 7)}, sums);
  EXPECT_EQ(static_cast<int>(sums.at(stall)), 16);
}

TEST(GpuTime, ThereAreOnlySoManyGroupsAndTheyStay) {
  std::vector<RunShare> shares;
  for (std::size_t i = 0; i < kMostGpuTimeGroups + 10; ++i)
    shares.push_back(Share("a" + std::to_string(i), Bucket::kStall, 1));
  GpuTimeSums sums;
  RaiseSums(shares, sums);
  EXPECT_EQ(sums.size(), kMostGpuTimeGroups + 1);
  EXPECT_EQ(static_cast<int>(sums.at({"other", "other", Bucket::kStall})), 10);
  RaiseSums(shares, sums);
  EXPECT_EQ(static_cast<int>(sums.at({"other", "other", Bucket::kStall})), 10);
}

TEST(GpuTime, SecondsAreExact) {
  EXPECT_EQ(InGpuSeconds(1), 1e-9);
  EXPECT_EQ(InGpuSeconds(9'662'978'216), 9.662978216);
  EXPECT_EQ(InGpuSeconds(static_cast<GpuNs>(1) << 80U), 1208925819614629.174706176);
}

TEST(GpuTime, RatiosAreWeightedAndOfRecentRuns) {
  RunShare small;
  small.end = 100;
  small.ratios = {{"mpg", 0.2, 1}};
  RunShare large = small;
  large.ratios = {{"mpg", 0.6, 3}, {"ettr", 0.4, 3}};
  RunShare old = large;
  old.end = 50;
  old.ratios = {{"mpg", 0.0, 1000}};
  const auto means = MeanRatios({small, large, old}, 110, 60);
  EXPECT_DOUBLE_EQ(means.at("mpg"), 0.5);
  EXPECT_DOUBLE_EQ(means.at("ettr"), 0.4);
  EXPECT_EQ(means.size(), 2U);
}

// --- Answers

Delivery Judge(int code, const std::string& retry_after = "") {
  HttpAnswer answer;
  answer.code = code;
  if (!retry_after.empty()) answer.headers["retry-after"] = retry_after;
  return JudgeAnswer(answer, OtlpProtocol::kProtobuf, absl::FromUnixSeconds(784'111'777 - 30));
}

TEST(Delivery, FollowsTheProtocol) {
  for (const int code : {200, 202, 204}) EXPECT_EQ(Judge(code).what, Delivery::What::kDelivered) << code;
  for (const int code : {429, 502, 503, 504}) EXPECT_EQ(Judge(code).what, Delivery::What::kRetry) << code;
  for (const int code : {301, 400, 401, 403, 404, 413, 415, 500, 501})
    EXPECT_EQ(Judge(code).what, Delivery::What::kRefused) << code;
  HttpAnswer none;
  none.status = absl::UnavailableError("no");
  EXPECT_EQ(JudgeAnswer(none, OtlpProtocol::kJson, absl::Now()).what, Delivery::What::kRetry);
}

TEST(Delivery, SaysWhyAServerRefused) {
  HttpAnswer answer;
  answer.code = 401;
  const auto reason = [&](const std::string& type, const std::string& body) {
    answer.headers["content-type"] = type;
    answer.body = body;
    return JudgeAnswer(answer, OtlpProtocol::kJson, absl::Now()).reason;
  };
  EXPECT_EQ(reason("application/json; charset=utf-8", R"({"code":16,"message":"bad token"})"), "bad token");
  EXPECT_EQ(reason("application/x-protobuf", std::string("\x08\x10\x12\x03no!", 7)), "no!");
  EXPECT_EQ(reason("text/plain", "no such path\nmore"), "no such path");
  EXPECT_EQ(reason("text/html", "<html>"), "");
  EXPECT_EQ(reason("application/json", "{"), "");
  EXPECT_EQ(reason("text/plain", std::string(5000, 'x')).size(), 200U);
}

TEST(Delivery, WaitsAsLongAsTheServerAsks) {
  EXPECT_EQ(Judge(429, "7").retry_after, absl::Seconds(7));
  EXPECT_EQ(Judge(503, "Sun, 06 Nov 1994 08:49:37 GMT").retry_after, absl::Seconds(30));
  EXPECT_EQ(Judge(503, "soon").retry_after, std::nullopt);
  EXPECT_EQ(Judge(503, "-1").retry_after, absl::ZeroDuration());
  EXPECT_EQ(Judge(503, "99999999999").retry_after, absl::Hours(1));
  EXPECT_EQ(Judge(400, "7").retry_after, std::nullopt);
}

TEST(Delivery, BackoffDoublesUpToALimitAndVaries) {
  EXPECT_EQ(Backoff(1, 0), absl::Seconds(1));
  EXPECT_EQ(Backoff(2, 0), absl::Seconds(2));
  EXPECT_EQ(Backoff(3, 1), absl::Seconds(2));
  EXPECT_EQ(Backoff(1000, 0), absl::Seconds(30));
}

// --- Targets

absl::StatusOr<OtlpTargets> Targets(const Config& config, const std::map<std::string, std::string>& variables,
                                    const std::string& headers = "") {
  return FindTargets(config, headers, [&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

TEST(Targets, AreThoseOfTheConfigurationOrOfTheEnvironment) {
  Config config;
  EXPECT_TRUE(absl::IsNotFound(Targets(config, {}).status()));
  config.otlp = "https://h:4318/base/";
  EXPECT_EQ(Targets(config, {})->metrics->url, "https://h:4318/base/v1/metrics");
  EXPECT_EQ(Targets(config, {})->traces->url, "https://h:4318/base/v1/traces");
  const auto own = Targets(config, {{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://e"},
                                    {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://t/as/it/is"}});
  EXPECT_EQ(own->metrics->url, "http://e/v1/metrics");
  EXPECT_EQ(own->traces->url, "http://t/as/it/is");
  EXPECT_FALSE(Targets(config, {{"OTEL_TRACES_EXPORTER", "none"}})->traces);
  config.otlp_metrics = false;
  EXPECT_FALSE(Targets(config, {})->metrics);
}

TEST(Targets, HaveProtocolHeadersAndTimeOfTheirSignal) {
  Config config;
  config.otlp = "http://h";
  const auto targets = Targets(config,
                               {{"OTEL_EXPORTER_OTLP_PROTOCOL", "http/json"},
                                {"OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", "http/protobuf"},
                                {"OTEL_EXPORTER_OTLP_HEADERS", "a=1%2C2 , b = 3"},
                                {"OTEL_EXPORTER_OTLP_TIMEOUT", "2500"},
                                {"OTEL_EXPORTER_OTLP_COMPRESSION", "none"},
                                {"OTEL_RESOURCE_ATTRIBUTES", "k=v%20w"}},
                               "# comment\nAuthorization: Bearer x:y\n");
  EXPECT_EQ(targets->traces->protocol, OtlpProtocol::kJson);
  EXPECT_EQ(targets->metrics->protocol, OtlpProtocol::kProtobuf);
  EXPECT_EQ(targets->traces->headers,
            (std::vector<std::string>{"Authorization: Bearer x:y", "a: 1,2", "b: 3"}));
  EXPECT_EQ(targets->traces->timeout, absl::Milliseconds(2500));
  EXPECT_FALSE(targets->traces->gzip);
  EXPECT_EQ(std::get<std::string>(targets->resource.front().value), "v w");
}

TEST(Targets, RefuseWhatCannotBeAndRepeatNoSecret) {
  Config config;
  config.otlp = "http://h";
  for (const auto& [name, value] :
       std::map<std::string, std::string>{{"OTEL_EXPORTER_OTLP_ENDPOINT", "ftp://secret"},
                                          {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://u:secret@h"},
                                          {"OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"},
                                          {"OTEL_EXPORTER_OTLP_HEADERS", "a=secret%0d%0ab: c"}}) {
    const absl::Status status = Targets(config, {{name, value}}).status();
    EXPECT_FALSE(status.ok()) << name;
    EXPECT_EQ(std::string(status.message()).find("secret"), std::string::npos) << status;
  }
  EXPECT_FALSE(Targets(config, {}, "no colon").ok());
}

TEST(Targets, AFileOfSecretsIsItsOwnersAlone) {
  const TempFolder folder;
  const std::string path = folder.path() + "/headers";
  std::ofstream(path) << "a: b\n";
  chmod(path.c_str(), 0640);
  EXPECT_TRUE(absl::IsPermissionDenied(ReadHeadersFile(path).status()));
  chmod(path.c_str(), 0600);
  EXPECT_EQ(*ReadHeadersFile(path), "a: b\n");
  EXPECT_EQ(*ReadHeadersFile(""), "");
  EXPECT_FALSE(ReadHeadersFile(folder.path()).ok());
}

// --- What was sent

SentState AnyState() {
  SentState state;
  state.start = 1;
  state.earliest = 2;
  state.last_point = 3;
  state.since = 4;
  state.waiting = 5;
  state.sums[{"tab\there \xff", "line\nend", Bucket::kStall}] = (static_cast<GpuNs>(1) << 80U) + 7;
  state.sums[{"", "", Bucket::kHold}] = 0;
  state.groups["\x01\x02\x03\x04\x05\x06\x07\x08"] = 1'790'000'000;
  state.metrics = {1, 2, 3, 4, "a\tproblem"};
  state.traces = {5, 6, 7, 8, ""};
  return state;
}

TEST(SentState, SurvivesTheFile) {
  const TempFolder folder;
  const std::string path = folder.path() + "/state";
  EXPECT_FALSE((*LoadSentState(path)).has_value());
  ASSERT_TRUE(SaveSentState(path, AnyState()).ok());
  const absl::StatusOr<std::optional<SentState>> read = LoadSentState(path);
  ASSERT_TRUE(read.ok() && read->has_value());
  EXPECT_EQ(FormatSentState(**read), FormatSentState(AnyState()));
  EXPECT_EQ((*read)->groups, AnyState().groups);
  EXPECT_EQ((*read)->metrics.problem, "a\tproblem");
  struct stat about {};
  ASSERT_EQ(stat(path.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777U, 0600U);
}

TEST(SentState, IsNoticedIfItIsCutOrChangedAnywhere) {
  const std::string text = FormatSentState(AnyState());
  ASSERT_TRUE(ParseSentState(text).ok());
  for (std::size_t i = 0; i < text.size(); ++i) {
    EXPECT_TRUE(absl::IsDataLoss(ParseSentState(text.substr(0, i)).status())) << i;
    std::string changed = text;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_TRUE(absl::IsDataLoss(ParseSentState(changed).status())) << i;
  }
}

TEST(SentState, ForgetsWhatIsOldAndTooMuch) {
  SentState state;
  for (int i = 0; i < 10; ++i) state.groups["k" + std::to_string(i)] = 100 + i;
  Forget(105 * kSecond, state);
  EXPECT_EQ(state.groups.size(), 5U);
  EXPECT_EQ(state.since, 105 * kSecond);
  Forget(0, state);
  EXPECT_EQ(state.since, 105 * kSecond);
  for (std::size_t i = 0; i <= kMostSentGroups; ++i)
    state.groups["m" + std::to_string(i)] = 1000 + static_cast<std::int64_t>(i);
  Forget(0, state);
  EXPECT_LE(state.groups.size(), kMostSentGroups);
  EXPECT_GT(state.since, 1000 * kSecond);
}

}  // namespace
}  // namespace goodput
