// Records that match templates and are stored in blocks: unpacking restores every byte, and queries about a
// large job have the same results as about a small one.
#include "sql/tables/record_blocks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "spank/event.h"
#include "sql/blocks/record_pack.h"
#include "sql/blocks/record_summary.h"
#include "sql/blocks/record_template.h"
#include "sql/database.h"
#include "sql/ingest/ingest.h"
#include "sql/ingest/line_templates.h"
#include "sql/ingest/spool_memory.h"
#include "sql/spool_line.h"
#include "sql/tables/coverage.h"
#include "sql/tables/evidence.h"
#include "sql/tables/owners.h"
#include "sql/tables/purge.h"
#include "sql/text.h"
#include "tests/spank/temp_folder.h"
#include "tests/unit/format_document.h"
#include "tests/unit/load_events.h"

namespace goodput {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr std::int64_t kBegan = 1'767'225'600;

std::string Task(const std::string& node, int task, std::int64_t t_ns,
                 const std::string& kind = "task_start") {
  return Cat(R"({"v":1,"t":)", t_ns, R"(,"m":)", t_ns - kBegan * kSecondNs, R"(,"node":")", node,
             R"(","stepd":42,"kind":")", kind, R"(","cluster":"c","job":7,"uid":1000,"gid":100,)",
             R"("slurm_step":"0","task":)", task, R"(,"local_task":1,"pid":)", 1000 + task, "}");
}

std::optional<RecordTemplate> ShapeOf(const std::string& record, std::vector<std::int64_t>& numbers,
                                      const std::string& node = "n1") {
  return RecordTemplate::Of(record, node, numbers);
}

TEST(RecordTemplate, IsWhatRecordsOfOneKindHaveInCommonAndNumbersAreTheirOwn) {
  std::vector<std::int64_t> numbers;
  const auto shape =
      ShapeOf(R"({"v":1,"t":5,"node":"n1","kind":"mark","x":[1,-2,"3"],"opt":{"t":9}})", numbers);
  ASSERT_TRUE(shape);
  EXPECT_EQ(numbers, (std::vector<std::int64_t>{1, 5, 1, -2, 9}));
  EXPECT_EQ(shape->text(),
            "{\"v\":\1,\"t\":\1,\"node\":\"\2\",\"kind\":\"mark\",\"x\":[\1,\1,\"3\"],\"opt\":{\"t\":\1}}");
  EXPECT_EQ(shape->names(), (std::vector<std::string>{"v", "t", "x", "x#", "t#"}));
  EXPECT_EQ(shape->NumberOf("t"), 1U);
  EXPECT_FALSE(shape->NumberOf("x"));
  std::vector<std::int64_t> read(RecordTemplate::kMostNumbers);
  ASSERT_TRUE(shape->Read(R"({"v":1,"t":-6,"node":"gpu-17","kind":"mark","x":[0,7,"3"],"opt":{"t":1}})",
                          "gpu-17", read.data()));
  read.resize(5);
  EXPECT_EQ(read, (std::vector<std::int64_t>{1, -6, 0, 7, 1}));
  std::string written;
  shape->Write("gpu-17", read.data(), written);
  EXPECT_EQ(written, R"({"v":1,"t":-6,"node":"gpu-17","kind":"mark","x":[0,7,"3"],"opt":{"t":1}})");
}

TEST(RecordTemplate, ANumberThatIsNotSpelledAsItWouldBeSpelledAgainStaysAsItIs) {
  for (const char* number : {"1.5", "-0", "1e3", "9223372036854775808", "1.5e+21", "-9223372036854775808"}) {
    const std::string record = Cat(R"({"t":1,"node":"n1","x":)", number, "}");
    std::vector<std::int64_t> numbers;
    const auto shape = ShapeOf(record, numbers);
    ASSERT_TRUE(shape) << number;
    EXPECT_EQ(numbers, std::vector<std::int64_t>{1}) << number;
    std::string written;
    shape->Write("n1", numbers.data(), written);
    EXPECT_EQ(written, record);
  }
  std::vector<std::int64_t> numbers;
  ASSERT_TRUE(ShapeOf(R"({"node":"n1","x":9223372036854775807})", numbers));
  EXPECT_EQ(numbers, std::vector<std::int64_t>{9223372036854775807});
}

