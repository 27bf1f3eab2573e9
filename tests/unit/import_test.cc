// Logs of other programs: read to the nanosecond, separated by attempt and writer, and exported without loss.
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "sql/tables/accounting.h"
#include "sql/tables/evidence.h"
#include "sql/tables/imports.h"
#include "sql/tables/jobs.h"
#include "tests/spank/temp_folder.h"
#include "tests/unit/cases.h"
#include "tests/unit/run_builder.h"
#include "tools/accounting/runs/load_run.h"
#include "tools/base/decimal.h"
#include "tools/sources/import_export/google_export.h"
#include "tools/sources/import_export/google_fold.h"
#include "tools/sources/import_export/google_import.h"
#include "tools/sources/import_export/input.h"
#include "tools/sources/import_export/json_stream.h"
#include "tools/sources/import_export/time_order.h"
#include "tools/sources/logs/google_entry.h"
#include "tools/sources/logs/step_entry.h"

namespace goodput {
namespace {

// ---- numbers ----

TEST(Decimal, TimesAreExactToTheNanosecond) {
  EXPECT_EQ(ParseDecimal("1735000000.123456", 9), 1'735'000'000'123'456'000);
  EXPECT_EQ(ParseDecimal("1735000000", 9), 1'735'000'000'000'000'000);
  EXPECT_EQ(ParseDecimal("1.735000000123456789e9", 9), 1'735'000'000'123'456'789);
  EXPECT_EQ(ParseDecimal("1735000000.1234567894", 9), 1'735'000'000'123'456'789);
  EXPECT_EQ(ParseDecimal("1735000000.1234567895", 9), 1'735'000'000'123'456'790);
  EXPECT_EQ(ParseDecimal("1735000000123456789E-9", 9), 1'735'000'000'123'456'789);
  EXPECT_EQ(ParseDecimal("0.0000000000000000000000000004", 9), 0);
  EXPECT_EQ(ParseDecimal("0.0000000005", 9), 1);
  EXPECT_EQ(ParseDecimal("-1.5", 0), -2);
  EXPECT_EQ(ParseDecimal("000000000000000000000000012.000000000000000000000000000000", 0), 12);
  EXPECT_EQ(ParseDecimal("0e999999999999999999999", 9), 0);
  for (const char* none : {"", "-", ".5", "5.", "1e", "1e+", "NaN", "Infinity", "0x10", "1 ", " 1", "1,5",
                           "1e400", "9223372036854775808", "99999999999999999999999999999"}) {
    EXPECT_EQ(ParseDecimal(none, 0), std::nullopt) << none;
  }
}

TEST(Decimal, WhatIsPrintedIsReadBack) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 2000; ++i) {
    const auto ns = static_cast<std::int64_t>(random() >> (2 + random() % 62));
    std::string text;
    AppendSeconds(ns, text);
    EXPECT_EQ(text.size() - text.find('.'), 10U) << text;
    EXPECT_EQ(ParseDecimal(text, 9), ns) << text;
  }
}

// ---- the values of a file ----

class ImportTest : public testing::Test {
 protected:
  std::string Write(const std::string& text, const std::string& name = "log") {
    const std::string path = folder_.path() + "/" + name;
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  static Input Opened(const std::string& path) {
    absl::StatusOr<Input> input = Input::Open(path);
    EXPECT_TRUE(input.ok()) << input.status();
    return *std::move(input);
  }
  // "text" or "!problem", in order.
  std::vector<std::string> Values(const std::string& text) {
    const Input input = Opened(Write(text));
    EntryStream stream(input);
    std::vector<std::string> values;
    EntryText value;
    while (true) {
      const absl::StatusOr<bool> more = stream.Next(value);
      EXPECT_TRUE(more.ok()) << more.status();
      if (!more.ok() || !*more) break;
      if (value.problem.empty()) {
        EXPECT_EQ(text.substr(static_cast<std::size_t>(value.offset), value.text.size()), value.text);
      }
      values.push_back(value.problem.empty() ? std::string(value.text) : "!" + std::string(value.problem));
      if (values.size() > 10'000) break;
    }
    return values;
  }
  TempFolder folder_;
};

using List = std::vector<std::string>;

TEST_F(ImportTest, AValueALine) {
  EXPECT_EQ(Values("\xef\xbb\xbf{\"a\":1}\r\n\r\n  \n{\"b\":2}\nword\n{\"c\":"),
            (List{"{\"a\":1}\r", "{\"b\":2}", "word", "{\"c\":"}));
  EXPECT_EQ(Values(""), List{});
  EXPECT_EQ(Values("\n\n"), List{});
}

TEST_F(ImportTest, AnArrayOverManyLines) {
  EXPECT_EQ(Values("[\n  {\n    \"a\": \"]},\\\"{\"\n  },\n  {\"b\": [1, {}]}\n]\n"),
            (List{"{\n    \"a\": \"]},\\\"{\"\n  }", "{\"b\": [1, {}]}"}));
  EXPECT_EQ(Values("[]"), List{});
  EXPECT_EQ(Values("[{\"a\":1}][{\"b\":2}]\n{\"c\":3}"), (List{"{\"a\":1}", "{\"b\":2}", "{\"c\":3}"}));
  EXPECT_EQ(Values("{\n\"a\": 1\n}\n{\n\"b\": 2\n}\n"), (List{"{\n\"a\": 1\n}", "{\n\"b\": 2\n}"}));
}

TEST_F(ImportTest, WhatDoesNotEndIsSaid) {
  EXPECT_EQ(Values("[{\"a\":1},{\"b\":"), (List{"{\"a\":1}", "!truncated"}));
  EXPECT_EQ(Values("[{\"a\":1},"), (List{"{\"a\":1}", "!the array is not closed"}));
  EXPECT_EQ(Values("[}}]"), (List{"}", "}"}));
  EXPECT_EQ(Values("{\n\"a\": "), List{"!truncated"});
}

TEST_F(ImportTest, WhatIsTooLongIsSkippedAndTheRestRead) {
  const std::string text(3'000'000, 'x');
  EXPECT_EQ(Values(text + "\n{\"a\":1}\n"), (List{"!longer than an entry may be", "{\"a\":1}"}));
  EXPECT_EQ(Values("[{\"t\":\"" + text + "\"},{\"a\":1}]"),
            (List{"!longer than an entry may be", "{\"a\":1}"}));
  EXPECT_EQ(Values("{\"a\":1}\n" + text), (List{"{\"a\":1}", "!longer than an entry may be"}));
}

TEST_F(ImportTest, WhereTheWindowEndsMakesNoDifference) {
  std::string lines;
  std::string array = "[";
  List expected;
  for (int i = 0; i < 40'000; ++i) {
    const std::string value = "{\"n\":" + std::to_string(i) + ",\"t\":\"" +
                              std::string(static_cast<std::size_t>(i % 97), '}') + "\"}";
    if (expected.size() < 9'000) {
      lines += value + "\n";
      array += (i > 0 ? ",\n" : "\n") + value;
      expected.push_back(value);
    }
  }
  lines = std::string(1'100'000, ' ') + "\n" + lines;
  array = std::string(1'048'570, ' ') + array + "]";
  EXPECT_EQ(Values(lines), expected);
  EXPECT_EQ(Values(array), expected);
}

// ---- one entry ----

class Entry : public testing::Test {
 protected:
  // The problem, or "" if there is none; "none" for an object that is not an entry.
  std::string Parse(const std::string& json) {
    padded_ = json + std::string(GoogleEntryParser::kPadding, '}');
    const absl::StatusOr<bool> taken =
        parser_.Parse(std::string_view(padded_).substr(0, json.size()), entry_);
    if (!taken.ok()) return std::string(taken.status().message());
    return *taken ? "" : "none";
  }
  GoogleEntryParser parser_;
  GoogleEntry entry_;
  std::string padded_;
};

TEST_F(Entry, AStep) {
  ASSERT_EQ(Parse(R"({"job_name":"m\u00e9","step_count":12,"step_start_time":1735000000.123456})"), "");
  EXPECT_EQ(entry_.job_name, "mé");
  EXPECT_EQ(entry_.step, 12);
  EXPECT_EQ(entry_.time(), 1'735'000'000'123'456'000);
}

TEST_F(Entry, TheShortWayTakesNothingElse) {
  for (const char* text : {R"({"job_name": "a", "step_count": 12, "step_start_time": 1735000000.123456})",
                           R"( { "step_start_time" : 1735000000 , "step_count" : 0 } )",
                           R"({"step_count":1,"step_start_time":0.000000001})",
                           R"({"step_count":999999999999999,"step_start_time":4611686017})"}) {
    PlainStep plain;
    EXPECT_TRUE(ReadPlainStep(text, plain)) << text;
    padded_ = std::string(text) + std::string(GoogleEntryParser::kPadding, '9');
    const auto taken =
        parser_.ParseJson(std::string_view(padded_).substr(0, std::string_view(text).size()), entry_);
    ASSERT_TRUE(taken.ok() && *taken) << text << taken.status();
    EXPECT_EQ(plain.step, entry_.step) << text;
    EXPECT_EQ(plain.start, entry_.step_start) << text;
    EXPECT_EQ(plain.job_name, entry_.job_name) << text;
  }
  for (const char* text :
       {R"({"step_count":01,"step_start_time":1})", R"({"step_count":1.5,"step_start_time":1})",
        R"({"step_count":1,"step_start_time":1.})", R"({"step_count":1,"step_start_time":1.0123456789})",
        R"({"step_count":1,"step_start_time":1e9})", R"({"step_count":1,"step_start_time":1,})",
        R"({"step_count":1,"step_start_time":1}})", R"({"step_count":1,"step_count":2,"step_start_time":1})",
        R"({"step_count":1,"step_start_time":1,"x":1})", R"({"step_count":1})",
        R"({"job_name":"a\"","step_count":1,"step_start_time":1})",
        R"({"step_count":1 2,"step_start_time":1})", R"({"step_count":-1,"step_start_time":1})", R"({)",
        ""}) {
    PlainStep plain;
    EXPECT_FALSE(ReadPlainStep(text, plain)) << text;
  }
}

