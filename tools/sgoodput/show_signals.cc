// `sgoodput show`: the signals of a job and what became of them.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <string>
#include <vector>

#include "sql/text.h"
#include "tools/base/format.h"
#include "tools/base/signal_name.h"
#include "tools/sgoodput/show_sections.h"

namespace goodput {
namespace {

// A line has 80 columns, so larger numbers of tasks are abbreviated.
constexpr std::int64_t kMany = 1000;

std::string After(const SignalDelivery& delivery, const std::optional<Ns>& t) {
  return t ? Cat("+", FormatDuration(*t - delivery.t)) : "-";
}

std::string Reached(const SignalDelivery& delivery) {
  if (delivery.tasks == 0)
    return Cat(delivery.processes, delivery.processes == 1 ? " process" : " processes");
  const std::int64_t others = delivery.processes - delivery.tasks;
  const char* noun = delivery.tasks == 1 ? " task" : " tasks";
  return Cat(delivery.tasks, delivery.tasks < kMany ? noun : "", others > 0 ? Cat("+", others) : "");
}

std::string Handled(const SignalDelivery& delivery) {
  if (delivery.tasks == 0 || delivery.signo == SIGKILL) return "-";  // it cannot be handled
  if (delivery.tasks_set_up == delivery.tasks) return "set up";      // not the program yet
  if (delivery.tasks_ignoring == delivery.tasks) return "ignored";
  const bool known =
      delivery.tasks_handled + delivery.tasks_unprepared + delivery.tasks_ignoring == delivery.tasks;
  if (!known && delivery.tasks_handled == 0) return "?";
  if (delivery.tasks >= kMany && delivery.tasks_handled == delivery.tasks) return "all";
  return Cat(delivery.tasks_handled, "/", delivery.tasks, known ? "" : "?");
}

std::string Saved(const SignalDelivery& delivery) {
  switch (delivery.outcome) {
    case SignalDelivery::Outcome::kNotAsked:
      return delivery.repeats ? "(again)" : "";
    case SignalDelivery::Outcome::kInTime:
      return After(delivery, delivery.checkpoint_complete);
    case SignalDelivery::Outcome::kCutShort:
      return "cut short";
    case SignalDelivery::Outcome::kNothing:
      return "none";
    case SignalDelivery::Outcome::kOpen:
      return "open";
  }
  return "";
}

}  // namespace

bool SignalsSaySomething(const Report& report) {
  const SignalLedger& ledger = report.timeline.signals;
  return !ledger.warnings.empty() ||
         std::any_of(ledger.deliveries.begin(), ledger.deliveries.end(), [](const SignalDelivery& delivery) {
           return delivery.outcome == SignalDelivery::Outcome::kCutShort ||
                  delivery.outcome == SignalDelivery::Outcome::kNothing;
         });
}

void PrintSignalSummary(const Report& report, const Style& style) {
  const std::string& summary = report.timeline.signals.summary;
  if (summary.empty()) return;
  const std::string wrapped = Wrap(Cat(summary, " (--all lists them)"), "         ");
  std::printf("%s  %s\n", style.Bold("Signals").c_str(), wrapped.substr(9).c_str());
}

void PrintSignals(const Report& report, const Style& style, std::size_t most) {
  const SignalLedger& ledger = report.timeline.signals;
  std::vector<const SignalDelivery*> shown;
  for (const SignalDelivery& delivery : ledger.deliveries) {
    // Signals that reached only processes outside any task, such as those a script leaves behind, do not
    // matter.
    if (delivery.tasks > 0 || delivery.asks()) shown.push_back(&delivery);
  }
  if (shown.empty()) return;
  const std::size_t count = shown.size();
  const std::string head = ledger.summary.empty() ? Cat(count, count == 1 ? " signal" : " signals",
                                                        ", none of them asks for a checkpoint")
                                                  : ledger.summary;
  // The title is as wide as the indent of the following lines.
  const std::string wrapped = Wrap(head, "         ");
  std::printf("%s  %s", style.Bold("Signals").c_str(), wrapped.substr(9).c_str());
  Table table({{"Time"},
               {"Signal"},
               {"Sender"},
               {"Reached"},
               {"Handled"},
               {"Saved", Table::Align::kRight},
               {"Exit", Table::Align::kRight},
               {"Grace", Table::Align::kRight}});
  const std::size_t first = count > most ? count - most : 0;
  if (first > 0) std::printf("  (%zu earlier ones in --json)\n", first);
  for (std::size_t i = first; i < count; ++i) {
    const SignalDelivery& delivery = *shown[i];
    table.Add({FormatTime(delivery.t).substr(11), SignalName(delivery.signo),
               delivery.sender.empty() ? "?" : Printable(delivery.sender), Reached(delivery),
               Handled(delivery), Saved(delivery), After(delivery, delivery.exit),
               FormatDuration(delivery.grace)});
  }
  std::printf("%s", table.Render(true, "  ").c_str());
  for (const std::string& warning : ledger.warnings)
    std::fputs(Wrap(Cat("warning: ", Printable(warning)), "  ").c_str(), stdout);
  std::printf("\n");
}

}  // namespace goodput
