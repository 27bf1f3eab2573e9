// `sgoodput show`: the signals a job was sent and what became of them.
#include <csignal>
#include <cstdio>
#include <string>
#include <vector>

#include "sql/text.h"
#include "tools/base/signal_name.h"
#include "tools/sgoodput/format.h"
#include "tools/sgoodput/show_sections.h"

namespace goodput {
namespace {

// The last ones; --json has all.
constexpr std::size_t kMostDeliveries = 12;

std::string After(const SignalDelivery& delivery, const std::optional<Ns>& t) {
  return t ? Cat("+", FormatDuration(*t - delivery.t)) : "-";
}

std::string Reached(const SignalDelivery& delivery) {
  if (delivery.tasks == 0)
    return Cat(delivery.processes, delivery.processes == 1 ? " process" : " processes");
  const std::int64_t others = delivery.processes - delivery.tasks;
  return Cat(delivery.tasks, delivery.tasks == 1 ? " task" : " tasks", others > 0 ? Cat("+", others) : "");
}

std::string Handled(const SignalDelivery& delivery) {
  if (delivery.tasks == 0 || delivery.signo == SIGKILL) return "-";  // nobody can
  if (delivery.tasks_ignoring == delivery.tasks) return "ignored";
  const bool known =
      delivery.tasks_handled + delivery.tasks_unprepared + delivery.tasks_ignoring == delivery.tasks;
  if (!known && delivery.tasks_handled == 0) return "?";
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

void PrintSignals(const Report& report, const Style& style) {
  const SignalLedger& ledger = report.timeline.signals;
  if (ledger.empty()) return;
  const std::size_t count = ledger.deliveries.size();
  const std::string head = ledger.summary.empty() ? Cat(count, count == 1 ? " signal" : " signals",
                                                        ", none that asks for a checkpoint")
                                                  : ledger.summary;
  // The title is as wide as the indent of what follows it.
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
  const std::size_t first = count > kMostDeliveries ? count - kMostDeliveries : 0;
  if (first > 0) std::printf("  (%zu earlier ones are in --json)\n", first);
  for (std::size_t i = first; i < count; ++i) {
    const SignalDelivery& delivery = ledger.deliveries[i];
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
