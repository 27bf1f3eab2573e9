// Tests every checkpoint layout with real files: the framework's operations one by one, interrupted after
// each.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "spank/clock.h"
#include "tests/spank/temp_folder.h"
#include "tools/goodputd/checkpoints/checkpoint_news.h"
#include "tools/goodputd/checkpoints/folder_watch.h"
#include "tools/goodputd/checkpoints/layouts/layouts.h"
#include "tools/goodputd/checkpoints/scan_helper.h"

namespace goodput {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPickle = "\x80\x04metadata.";

std::string Little(std::uint64_t value, unsigned width) {
  std::string text;
  for (unsigned i = 0; i < width; ++i) text += static_cast<char>(value >> (8U * i) & 0xFFU);
  return text;
}

// A zip archive with one stored file, with or without Zip64 (torch.save writes Zip64). Only the location of
// its directory matters.
std::string Zip(bool large) {
  const std::string data = "PK\x03\x04" + std::string(3000, 'x');
  const std::string directory = "PK\x01\x02" + std::string(42, '\0');
  const std::string small_place = Little(directory.size(), 4) + Little(data.size(), 4);
  const std::string large_place = "PK\x06\x06" + std::string(36, '\0') + Little(directory.size(), 8) +
                                  Little(data.size(), 8) + "PK\x06\x07" + std::string(16, '\0');
  return data + directory + (large ? large_place : "") + "PK\x05\x06" + std::string(8, '\0') +
         (large ? std::string(8, '\xff') : small_place) + Little(0, 2);
}

class Files {
 public:
  explicit Files(std::string root) : root_(std::move(root)) {}
  std::string At(const std::string& name) const { return root_ + "/" + name; }
  void Dir(const std::string& name) const { fs::create_directories(At(name)); }
  void Write(const std::string& name, std::string_view text = "data") const {
    std::ofstream(At(name), std::ios::binary | std::ios::trunc) << text;
  }
  void Append(const std::string& name, std::string_view text) const {
    std::ofstream(At(name), std::ios::binary | std::ios::app) << text;
  }
  void Rename(const std::string& from, const std::string& to) const {
    ASSERT_EQ(rename(At(from).c_str(), At(to).c_str()), 0) << from;
  }
  void Remove(const std::string& name) const { fs::remove_all(At(name)); }
  std::int64_t WrittenNs(const std::string& name) const {
    struct stat found {};
    EXPECT_EQ(stat(At(name).c_str(), &found), 0) << name;
    return found.st_mtim.tv_sec * 1'000'000'000LL + found.st_mtim.tv_nsec;
  }
  void Link(const std::string& to, const std::string& name) const {
    Remove(name);
    fs::create_symlink(to, At(name));
  }