TEST_F(Entry, OneAfterTheOtherAreReadAsEachAlone) {
  for (const char* json :
       {R"({"job_name":"a","step_count":1,"step_start_time":5.5})",
        R"({"job_name":"a","step_count":20,"step_start_time":6})",
        R"({"job_name":"b","step_count":20,"step_start_time":7.25})",
        R"({"step_start_time":8,"step_count":3})", R"({"step_start_time":9,"step_count":4} )",
        R"({"job_end_time":10})", R"({"step_start_time":11,"step_count":5})",
        R"({"step_start_time":12,"step_count":5.0})", R"({"step_start_time":13,"step_count":05})",
        R"({"step_start_time":14,"step_count":6}x)", R"({"step_start_time":15.,"step_count":6})",
        R"({"step_start_time":16,"step_count":7})"}) {
    const std::string problem = Parse(json);
    const GoogleEntry entry = entry_;
    const std::string job(entry.job_name);
    GoogleEntry alone;
    const std::string padded = json + std::string(GoogleEntryParser::kPadding, ' ');
    const auto taken = GoogleEntryParser().ParseJson(
        std::string_view(padded).substr(0, std::string_view(json).size()), alone);
    EXPECT_EQ(problem.empty(), taken.ok()) << json;
    if (!taken.ok()) continue;
    EXPECT_EQ(entry.step, alone.step) << json;
    EXPECT_EQ(entry.time(), alone.time()) << json;
    EXPECT_EQ(entry.job_end, alone.job_end) << json;
    EXPECT_EQ(job.empty(), std::string_view(json).find("job_name") == std::string_view::npos) << json;
  }
}

TEST_F(Entry, NumbersAsOtherProgramsWriteThem) {
  ASSERT_EQ(Parse(R"({"step_count":"12","step_start_time":"1.735e9"})"), "");
  EXPECT_EQ(entry_.step, 12);
  EXPECT_EQ(entry_.time(), 1'735'000'000 * kSecond);
  ASSERT_EQ(Parse(R"({"step_count":12.0,"step_start_time":1735000000})"), "");
  EXPECT_EQ(entry_.step, 12);
  for (const char* step : {"12.5", "-1", "1e300", "9007199254740992", "true", "[]", "{}", "\"\"", "\"x\""}) {
    EXPECT_EQ(Parse(std::string(R"({"step_start_time":1,"step_count":)") + step + "}"),
              "`step_count` is not a step number")
        << step;
  }
  EXPECT_NE(Parse(R"({"step_count":NaN,"step_start_time":1})"), "");
  EXPECT_EQ(Parse(R"({"step_count":1,"step_start_time":-5})"), "`step_start_time` is no time");
  EXPECT_EQ(Parse(R"({"step_count":1,"step_start_time":1e12})"), "`step_start_time` is no time");
  EXPECT_EQ(Parse(R"({"step_count":1})"), "`step_count` without `step_start_time`");
  EXPECT_EQ(Parse(R"({"step_start_time":1})"), "`step_start_time` without `step_count`");
}

TEST_F(Entry, InsideACloudLoggingEntry) {
  ASSERT_EQ(Parse(R"({"insertId":"x","jsonPayload":{"job_name":"llm","job_start_time":1.7350000001234567E9},
      "labels":{"a":"b"},"logName":"projects/p/logs/goodput","timestamp":"2024-12-24T00:26:40Z"})"),
            "");
  EXPECT_EQ(entry_.job_start, 1'735'000'000'123'456'700);
  EXPECT_EQ(Parse(R"({"jsonPayload":{"jsonPayload":{"job_start_time":1}}})"), "none");
  EXPECT_EQ(Parse(R"({"jsonPayload":"text"})"), "`jsonPayload` is not an object");
}