TEST(RecordTemplate, AnyIntegerIsReadWhereverTheTextEndsBehindIt) {
  std::vector<std::int64_t> numbers;
  const auto shape = ShapeOf(R"({"node":"n1","t":1})", numbers);
  ASSERT_TRUE(shape);
  std::mt19937_64 random(3);
  std::vector<std::int64_t> read(RecordTemplate::kMostNumbers);
  for (int i = 0; i < 20'000; ++i) {
    const std::int64_t number =
        static_cast<std::int64_t>(random() >> 1U >> (random() % 63)) * (i % 2 * 2 - 1);
    const std::string record = Cat(R"({"node":"n1","t":)", number, "}");
    for (const char* behind : {"", "\n", "\n012345678", "/", ":::::::::", "}}}}}}}}}"}) {
      const std::string text = record + behind;
      ASSERT_EQ(shape->ReadFirst(text, "n1", read.data()), record.size()) << text;
      ASSERT_EQ(read[0], number);
    }
    // Digits that do not belong to it make it another, or none.
    const std::string longer = Cat(R"({"node":"n1","t":)", number, random() % 10, random() % 10, "}");
    ASSERT_FALSE(shape->Read(longer, "n1", read.data()) && read[0] == number) << longer;
  }
}

TEST(RecordTemplate, WhatReadersMightReadDifferentlyHasNone) {
  std::vector<std::int64_t> numbers;
  for (const char* record : {R"({"t":1,"t":2,"node":"n1"})", R"({"\u0074":1,"node":"n1"})",
                             R"({"t":1,"opt":{"node":"n1"}})", R"({"t":1,"node":"n2"})",
                             R"({"t":1,"node":"n1","node":"n1"})", "{\"node\":\"n1\",\"x\":\"\1\"}", ""}) {
    EXPECT_FALSE(ShapeOf(record, numbers)) << record;
  }
  std::string many = R"({"node":"n1","x":[0)";
  for (std::size_t i = 0; i < RecordTemplate::kMostNumbers; ++i) many += ",1";
  EXPECT_FALSE(ShapeOf(many + "]}", numbers));
}

TEST(RecordTemplate, ALineIsOfItOnlyToItsLastByte) {
  std::vector<std::int64_t> numbers;
  const std::string record = Task("n1", 3, kBegan * kSecondNs);
  const auto shape = ShapeOf(record, numbers);
  ASSERT_TRUE(shape);
  std::vector<std::int64_t> read(RecordTemplate::kMostNumbers);
  EXPECT_TRUE(shape->Read(record, "n1", read.data()));
  EXPECT_FALSE(shape->Read(record + " ", "n1", read.data()));
  EXPECT_FALSE(shape->Read(record, "n2", read.data()));
  for (std::size_t size = 0; size < record.size(); ++size)
    EXPECT_FALSE(shape->Read(std::string_view(record).substr(0, size), "n1", read.data()));
  for (const char* wrong :
       {"01", "-0", "+1", "1.0", "1e1", "", "-", "99999999999999999999", "9223372036854775808"})
    EXPECT_FALSE(shape->Read(Task("n1", 3, kBegan).replace(5, 1, wrong), "n1", read.data())) << wrong;
}