 private:
  std::string root_;
};

// What is known about the checkpoint after an operation.
enum class Known { kNothing, kBegun, kComplete };
struct Stage {
  Known known;
  std::function<void(const Files&)> act;
};
struct Case {
  const char* title;
  const char* layout;
  std::string name;
  std::optional<std::int64_t> train_step;
  std::vector<Stage> stages;
  // How the framework removes the leftovers of an interrupted save before the next save.
  std::function<void(const Files&)> cleans_up = [](const Files&) {};
};

// For failure messages.
void PrintTo(const Case& one, std::ostream* out) {
  *out << one.title;
}

Stage Dir(Known known, const std::string& name) {
  return {known, [=](const Files& files) { files.Dir(name); }};
}
Stage Write(Known known, const std::string& name, const std::string& text = "data") {
  return {known, [=](const Files& files) { files.Write(name, text); }};
}
Stage Append(Known known, const std::string& name, const std::string& text) {
  return {known, [=](const Files& files) { files.Append(name, text); }};
}
Stage Rename(Known known, const std::string& from, const std::string& to) {
  return {known, [=](const Files& files) { files.Rename(from, to); }};
}
Stage Remove(Known known, const std::string& name) {
  return {known, [=](const Files& files) { files.Remove(name); }};
}
Stage Link(Known known, const std::string& to, const std::string& name) {
  return {known, [=](const Files& files) { files.Link(to, name); }};
}

constexpr Known kNothing = Known::kNothing;
constexpr Known kBegun = Known::kBegun;
constexpr Known kComplete = Known::kComplete;

const std::string kTorch = Zip(true);
const std::string kSmallZip = Zip(false);
const std::string kState =
    "{\n  \"global_step\": 500,\n  \"log_history\": [\n    {\n      \"loss\": 1.0\n    }\n  ]\n}\n";
const std::string kNemoName = "model--val_loss=2.10-step=199-consumed_samples=6400.0";
const std::string kNemoPlace = "default/2026-02-13_22-35-35/checkpoints/";
const std::string kLightningPlace = "lightning_logs/version_3/checkpoints/";

// NOLINTNEXTLINE(readability-function-size): a table
std::vector<Case> Cases() {
  const std::string nemo = kNemoPlace + kNemoName;
  const std::string init =
      R"({"item_handlers": {}, "init_timestamp_nsecs": 17, "commit_timestamp_nsecs": null})";
  const std::string commit =
      R"({"item_handlers": {}, "init_timestamp_nsecs": 17, "commit_timestamp_nsecs": 18})";
  const std::string tmp = "checkpoints/100.orbax-checkpoint-tmp";
  return {
      {"Megatron torch_dist",
       "megatron",
       "iter_0000100",
       100,
       {Dir(kBegun, "iter_0000100"), Write(kBegun, "iter_0000100/common.pt"),
        Write(kBegun, "iter_0000100/__0_0.distcp"), Write(kBegun, "iter_0000100/.metadata.tmp"),
        Rename(kBegun, "iter_0000100/.metadata.tmp", "iter_0000100/.metadata"),
        Write(kBegun, "iter_0000100/metadata.json"), Write(kBegun, "latest_checkpointed_iteration.txt", ""),
        Write(kComplete, "latest_checkpointed_iteration.txt", "100"),
        Write(kComplete, "iter_0000100/tokenizer.json")}},
      {"Megatron torch",
       "megatron",
       "iter_0000100",
       100,
       {Dir(kBegun, "iter_0000100/mp_rank_00_001"),
        Write(kBegun, "iter_0000100/mp_rank_00_001/model_optim_rng.pt"),
        Dir(kBegun, "iter_0000100/mp_rank_00_000"),
        Write(kBegun, "iter_0000100/mp_rank_00_000/model_optim_rng.pt"),
        Write(kComplete, "latest_checkpointed_iteration.txt", "100")}},
      {"NeMo 2",
       "nemo",
       nemo,
       200,
       {Dir(kNothing, kNemoPlace), Write(kNothing, nemo + "-unfinished", ""), Dir(kBegun, nemo + "/weights"),
        Write(kBegun, nemo + "/weights/common.pt"), Write(kBegun, nemo + "/weights/__0_0.distcp"),
        Write(kBegun, nemo + "/weights/.metadata", std::string(kPickle)),
        Write(kBegun, nemo + "/weights/metadata.json"), Dir(kBegun, nemo + "/context"),
        Write(kBegun, nemo + "/context/io.json"), Remove(kComplete, nemo + "-unfinished"),
        Link(kComplete, kNemoName, nemo + "-last")},
       [=](const Files& files) {
         if (!fs::exists(files.At(nemo + "-unfinished"))) return;
         files.Remove(nemo);
         files.Remove(nemo + "-unfinished");
       }},
      {"Lightning, moved by a rename",
       "lightning",
       kLightningPlace + "epoch=2-step=300.ckpt",
       300,
       {Write(kNothing, "tmpab12cd", ""), Write(kNothing, "tmpab12cd", kTorch),
        Dir(kNothing, kLightningPlace),
        Rename(kComplete, "tmpab12cd", kLightningPlace + "epoch=2-step=300.ckpt")}},
      {"Lightning, copied",
       "lightning",
       "epoch=2-step=300.ckpt",
       300,
       {Write(kBegun, "epoch=2-step=300.ckpt", ""),
        Append(kBegun, "epoch=2-step=300.ckpt", kTorch.substr(0, 1000)),
        Append(kBegun, "epoch=2-step=300.ckpt", kTorch.substr(1000, kTorch.size() - 1001)),
        Append(kComplete, "epoch=2-step=300.ckpt", kTorch.substr(kTorch.size() - 1))}},
      {"Lightning, the last one",
       "lightning",
       "last.ckpt",
       std::nullopt,
       {Write(kBegun, "last.ckpt", kSmallZip.substr(0, 99)),
        Append(kComplete, "last.ckpt", kSmallZip.substr(99))}},
      {"Lightning with FSDP",
       "lightning",
       "epoch=0-step=7.ckpt",
       7,
       {Dir(kBegun, "epoch=0-step=7.ckpt"), Write(kBegun, "epoch=0-step=7.ckpt/__0_0.distcp"),
        Write(kBegun, "epoch=0-step=7.ckpt/.metadata", std::string(kPickle)),
        Write(kBegun, "epoch=0-step=7.ckpt/meta.pt", kTorch.substr(0, 500)),
        Write(kComplete, "epoch=0-step=7.ckpt/meta.pt", kTorch)}},
      {"Lightning with DeepSpeed",
       "lightning",
       "epoch=0-step=7.ckpt",
       7,
       {Dir(kBegun, "epoch=0-step=7.ckpt/checkpoint"),
        Write(kBegun, "epoch=0-step=7.ckpt/checkpoint/mp_rank_00_model_states.pt"),
        Write(kComplete, "epoch=0-step=7.ckpt/latest", "checkpoint")}},
      {"Orbax, renamed",
       "orbax",
       "checkpoints/100",
       101,
       {Dir(kNothing, "checkpoints"), Dir(kBegun, tmp), Write(kBegun, tmp + "/_CHECKPOINT_METADATA", init),
        Dir(kBegun, tmp + "/items"), Write(kBegun, tmp + "/items/_METADATA"),
        Write(kBegun, tmp + "/items/manifest.ocdbt"), Write(kBegun, tmp + "/_CHECKPOINT_METADATA", commit),
        Write(kBegun, tmp + "/commit_success.txt"), Rename(kComplete, tmp, "checkpoints/100")},
       [=](const Files& files) {
         files.Remove(tmp);
         files.Remove("checkpoints/100");
       }},
      {"Orbax of 2024, renamed",
       "orbax",
       "100",
       101,
       {Dir(kBegun, "100.orbax-checkpoint-tmp-1720"),
        Dir(kBegun, "100.orbax-checkpoint-tmp-1720/items.orbax-checkpoint-tmp-1721"),
        Write(kBegun, "100.orbax-checkpoint-tmp-1720/items.orbax-checkpoint-tmp-1721/_METADATA"),
        Rename(kBegun, "100.orbax-checkpoint-tmp-1720/items.orbax-checkpoint-tmp-1721",
               "100.orbax-checkpoint-tmp-1720/items"),
        Rename(kComplete, "100.orbax-checkpoint-tmp-1720", "100")},
       [](const Files& files) {
         files.Remove("100.orbax-checkpoint-tmp-1720");
         files.Remove("100");
       }},
      {"Orbax with a commit file",
       "orbax",
       "checkpoint_100",
       100,
       {Dir(kNothing, "checkpoint_100"), Write(kBegun, "checkpoint_100/_CHECKPOINT_METADATA", init),
        Dir(kBegun, "checkpoint_100/default"), Write(kBegun, "checkpoint_100/default/_METADATA"),
        Write(kBegun, "checkpoint_100/_CHECKPOINT_METADATA", commit.substr(0, commit.size() - 5)),
        Write(kComplete, "checkpoint_100/commit_success.txt")},
       [](const Files& files) { files.Remove("checkpoint_100"); }},
      {"PyTorch DCP",
       "torch-dcp",
       "outputs/checkpoint/step-500",
       500,
       {Dir(kNothing, "outputs/checkpoint/step-500"),
        Write(kBegun, "outputs/checkpoint/step-500/__0_0.distcp"),
        Write(kBegun, "outputs/checkpoint/step-500/__1_0.distcp"),
        Write(kBegun, "outputs/checkpoint/step-500/.metadata.tmp", std::string(kPickle)),
        Rename(kComplete, "outputs/checkpoint/step-500/.metadata.tmp",
               "outputs/checkpoint/step-500/.metadata")}},
      {"PyTorch DCP before 2.3",
       "torch-dcp",
       "step_500",
       500,
       {Dir(kNothing, "step_500"), Write(kBegun, "step_500/__0_0.distcp"),
        Write(kBegun, "step_500/.metadata", ""),
        Write(kBegun, "step_500/.metadata", std::string(kPickle.substr(0, 5))),
        Write(kComplete, "step_500/.metadata", std::string(kPickle))}},
      {"DeepSpeed",
       "deepspeed",
       "global_step500",
       500,
       {Dir(kBegun, "global_step500"), Write(kBegun, "global_step500/mp_rank_00_model_states.pt"),
        Write(kBegun, "global_step500/zero_pp_rank_0_mp_rank_00_optim_states.pt"),
        Write(kBegun, "latest", ""), Write(kComplete, "latest", "global_step500")}},
      {"DeepSpeed with a tag of the user's",
       "deepspeed",
       "epoch3-step77",
       77,
       {Dir(kNothing, "epoch3-step77"), Write(kNothing, "epoch3-step77/mp_rank_00_model_states.pt"),
        Write(kComplete, "latest", "epoch3-step77")}},
      {"Hugging Face",
       "huggingface",
       "checkpoint-500",
       500,
       {Dir(kBegun, "checkpoint-500"), Write(kBegun, "checkpoint-500/model.safetensors"),
        Write(kBegun, "checkpoint-500/optimizer.pt"), Write(kBegun, "checkpoint-500/rng_state.pth"),
        Write(kBegun, "checkpoint-500/trainer_state.json", ""),
        Write(kBegun, "checkpoint-500/trainer_state.json", kState.substr(0, kState.size() - 2)),
        Write(kBegun, "checkpoint-500/trainer_state.json", kState.substr(0, kState.find("    }") + 6)),
        Write(kComplete, "checkpoint-500/trainer_state.json", kState)}},
      {"Hugging Face with DeepSpeed",
       "huggingface",
       "checkpoint-500",
       500,
       {Dir(kBegun, "checkpoint-500/global_step500"),
        Write(kBegun, "checkpoint-500/global_step500/mp_rank_00_model_states.pt"),
        Write(kBegun, "checkpoint-500/latest", "global_step500"),
        Write(kComplete, "checkpoint-500/trainer_state.json", kState)}},
      {"Hugging Face, renamed",
       "huggingface",
       "checkpoint-500",
       500,
       {Dir(kBegun, "tmp-checkpoint-500"), Write(kBegun, "tmp-checkpoint-500/model.safetensors"),
        Write(kBegun, "tmp-checkpoint-500/trainer_state.json", kState),
        Rename(kComplete, "tmp-checkpoint-500", "checkpoint-500")},
       [](const Files& files) { files.Remove("checkpoint-500"); }},
      {"Hugging Face, just in time",
       "huggingface",
       "checkpoint-500",
       500,
       {Dir(kBegun, "checkpoint-500"), Write(kBegun, "checkpoint-500/checkpoint-is-incomplete.txt"),
        Write(kBegun, "checkpoint-500/model.safetensors"),
        Write(kBegun, "checkpoint-500/trainer_state.json", kState),
        Remove(kComplete, "checkpoint-500/checkpoint-is-incomplete.txt")}},
      {"Hugging Face, its state in one line",
       "huggingface",
       "checkpoint-10",
       10,
       {Dir(kBegun, "checkpoint-10"), Write(kBegun, "checkpoint-10/model.safetensors"),
        Write(kBegun, "checkpoint-10/trainer_state.json", R"({"log_history": [{"loss": 1.0})"),
        Write(kComplete, "checkpoint-10/trainer_state.json",
              R"({"log_history": [{"loss": 1.0}], "global_step": 10})")}},
      {"One file, renamed",
       "file",
       "snapshot.pt",
       std::nullopt,
       {Write(kBegun, "snapshot.pt.tmp", kTorch.substr(0, 500)),
        Append(kBegun, "snapshot.pt.tmp", kTorch.substr(500)),
        Rename(kComplete, "snapshot.pt.tmp", "snapshot.pt")}},
      {"One file, written in place",
       "file",
       "snapshot.pt",
       std::nullopt,
       {Write(kBegun, "snapshot.pt", ""), Append(kBegun, "snapshot.pt", kTorch.substr(0, 500)),
        Append(kComplete, "snapshot.pt", kTorch.substr(500))}},
      {"A file a save, which does not say what it counts",
       "file",
       "ckpt_20.pth",
       std::nullopt,
       {Write(kNothing, "train.log", "epoch 1"), Write(kBegun, "ckpt_20.pth", kTorch.substr(0, 99)),
        Write(kComplete, "ckpt_20.pth", kTorch)}},
      {"A file a save, by its steps",
       "file",
       "model_step_300.pt",
       300,
       {Write(kBegun, "model_step_300.pt", kTorch.substr(0, 99)),
        Write(kComplete, "model_step_300.pt", kTorch)}},
      {"Composer",
       "composer",
       "ep1-ba77-rank0.pt",
       77,
       {Write(kBegun, "ep1-ba77-rank0.pt", kTorch.substr(0, 2000)),
        Append(kComplete, "ep1-ba77-rank0.pt", kTorch.substr(2000)),
        Link(kComplete, "ep1-ba77-rank0.pt", "latest-rank0.pt")}},
      {"Composer, sharded",
       "torch-dcp",
       "ep1-ba77",
       77,
       {Dir(kNothing, "ep1-ba77"), Write(kBegun, "ep1-ba77/__0_0.distcp"),
        Write(kComplete, "ep1-ba77/.metadata", std::string(kPickle))}},
  };
}

// Waits so that each operation gets its own timestamp: the file system uses the kernel's tick. It waits two
// ticks, because the coarse clock may be one behind the fine clock, which some kernels use for files that
// were just read.
std::int64_t NextTick() {
  for (int ticks = 0; ticks < 2; ++ticks) {
    const std::int64_t before = ReadClockNs(CLOCK_REALTIME_COARSE);
    while (ReadClockNs(CLOCK_REALTIME_COARSE) == before) usleep(500);
  }
  return ReadClockNs(CLOCK_REALTIME_COARSE);
}

class LayoutTest : public testing::TestWithParam<Case> {};

TEST_P(LayoutTest, IsCompleteWhenTheLastNecessaryThingIsDoneAndNotBefore) {
  const Case& one = GetParam();
  const TempFolder folder;
  const Files files(folder.path());
  const std::int64_t since = NextTick();
  std::int64_t began = 0;
  std::int64_t completed = 0;
  for (std::size_t i = 0; i < one.stages.size(); ++i) {
    SCOPED_TRACE(i);
    const std::int64_t before = NextTick();
    one.stages[i].act(files);
    // Newer kernels use the fine clock for files that were just read.
    const std::int64_t after = ReadClockNs(CLOCK_REALTIME);
    const ScanResult result = ScanCheckpoints(folder.path(), since);
    EXPECT_EQ(result.problem, "");
    EXPECT_TRUE(result.whole);
    if (one.stages[i].known == kNothing) {
      EXPECT_TRUE(result.found.empty());
      // The file is moved here; its save began elsewhere.
      if (one.layout == std::string("lightning") && began == 0) began = before;
      continue;
    }
    ASSERT_EQ(result.found.size(), 1U);
    const CheckpointSeen& seen = result.found[0];
    EXPECT_EQ(seen.layout, one.layout);
    EXPECT_EQ(seen.name, one.name);
    EXPECT_EQ(seen.train_step, one.train_step);
    EXPECT_EQ(seen.complete_ns.has_value(), one.stages[i].known == kComplete);
    if (began == 0) began = before;
    EXPECT_GE(seen.begin_ns, std::min(began, since));
    if (completed == 0 && seen.complete_ns) {
      // NeMo's time is that of its last file; the removal of a marker leaves no timestamp.
      if (one.layout != std::string("nemo")) {
        EXPECT_GE(*seen.complete_ns, before);
      }
      EXPECT_LE(*seen.complete_ns, after);
      EXPECT_LE(seen.begin_ns, *seen.complete_ns);
      completed = *seen.complete_ns;
    }
  }
  EXPECT_NE(completed, 0);
  EXPECT_TRUE(ScanCheckpoints(folder.path(), NextTick()).found.empty()) << "another attempt's";
}

TEST_P(LayoutTest, BeginsWithItsFirstFile) {
  const Case& one = GetParam();
  const TempFolder folder;
  const Files files(folder.path());
  const std::int64_t since = NextTick();
  std::int64_t begin = 0;
  for (const Stage& stage : one.stages) {
    NextTick();
    stage.act(files);
    const auto found = ScanCheckpoints(folder.path(), since).found;
    if (found.empty()) continue;
    if (begin == 0) begin = found[0].begin_ns;
    // NeMo's marker is older than the folder, and removed at the end.
    if (one.layout == std::string("nemo")) {
      EXPECT_GE(found[0].begin_ns, begin);
    } else {
      EXPECT_EQ(found[0].begin_ns, begin);
    }
  }
}

// The resulting records: "begin" and "end", in order.
class Told {
 public:
  explicit Told(std::int64_t since_ns)
      : news_(Job(since_ns), [this](const NodeJob&, std::string_view record) {
          edges_ += record.find("\"edge\":\"begin\"") != std::string_view::npos ? "b" : "e";
          records_.emplace_back(record);
          return true;
        }) {}
  void Look(const std::string& path, std::int64_t since_ns) {
    const ScanResult result = ScanCheckpoints(path, since_ns);
    const auto read = DecodeScan(EncodeScan(result));
    ASSERT_TRUE(read.ok());
    news_.Take(read->found, read->whole);
  }
  const std::string& edges() const { return edges_; }
  const std::vector<std::string>& records() const { return records_; }