TEST_F(Entry, SavesAndRestoresOfOrbax) {
  ASSERT_EQ(Parse(R"({"event_type":"save","step":5,"directory":"gs://b/c","wait_for_prev_start_time":9.5,
      "wait_for_prev_duration_secs":0.25,"checkpointer_blocking_start_time":10.5,"checkpointer_blocking_duration_secs":1,
      "checkpoint_manager_blocking_start_time":10,"checkpoint_manager_blocking_duration_secs":2.5,
      "preemption_received_at":null,"synchronous":false})"),
            "");
  EXPECT_EQ(entry_.checkpoint, GoogleEntry::Checkpoint::kSave);
  EXPECT_EQ(entry_.checkpoint_step, 5);
  EXPECT_EQ(entry_.checkpoint_start, 10 * kSecond);
  EXPECT_EQ(entry_.checkpoint_end, 12'500'000'000);
  EXPECT_EQ(entry_.waited_until, 9'750'000'000);
  EXPECT_TRUE(entry_.asynchronous);
  ASSERT_EQ(Parse(R"({"event_type":"restore","step":5,"checkpoint_manager_start_time":10,
      "checkpoint_manager_duration_secs":3})"),
            "");
  EXPECT_EQ(entry_.checkpoint, GoogleEntry::Checkpoint::kRestore);
  EXPECT_EQ(entry_.checkpoint_end, 13 * kSecond);
  ASSERT_EQ(
      Parse(R"({"event_type":"save","step":null,"directory":"","checkpoint_manager_blocking_start_time":10,
      "checkpoint_manager_blocking_duration_secs":0,"slurm_goodput":{"unfinished":true}})"),
      "");
  EXPECT_EQ(entry_.checkpoint_step, std::nullopt);
  EXPECT_EQ(entry_.checkpoint_end, std::nullopt);
  ASSERT_EQ(Parse(R"({"event_type":"save","checkpoint_manager_blocking_start_time":10,
      "checkpoint_manager_blocking_duration_secs":0})"),
            "");
  EXPECT_EQ(entry_.checkpoint_end, 10 * kSecond) << "of this entry, not of the last";
  EXPECT_NE(Parse(R"({"event_type":"save","checkpoint_manager_blocking_start_time":10,
      "slurm_goodput":{"unfinished":1}})"),
            "");
  EXPECT_EQ(Parse(R"({"event_type":"save","step":5})"), "a save without its start");
  EXPECT_EQ(Parse(R"({"event_type":"emergency","step":5})"), "none");
}

TEST_F(Entry, WhatIsNoEntry) {
  for (const char* text :
       {"{\"step_count\":nt}", "{\"step_count\":nullx}", "{\"job_name\":nul,\"job_start_time\":1}", "", "1",
        "\"x\"", "[]", "null", "{", "{\"a\":", "{\"job_start_time\":1", "{]", "\xff\xfe",
        "{\"job_start_time\":1}{}", "{\"job_start_time\":1} x", "{\"a\":\"\xff\"}"}) {
    EXPECT_NE(Parse(text), "") << text;
    EXPECT_NE(Parse(text), "none") << text;
  }
  EXPECT_EQ(Parse("{}"), "none");
  EXPECT_EQ(Parse(R"({"job_name":"llm"})"), "none");
  EXPECT_EQ(Parse(R"({"custom_badput_event_start_time":1})"), "no `custom_badput_event_type`");
  EXPECT_EQ(Parse(R"({"slurm_goodput":{}})"), "`slurm_goodput` without a time");
  std::string deep;
  for (int i = 0; i < 5000; ++i) deep += "{\"a\":";
  EXPECT_NE(Parse(deep), "");
}

// ---- sorting by time ----