// Whatever a line is, it is understood as its parser alone understands it.
TEST(LineTemplates, UnderstandEveryLineAsTheParserDoes) {
  std::mt19937_64 random(5);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  LineTemplates shapes;
  SpoolLineParser parser;
  int recognized = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::string node = Cat("n", below(3));
    std::string line = Task(node, static_cast<int>(below(2000)),
                            kBegan * kSecondNs + static_cast<std::int64_t>(below(1U << 30U)),
                            below(2) == 0 ? "task_start" : "task_exit");
    const std::vector<std::string> ends = {"}",
                                           R"(,"exit_code":0})",
                                           R"(,"opt":{"run":"r","tags":{"t":"1"}}})",
                                           R"(,"t":5})",
                                           R"(,"job":"x"})",
                                           R"(,"\u0074":5})",
                                           R"(,"mark":"step","edge":"begin","train_step":12})"};
    line.pop_back();
    line += ends[below(ends.size())];
    if (below(8) == 0) line[below(line.size())] = static_cast<char>(' ' + below(90));
    if (below(50) == 0) line.resize(below(line.size()));
    std::string padded = line;
    // Others may follow it, and what they begin with says nothing about it.
    if (below(2) == 0) padded += "\n" + line.substr(0, below(line.size() + 1));
    const std::size_t size = padded.size();
    padded.resize(size + SpoolLineParser::kPadding);
    const absl::StatusOr<SpoolLine> expected = parser.Parse({padded.data(), line.size()});
    const absl::StatusOr<SpoolLine> record = shapes.Parse({padded.data(), size}, node);
    ASSERT_EQ(record.status(), expected.status()) << line;
    ASSERT_EQ(shapes.line(), line);
    if (!record.ok()) continue;
    const auto all = [](const SpoolLine& l) {
      return std::tie(l.t_ns, l.m_ns, l.kind, l.node, l.cluster, l.job, l.slurm_step, l.task, l.is_step_mark,
                      l.train_step, l.run);
    };
    ASSERT_EQ(all(*record), all(*expected)) << line;
    if (shapes.shape() == nullptr) continue;
    ++recognized;
    std::string written;
    shapes.shape()->text().Write(node, shapes.numbers(), written);
    ASSERT_EQ(written, line);
  }
  EXPECT_GT(recognized, 5'000);
}

// A folder may have any name; what would end a string in a record is not looked for as one.
TEST(LineTemplates, ANodeWhoseNameIsNoPlainTextIsNobodysShape) {
  LineTemplates shapes;
  const auto node_of = [&](const std::string& node) {
    std::string line = Task(node, 1, kBegan * kSecondNs) + "\n";
    const std::size_t size = line.size();
    line.resize(size + SpoolLineParser::kPadding);
    const absl::StatusOr<SpoolLine> record = shapes.Parse({line.data(), size}, node);
    return record.ok() ? std::string(record->node) : "none";
  };
  EXPECT_EQ(node_of("n1"), "n1");
  EXPECT_NE(shapes.shape(), nullptr);
  EXPECT_EQ(node_of("n\n2"), "none");
  EXPECT_EQ(node_of(R"(n3","x":"y)"), "n3");
  EXPECT_EQ(shapes.shape(), nullptr);
  EXPECT_EQ(node_of("n4"), "n4");
  EXPECT_NE(shapes.shape(), nullptr);
}

TEST(LineTemplates, ATimeOrAFormatTheParserRefusesIsRefused) {
  LineTemplates shapes;
  const auto parse = [&](std::string line) {
    const std::size_t size = line.size();
    line.resize(size + SpoolLineParser::kPadding);
    return shapes.Parse(std::string_view(line.data(), size), "n1").status();
  };
  ASSERT_TRUE(parse(Task("n1", 1, kBegan)).ok());
  EXPECT_FALSE(parse(Task("n1", 1, std::int64_t{1} << 62U)).ok());
  EXPECT_FALSE(parse(Task("n1", 1, kBegan).replace(5, 1, "2")).ok());
  EXPECT_TRUE(parse(Task("n1", 1, kBegan)).ok());
}

struct Written {
  std::int64_t source;
  std::string node;
  std::int64_t offset;
  std::string record;
  friend bool operator==(const Written& a, const Written& b) {
    return std::tie(a.source, a.node, a.offset, a.record) == std::tie(b.source, b.node, b.offset, b.record);
  }
};