 private:
  static NodeJob Job(std::int64_t since_ns) {
    NodeJob job;
    job.node = "n1";
    job.job = 7;
    job.since_ns = since_ns;
    return job;
  }
  std::string edges_;
  std::vector<std::string> records_;
  CheckpointNews news_;
};

TEST_P(LayoutTest, InterruptedAnywhereItIsBegunAndWrittenAgainByTheNextAttemptItIsThatOnes) {
  const Case& one = GetParam();
  for (std::size_t cut = 0; cut <= one.stages.size(); ++cut) {
    SCOPED_TRACE(cut);
    const TempFolder folder;
    const Files files(folder.path());
    const std::int64_t first = NextTick();
    Told told(first);
    bool complete = false;
    bool begun = false;
    for (std::size_t i = 0; i < cut; ++i) {
      one.stages[i].act(files);
      complete |= one.stages[i].known == kComplete;
      begun |= one.stages[i].known != kNothing;
      NextTick();
    }
    told.Look(folder.path(), first);
    EXPECT_EQ(told.edges(), complete ? "be" : begun ? "b" : "");
    // The next attempt on this node.
    const std::int64_t second = NextTick();
    Told again(second);
    again.Look(folder.path(), second);
    EXPECT_EQ(again.edges(), "") << "nothing of it is this one's";
    one.cleans_up(files);
    again.Look(folder.path(), second);
    for (const Stage& stage : one.stages) {
      NextTick();
      stage.act(files);
      again.Look(folder.path(), second);
      if (stage.known == kComplete) break;
      EXPECT_EQ(again.edges().find('e'), std::string::npos) << "not yet";
    }
    EXPECT_EQ(again.edges(), "be");
  }
}

TEST_P(LayoutTest, WhileItIsRemovedNothingIsTold) {
  const Case& one = GetParam();
  for (const bool backwards : {false, true}) {
    SCOPED_TRACE(backwards);
    const TempFolder folder;
    const Files files(folder.path());
    const std::int64_t since = NextTick();
    Told told(since);
    for (const Stage& stage : one.stages) {
      NextTick();
      stage.act(files);
      told.Look(folder.path(), since);
    }
    ASSERT_EQ(told.edges(), "be");
    const std::int64_t later = NextTick();
    Told next(later);
    std::vector<std::string> inside{files.At(one.name)};
    if (fs::is_directory(files.At(one.name))) {
      for (const auto& entry : fs::recursive_directory_iterator(files.At(one.name)))
        inside.push_back(entry.path());
    }
    std::sort(inside.rbegin(), inside.rend());
    // First the files, in either order, and then the empty folders.
    if (backwards) std::reverse(inside.begin(), inside.end());
    std::stable_partition(inside.begin(), inside.end(),
                          [](const std::string& path) { return !fs::is_directory(path); });
    std::sort(std::find_if(inside.begin(), inside.end(),
                           [](const std::string& path) { return fs::is_directory(path); }),
              inside.end(), std::greater<>());
    if (one.layout == std::string("nemo")) {
      files.Write(one.name + "-unfinished", "");
      inside.push_back(files.At(one.name + "-unfinished"));
    }
    for (const std::string& path : inside) {
      NextTick();
      fs::remove(path);
      told.Look(folder.path(), since);
      next.Look(folder.path(), later);
    }
    EXPECT_EQ(told.edges(), "be");
    EXPECT_EQ(next.edges(), "");
  }
}

INSTANTIATE_TEST_SUITE_P(All, LayoutTest, testing::ValuesIn(Cases()), [](const auto& info) {
  std::string name = info.param.title;
  name.erase(std::remove_if(name.begin(), name.end(), [](char c) { return isalnum(c) == 0; }), name.end());
  return name;
});

class RealFiles : public testing::Test {
 protected:
  static ScanBudget Watching(FolderWatch& watch) {
    ScanBudget budget;
    budget.watch = &watch;
    return budget;
  }
  TempFolder folder_;
  Files files_{folder_.path()};
  std::int64_t since_ = NextTick();
};

TEST_F(RealFiles, ANameThatIsWrittenOverAndOverIsToldEachTime) {
  Told told(since_);
  for (int save = 1; save <= 3; ++save) {
    NextTick();
    // A move from another file system writes in place, and sets the old times of the source last.
    files_.Write("last.ckpt", kTorch.substr(0, 500));
    told.Look(folder_.path(), since_);
    NextTick();
    files_.Append("last.ckpt", kTorch.substr(500));
    told.Look(folder_.path(), since_);
    told.Look(folder_.path(), since_);
  }
  EXPECT_EQ(told.edges(), "bebebe");
  for (int save = 1; save <= 2; ++save) {
    NextTick();
    files_.Write("tmp1", kTorch);
    NextTick();
    files_.Rename("tmp1", "last.ckpt");
    told.Look(folder_.path(), since_);
  }
  EXPECT_EQ(told.edges(), "bebebebebe");
  chmod(files_.At("last.ckpt").c_str(), 0600);
  told.Look(folder_.path(), since_);
  files_.Rename("last.ckpt", "away");
  told.Look(folder_.path(), since_);
  files_.Rename("away", "last.ckpt");
  told.Look(folder_.path(), since_);
  EXPECT_EQ(told.edges(), "bebebebebe") << "that was no save";
}

TEST_F(RealFiles, OneFileThatIsRenamedInTurnIsASaveEachTime) {
  Told told(since_);
  for (int save = 1; save <= 3; ++save) {
    NextTick();
    files_.Write("snapshot.pt.tmp", kTorch.substr(0, 500));
    told.Look(folder_.path(), since_);
    NextTick();
    files_.Append("snapshot.pt.tmp", kTorch.substr(500));
    files_.Rename("snapshot.pt.tmp", "snapshot.pt");
    told.Look(folder_.path(), since_);
    told.Look(folder_.path(), since_);
  }
  EXPECT_EQ(told.edges(), "bebebe");
}

TEST_F(RealFiles, AFileThatWasRenamedIsASaveThoughTheNextOneHasBegun) {
  Told told(since_);
  files_.Write("snapshot.pt.tmp", kTorch.substr(0, 500));
  told.Look(folder_.path(), since_);
  EXPECT_EQ(told.edges(), "b");
  const auto replace = [&] {
    NextTick();
    files_.Write("snapshot.pt.tmp", kTorch);
    files_.Rename("snapshot.pt.tmp", "snapshot.pt");
    NextTick();
    files_.Write("snapshot.pt.tmp", kTorch.substr(0, 500));
  };
  replace();
  told.Look(folder_.path(), since_);
  EXPECT_EQ(told.edges().substr(0, 2), "be");
  EXPECT_EQ(told.edges().back(), 'b') << "the one that is written now";
  const std::string before = told.edges();
  told.Look(folder_.path(), since_);
  told.Look(folder_.path(), since_);
  EXPECT_EQ(told.edges(), before);
  NextTick();
  files_.Append("snapshot.pt.tmp", kTorch.substr(500));
  files_.Rename("snapshot.pt.tmp", "snapshot.pt");
  told.Look(folder_.path(), since_);
  told.Look(folder_.path(), since_);
  EXPECT_EQ(told.edges(), before + "e");
}

TEST(CheckpointNews, OneThatIsFoundCompleteBesideTheNextOneIsToldOnce) {
  NodeJob job;
  job.node = "n1";
  std::string edges;
  CheckpointNews news(job, [&](const NodeJob&, std::string_view record) {
    edges += record.find("\"edge\":\"begin\"") != std::string_view::npos ? "b" : "e";
    return true;
  });
  const CheckpointSeen next{"file", "last.h5", std::nullopt, 200, std::nullopt, 2, 200};
  const CheckpointSeen last{"file", "last.h5", std::nullopt, 150, 150, 1, 150};
  news.Take({next});
  for (int look = 0; look < 3; ++look) news.Take({last, next});
  EXPECT_EQ(edges, "bbe");
  for (int look = 0; look < 2; ++look) news.Take({last});
  EXPECT_EQ(edges, "bbe") << "the next one vanished";
  news.Take({last, next});
  EXPECT_EQ(edges, "bbeb");
  news.Take({{"file", "last.h5", std::nullopt, 200, 300, 2, 300}});
  EXPECT_EQ(edges, "bbebe");
}

TEST_F(RealFiles, AFileOfAnotherKindIsWholeWhenNobodyWritesToItAnyMore) {
  files_.Write("params.msgpack", "no archive");
  EXPECT_FALSE(ScanCheckpoints(folder_.path(), since_).found.at(0).complete_ns);
  usleep(2'100'000);
  EXPECT_TRUE(ScanCheckpoints(folder_.path(), since_).found.at(0).complete_ns);
  // A file without a checkpoint's ending is not a checkpoint.
  files_.Write("events.out.tfevents.1", "log");
  files_.Write("loss.csv", "1");
  EXPECT_EQ(ScanCheckpoints(folder_.path(), since_).found.size(), 1U);
}

// Like NFS, which does not report when a file was created.
class Unborn : public FolderView {
 public:
  struct File {
    std::int64_t written_ns = 0;
    std::int64_t changed_ns = 0;
    std::string text;
  };
  std::vector<FolderEntry> entries;
  std::map<std::string, File> files;
  std::map<std::string, std::shared_ptr<Unborn>> folders;