TEST(TimeOrder, SortsMoreThanItHoldsAtOnce) {
  std::mt19937_64 random(3);
  TimeOrder order;
  std::vector<EntryPlace> places;
  for (std::int64_t i = 0; i < 100'000; ++i) {
    places.push_back({static_cast<Ns>(random() % 50'000) * kSecond, static_cast<std::int64_t>(random() % 3),
                      i * 80, static_cast<std::int64_t>(random() % 200)});
  }
  for (const EntryPlace& place : places) order.Add(place);
  std::sort(places.begin(), places.end());
  order.Sort();
  EntryPlace next;
  for (const EntryPlace& place : places) {
    ASSERT_TRUE(order.Next(next));
    ASSERT_FALSE(next < place || place < next);
    ASSERT_EQ(next.length, place.length);
  }
  EXPECT_FALSE(order.Next(next));
}

// ---- whole logs ----

// Writes a log like a program; times are seconds since the run's first moment.
class Log {
 public:
  explicit Log(std::string job = "llm") : job_(std::move(job)) {}
  Log& Start(double s) { return Say("\"job_start_time\":" + Time(s)); }
  Log& End(double s) { return Say("\"job_end_time\":" + Time(s)); }
  Log& Step(std::int64_t number, double s) {
    return Say("\"step_count\":" + std::to_string(number) + ",\"step_start_time\":" + Time(s));
  }
  Log& Steps(std::int64_t first, std::int64_t last, double from, double seconds, std::int64_t every = 1) {
    for (std::int64_t n = first; n <= last; n += every)
      Step(n, from + static_cast<double>(n - first) * seconds);
    return *this;
  }
  Log& Phase(const std::string& name, double from, double to) {
    return PhaseBegins(name, from).PhaseEnds(name, to);
  }
  Log& PhaseBegins(const std::string& name, double s) {
    return Say("\"" + name + "_start_time\":" + Time(s));
  }
  Log& PhaseEnds(const std::string& name, double s) { return Say("\"" + name + "_end_time\":" + Time(s)); }
  Log& Custom(const std::string& type, double from, double to) {
    const std::string of = "\"custom_badput_event_type\":\"" + type + "\",\"custom_badput_event";
    return Say(of + "_start_time\":" + Time(from)).Say(of + "_end_time\":" + Time(to));
  }
  Log& Save(std::int64_t step, double from, double to, const std::string& more = "") {
    return Say("\"event_type\":\"save\",\"step\":" + std::to_string(step) +
               ",\"checkpoint_manager_blocking_start_time\":" + Time(from) +
               ",\"checkpoint_manager_blocking_duration_secs\":" + Number(to - from) + more);
  }
  Log& Restore(std::int64_t step, double from, double to) {
    return Say("\"event_type\":\"restore\",\"step\":" + std::to_string(step) +
               ",\"checkpoint_manager_start_time\":" + Time(from) +
               ",\"checkpoint_manager_duration_secs\":" + Number(to - from));
  }
  Log& Raw(const std::string& line) { return lines_.push_back(line), *this; }
  Log& Shuffle() {
    std::shuffle(lines_.begin(), lines_.end(), std::mt19937_64(5));
    return *this;
  }
  std::string Text() const {
    std::string text;
    for (const std::string& line : lines_) text += line + "\n";
    return text;
  }
  // Like gcloud's output: an array, newest first.
  std::string Gcloud() const {
    std::string text = "[\n";
    for (auto line = lines_.rbegin(); line != lines_.rend(); ++line) {
      text += std::string(line == lines_.rbegin() ? "" : ",\n") +
              "  {\n    \"insertId\": \"a}[\",\n    \"jsonPayload\": " + *line +
              ",\n    \"timestamp\": \"2024-12-24T00:26:40.123Z\"\n  }";
    }
    return text + "\n]\n";
  }
  static std::string Time(double s) {
    std::string text;
    AppendSeconds(At(s), text);
    return text;
  }

 private:
  static std::string Number(double s) {
    std::ostringstream text;
    text.precision(12);
    text << s;
    return text.str();
  }
  Log& Say(const std::string& members) {
    lines_.push_back("{\"job_name\":\"" + job_ + "\"," + members + "}");
    return *this;
  }
  std::string job_;
  std::vector<std::string> lines_;
};

class WholeLog : public ImportTest {
 protected:
  WholeLog() : db_(*Database::Open(folder_.path() + "/goodput.db", Database::Mode::kReadWrite)) {}

  absl::StatusOr<FileImportReport> Import(const std::string& text, const FileImportOptions& options = {},
                                          const std::string& name = "log") {
    return ImportGoogleLog(db_, Opened(Write(text, name)), options);
  }
  // The run of that name, from all its parts.
  goodput::Run Load(const std::string& name) {
    std::vector<JobKey> of_run;
    const auto jobs = KnownJobs(db_);
    EXPECT_TRUE(jobs.ok()) << jobs.status();
    const auto names = RunNames(db_, *jobs);
    EXPECT_TRUE(names.ok()) << names.status();
    for (const auto& [job, run] : *names) {
      if (run == name) of_run.push_back(job);
    }
    absl::StatusOr<goodput::Run> run = LoadRun(db_, of_run, At(5'000'000));
    EXPECT_TRUE(run.ok()) << run.status();
    return run.ok() ? *std::move(run) : goodput::Run();
  }
  std::string Story(const std::string& text, const std::string& name = "llm") {
    const auto report = Import(text);
    EXPECT_TRUE(report.ok()) << report.status();
    const goodput::Run run = Load(name);
    return RunBuilder::Tell(BuildTimeline(run.facts));
  }
  std::int64_t Rows(const std::string& table) {
    Statement count = db_.Prepare("SELECT count(*) FROM " + table);
    EXPECT_TRUE(count.Step()) << count.status();
    return count.Int(0);
  }
  Database db_;
};

TEST_F(WholeLog, OneAttempt) {
  const Log log = Log()
                      .Start(0)
                      .Phase("tpu_init", 0, 3)
                      .Phase("training_prep", 3, 5)
                      .Phase("data_loading", 5, 6)
                      .Steps(0, 4, 10, 10)
                      .Save(4, 60, 62)
                      .Steps(5, 9, 62, 10)
                      .Custom("EVAL", 72.5, 74)
                      .End(113.5);
  const std::string story =
      "startup.init 0-3 | startup.training_prep 3-5 | startup.data_loading 5-6 | startup 6-10 | productive "
      "10-60 | "
      "checkpoint_save 60-62 | productive 62-72.5 | overhead.eval 72.5-74 | productive 74-113.5";
  EXPECT_EQ(Story(log.Text()), story);
  EXPECT_EQ(Story(log.Gcloud()), story) << "gcloud prints an array, newest first";
  EXPECT_EQ(Story(Log(log).Shuffle().Text()), story);
  EXPECT_EQ(Rows("imported"), 1);
  const goodput::Run run = Load("llm");
  for (const Interval& interval : BuildTimeline(run.facts).intervals) {
    EXPECT_TRUE(interval.evidence == Evidence::kLog || interval.evidence == Evidence::kInferred)
        << EvidenceName(interval.evidence);
  }
}

TEST_F(WholeLog, BetweenAttemptsEvenTheAllocationIsUnknown) {
  EXPECT_EQ(Story(Log().Start(0).Steps(0, 4, 10, 10).Start(100).Steps(3, 6, 110, 10).End(150).Text()),
            "startup 0-10 | productive 10-40 | lost_work 40-60 | unobserved.gap 60-100 | startup 100-110 | "
            "productive 110-150")
      << "the first ended, at the latest, one step after its last";
  const Account account = TakeAccount(BuildTimeline(Load("llm").facts));
  EXPECT_FALSE(account.goodput.scheduling);
  EXPECT_FALSE(account.goodput.runtime);
  EXPECT_TRUE(account.goodput.sg_rg);
}

TEST_F(WholeLog, ThatNeverLoggedItsEndEndsWithItsLastStepNotNow) {
  EXPECT_EQ(Story(Log().Start(0).Steps(0, 4, 10, 10).Save(2, 40.5, 41).Text()),
            "startup 0-10 | productive 10-40 | at_risk 40-40.5 | checkpoint_save 40.5-41 | at_risk 41-60");
  const Timeline timeline = BuildTimeline(Load("llm").facts);
  EXPECT_TRUE(timeline.running) << "that it ended is not known";
}

TEST_F(WholeLog, StepsLoggedEveryTenth) {
  EXPECT_EQ(Story(Log().Start(0).Steps(0, 90, 10, 1, 10).Text()), "startup 0-10 | at_risk 10-110");
  EXPECT_EQ(BuildTimeline(Load("llm").facts).steps.executed, 100);
}

TEST_F(WholeLog, ARestartThatDiesBeforeAStepIsAnAttempt) {
  EXPECT_EQ(Story(Log()
                      .Start(0)
                      .Steps(0, 4, 10, 10)
                      .Start(100)
                      .Phase("tpu_init", 100, 104)
                      .Start(200)
                      .Steps(5, 8, 210, 10)
                      .End(250)
                      .Text()),
            "startup 0-10 | productive 10-60 | unobserved.gap 60-100 | startup.init 100-104 | unobserved.gap "
            "104-200 | "
            "startup 200-210 | productive 210-250");
  const Timeline timeline = BuildTimeline(Load("llm").facts);
  EXPECT_EQ(timeline.attempts.size(), 3U);
  EXPECT_EQ(timeline.interruptions.size(), 2U) << "a resume at the next step is one too";
}

TEST_F(WholeLog, SeveralWritersAreOneRun) {
  Log log;
  for (int writer = 0; writer < 4; ++writer) {
    const double lag = 0.4 * writer;
    log.Start(lag).PhaseBegins("tpu_init", 1 + lag).PhaseEnds("tpu_init", 4 + lag);
    log.Steps(0, 9, 10 + lag, 10).Save(9, 110 + lag, 112 + lag).Steps(10, 19, 120 + lag, 10).End(220 + lag);
  }
  const std::string story =
      "startup 0-1 | startup.init 1-5.2 | startup 5.2-10 | productive 10-110 | checkpoint_save 110-113.2 | "
      "productive 113.2-221.2";
  EXPECT_EQ(Story(log.Text()), story);
  const Timeline timeline = BuildTimeline(Load("llm").facts);
  EXPECT_EQ(timeline.steps.executed, 20);
  EXPECT_EQ(timeline.checkpoints.size(), 1U);
  EXPECT_EQ(timeline.checkpoints[0].complete, At(113.2));
  EXPECT_TRUE(timeline.interruptions.empty());
}

TEST_F(WholeLog, AWriterThatLagsByAStepIsNoRestart) {
  Log log;
  log.Start(0).Steps(0, 9, 10, 10).End(110);
  for (int n = 0; n < 9; ++n) log.Step(n, 10 + 10 * n + 11.5);
  EXPECT_EQ(Story(log.Text()), "startup 0-10 | productive 10-110");
  EXPECT_EQ(BuildTimeline(Load("llm").facts).steps.executed, 10);
}

TEST_F(WholeLog, ALowerStepIsTheProgramStartedAgain) {
  EXPECT_EQ(
      Story(Log().Start(0).Steps(0, 5, 10, 10).Phase("tpu_init", 75, 80).Steps(3, 8, 90, 10).End(150).Text()),
      "startup 0-10 | productive 10-40 | lost_work 40-75 | startup.init 75-80 | startup 80-90 | productive "
      "90-150");
  EXPECT_EQ(BuildTimeline(Load("llm").facts).interruptions.size(), 1U);
}

TEST_F(WholeLog, TheLastJobEndWinsAndWhatComesLongAfterItIsAnotherAttempt) {
  EXPECT_EQ(Story(Log().Start(0).Steps(0, 4, 10, 10).End(60).End(61).Steps(5, 8, 200, 10).End(240).Text()),
            "startup 0-10 | productive 10-61 | unobserved.gap 61-200 | productive 200-240");
}

TEST_F(WholeLog, TheLatestJobEndWinsWhicheverIsLoggedLast) {
  EXPECT_EQ(Story(Log().Start(0).Steps(0, 4, 10, 10).End(70).End(60).Text()),
            "startup 0-10 | productive 10-70");
}

TEST_F(WholeLog, AnAttemptWithoutAnEndEndsWhenTheNextBegins) {
  Story(Log().Start(0).Steps(0, 4, 10, 10).Start(55).Steps(5, 8, 57, 10).End(97).Text());
  const goodput::Run run = Load("llm");
  ASSERT_EQ(run.facts.attempts.size(), 2U);
  EXPECT_EQ(run.facts.attempts[0].end, At(55)) << "not 60, when its last step would have been done";
}

TEST_F(WholeLog, AWaitForTheLastSaveEndsBeforeTheNextOneBegins) {
  const std::string async = ",\"synchronous\":false";
  const std::string wait =
      async + ",\"wait_for_prev_start_time\":" + Log::Time(100) + ",\"wait_for_prev_duration_secs\":5";
  Story(Log()
            .Start(0)
            .Steps(0, 4, 10, 10)
            .Save(4, 60, 60.5, async)
            .Steps(5, 8, 60.5, 10)
            .Save(8, 100.5, 101, wait)
            .Steps(9, 11, 101, 10)
            .Text());
  EXPECT_EQ(BuildTimeline(Load("llm").facts).checkpoints[0].complete, At(100.5));
}

TEST_F(WholeLog, WhatAPhaseTookBeforeTheLastStepDoesNotLengthenThatStep) {
  Story(Log().Start(0).Steps(0, 3, 10, 10).Custom("epoch", 45, 55).Step(4, 50).Text());
  EXPECT_EQ(Load("llm").facts.attempts.at(0).heard_until, At(65))
      << "a step of 10 s from 50, and 5 s of the phase";
}

TEST_F(WholeLog, DuplicatesChangeNothing) {
  const Log log =
      Log().Start(0).Phase("tpu_init", 1, 3).Steps(0, 4, 10, 10).Save(4, 60, 62).Steps(5, 7, 62, 10).End(92);
  const std::string once = Story(log.Text());
  EXPECT_EQ(Story(log.Text() + log.Text()), once);
}

TEST_F(WholeLog, AnAsynchronousSaveIsCompleteOnceTheNextOneBegins) {
  const std::string async = ",\"synchronous\":false";
  const std::string wait =
      async + ",\"wait_for_prev_start_time\":" + Log::Time(100) + ",\"wait_for_prev_duration_secs\":0.5";
  Story(Log()
            .Start(0)
            .Steps(0, 4, 10, 10)
            .Save(4, 60, 60.5, async)
            .Steps(5, 8, 60.5, 10)
            .Save(8, 100.5, 101, wait)
            .Steps(9, 11, 101, 10)
            .Text());
  const Timeline timeline = BuildTimeline(Load("llm").facts);
  ASSERT_EQ(timeline.checkpoints.size(), 2U);
  EXPECT_EQ(timeline.checkpoints[0].complete, At(100.5)) << "the next one waited for it";
  EXPECT_EQ(timeline.checkpoints[1].complete, std::nullopt) << "nothing says so";
}

TEST_F(WholeLog, AnAsynchronousSaveTakesTheTimeThatTheLoopWaitedAndNoMore) {
  const std::string async = ",\"synchronous\":false";
  EXPECT_EQ(
      Story(Log()
                .Start(0)
                .Steps(0, 4, 10, 10)
                .Save(4, 53, 54, async)
                .Steps(5, 8, 61, 10)
                .Save(8, 95, 96, async)
                .Steps(9, 11, 102, 10)
                .End(132)
                .Text()),
      "startup 0-10 | productive 10-53 | checkpoint_save 53-54 | productive 54-95 | checkpoint_save 95-96 | "
      "productive 96-132");
  EXPECT_TRUE(BuildTimeline(Load("llm").facts).checkpoints[0].complete);
}

TEST_F(WholeLog, AnEventThatStraddlesTheBeginOfAStepIsOverheadFromEndToEnd) {
  EXPECT_EQ(Story(Log()
                      .Start(0)
                      .Steps(0, 8, 10, 10)
                      .Custom("rebalance", 98, 140)
                      .Step(9, 100)
                      .Steps(10, 12, 148, 10)
                      .End(178)
                      .Text()),
            "startup 0-10 | productive 10-98 | overhead.rebalance 98-140 | productive 140-178");
  EXPECT_EQ(Story(Log().Start(0).Custom("prepare", 4, 14).Steps(0, 3, 10, 10).End(50).Text()),
            "startup 0-4 | startup.prepare 4-10 | overhead.prepare 10-14 | productive 14-50");
  EXPECT_EQ(Story(Log().Start(0).Custom("epoch", 15, 45).Steps(0, 4, 10, 10).End(60).Text()),
            "startup 0-10 | productive 10-15 | overhead.epoch 15-20 | productive 20-60")
      << "one around several steps did not hold them up";
}

TEST_F(WholeLog, ASaveAfterTheLastStepIsNoEvidenceOfAnotherStep) {
  EXPECT_EQ(Story(Log()
                      .Start(0)
                      .Steps(0, 29, 0, 10)
                      .Save(29, 299, 309)
                      .Start(400)
                      .Steps(0, 3, 410, 10)
                      .End(450)
                      .Text()),
            "lost_work 0-299 | checkpoint_save 299-309 | lost_work 309-310 | unobserved.gap 310-400 | "
            "startup 400-410 | "
            "productive 410-450");
}

TEST_F(WholeLog, EachStartOfACrashLoopIsOne) {
  Log log;
  for (int i = 0; i < 10; ++i) log.Start(6 * i).PhaseBegins("tpu_init", 6 * i + 1);
  Story(log.Start(60).Steps(0, 4, 70, 10).End(120).Text());
  const Timeline timeline = BuildTimeline(Load("llm").facts);
  EXPECT_EQ(timeline.attempts.size(), 11U);
  EXPECT_EQ(timeline.interruptions.size(), 10U);
}

TEST_F(WholeLog, AnEntryOfAClockThatWasNotSetIsSetAside) {
  const std::string good = Log().Start(0).Steps(0, 4, 10, 10).End(60).Text();
  const std::string unset = R"({"job_name":"llm","job_start_time":0.0})"
                            "\n"
                            R"({"job_name":"llm","step_count":1,"step_start_time":86400.5})"
                            "\n";
  EXPECT_EQ(Story(unset + good), "startup 0-10 | productive 10-60");
  EXPECT_EQ(Import(unset + good)->bad, 2);
}

TEST_F(WholeLog, AClockThatIsSetBackStartsNothingAnew) {
  Log log;
  log.Start(0).Steps(0, 9, 10, 10).Save(9, 109, 110);
  EXPECT_EQ(Story(log.Steps(10, 14, 80, 10).Save(14, 129, 130).Steps(15, 19, 130, 10).End(180).Text()),
            "startup 0-10 | productive 10-109 | checkpoint_save 109-110 | productive 110-159 | "
            "checkpoint_save 159-160 | productive 160-210");
  const Timeline timeline = BuildTimeline(Load("llm").facts);
  EXPECT_TRUE(timeline.interruptions.empty());
  EXPECT_EQ(timeline.steps.executed, 20);
}

TEST_F(WholeLog, ElasticRunsSayWhatTheyWaitedFor) {
  const auto elastic = [](const std::string& members) { return R"({"job_name":"llm",)" + members + "}"; };
  const auto wait = [&](const std::string& type, const std::string& edge, double s) {
    return elastic("\"elastic_wait_event_type\":\"" + type + "\",\"elastic_wait_" + edge +
                   "_time\":" + Log::Time(s));
  };
  const std::string counts = elastic(R"("active_slices":2,"total_slices":4,"available_slices":3,)"
                                     R"("elastic_slice_counts_timestamp":)" +
                                     Log::Time(61));
  Log log;
  log.Start(0).Steps(0, 4, 10, 10).Raw(wait("slice_down", "start", 60)).Raw(counts);
  log.Raw(wait("slice_down", "end", 200)).Raw(elastic("\"elastic_reinit_start_time\":" + Log::Time(200)));
  log.Raw(elastic("\"elastic_reinit_end_time\":" + Log::Time(220))).Steps(5, 8, 220, 10);
  log.Raw(wait("SCALE_UP_wait", "start", 260))
      .Raw(wait("SCALE_UP_wait", "end", 265))
      .Steps(9, 9, 265, 10)
      .End(275);
  EXPECT_EQ(Story(log.Text()),
            "startup 0-10 | productive 10-60 | overhead.elastic_slice_down 60-200 | overhead.elastic_reinit "
            "200-220 | "
            "productive 220-260 | overhead.elastic_scale_up 260-265 | productive 265-275");
  const std::string only = wait("slice_down", "start", 60) + "\n" + wait("slice_down", "end", 200) + "\n";
  EXPECT_TRUE(Import(only).ok()) << "a file of such entries alone";
}

TEST_F(WholeLog, AnElasticRunThatGoesBackStartsAnewInItsProcesses) {
  const auto reinit = [](const std::string& edge, double s) {
    return "{\"job_name\":\"llm\",\"elastic_reinit_" + edge + "_time\":" + Log::Time(s) + "}";
  };
  Log log;
  log.Start(0).Steps(0, 4, 10, 10).Raw(reinit("start", 60)).Raw(reinit("end", 80));
  log.Raw(R"({"job_name":"llm","event_type":"emergency_restore","step":2,"directory":"/local",)"
          R"("checkpoint_manager_start_time":)" +
          Log::Time(81) + R"(,"checkpoint_manager_duration_secs":4,"broadcast_duration_secs":1})");
  EXPECT_EQ(
      Story(log.Steps(3, 6, 90, 10).End(130).Text()),
      "startup 0-10 | productive 10-40 | lost_work 40-60 | startup.elastic_reinit 60-80 | startup 80-81 | "
      "startup.restore 81-85 | startup 85-90 | productive 90-130");
}

TEST_F(WholeLog, PhasesNamedLikeBucketsAreThem) {
  const Log log = Log()
                      .Start(0)
                      .Custom("provisioning", 0, 5)
                      .Custom("launch", 5, 8)
                      .Steps(0, 4, 10, 10)
                      .Save(4, 60, 62)
                      .Custom("drain", 62, 64)
                      .Custom("teardown", 64, 66)
                      .End(66);
  EXPECT_EQ(Story(log.Text()),
            "provisioning 0-5 | launch 5-8 | startup 8-10 | productive 10-60 | checkpoint_save 60-62 | "
            "drain 62-64 | teardown 64-66");
}

TEST_F(WholeLog, LinesThatAreNoneAreSetAsideAndCounted) {
  const std::string good = Log().Start(0).Steps(0, 4, 10, 10).End(60).Text();
  const auto report = Import("\xef\xbb\xbf" + good +
                             "nonsense\r\n{\"other\":1}\n{\"step_count\":-1,\"step_start_time\":5}\n" +
                             "{\"job_name\":\"llm\",\"step_cou");
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->entries, 7);
  EXPECT_EQ(report->bad, 3);
  EXPECT_EQ(report->other, 1);
  const auto aside = LoadQuarantine(db_, 10);
  ASSERT_TRUE(aside.ok() && aside->size() == 3);
  EXPECT_EQ((*aside)[0].reason, "not a JSON object");
  EXPECT_EQ((*aside)[0].offset, static_cast<std::int64_t>(good.size()) + 3);
  EXPECT_EQ((*aside)[1].reason, "`step_count` is not a step number");
}

