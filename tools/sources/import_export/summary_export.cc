#include "tools/sources/import_export/summary_export.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "spank/json_text.h"
#include "sql/text.h"
#include "tools/accounting/timeline/bucket.h"
#include "tools/accounting/timeline/goodput.h"

namespace goodput {
namespace {

using Numbers = std::vector<std::pair<std::string, double>>;

Numbers NumbersOf(const Timeline& timeline) {
  const Account account = TakeAccount(timeline);
  Numbers numbers;
  const auto add = [&](std::string_view name, const std::optional<double>& value) {
    if (value) numbers.emplace_back(Cat("goodput/", name), *value);
  };
  add("scheduling", account.goodput.scheduling);
  add("runtime", account.goodput.runtime);
  add("scheduling_x_runtime", account.goodput.sg_rg);
  add("wall_seconds", static_cast<double>(timeline.end - timeline.begin) / 1e9);
  add("gpus", account.gpus);
  add("attempts", static_cast<double>(timeline.attempts.size()));
  add("interruptions", static_cast<double>(timeline.interruptions.size()));
  add("steps_executed", static_cast<double>(timeline.steps.executed));
  add("steps_kept", static_cast<double>(timeline.steps.kept));
  add("steps_lost", static_cast<double>(timeline.steps.lost));
  for (const BucketTotal& total : account.buckets) {
    add(Cat("seconds/", BucketName(total.bucket)), static_cast<double>(total.ns) / 1e9);
    if (account.has_gpus)
      add(Cat("gpu_seconds/", BucketName(total.bucket)), static_cast<double>(total.gpu_ns) / 1e9);
  }
  return numbers;
}

std::string Number(double value) {
  return absl::StrFormat("%.15g", value);
}

}  // namespace

absl::Status ExportWandbSummary(const Timeline& timeline,
                                const std::function<absl::Status(std::string_view)>& write) {
  const Numbers numbers = NumbersOf(timeline);
  const std::string members =
      absl::StrJoin(numbers, ",\n ", [](std::string* text, const std::pair<std::string, double>& number) {
        text->append(Cat(QuotedJson(number.first), ": ", Number(number.second)));
      });
  return write(Cat("{", members, "}\n"));
}

absl::Status ExportMlflowBatch(const Timeline& timeline, const std::string& name,
                               const std::function<absl::Status(std::string_view)>& write) {
  const std::string time = Cat(timeline.end / 1'000'000);
  const Numbers numbers = NumbersOf(timeline);
  const std::string metrics =
      absl::StrJoin(numbers, ",\n  ", [&](std::string* text, const std::pair<std::string, double>& number) {
        text->append(Cat("{\"key\": ", QuotedJson(number.first), ", \"value\": ", Number(number.second),
                         ", \"timestamp\": ", time, ", \"step\": 0}"));
      });
  return write(Cat("{\"metrics\": [\n  ", metrics,
                   "],\n \"tags\": [{\"key\": \"slurm_goodput.run\", \"value\": ", QuotedJson(name),
                   "}]}\n"));
}

}  // namespace goodput