  const std::vector<FolderEntry>& Entries() const override { return entries; }
  std::optional<FileTimes> Times(const std::string& name) const override {
    const auto file = files.find(name);
    if (file == files.end()) return std::nullopt;
    const File& of = file->second;
    const std::int64_t born = std::min(of.written_ns, of.changed_ns);
    return FileTimes{born, of.written_ns, of.changed_ns, 1, static_cast<std::int64_t>(of.text.size()), false};
  }
  std::optional<std::string> Read(const std::string& name) const override { return files.at(name).text; }
  std::optional<std::string> Head(const std::string& name, std::size_t bytes) const override {
    return files.at(name).text.substr(0, bytes);
  }
  std::optional<std::string> Tail(const std::string& name, std::size_t bytes) const override {
    const std::string& text = files.at(name).text;
    return text.substr(text.size() - std::min(bytes, text.size()));
  }
  std::unique_ptr<FolderView> Open(const std::string& name) const override {
    const auto folder = folders.find(name);
    return folder == folders.end() ? nullptr : std::make_unique<Unborn>(*folder->second);
  }
};

TEST(NoTimeOfBirth, ASaveBeganWithItsFirstFileAndNotWithTheRename) {
  constexpr std::int64_t kS = 1'000'000'000;
  Unborn root;
  root.entries = {{"checkpoint-10", true}};
  root.files["checkpoint-10"] = {108 * kS, 108 * kS, ""};  // renamed then
  auto inside = std::make_shared<Unborn>();
  inside->entries = {{"model.bin", false}, {"trainer_state.json", false}};
  inside->files["model.bin"] = {101 * kS, 101 * kS, "data"};
  inside->files["trainer_state.json"] = {108 * kS, 108 * kS, kState};
  root.folders["checkpoint-10"] = inside;
  const std::vector<CheckpointSeen> found = FindCheckpoints(root, 50 * kS);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].begin_ns, 101 * kS);
  EXPECT_EQ(found[0].complete_ns, 108 * kS);
  EXPECT_FALSE(found[0].begin_known) << "its first file took a while";
  // A single file does not show when its save began.
  Unborn plain;
  plain.entries = {{"step_10.pt", false}};
  plain.files["step_10.pt"] = {107 * kS, 108 * kS, kTorch};
  const std::vector<CheckpointSeen> file = FindCheckpoints(plain, 50 * kS);
  ASSERT_EQ(file.size(), 1U);
  EXPECT_EQ(file[0].begin_ns, 108 * kS);
  EXPECT_EQ(file[0].complete_ns, 108 * kS);
}

