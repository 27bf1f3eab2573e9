// Writes records to a node's spool as the plugin does, until it is killed. tests/soak/ship.py runs one per
// node.
//
//   spool_writer ROOT NODE BOOT FIRST RECORDS_PER_SECOND
//
// An hour lasts two seconds, so that there are many files.
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

#include "spank/event.h"
#include "spank/spool.h"

namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;

std::int64_t FastReal() noexcept {
  const std::int64_t hour = goodput::kSystemClock.real_ns() / (2 * kSecondNs) % 100'000;
  return (1'767'225'600 + hour * 3600) * kSecondNs;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    std::fputs("usage: spool_writer ROOT NODE BOOT FIRST RECORDS_PER_SECOND\n", stderr);
    return 2;
  }
  goodput::Spool spool;
  goodput::Spool::Config config;
  config.root = argv[1];
  config.node = argv[2];
  config.boot_id = argv[3];
  config.owner = geteuid();
  config.clock.real_ns = FastReal;
  if (const std::string complaint = spool.Open(config); !complaint.empty()) {
    std::fprintf(stderr, "%s\n", complaint.c_str());
    return 1;
  }
  std::int64_t number = std::atoll(argv[4]);
  std::mt19937_64 random(static_cast<std::uint64_t>(number));
  const auto pause_us = static_cast<unsigned>(10'000'000 / std::atoi(argv[5]));  // per ten records
  while (true) {
    for (int i = 0; i < 10; ++i, ++number) {
      const std::int64_t t = goodput::kSystemClock.real_ns();
      const bool mark = random() % 8 == 0;
      goodput::RecordBuilder record(mark ? goodput::kind::kMark : goodput::kind::kTaskStart,
                                    {t, goodput::kSystemClock.mono_ns(), config.node, 1});
      record.Text(goodput::key::kCluster, "c1");
      record.Int(goodput::key::kJob, number / 1000 + 1);
      record.Text(goodput::key::kSlurmStep, "0");
      record.Int(goodput::key::kTask, 0);
      if (mark) {
        record.Text(goodput::key::kMark, "step");
        record.Text(goodput::key::kEdge, "begin");
        record.Int(goodput::key::kTrainStep, number);
      } else {
        record.Int(goodput::key::kPid, number);
        record.Text(goodput::key::kComm, std::string(random() % 200, 'x'));
      }
      if (spool.Write(record.Finish()) != goodput::Append::kWritten) return 1;
    }
    usleep(pause_us / 2 + static_cast<unsigned>(random() % (pause_us + 1)));
  }
}