std::string Pack(const std::vector<Written>& all, bool compressed = false) {
  std::map<std::string, std::pair<RecordTemplate, std::size_t>> shapes;
  RecordPacker packer;
  std::vector<std::int64_t> numbers;
  for (const Written& one : all) {
    packer.SetFile(one.source, one.node, "boot");
    const auto shape = RecordTemplate::Of(one.record, one.node, numbers);
    if (!shape || !shape->NumberOf("t")) {
      packer.AddText(one.offset, one.offset / 3, "mark", one.record);
      continue;
    }
    const auto [known, fresh] = shapes.try_emplace(shape->text(), *shape, 0);
    if (fresh) known->second.second = packer.AddShape(known->second.first);
    packer.Add(known->second.second, one.offset, numbers.data());
  }
  return compressed ? packer.FinishCompressed() : packer.Finish();
}

std::optional<std::vector<Written>> Unpack(std::string_view data) {
  std::vector<Written> all;
  RecordUnpacker records(data);
  while (records.Next()) {
    all.push_back({records.source_id(), std::string(records.node()), records.offset(), ""});
    records.AppendText(all.back().record);
  }
  if (!records.good()) return std::nullopt;
  return all;
}

std::vector<Written> RandomRecords(std::mt19937_64& random, std::size_t count) {
  const std::vector<std::string> nodes = {"n1", "n2", "a-long-name-of-a-node-0001"};
  const std::vector<std::string> members = {
      R"("m":5)",       R"("m":-7)",  R"("job":7)",    R"("opt":{"t":3,"run":"r"})",
      R"("x":[1,2,3])", R"("f":1.5)", R"("m":"none")", R"("t#":4)"};
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  std::vector<Written> all;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string& node = nodes[below(nodes.size())];
    std::string record = Cat(R"({"node":")", node, "\"");
    const bool late = below(4) == 0;
    const std::string t = Cat(",\"t\":", static_cast<std::int64_t>(random()) >> below(64));
    if (!late) record += t;
    std::vector<std::size_t> used;
    for (std::size_t j = below(4); j > 0; --j) {
      const std::size_t member = below(members.size());
      const std::string name = members[member].substr(0, 4);
      if (std::any_of(used.begin(), used.end(),
                      [&](std::size_t u) { return members[u].substr(0, 4) == name; }))
        continue;
      used.push_back(member);
      record += Cat(",", members[member]);
    }
    record += Cat(late ? t : "", "}");
    if (below(8) == 0) record.resize(below(record.size()));
    all.push_back({static_cast<std::int64_t>(below(5)), node,
                   static_cast<std::int64_t>(random() >> below(64)), record});
  }
  return all;
}

TEST(RecordPack, IsAsItsDocumentSays) {
  const std::string example = ExampleOf("record_block.md");
  const auto started = [](int t, int task) {
    return Cat(R"({"v":1,"t":)", t, R"(,"m":)", t - 900, R"(,"node":"n1","kind":"task_start","task":)", task,
               "}");
  };
  std::vector<std::int64_t> numbers;
  const auto shape = ShapeOf(started(1000, 4), numbers);
  RecordPacker packer;
  packer.AddShape(*shape);
  packer.SetFile(3, "n1", "boot");
  packer.Add(0, 1, numbers.data());
  ShapeOf(started(1005, 5), numbers);
  packer.Add(0, 91, numbers.data());
  packer.AddText(161, 1008, "odd", R"({"t":)");
  EXPECT_EQ(packer.Finish(), example);
  for (const std::string& data : {example, packer.FinishCompressed()}) {
    RecordUnpacker records(data);
    std::string all;
    while (records.Next()) {
      all += Cat(records.source_id(), records.node(), records.boot(), records.offset(), records.kind(),
                 records.t_ns());
      records.AppendText(all);
    }
    EXPECT_TRUE(records.good());
    EXPECT_EQ(all, Cat("3n1boot1task_start1000", started(1000, 4), "3n1boot91task_start1005",
                       started(1005, 5), R"(3n1boot161odd1008{"t":)"));
  }
}