TEST(NoTimeOfBirth, AMegatronSaveOverAnOldOneIsNotCompleteYet) {
  constexpr std::int64_t kS = 1'000'000'000;
  Unborn root;
  root.entries = {{"iter_0000010", true}, {"latest_checkpointed_iteration.txt", false}};
  root.files["iter_0000010"] = {108 * kS, 108 * kS, ""};
  root.files["latest_checkpointed_iteration.txt"] = {90 * kS, 90 * kS, "10\n"};  // of the save before
  const std::vector<CheckpointSeen> writing = FindCheckpoints(root, 50 * kS);
  ASSERT_EQ(writing.size(), 1U);
  EXPECT_FALSE(writing[0].complete_ns);
  root.files["latest_checkpointed_iteration.txt"] = {120 * kS, 120 * kS, "10\n"};
  EXPECT_EQ(FindCheckpoints(root, 50 * kS).at(0).complete_ns, 120 * kS);
}

TEST(Zip, IsWholeOnlyWithoutAHoleAndWithItsWholeEnd) {
  const auto number = [](std::uint64_t value, int bytes) {
    std::string text;
    for (int i = 0; i < bytes; ++i) text.push_back(static_cast<char>(value >> (8 * i)));
    return text;
  };
  // Files of 100 bytes, a directory of 30.
  const auto archive = [&](std::size_t hole, std::uint32_t comment) {
    return std::string(100, 'f') + std::string(hole, '\0') + std::string(30, 'd') + "PK\x05\x06" +
           number(0, 8) + number(30, 4) + number(100, 4) + number(comment, 2);
  };
  const auto is_whole = [](const std::string& bytes) {
    Unborn folder;
    folder.files["a.pt"].text = bytes;
    return IsWholeZip(folder, "a.pt", static_cast<std::int64_t>(bytes.size()));
  };
  EXPECT_TRUE(is_whole(archive(0, 0)));
  EXPECT_FALSE(is_whole(archive(1, 0)));
  EXPECT_FALSE(is_whole(archive(0, 5))) << "a comment that is not there";
  EXPECT_FALSE(is_whole(archive(0, 0).substr(1)));
}