TEST_F(WholeLog, AFileWithoutAnEntryIsRefusedAndLeavesNothing) {
  for (const std::string& text :
       {std::string(), std::string("hello\n"), std::string("{\"a\":1}\n"), std::string("[]")}) {
    const auto report = Import(text);
    EXPECT_FALSE(report.ok()) << text;
    EXPECT_EQ(report.status().message().find('\n'), std::string::npos);
  }
  EXPECT_EQ(Rows("source"), 0);
  EXPECT_EQ(Rows("quarantine"), 0);
}

TEST_F(WholeLog, AgainChangesNothingAndAChangedFileReplacesIt) {
  Log log = Log().Start(0).Steps(0, 4, 10, 10);
  EXPECT_FALSE(Import(log.Text())->unchanged);
  const auto again = Import(log.Text());
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_TRUE(again->unchanged);
  EXPECT_EQ(again->entries, 6);
  EXPECT_EQ(again->attempts, 1);
  EXPECT_EQ(Story(log.Steps(5, 7, 60, 10).End(90).Text()), "startup 0-10 | productive 10-90") << "it grew";
  EXPECT_EQ(Story(Log().Start(0).Steps(0, 2, 10, 10).End(40).Text()), "startup 0-10 | productive 10-40")
      << "it was edited";
  EXPECT_EQ(Rows("source"), 1);
  EXPECT_EQ(Rows("imported_attempt"), 1);
  FileImportOptions renamed;
  renamed.run = "seven";
  EXPECT_FALSE(Import(Log().Start(0).Steps(0, 2, 10, 10).End(40).Text(), renamed)->unchanged);
  EXPECT_EQ(Load("seven").info.name, "llm");
  EXPECT_EQ(Rows("imported"), 1);
}