TEST(RecordPack, WhateverWasWrittenComesBack) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 300; ++round) {
    std::vector<Written> all = RandomRecords(random, random() % 100);
    // A file is of one node.
    for (Written& one : all)
      one.source = one.source * 256 + one.node.back() + static_cast<int>(one.node.size());
    ASSERT_EQ(Unpack(Pack(all)), all) << "round " << round;
    ASSERT_EQ(Unpack(Pack(all, true)), all) << "round " << round;
  }
}

TEST(RecordPack, CutItIsRefusedAndSpoiledItHarmsNobody) {
  std::mt19937_64 random(11);
  const std::vector<Written> all = RandomRecords(random, 50);
  for (const bool compressed : {false, true}) {
    const std::string data = Pack(all, compressed);
    const std::optional<std::vector<Written>> whole = Unpack(data);
    ASSERT_TRUE(whole);
    for (std::size_t size = 0; size < data.size(); ++size) EXPECT_FALSE(Unpack(data.substr(0, size))) << size;
    for (std::size_t at = 0; at < data.size(); ++at) {
      std::string spoiled = data;
      spoiled[at] = static_cast<char>(spoiled[at] ^ (1 << (random() % 8)));
      const std::optional<std::vector<Written>> read = Unpack(spoiled);
      // zlib's checksum, or the length before it, tells; a few bits between the last word and the checksum
      // mean nothing.
      if (compressed && read) {
        EXPECT_EQ(*read, *whole) << at;
      }
    }
  }
  EXPECT_FALSE(Unpack(Pack(all) + "x"));
}

TEST(RecordPack, ATaskTakesAFifteenthOfItsText) {
  std::vector<Written> all;
  std::size_t before = 0;
  for (int task = 0; task < 4096; ++task) {
    const std::string node = Cat("n", task / 8);
    all.push_back({task / 8, node, std::int64_t{200} * (task % 8),
                   Task(node, task, kBegan * kSecondNs + task * 1'009'001LL % kSecondNs)});
    before += all.back().record.size();
  }
  EXPECT_LT(Pack(all).size(), before / 15);
}

class RecordBlocksTest : public testing::Test {
 protected:
  Database Db(const std::string& name = "goodput.db") {
    absl::StatusOr<Database> db = Database::Open(folder_.path() + "/" + name, Database::Mode::kReadWrite);
    EXPECT_TRUE(db.ok()) << db.status();
    if (!db.ok()) std::abort();
    return *std::move(db);
  }
  void Write(const std::string& node, const std::string& record) {
    const fs::path file = fs::path(spool_) / node / "boot.2026010100Z.jsonl";
    fs::create_directories(file.parent_path());
    std::ofstream(file, std::ios::app) << "\n" << record << "\n";
    spool_lines_.push_back(record);
  }
  // Of `tasks` tasks a node.
  void WriteJob(int nodes, int tasks) {
    for (int n = 1; n <= nodes; ++n) {
      const std::string node = Cat("n", n);
      std::string prolog = Task(node, 0, kBegan * kSecondNs + n, "job_prolog");
      prolog.pop_back();
      Write(node, prolog + R"(,"opt":{"run":"large"}})");
      for (int task = 0; task < tasks; ++task)
        Write(node, Task(node, n * tasks + task, (kBegan + 1) * kSecondNs + n));
    }
  }
  static void Ingest(Database& db, const std::string& spool) {
    const absl::StatusOr<IngestReport> report = IngestSpool(db, spool, {"c"});
    ASSERT_TRUE(report.ok()) << report.status();
    ASSERT_TRUE(report->problems.empty()) << report->problems.front();
  }
  static std::vector<std::string> Records(Database& db) {
    const absl::StatusOr<std::vector<EventRow>> events = LoadEvents(db, {"c", 7});
    EXPECT_TRUE(events.ok()) << events.status();
    std::vector<std::string> records;
    for (const EventRow& event : *events) records.push_back(event.record);
    std::sort(records.begin(), records.end());
    return records;
  }
  std::vector<std::string> InSpool() const {
    std::vector<std::string> lines = spool_lines_;
    std::sort(lines.begin(), lines.end());
    return lines;
  }
  static std::int64_t One(Database& db, const std::string& sql) {
    Statement row = db.Prepare(sql);
    EXPECT_TRUE(row.Step()) << sql << row.status();
    return row.Int(0);
  }