TEST_F(RealFiles, MegatronsNewestAloneIsKnownToBeComplete) {
  for (const char* name : {"iter_0000010", "iter_0000020", "iter_0000030", "release"}) files_.Dir(name);
  files_.Write("latest_checkpointed_iteration.txt", "20\n");
  const auto found = ScanCheckpoints(folder_.path(), since_).found;
  ASSERT_EQ(found.size(), 3U);
  for (const CheckpointSeen& seen : found)
    EXPECT_EQ(seen.complete_ns.has_value(), seen.train_step == 20) << seen.name;
}

TEST_F(RealFiles, AnOlderMegatronSaveIsCompleteByItsMetadata) {
  // Both saves ended between two looks.
  for (const char* name : {"iter_0000010", "iter_0000020", "iter_0000030"}) files_.Dir(name);
  files_.Write("iter_0000010/metadata.json", "{}");
  const std::int64_t written_ns = files_.WrittenNs("iter_0000010/metadata.json");
  NextTick();
  files_.Write("latest_checkpointed_iteration.txt", "30\n");
  NextTick();
  files_.Write("iter_0000020/metadata.json", "{}");  // being written over
  std::map<std::int64_t, std::optional<std::int64_t>> complete;
  for (const CheckpointSeen& seen : ScanCheckpoints(folder_.path(), since_).found)
    complete[seen.train_step.value()] = seen.complete_ns;
  EXPECT_EQ(complete[10], written_ns);
  EXPECT_EQ(complete[20], std::nullopt);
  EXPECT_NE(complete[30], std::nullopt);
}

