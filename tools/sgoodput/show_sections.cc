#include "tools/sgoodput/show_sections.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_format.h"
#include "sql/text.h"
#include "tools/accounting/advise/network.h"
#include "tools/accounting/advise/what_to_do.h"
#include "tools/accounting/report/gpu_hours.h"
#include "tools/accounting/report/gpu_use_report.h"
#include "tools/accounting/report/host_use_report.h"
#include "tools/accounting/timeline/allocation_check.h"
#include "tools/accounting/timeline/google_difference.h"
#include "tools/accounting/timeline/hang_evidence.h"
#include "tools/accounting/timeline/kept_steps_check.h"
#include "tools/accounting/timeline/last_step.h"
#include "tools/accounting/timeline/lens.h"
#include "tools/accounting/timeline/world_sizes.h"
#include "tools/base/format.h"
#include "tools/sgoodput/advise.h"

namespace goodput {
namespace {

constexpr std::size_t kMostStalls = 3;

// Wraps text with a label in the margin of the first line only.
std::string Labelled(const std::string& label, const std::string& text) {
  const std::string indent(14, ' ');
  std::string wrapped = Wrap(text, indent);
  return Cat("  ", label, wrapped.substr(2 + label.size()));
}

}  // namespace

void PrintStalls(const Report& report, const Style& style) {
  std::vector<Stall> stalls = report.timeline.stalls;
  if (stalls.empty()) return;
  Ns sum = 0;
  for (const Stall& stall : stalls) sum += stall.ns;
  std::stable_sort(stalls.begin(), stalls.end(), [](const Stall& a, const Stall& b) { return a.ns > b.ns; });
  const bool some = stalls.size() > kMostStalls;
  std::printf("%s  %zu, %s in total%s\n", style.Bold("Stalls").c_str(), stalls.size(),
              FormatDuration(sum).c_str(), some ? "; the longest:" : "");
  if (some) stalls.resize(kMostStalls);
  for (const Stall& stall : stalls) {
    std::printf("  %s  last progress in step %lld of attempt %d; %s, %s\n",
                FormatTime(stall.last_progress).substr(11).c_str(), static_cast<long long>(stall.step),
                stall.attempt + 1, FormatDuration(stall.ns).c_str(),
                stall.recovered ? "then it continued" : "until it ended");
    for (const std::string& line : AllInWords(report.timeline, stall))
      std::fputs(Wrap(Printable(line), "    ").c_str(), stdout);
  }
  std::printf("\n");
}

void PrintElastic(const Report& report, const Style& style) {
  const Account& account = report.account;
  const std::string sizes = InWords(ReadWorldSizes(report.timeline));
  GpuNs wanted = 0;
  for (const BucketTotal& total : account.buckets) {
    if (BucketSide(total.bucket) != Side::kExcluded) wanted += total.gpu_ns;
  }
  bool any = !sizes.empty();
  for (const Bucket bucket : {Bucket::kStandby, Bucket::kIdleMember, Bucket::kMissing})
    any |= account.buckets[static_cast<std::size_t>(bucket)].gpu_ns > 0;
  if (!any) return;
  const bool trained = report.timeline.steps.executed > 0;
  const std::string text = !trained ? "no steps seen" : sizes.empty() ? "all wanted GPUs trained" : sizes;
  std::fputs(Wrap(Cat(style.Bold("Elastic"), "  ", text), "").c_str(), stdout);
  for (const Bucket bucket : {Bucket::kStandby, Bucket::kIdleMember, Bucket::kMissing}) {
    const BucketTotal& total = account.buckets[static_cast<std::size_t>(bucket)];
    if (total.gpu_ns == 0 || wanted == 0) continue;
    std::printf("  %-16s %8s %6s  %s\n", std::string(BucketName(bucket)).c_str(),
                Cat(FormatGpuHours(total.gpu_ns), "h").c_str(),
                FormatPercent(static_cast<double>(total.gpu_ns) / static_cast<double>(wanted)).c_str(),
                std::string(BucketMeaning(bucket)).c_str());
  }
  std::printf("  (GPU-hours, and shares of the wanted GPU time)\n\n");
}

void PrintLastStep(const Report& report) {
  const Timeline& timeline = report.timeline;
  if (!timeline.running) return;
  const std::optional<LastStep> last = FindLastStep(timeline);
  if (!last) return;
  std::printf("       the last, %lld, began %s ago\n", static_cast<long long>(last->step),
              FormatDuration(std::max<Ns>(0, timeline.now - last->begin)).c_str());
}

void PrintNetwork(const Report& report, const Style& style) {
  const CollectiveTest* test = LastNetworkTest(report.timeline);
  if (test == nullptr) return;
  std::printf("%s  %s between %zu nodes, messages of %s (busbw from nccl-tests)\n",
              style.Bold("Network").c_str(), BandwidthInWords(test->busbw).c_str(), test->nodes.size(),
              MessageInWords(test->bytes).c_str());
  if (IsSlow(test->bytes, test->busbw, report.busbw)) {
    const std::string text =
        absl::StrFormat("below the %g GB/s that goodput.conf expects (busbw)", report.busbw);
    std::printf("         %s\n", style.Bad(text).c_str());
  }
  std::printf("\n");
}

void PrintGpuUse(const Report& report, const Style& style) {
  const std::vector<std::pair<std::string, std::string>> rows = GpuUseInWords(report);
  if (rows.empty()) return;
  std::printf("%s  measured for %s of the allocated GPU time\n", style.Bold("GPUs").c_str(),
              FormatPercent(MeasuredShare(report)).c_str());
  for (const auto& [label, text] : rows) std::fputs(Labelled(label, text).c_str(), stdout);
  std::printf("\n");
}

void PrintHostUse(const Report& report, const Style& style) {
  const std::optional<HostUseTotal> total = HostUseOf(report);
  if (!total) return;
  std::printf("%s  used by the steps that ended\n", style.Bold("Nodes").c_str());
  for (const auto& [label, text] : InWords(*total)) std::fputs(Labelled(label, text).c_str(), stdout);
  std::printf("\n");
}

bool ProofHolds(const Report& report) {
  return ReadLedger(report.timeline).holds() && ReadAllocatedTime(report.timeline).agrees_within();
}

std::vector<std::string> WhatToDoAbout(const Report& report) {
  const AdviseReport advise = AdviseOn(report.timeline, report.account, report.busbw);
  if (!advise.measured) return {};
  return WhatToDo(report.timeline, report.account, *advise.measured, advise.advice);
}

void PrintWhatToDo(const Report& report, const Style& style) {
  if (report.what_to_do.empty()) return;
  std::printf("%s\n", style.Bold("What to do").c_str());
  for (const std::string& sentence : report.what_to_do)
    std::fputs(Wrap(Printable(sentence), "  ").c_str(), stdout);
}

void PrintProof(const Report& report, const Style& style) {
  const Ledger ledger = ReadLedger(report.timeline);
  const AllocatedTime allocated = ReadAllocatedTime(report.timeline);
  const bool sound = ledger.holds() && allocated.agrees_within();
  std::printf("%s%s\n", style.Bold("Proof").c_str(),
              sound ? "" : style.Bad("  does not hold everywhere").c_str());
  if (report.timeline.steps.executed > 0) std::fputs(Labelled("ledger", InWords(ledger)).c_str(), stdout);
  std::fputs(Labelled("accounting", InWords(allocated)).c_str(), stdout);
  std::printf("\n");
}

void PrintDefinitions(const Report& report, const Style& style) {
  const Definitions& definitions = report.account.definitions;
  if (!definitions.rg && !definitions.google_api && !definitions.nvcre && !definitions.ettr) return;
  std::printf("%s\n", style.Bold("Other definitions of goodput").c_str());
  std::printf("  rg %s  google_api %s  google_interval %s  nvcre %s\n  ettr %s  ettr_1h %s\n",
              FormatPercent(definitions.rg).c_str(), FormatPercent(definitions.google_api).c_str(),
              FormatPercent(definitions.google_interval).c_str(), FormatPercent(definitions.nvcre).c_str(),
              FormatPercent(definitions.ettr).c_str(), FormatPercent(definitions.ettr_1h).c_str());
  if (definitions.lens) {
    std::printf("  lens %s = scheduling %s x runtime %s x app %s  app_p05 %s\n",
                FormatPercent(definitions.lens).c_str(), FormatPercent(definitions.lens_scheduling).c_str(),
                FormatPercent(definitions.lens_runtime).c_str(), FormatPercent(definitions.lens_app).c_str(),
                FormatPercent(definitions.app_p05).c_str());
  }
  if (const auto why = ExplainGoogleDifference(report.timeline, report.account)) {
    const std::string text = InWords(*why);
    if (!text.empty()) std::fputs(Wrap(text, "  ").c_str(), stdout);
  }
  if (const std::string text = WhyLensDiffers(report.account); !text.empty())
    std::fputs(Wrap(text, "  ").c_str(), stdout);
  std::printf("\n");
}

void PrintSensitivity(const std::vector<SensitivityRow>& rows, const Style& style) {
  const SensitivityRow& as_is = rows.front();
  const auto differs = [&](const auto& value) {
    return std::any_of(rows.begin(), rows.end(),
                       [&](const SensitivityRow& row) { return value(row) != value(as_is); });
  };
  // Columns with equal values are omitted.
  const bool kept = differs([](const SensitivityRow& row) { return row.kept; });
  const bool stall = differs([](const SensitivityRow& row) { return row.stall; });
  const bool lost = differs([](const SensitivityRow& row) { return row.lost; });
  std::vector<Table::Column> columns = {{"Counted"},
                                        {"Scheduling", Table::Align::kRight},
                                        {"Runtime", Table::Align::kRight},
                                        {"Goodput", Table::Align::kRight}};
  if (kept) columns.push_back({"Kept", Table::Align::kRight});
  if (stall) columns.push_back({"Stall", Table::Align::kRight});
  if (lost) columns.push_back({"Lost", Table::Align::kRight});
  Table table(std::move(columns));
  for (const SensitivityRow& row : rows) {
    std::vector<std::string> cells = {row.label, FormatPercent(row.goodput.scheduling),
                                      FormatPercent(row.goodput.runtime), FormatPercent(row.goodput.sg_rg)};
    if (kept) cells.push_back(Cat(row.kept));
    if (stall) cells.push_back(FormatDuration(row.stall));
    if (lost) cells.push_back(FormatDuration(row.lost));
    table.Add(std::move(cells));
  }
  std::printf("%s\n%s\n", style.Bold("Sensitivity").c_str(), table.Render(true, "  ").c_str());
}

}  // namespace goodput