  TempFolder folder_;
  std::string spool_ = folder_.path() + "/spool";
  std::vector<std::string> spool_lines_;
};

TEST_F(RecordBlocksTest, ALargeJobIsInBlocksAndASmallOneInRowsAndBothAreWhole) {
  WriteJob(4, 8);
  Database small = Db("small.db");
  Ingest(small, spool_);
  EXPECT_EQ(One(small, "SELECT count(*) FROM record_block"), 0);
  EXPECT_EQ(Records(small), InSpool());

  for (int n = 1; n <= 4; ++n) {
    for (int task = 0; task < 200; ++task)
      Write(Cat("n", n), Task(Cat("n", n), task, (kBegan + 9) * kSecondNs, "task_exit"));
  }
  Database large = Db("large.db");
  Ingest(large, spool_);
  EXPECT_GT(One(large, "SELECT sum(records) FROM record_block"), 800);
  EXPECT_LT(One(large, "SELECT count(*) FROM event"), 10);
  EXPECT_EQ(Records(large), InSpool());
  EXPECT_EQ(One(large, "SELECT sum(records) FROM source"), static_cast<std::int64_t>(InSpool().size()));

  // The small one's next look brings the rest.
  Ingest(small, spool_);
  EXPECT_EQ(One(small, "SELECT sum(records) FROM record_block"), 800);
  EXPECT_EQ(Records(small), InSpool());
  Ingest(small, spool_);
  EXPECT_EQ(Records(small), InSpool());
}

TEST_F(RecordBlocksTest, SavesThatComeAFewAtATimeArePackedOnceThereAreMany) {
  Database db = Db();
  SpoolMemory memory;
  IngestOptions options{"c"};
  options.memory = &memory;
  constexpr int kSaves = 1500;
  const auto write = [&](int save, const char* edge, std::int64_t after_ns) {
    const std::int64_t t = kBegan * kSecondNs + save * 5 * kSecondNs + after_ns;
    Write("n1",
          Cat(R"({"v":1,"t":)", t, R"(,"m":)", t - kBegan * kSecondNs,
              R"(,"node":"n1","stepd":9,"kind":"mark","cluster":"c","job":7,"uid":5,"mark":"checkpoint",)",
              R"("edge":")", edge, R"(","train_step":)", save * 10, R"(,"slurm_step":"0","task":0})"));
  };
  for (int save = 0; save < kSaves; ++save) {
    if (save > 0) write(save - 1, "end", kSecondNs);
    write(save, "begin", 0);
    // In each look, the last save has only begun.
    if (save % 20 != 19) continue;
    const absl::StatusOr<IngestReport> report = IngestSpool(db, spool_, options);
    ASSERT_TRUE(report.ok()) << report.status();
    ASSERT_EQ(Records(db).size(), InSpool().size());
  }
  EXPECT_EQ(Records(db), InSpool());
  EXPECT_EQ(One(db, "SELECT count(*) FROM record_block"), 1);
  EXPECT_EQ(One(db, "SELECT count(*) FROM record_block WHERE by_time OR made_s IS NOT NULL"), 0);
  const std::int64_t packed = One(db, "SELECT sum(records) FROM record_block");
  EXPECT_GT(packed, 2000);
  EXPECT_EQ(packed % 2, 0) << "a begin stays where its end will be";
  EXPECT_EQ(One(db, "SELECT count(*) FROM event"), 2 * kSaves - 1 - packed);
  // Whoever looks without a memory, as the command does, packs nothing.
  write(kSaves - 1, "end", kSecondNs);
  Ingest(db, spool_);
  EXPECT_EQ(Records(db), InSpool());
  EXPECT_EQ(One(db, "SELECT count(*) FROM record_block"), 1);
}