TEST_F(RealFiles, LayoutsDoNotTakeEachOthers) {
  files_.Dir("a/iter_0000005");
  files_.Write("a/iter_0000005/.metadata", kPickle);
  files_.Dir("b/checkpoint-5/checkpoint_5");
  files_.Dir("b/checkpoint_5/default");
  files_.Write("b/checkpoint_5/_CHECKPOINT_METADATA", "{}");
  files_.Dir("c/x-step=4/weights");
  files_.Write("c/x-step=4/weights/.metadata", kPickle);
  files_.Dir("d/epoch=0-step=5.ckpt");
  files_.Write("d/epoch=0-step=5.ckpt/.metadata", kPickle);
  files_.Dir("e/4711/data");
  std::vector<std::string> seen;
  for (const CheckpointSeen& one : ScanCheckpoints(folder_.path(), since_).found)
    seen.push_back(one.layout + " " + one.name);
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(seen,
            (std::vector<std::string>{"huggingface b/checkpoint-5", "lightning d/epoch=0-step=5.ckpt",
                                      "megatron a/iter_0000005", "nemo c/x-step=4", "orbax b/checkpoint_5"}));
}

TEST_F(RealFiles, ADirectoryThatIsItselfADistributedCheckpoint) {
  Told told(since_);
  for (int save = 1; save <= 2; ++save) {
    NextTick();
    files_.Write("__0_0.distcp", "data");
    told.Look(folder_.path(), since_);
    usleep(1'100'000);  // the tolerance for clocks of other nodes
    files_.Write(".metadata.tmp", kPickle);
    told.Look(folder_.path(), since_);
    files_.Rename(".metadata.tmp", ".metadata");
    told.Look(folder_.path(), since_);
    EXPECT_EQ(told.edges(), save == 1 ? "be" : "bebe");
  }
  EXPECT_NE(told.records()[0].find("\"name\":\".\""), std::string::npos) << told.records()[0];
  EXPECT_EQ(told.records()[0].find("train_step"), std::string::npos) << "it has no number";
}

TEST_F(RealFiles, AFolderOfOrbaxsStepsIsNoStepThoughItHasANumber) {
  for (const char* run : {"4711", "run_2"}) {
    for (const char* step : {"/100", "/300.orbax-checkpoint-tmp-1/items"})
      files_.Dir(run + std::string(step));
    files_.Write(run + std::string("/100/_CHECKPOINT_METADATA"), "{}");
    files_.Dir(run + std::string("/200"));
    files_.Write(run + std::string("/200/_METADATA"), "{}");
  }
  std::vector<std::string> names;
  for (const CheckpointSeen& seen : ScanCheckpoints(folder_.path(), since_).found) names.push_back(seen.name);
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"4711/100", "4711/200", "4711/300", "run_2/100", "run_2/200",
                                             "run_2/300"}));
}

TEST_F(RealFiles, AFolderCalledWeightsIsNotNemosAlone) {
  files_.Dir("run/weights/iter_0000005");
  files_.Dir("other/context/checkpoint-6");
  std::vector<std::string> names;
  for (const CheckpointSeen& seen : ScanCheckpoints(folder_.path(), since_).found) names.push_back(seen.name);
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"other/context/checkpoint-6", "run/weights/iter_0000005"}));
}

TEST_F(RealFiles, OnlySoDeep) {
  files_.Dir("1/2/3/4/iter_0000001");
  files_.Dir("1/2/3/4/5/iter_0000002");
  const auto found = ScanCheckpoints(folder_.path(), since_).found;
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].name, "1/2/3/4/iter_0000001");
  std::string deep = "d";
  for (int i = 0; i < 200; ++i) deep += "/d";
  files_.Dir(deep);
  EXPECT_TRUE(ScanCheckpoints(folder_.path(), since_).whole);
}

TEST_F(RealFiles, NeverOutOfTheDirectory) {
  const TempFolder elsewhere;
  const Files secret(elsewhere.path());
  secret.Dir("weights");
  secret.Write("weights/.metadata", kPickle);
  secret.Write("trainer_state.json", kState);
  secret.Write("_CHECKPOINT_METADATA", "{}");
  secret.Write("whole.ckpt", kTorch);
  for (const char* name :
       {"iter_0000001", "checkpoint-2", "3", "global_step4", "step-5", "x-step=6", "e.ckpt"})
    files_.Link(elsewhere.path(), name);
  files_.Link(elsewhere.path() + "/whole.ckpt", "f.ckpt");
  files_.Write("..-unfinished", "");
  files_.Write(".-unfinished", "");
  files_.Write("-unfinished", "");
  files_.Dir("checkpoint-7");
  files_.Link(elsewhere.path() + "/trainer_state.json", "checkpoint-7/trainer_state.json");
  files_.Dir("8");
  files_.Link(elsewhere.path(), "8/items");
  for (const CheckpointSeen& seen : ScanCheckpoints(folder_.path(), since_).found) {
    EXPECT_EQ(seen.complete_ns, std::nullopt) << seen.name;
    EXPECT_TRUE(seen.name == "checkpoint-7" || seen.layout == "nemo") << seen.name;
    EXPECT_EQ(seen.train_step.value_or(7), 7);
  }
}