TEST_F(WholeLog, ALogThatComesByTwoWaysCountsOnce) {
  Log log = Log().Start(0).Steps(0, 4, 10, 10);
  ASSERT_TRUE(Import(log.Text(), {}, "kept-before").ok());
  log.Steps(5, 7, 60, 10).End(90);
  const std::string story = "startup 0-10 | productive 10-90";
  const auto grown = Import(log.Text(), {}, "projects_p_logs_l");
  ASSERT_TRUE(grown.ok()) << grown.status();
  EXPECT_FALSE(grown->unchanged);
  EXPECT_NE(grown->note.find("replaces the import of "), std::string::npos) << grown->note;
  EXPECT_EQ(Rows("imported"), 1);
  EXPECT_EQ(RunBuilder::Tell(BuildTimeline(Load("llm").facts)), story);
  // The file of before again.
  const auto again = Import(Log().Start(0).Steps(0, 4, 10, 10).Text(), {}, "kept-before");
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_TRUE(again->unchanged);
  EXPECT_EQ(again->entries, 10);
  EXPECT_EQ(Rows("imported"), 1);
  EXPECT_EQ(RunBuilder::Tell(BuildTimeline(Load("llm").facts)), story);
  // Another part of the run, and another user's run, are no copies.
  ASSERT_TRUE(Import(Log().Start(1000).Steps(8, 12, 1010, 10).End(1060).Text(), {}, "later").ok());
  FileImportOptions another;
  another.user = "mallory";
  ASSERT_TRUE(Import(log.Text(), another, "of-mallory").ok());
  EXPECT_EQ(Rows("imported"), 3);
}

TEST_F(WholeLog, OfSeveralJobsOneIsChosen) {
  const std::string both = Log("a").Start(0).Steps(0, 2, 10, 10).End(40).Text() +
                           Log("b").Start(5).Steps(0, 4, 15, 10).End(65).Text();
  const auto refused = Import(both);
  EXPECT_FALSE(refused.ok());
  EXPECT_NE(std::string(refused.status().message()).find("--run"), std::string::npos) << refused.status();
  for (const char* name : {"a", "b"}) {
    FileImportOptions options;
    options.run = name;
    ASSERT_TRUE(Import(both, options).ok());
  }
  EXPECT_EQ(RunBuilder::Tell(BuildTimeline(Load("a").facts)), "startup 0-10 | productive 10-40");
  EXPECT_EQ(RunBuilder::Tell(BuildTimeline(Load("b").facts)), "startup 5-15 | productive 15-65");
  FileImportOptions options;
  options.run = "c";
  EXPECT_FALSE(Import(both, options).ok());
}