TEST_F(RecordBlocksTest, OnlyTheTimesThatAreAskedForComeOutOfABlock) {
  WriteJob(4, 200);
  Database db = Db();
  Ingest(db, spool_);
  const JobKey after{"c", 7, kBegan + 1};
  const absl::StatusOr<std::vector<EventRow>> events = LoadEvents(db, after);
  ASSERT_TRUE(events.ok());
  EXPECT_EQ(events->size(), 800U) << "tasks, and no prologs";
}

TEST_F(RecordBlocksTest, WhatAJobSaysOfItselfAndWhoseItIsAreRowsStill) {
  WriteJob(64, 10);
  Database db = Db();
  Ingest(db, spool_);
  EXPECT_EQ(One(db, "SELECT count(*) FROM job_option WHERE run = 'large'"), 1);
  EXPECT_EQ(One(db, "SELECT count(*) FROM job_seen WHERE run = 'large'"), 1);
  const JobKey job{"c", 7};
  const absl::StatusOr<std::map<JobKey, Owner>> owners = OwnersOf(db, {job});
  ASSERT_TRUE(owners.ok());
  EXPECT_NE(owners->at(job).user, "");
}

TEST_F(RecordBlocksTest, NodesOfABlockAreHeardOf) {
  WriteJob(64, 10);
  Write("@controller",
        Cat(R"({"v":1,"t":)", kBegan * kSecondNs, R"(,"m":1,"node":"@controller","kind":"attempt",)",
            R"("cluster":"c","job":7,"state":"RUNNING","start_s":)", kBegan, R"(,"nodes":"n[1-65]"})"));
  Database db = Db();
  Ingest(db, spool_);
  const absl::StatusOr<std::vector<LastRecord>> last = LastRecords(db);
  ASSERT_TRUE(last.ok());
  ASSERT_EQ(last->size(), 64U);
  for (const LastRecord& node : *last) EXPECT_GT(node.t_ns, (kBegan + 1) * kSecondNs) << node.node;
  const absl::StatusOr<std::vector<SilentNodes>> silent =
      JobsOnSilentNodes(db, kBegan + 60, [](const std::string&) {
        std::vector<std::string> nodes;
        for (int n = 1; n <= 65; ++n) nodes.push_back(Cat("n", n));
        return nodes;
      });
  ASSERT_TRUE(silent.ok());
  ASSERT_EQ(silent->size(), 1U);
  EXPECT_EQ(silent->front().silent, std::vector<std::string>{"n65"});
}

TEST_F(RecordBlocksTest, OfTwoBootsInAnHourTheLaterOneWasHeardLast) {
  // The one whose name sorts first is the later one.
  const auto line = [](std::int64_t t) {
    return Cat(R"({"v":1,"t":)", t * kSecondNs, R"(,"m":1,"node":"n1","kind":"host","job":1,"cluster":"c"})",
               "\n");
  };
  for (const bool first_is_later : {true, false}) {
    const TempFolder folder;
    std::filesystem::create_directories(folder.path() + "/n1");
    std::ofstream(folder.path() + "/n1/aaaa.2026010100Z.jsonl") << line(kBegan + (first_is_later ? 900 : 1));
    std::ofstream(folder.path() + "/n1/bbbb.2026010100Z.jsonl") << line(kBegan + (first_is_later ? 1 : 900));
    Database db = *Database::Open(folder.path() + "/db", Database::Mode::kReadWrite);
    Ingest(db, folder.path());
    const absl::StatusOr<std::vector<LastRecord>> last = LastRecords(db);
    ASSERT_TRUE(last.ok());
    ASSERT_EQ(last->size(), 1U);
    EXPECT_EQ(last->front().t_ns, (kBegan + 900) * kSecondNs) << first_is_later;
  }
}