TEST_F(RealFiles, WhatIsNoFileHoldsNobodyUp) {
  for (const char* name :
       {"latest", "latest_checkpointed_iteration.txt", "a.ckpt", "x-unfinished", "ep0-ba1-rank0.pt"})
    ASSERT_EQ(mkfifo(files_.At(name).c_str(), 0600), 0);
  files_.Dir("checkpoint-7");
  ASSERT_EQ(mkfifo(files_.At("checkpoint-7/trainer_state.json").c_str(), 0600), 0);
  files_.Dir("step-8");
  const int listener = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  files_.At("step-8/.metadata").copy(address.sun_path, sizeof(address.sun_path) - 1);
  ASSERT_EQ(bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  for (const CheckpointSeen& seen : ScanCheckpoints(folder_.path(), since_).found)
    EXPECT_EQ(seen.name, "checkpoint-7");
  close(listener);
}

TEST_F(RealFiles, NamesThatAreNoTextAreToldAsText) {
  files_.Write("caf\xe9-step=3.ckpt", kTorch);
  files_.Write("new\nline-step=4.ckpt", kTorch);
  files_.Dir("iter_5\xff");
  Told told(since_);
  told.Look(folder_.path(), since_);
  ASSERT_EQ(told.edges(), "bebe");
  for (const std::string& record : told.records()) {
    EXPECT_EQ(record.find('\xe9'), std::string::npos);
    EXPECT_EQ(std::count(record.begin(), record.end(), '\n'), 2);
  }
}

TEST_F(RealFiles, AmongAHundredThousandFilesItIsFoundAndThatTheLookWasNotAllIsSaid) {
  files_.Dir("iter_0000001");
  files_.Dir("many/iter_0000002");
  const int many = open(files_.At("many").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const auto make = [&](int from, int to, const char* suffix) {
    for (int i = from; i < to; ++i) {
      const int fd = openat(many, (std::to_string(i) + suffix).c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
      ASSERT_GE(fd, 0);
      close(fd);
    }
  };
  make(0, 80'000, "");
  ScanResult result = ScanCheckpoints(folder_.path(), since_);
  EXPECT_TRUE(result.whole);
  EXPECT_EQ(result.found.size(), 2U);
  // Each of these must be examined.
  make(80'000, 101'000, ".ckpt");
  close(many);
  result = ScanCheckpoints(folder_.path(), since_);
  EXPECT_FALSE(result.whole);
  EXPECT_LT(EncodeScan(result).size(), kMaxHelperMessage);
}

TEST_F(RealFiles, AFolderFullOfFoldersIsLookedAtOnlySoFar) {
  for (int i = 0; i < 3000; ++i) files_.Dir("d" + std::to_string(i) + "/e");
  EXPECT_FALSE(ScanCheckpoints(folder_.path(), since_).whole);
}

TEST_F(RealFiles, TooManyToTellInOneMessageAreToldNewestFirst) {
  const std::string padding(200, 'p');
  files_.Dir("1" + padding + "/2" + padding);
  for (int i = 0; i < 400; ++i) {
    if (i % 100 == 0) NextTick();
    files_.Write("1" + padding + "/2" + padding + "/" + padding + "-step=" + std::to_string(i) + ".ckpt",
                 kTorch);
  }
  const std::string text = EncodeScan(ScanCheckpoints(folder_.path(), since_));
  EXPECT_LT(text.size(), kMaxHelperMessage);
  const auto read = DecodeScan(text);
  ASSERT_TRUE(read.ok());
  EXPECT_FALSE(read->whole);
  EXPECT_GE(read->found.back().train_step.value_or(0), 300);
}

// Earlier attempts may have many checkpoints with many files each; examining all of them would leave no time
// for new ones.
TEST_F(RealFiles, OfEarlierOnesOnlyWhatChangedIsLookedInto) {
  constexpr int kOld = 40;
  for (int i = 0; i < kOld; ++i) {
    const std::string number = std::to_string(100 + i);
    for (const std::string& name :
         {"a/iter_" + number, "b/checkpoint-" + number, "c/step-" + number, "d/" + number,
          "e/global_step" + number, "f/x-step=" + number + "/weights"}) {
      files_.Dir(name);
      for (int file = 0; file < 16; ++file) files_.Write(name + "/__" + std::to_string(file) + "_0.distcp");
      for (const char* file : {".metadata", "_CHECKPOINT_METADATA", "trainer_state.json"})
        files_.Write(name + "/" + file, file == std::string(".metadata") ? kPickle : kState);
    }
    files_.Write("g-step=" + number + ".ckpt", kTorch);
  }
  files_.Write("a/latest_checkpointed_iteration.txt", "139");
  files_.Write("e/latest", "global_step139");
  const std::int64_t since = NextTick();
  FolderWatch watch;
  ScanBudget budget = Watching(watch);
  budget.files = 12 * kOld * 7;
  files_.Dir("a/iter_200");
  NextTick();
  files_.Write("b/checkpoint-139/new");
  const ScanResult result = ScanCheckpoints(folder_.path(), since, budget);
  EXPECT_TRUE(result.whole);
  std::vector<std::string> found;
  for (const CheckpointSeen& seen : result.found) found.push_back(seen.name);
  EXPECT_EQ(found, (std::vector<std::string>{"a/iter_200", "b/checkpoint-139"}));
}

TEST_F(RealFiles, WaitingEndsWithAChange) {
  FolderWatch watch;
  files_.Dir("a/b");
  const ScanResult result = ScanCheckpoints(folder_.path(), since_, Watching(watch));
  if (!result.watched) GTEST_SKIP() << "no inotify on this file system, or for this user";
  EXPECT_FALSE(watch.Wait(0));
  files_.Dir("a/b/iter_0000001");
  EXPECT_TRUE(watch.Wait(10'000)) << "in a folder below";
  EXPECT_FALSE(watch.Wait(0)) << "told once";
  ScanCheckpoints(folder_.path(), since_, Watching(watch));
  EXPECT_FALSE(watch.Wait(0)) << "looking changes nothing";
  files_.Write("x", "1");
  EXPECT_TRUE(watch.Wait(10'000));
  files_.Rename("x", "y");
  EXPECT_TRUE(watch.Wait(10'000));
  files_.Remove("a/b");
  EXPECT_TRUE(watch.Wait(10'000));
}

TEST_F(RealFiles, OnlySoManyAreWatched) {
  for (int i = 0; i < 300; ++i) files_.Dir("d" + std::to_string(i));
  FolderWatch watch;
  EXPECT_FALSE(ScanCheckpoints(folder_.path(), since_, Watching(watch)).watched);
  for (int i = 0; i < 200; ++i) files_.Remove("d" + std::to_string(i));
  EXPECT_TRUE(watch.Wait(10'000));
  EXPECT_TRUE(ScanCheckpoints(folder_.path(), since_, Watching(watch)).watched)
      << "those that went make room";
}

}  // namespace
}  // namespace goodput
