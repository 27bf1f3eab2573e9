// Runs every fuzz target without libFuzzer: on its corpus, and on inputs that differ from it at a few random
// places, the same in every run.
//
// It links the libraries of the unit tests, which libFuzzer cannot use, because it needs its own
// instrumentation. Each target is a test, in a process of its own.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/fuzz/target.h"

namespace {

// The limits of tests/fuzz/run.
constexpr std::size_t kMostBytes = 8192;
constexpr unsigned kMostSeconds = 10;
constexpr std::int64_t kMostKilobytes = 1024 * 1024;
// Some targets take a hundred times as long for an input as others.
constexpr int kChangedInputs = 10000;
constexpr double kProcessorSeconds = 1;

std::vector<std::pair<std::string, ReplayTarget::Run>>& Targets() {
  static std::vector<std::pair<std::string, ReplayTarget::Run>> targets;
  return targets;
}

// What the process of a target runs at the moment, for the one that waits for it.
struct Shared {
  std::size_t inputs;
  std::size_t size;
  std::array<std::uint8_t, kMostBytes> bytes;
};

std::vector<std::string> Corpus(const std::string& target) {
  std::vector<std::string> seeds;
  for (const auto& file : std::filesystem::directory_iterator(FUZZ_CORPUS "/" + target)) {
    std::ifstream in(file.path(), std::ios::binary);
    seeds.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  // Folders list files in any order.
  std::sort(seeds.begin(), seeds.end());
  return seeds;
}

class Changes {
 public:
  explicit Changes(const std::vector<std::string>& seeds) : seeds_(seeds) {}

  std::string Next() {
    std::string input = seeds_[Below(seeds_.size())];
    for (std::size_t i = Below(4) + 1; i > 0; --i) Change(input);
    if (input.size() > kMostBytes) input.resize(kMostBytes);
    return input;
  }

 private:
  std::size_t Below(std::size_t end) { return end == 0 ? 0 : random_() % end; }

  void Change(std::string& input) {
    // Texts and bytes at which parsers end, count or overflow.
    static constexpr std::string_view kTold[] = {"0",
                                                 "-1",
                                                 "9223372036854775807",
                                                 "18446744073709551616",
                                                 "1e999",
                                                 "\n",
                                                 "\"",
                                                 "\\",
                                                 "\\u0000",
                                                 "{",
                                                 "}",
                                                 "[",
                                                 "]",
                                                 ",",
                                                 ":",
                                                 "|",
                                                 " ",
                                                 "\xff",
                                                 "\x80",
                                                 "null"};
    const std::size_t at = Below(input.size());
    const std::size_t count = std::min(Below(32) + 1, input.size() - at);
    switch (Below(8)) {
      case 0:
        if (!input.empty()) input[at] = static_cast<char>(input[at] ^ (1 << Below(8)));
        break;
      case 1:
        if (!input.empty()) input[at] = static_cast<char>(Below(256));
        break;
      case 2:
        input.erase(at, count);
        break;
      case 3:
        input.insert(at, input.substr(at, count));
        break;
      case 4:
        input.insert(at, kTold[Below(std::size(kTold))]);
        break;
      case 5: {
        // A number becomes another one.
        const std::size_t digits = std::min(input.find_first_of("0123456789", at), input.size());
        const std::size_t end = std::min(input.find_first_not_of("0123456789", digits), input.size());
        input.replace(digits, end - digits, kTold[Below(5)]);
        break;
      }
      case 6: {
        const std::string& other = seeds_[Below(seeds_.size())];
        const std::size_t from = Below(other.size());
        input.replace(at, count, other, from, Below(64) + 1);
        break;
      }
      default:
        input.resize(at);
    }
  }

  const std::vector<std::string>& seeds_;
  std::mt19937_64 random_{1};
};

void RunOne(ReplayTarget::Run run, const std::string& input, Shared& shared) {
  ++shared.inputs;
  shared.size = std::min(input.size(), kMostBytes);
  std::memcpy(shared.bytes.data(), input.data(), shared.size);
  alarm(kMostSeconds);
  // A copy without spare bytes, so that ASan sees a read behind it; never a null pointer.
  const std::unique_ptr<std::uint8_t[]> exact(new std::uint8_t[input.size()]);
  std::copy(input.begin(), input.end(), exact.get());
  run(exact.get(), input.size());
  rusage used{};
  REQUIRE(getrusage(RUSAGE_SELF, &used) == 0 && used.ru_maxrss < kMostKilobytes);
}

void RunAll(ReplayTarget::Run run, const std::vector<std::string>& seeds, Shared& shared) {
  RunOne(run, "", shared);
  for (const std::string& seed : seeds) RunOne(run, seed, shared);
  Changes changes(seeds);
  const std::clock_t end = std::clock() + static_cast<std::clock_t>(kProcessorSeconds * CLOCKS_PER_SEC);
  for (int i = 0; i < kChangedInputs && std::clock() < end; ++i) RunOne(run, changes.Next(), shared);
  alarm(0);
}

class Replay : public testing::Test {
 public:
  Replay(std::string target, ReplayTarget::Run run) : target_(std::move(target)), run_(run) {}

  void TestBody() override {
    const std::vector<std::string> seeds = Corpus(target_);
    ASSERT_FALSE(seeds.empty());
    void* place = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(place, MAP_FAILED);
    auto& shared = *static_cast<Shared*>(place);
    std::fflush(nullptr);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      RunAll(run_, seeds, shared);
      std::exit(0);  // looks for leaks
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    if (status != 0) {
      const std::string kept = "fuzz-" + target_ + ".input";
      std::ofstream(kept, std::ios::binary)
          .write(reinterpret_cast<const char*>(shared.bytes.data()),
                 static_cast<std::streamsize>(shared.size));
      ADD_FAILURE() << (WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "it ended") << " at input "
                    << shared.inputs << ", which " << std::filesystem::absolute(kept).string() << " has";
    }
    std::printf("%zu inputs\n", shared.inputs);
    munmap(place, sizeof(Shared));
  }

 private:
  std::string target_;
  ReplayTarget::Run run_;
};

}  // namespace

ReplayTarget::ReplayTarget(const char* name, Run run) {
  Targets().emplace_back(name, run);
}

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  for (const auto& [name, run] : Targets()) {
    testing::RegisterTest("Fuzz", name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                          [name = name, run = run] { return new Replay(name, run); });
  }
  // None without a target: a folder of the corpus is one.
  std::size_t folders = 0;
  for (const auto& folder : std::filesystem::directory_iterator(FUZZ_CORPUS))
    folders += folder.is_directory() ? 1 : 0;
  if (folders != Targets().size()) {
    std::fprintf(stderr, "%zu targets, but the corpus has %zu\n", Targets().size(), folders);
    return 1;
  }
  return RUN_ALL_TESTS();
}