TEST_F(RecordBlocksTest, AfterKeepEventsABlockIsASummaryAndReportsReadTheSameOfIt) {
  WriteJob(64, 10);
  Write("@controller",
        Cat(R"({"v":1,"t":)", kBegan * kSecondNs, R"(,"m":1,"node":"@controller","kind":"attempt",)",
            R"("cluster":"c","job":7,"user":"eve","state":"RUNNING","submit_s":)", kBegan, "}"));
  Database db = Db();
  Ingest(db, spool_);
  const auto kept = [&] {
    std::vector<EventRow> events = *LoadEvents(db, {"c", 7});
    std::vector<std::string> all;
    all.reserve(events.size());
    for (EventRow& event : events) {
      all.push_back(Cat(event.source_id, " ", event.offset, " ", event.t_ns, " ", event.kind, " ",
                        SummaryOfRecord(event.record, event.kind)));
    }
    return all;
  };
  const std::vector<std::string> before = kept();
  EXPECT_FALSE(SummarizedSince(db, {{"c", 7}})->has_value());
  const absl::StatusOr<PurgeReport> report =
      PurgeEvents(db, kBegan + 999, kBegan + 1000, [] { return false; });
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->events, 64 * 11);
  EXPECT_EQ(kept(), before);
  EXPECT_EQ(*SummarizedSince(db, {{"c", 7}}), kBegan + 1000);
  const std::vector<EventRow> summaries = *LoadEvents(db, {"c", 7});
  for (const EventRow& event : summaries) {
    if (event.kind == "attempt") continue;
    EXPECT_EQ(event.record.find("stepd"), std::string::npos) << event.record;
    EXPECT_EQ(event.record.find("pid"), std::string::npos) << event.record;
  }
  const absl::StatusOr<PurgeReport> again =
      PurgeEvents(db, kBegan + 999, kBegan + 2000, [] { return false; });
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->events, 0);
}

TEST_F(RecordBlocksTest, AnIngestBrokenOffAtAnyFileTakesEachRecordOnce) {
  WriteJob(64, 40);
  Database db = Db();
  for (int files = 1; files < 128; files += 30) {
    IngestOptions options{"c"};
    int left = files;
    options.out_of_time = [&] { return --left < 0; };
    const absl::StatusOr<IngestReport> report = IngestSpool(db, spool_, options);
    ASSERT_TRUE(report.ok()) << report.status();
  }
  Ingest(db, spool_);
  EXPECT_GT(One(db, "SELECT count(*) FROM record_block"), 1);
  EXPECT_EQ(Records(db), InSpool());
}

TEST_F(RecordBlocksTest, ADamagedBlockIsAnErrorAndNotAJobThatSaidLess) {
  WriteJob(64, 10);
  Database db = Db();
  Ingest(db, spool_);
  ASSERT_TRUE(db.Execute("UPDATE record_block SET data = substr(data, 1, length(data) - 3)").ok());
  EXPECT_TRUE(absl::IsDataLoss(LoadEvents(db, {"c", 7}).status()));
}

TEST_F(RecordBlocksTest, WhereNoRecordNamesAClusterThereAreNoBlocks) {
  for (int task = 0; task < 900; ++task) {
    std::string record = Task("n1", task, kBegan * kSecondNs);
    record.replace(record.find(R"("cluster":"c",)"), 14, "");
    Write("n1", record);
  }
  Database db = Db();
  Ingest(db, spool_);
  EXPECT_EQ(One(db, "SELECT count(*) FROM record_block"), 0);
  EXPECT_EQ(One(db, "SELECT count(*) FROM event"), 900);
}

}  // namespace
}  // namespace goodput