TEST_F(WholeLog, JoinsTheAllocationsOfAJob) {
  const auto seconds = [](double s) { return At(s) / kSecond; };
  AccountingRow first;
  first.cluster = "c1";
  first.job_id = 12;
  first.job_id_text = "12";
  first.submit_s = seconds(0);
  first.start_s = seconds(5);
  first.end_s = seconds(70);
  first.state = "NODE_FAIL";
  AccountingRow second = first;
  second.submit_s = seconds(70);
  second.eligible_s = seconds(70);
  second.start_s = seconds(100);
  second.end_s = seconds(165);
  second.state = "COMPLETED";
  second.restarts = 1;
  ASSERT_TRUE(StoreAccounting(db_, {first, second}, 1).ok());
  FileImportOptions options;
  options.cluster = "c1";
  options.joined = "job 12";
  options.join = {{12, At(5), {}}, {12, At(100), {}}};
  const auto report = Import(
      Log().Start(6).Steps(0, 4, 10, 10).Save(2, 40, 41).Start(101).Steps(3, 7, 110, 10).End(160).Text(),
      options);
  ASSERT_TRUE(report.ok()) << report.status();
  const auto jobs = KnownJobs(db_);
  ASSERT_TRUE(jobs.ok() && jobs->size() == 1) << "no run besides the job";
  const auto run = LoadRun(db_, *jobs, At(5'000'000));
  ASSERT_TRUE(run.ok()) << run.status();
  const std::string story = RunBuilder::Tell(BuildTimeline(run->facts));
  EXPECT_NE(story.find(" 0-5 | launch 5-6 | startup 6-10 | "), std::string::npos) << story;
  EXPECT_NE(story.find("productive 10-40 | checkpoint_save 40-41 | lost_work 41-70"), std::string::npos)
      << story;
  EXPECT_NE(story.find("launch 100-101 | startup 101-110 | productive 110-160 | teardown 160-165"),
            std::string::npos)
      << story;
}

TEST_F(WholeLog, StartsOfTheProgramInOneAllocationAreToldApart) {
  AccountingRow row;
  row.cluster = "c1";
  row.job_id = 12;
  row.job_id_text = "12";
  row.submit_s = row.start_s.emplace(At(0) / kSecond);
  row.end_s = At(300) / kSecond;
  row.state = "COMPLETED";
  ASSERT_TRUE(StoreAccounting(db_, {row}, 1).ok());
  FileImportOptions options;
  options.cluster = "c1";
  options.joined = "job 12";
  options.join = {{12, At(0), {}}};
  ASSERT_TRUE(
      Import(Log().Start(0).Steps(0, 9, 10, 10).Start(150).Steps(10, 19, 200, 10).End(300).Text(), options)
          .ok());
  const Timeline timeline = BuildTimeline(LoadRun(db_, *KnownJobs(db_), At(5'000'000))->facts);
  EXPECT_EQ(timeline.incarnations.size(), 2U) << "the second went on with the next step";
  EXPECT_EQ(timeline.interruptions.size(), 1U);
}

TEST_F(WholeLog, WhatSlurmdbdSaidStaysAndWhatAFileSaidGoes) {
  AccountingRow row;
  row.cluster = "c1";
  row.job_id = 12;
  row.submit_s = 100;
  row.state = "COMPLETED";
  ASSERT_TRUE(StoreAccounting(db_, {row}, 1000).ok());
  AccountingRow told = row;
  told.state = "FAILED";
  AccountingRow other = told;
  other.job_id = 13;
  EXPECT_EQ(*StoreAccountingOfFile(db_, {told, other}), 1);
  other.state = "TIMEOUT";
  EXPECT_EQ(*StoreAccountingOfFile(db_, {told, other}), 1);
  EXPECT_EQ(LoadAccounting(db_, {"c1", 12})->front().state, "COMPLETED");
  EXPECT_EQ(LoadAccounting(db_, {"c1", 13})->front().state, "TIMEOUT");
  other.state = "NODE_FAIL";
  ASSERT_TRUE(StoreAccounting(db_, {other}, 2000).ok());
  EXPECT_EQ(LoadAccounting(db_, {"c1", 13})->front().state, "NODE_FAIL");
}

// ---- round trips ----

// Time per bucket and part while a run had resources.
std::map<std::string, Ns> RuntimeBuckets(const Timeline& timeline) {
  std::map<std::string, Ns> sums;
  for (const Interval& interval : timeline.intervals) {
    const Side side = BucketSide(interval.bucket);
    const bool gap = interval.bucket == Bucket::kUnobserved && interval.part == "gap";
    if (side == Side::kScheduling || side == Side::kExcluded || gap) continue;
    std::string name(BucketName(interval.bucket));
    if (!interval.part.empty()) name += "." + interval.part;
    sums[name] += interval.end - interval.begin;
  }
  return sums;
}

class RoundTrip : public WholeLog {
 protected:
  // A failure prints the log.
  void ExpectTheSameBack(const RunFacts& facts, const std::string& name) {
    const Timeline there = BuildTimeline(facts);
    std::string log;
    ASSERT_TRUE(ExportGoogleLog(facts, there, name, [&](std::string_view piece) {
                  log.append(piece);
                  return absl::OkStatus();
                }).ok());
    const auto report = Import(log, {}, name);
    ASSERT_TRUE(report.ok()) << report.status() << "\n" << log;
    EXPECT_EQ(report->bad + report->other, 0) << log;
    const goodput::Run run = Load(name);
    const Timeline back = BuildTimeline(run.facts);
    ASSERT_EQ(RuntimeBuckets(back), RuntimeBuckets(there)) << RunBuilder::Tell(there) << "\n"
                                                           << RunBuilder::Tell(back) << "\n"
                                                           << log;
    EXPECT_EQ(back.steps.executed, there.steps.executed) << log;
    EXPECT_EQ(back.steps.kept, there.steps.kept) << log;
    EXPECT_EQ(back.steps.lost, there.steps.lost) << log;
    // An imported run can be exported again.
    std::string again;
    ASSERT_TRUE(ExportGoogleLog(run.facts, back, name, [&](std::string_view piece) {
                  again.append(piece);
                  return absl::OkStatus();
                }).ok());
    ASSERT_TRUE(Import(again, {}, name + "-again").ok());
    const auto jobs = KnownJobs(db_);
    ASSERT_TRUE(jobs.ok());
    const auto twice = LoadRun(db_, {jobs->front()}, At(5'000'000));
    ASSERT_TRUE(twice.ok());
    ASSERT_EQ(RuntimeBuckets(BuildTimeline(twice->facts)), RuntimeBuckets(there)) << log << "\n" << again;
  }
};

TEST_F(RoundTrip, ARequeuedJobWithAllThatCanHappen) {
  RunBuilder run;
  run.Attempt()
      .Submitted(0)
      .Started(10)
      .Ready(12)
      .Srun(0, 15, 100, 143)
      .Phase("init", 15, 18)
      .Restore(0, 18, 19)
      .Steps(0, 4, 20, 10)
      .Save(4, 70, 72.5)
      .Steps(5, 6, 72.5, 10)
      .Phase("eval", 85, 88)
      .Preempted(90)
      .Suspended(30, 33)
      .Ended(104, "PREEMPTED");
  run.Attempt()
      .Submitted(104)
      .Started(130)
      .Ready(131)
      .SrunKilled(0, 135, 180)
      .Steps(5, 9, 140, 8)
      .Ended(182, "NODE_FAIL");
  run.Attempt()
      .Submitted(182)
      .Started(200)
      .Ready(203)
      .Srun(0, 205, 260, 0)
      .Steps(8, 12, 210, 10)
      .Ended(262, "COMPLETED");
  ExpectTheSameBack(run.Facts(), "requeued");
}

TEST_F(RoundTrip, SavesInTheBackground) {
  RunBuilder run;
  run.Attempt()
      .Submitted(0)
      .Started(0)
      .Ready(0)
      .SrunKilled(0, 1, 150)
      .Steps(0, 4, 10, 10)
      .SaveBegins(4, 53)
      .SaveGoesOn(4, 54)
      .SaveEnds(4, 75)
      .Steps(5, 8, 60, 10)
      .SaveBegins(8, 95)
      .SaveGoesOn(8, 97)
      .Steps(9, 12, 100, 10)
      .Ended(150, "NODE_FAIL");
  const std::string story = RunBuilder::Tell(BuildTimeline(run.Facts()));
  EXPECT_NE(story.find("productive 10-50 | lost_work 50-53 | checkpoint_save 53-54 | lost_work 54-95 | "
                       "checkpoint_save 95-97 | lost_work 97-"),
            std::string::npos)
      << story;
  ExpectTheSameBack(run.Facts(), "background");
}

TEST_F(RoundTrip, ARunningJob) {
  RunBuilder run;
  run.Now(95)
      .Attempt()
      .Submitted(0)
      .Started(10)
      .Ready(12)
      .TaskStarts(15, 0)
      .Steps(0, 6, 20, 10)
      .Save(2, 50, 51);
  ExpectTheSameBack(run.Facts(), "running");
}

TEST_F(RoundTrip, SrunsOneAfterTheOtherAndABatchScriptAlone) {
  RunBuilder run;
  run.Attempt()
      .Submitted(0)
      .Started(10)
      .Ready(12)
      .TaskStarts(13, kBatchStep)
      .Srun(0, 15, 60, 1)
      .In(0)
      .Steps(0, 3, 20, 10)
      .Srun(1, 65, 120, 0)
      .In(1)
      .Steps(2, 6, 70, 10)
      .TaskExits(121, kBatchStep, 0)
      .Ended(122, "COMPLETED");
  ExpectTheSameBack(run.Facts(), "sruns");
  RunBuilder script;
  script.Attempt()
      .Submitted(0)
      .Started(10)
      .Ready(12)
      .TaskStarts(13, kBatchStep)
      .In(kBatchStep)
      .Steps(0, 3, 20, 10)
      .TaskExits(61, kBatchStep, 0)
      .Ended(62, "COMPLETED");
  ExpectTheSameBack(script.Facts(), "script");
}

TEST_F(RoundTrip, StepsThatAreStoredInBlocks) {
  RunBuilder run;
  run.Attempt()
      .Submitted(0)
      .Started(10)
      .Ready(12)
      .Srun(0, 15, 25'000, 0)
      .Steps(0, 9'999, 20, 1)
      .Save(9'999, 10'020, 10'025)
      .Steps(10'000, 19'999, 10'025, 1.25)
      .Ended(25'001, "COMPLETED");
  ExpectTheSameBack(run.Facts(), "blocks");
  EXPECT_FALSE(Load("blocks").facts.attempts.front().step_blocks.empty());
}

// Runs as on real clusters, in every shape that the builder supports.
void AddAttempt(std::mt19937_64& random, double& at, std::int64_t& step, bool last, AttemptBuilder& attempt) {
  const auto pick = [&](int low, int high) {
    return low + static_cast<int>(random() % static_cast<std::uint64_t>(high - low + 1));
  };
  const auto some = [&](int high) {
    return static_cast<double>(random() % static_cast<std::uint64_t>(high * 1'000'000)) / 1e6;
  };
  attempt.Submitted(at);
  at += 1 + some(50);
  attempt.Started(at);
  const bool told = pick(0, 4) > 0;  // whether the plugin reports
  if (told) attempt.Ready(at += some(4));
  const int sruns = pick(1, 3);
  if (told && pick(0, 2) == 0) attempt.TaskStarts(at += some(2), kBatchStep);
  bool running = false;
  for (int srun = 0; srun < sruns; ++srun) {
    const double begin = at += some(5);
    attempt.In(srun, 0);
    if (pick(0, 1) == 0) attempt.Phase("init", at + 0.5, at + 2);
    at += 3;
    if (pick(0, 2) == 0) attempt.Restore(step, at, at + 1);
    at += 1 + some(3);
    const double length = 1 + some(4);
    const int steps = pick(0, 40);
    for (int i = 0; i < steps; ++i) {
      attempt.Step(step + i, at);
      if (pick(0, 9) == 0) attempt.In(srun, 1).Step(step + i, at + 0.25).In(srun, 0);
      double taken = length * (0.9 + some(1) / 5);
      if (i == 0) taken *= pick(1, 6);
      if (pick(0, 15) == 0) taken *= 8;
      at += taken;
      if (pick(0, 6) == 0) {
        attempt.SaveBegins(step + i, at);
        if (pick(0, 5) > 0) attempt.SaveEnds(step + i, at + some(8));
        if (pick(0, 3) == 0) attempt.In(srun, 1).Save(step + i, at + 0.1, at + 1.5).In(srun, 0);
        at += some(2);
      }
      if (pick(0, 12) == 0) attempt.Phase("eval", at + 0.1, at + 0.1 + some(4));
      if (pick(0, 12) == 0) attempt.Phase("data_loading", at, at + some(1));
    }
    at += some(20);
    step += steps;
    running = last && srun + 1 == sruns && pick(0, 2) == 0;
    if (!told) continue;
    if (running) {
      attempt.TaskStarts(begin, srun);
    } else if (pick(0, 1) == 0) {
      attempt.SrunKilled(srun, begin, at, pick(9, 15));
    } else {
      attempt.Srun(srun, begin, at, pick(0, 1));
    }
  }
  if (pick(0, 2) == 0) attempt.Preempted(at - some(30));
  if (pick(0, 3) == 0) attempt.Suspended(at - 20, at - 20 + some(9));
  step = std::max<std::int64_t>(0, step - pick(-1, 15));
  at += some(5);
  static const std::vector<std::string> kStates{"REQUEUED",  "NODE_FAIL", "FAILED",
                                                "PREEMPTED", "TIMEOUT",   "COMPLETED"};
  if (!running) attempt.Ended(at, last && pick(0, 1) == 0 ? "COMPLETED" : kStates[random() % kStates.size()]);
}

TEST_F(RoundTrip, AnyRun) {
  for (std::uint64_t seed = 1; seed <= Cases(150) && !HasFatalFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    RunBuilder run;
    double at = 0;
    std::int64_t step = 0;
    const int attempts = 1 + static_cast<int>(random() % 4);
    for (int i = 0; i < attempts; ++i) AddAttempt(random, at, step, i + 1 == attempts, run.Attempt());
    run.Now(at + 17);
    ExpectTheSameBack(run.Facts(), "run" + std::to_string(seed));
  }
}

}  // namespace
}  // namespace goodput
