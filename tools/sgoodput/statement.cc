// `sgoodput statement`: what a month cost, what became progress, and the largest avoidable losses.
#include "tools/accounting/rollup/statement.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "sql/status_macros.h"
#include "sql/text.h"
#include "tools/accounting/report/gpu_hours.h"
#include "tools/base/config.h"
#include "tools/base/format.h"
#include "tools/sgoodput/options.h"
#include "tools/sgoodput/rollup_subject.h"
#include "tools/sgoodput/selection.h"
#include "tools/sgoodput/session.h"

namespace goodput {
namespace {

constexpr std::size_t kLossesShown = 3;
constexpr std::size_t kRowsShown = 50;

struct Months {
  std::string name;  // "2026-10"
  Ns before = 0;     // begin of the month before
  Ns begin = 0;
  Ns end = 0;  // now, in the present month
};

// `text`: "2026-10"; empty: the last month.
absl::StatusOr<Months> ReadMonth(const std::string& text, absl::Time now) {
  const absl::TimeZone zone = absl::LocalTimeZone();
  absl::CivilMonth month = absl::CivilMonth(absl::ToCivilDay(now, zone)) - 1;
  if (!text.empty() && !absl::ParseCivilTime(text, &month))
    return absl::InvalidArgumentError(Cat("--month: '", text, "' is not a month such as 2026-10"));
  const auto begin_of = [&](absl::CivilMonth of) {
    return absl::ToUnixNanos(absl::FromCivil(absl::CivilSecond(of), zone));
  };
  Months months;
  months.name = absl::FormatCivilTime(month);
  months.before = begin_of(month - 1);
  months.begin = begin_of(month);
  months.end = std::min(begin_of(month + 1), absl::ToUnixNanos(now));
  if (months.begin >= absl::ToUnixNanos(now))
    return absl::InvalidArgumentError(Cat("--month: ", months.name, " has not begun"));
  return months;
}

struct Prices {
  std::vector<GpuPrice> list;
  std::string currency;

  std::string InCurrency(const std::string& money) const {
    return currency.empty() ? money : Cat(currency, " ", money);
  }
};

// The statement of [begin, end).
absl::StatusOr<CostStatement> StatementOf(const StatementOptions& options, RollupBy by, Ns begin, Ns end,
                                          const std::vector<GpuPrice>& prices) {
  std::map<std::string, Rollup> by_type;
  NodeFeatures features;
  SelectionOptions select = options.select;
  select.start = FormatTime(begin);
  select.end = FormatTime(end);
  select.truncate = true;
  const std::vector<RollupKey> keys{{by, ""}, {RollupBy::kReservation, ""}};
  const std::vector<Ns> edges = PriceWindows(begin, end, prices);
  RETURN_IF_ERROR(ForEachSelected(
      options.common, select, {options.stall_factor}, [&](Session& session, const Report& run) {
        ASSIGN_OR_RETURN(const RollupSubject subject, SubjectOf(run, true, session.db, features));
        by_type.try_emplace(run.run.info.gpu_type, keys, edges).first->second.Add(subject, run.timeline);
        return absl::OkStatus();
      }));
  std::map<std::string, std::vector<RollupRow>> rows;
  for (const auto& [type, rollup] : by_type) rows.emplace(type, rollup.Rows());
  return MakeStatement(rows, prices, options.as);
}

// "20,736"; ">20,736" if the price of a part is unknown; "-" if that of all of it is.
std::string Money(const PricedTime& time) {
  if (time.unpriced == time.gpu_ns) return "-";
  std::string text = absl::StrFormat("%.0f", time.money);
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
  return time.unpriced > 0 ? Cat(">", text) : text;
}

const StatementRow* RowOf(const CostStatement& statement, const std::string& group) {
  const auto found = std::find_if(statement.rows.begin(), statement.rows.end(),
                                  [&](const StatementRow& row) { return row.group == group; });
  return found == statement.rows.end() ? nullptr : &*found;
}

// Text, CSV and HTML of one statement.
class StatementWriter {
 public:
  StatementWriter(const StatementOptions& options, const Months& months, const Prices& prices,
                  const CostStatement& statement, const CostStatement& before)
      : options_(options), months_(months), prices_(prices), statement_(statement), before_(before) {}

  void WriteText() const {
    std::printf("%s\n", Wrap(Head(), "").c_str());
    using Align = Table::Align;
    Table table({{Title(), Align::kLeft, 20},
                 {"GPUh", Align::kRight},
                 {"Paid", Align::kRight},
                 {"Progress", Align::kRight},
                 {"Lost", Align::kRight},
                 {"Unknown", Align::kRight},
                 {options_.as.empty() ? "Lost money" : Cat("As ", options_.as), Align::kRight}});
    const std::size_t shown = std::min(statement_.rows.size(), kRowsShown);
    for (std::size_t i = 0; i < shown; ++i) table.Add(Cells(statement_.rows[i], statement_.rows[i].group));
    if (statement_.rows.size() > 1) table.Add(Cells(statement_.total, "total"));
    if (table.empty()) return;
    const std::string as = As();
    std::fputs(table.Render(true).c_str(), stdout);
    if (shown < statement_.rows.size())
      std::printf("%zu more are in the total; --csv lists all\n", statement_.rows.size() - shown);
    if (!as.empty()) std::printf("\n%s", Wrap(as, "").c_str());
    for (std::size_t i = 0; i < shown; ++i) WriteLosses(statement_.rows[i]);
  }

  void WriteCsv() const {
    std::fputs(
        CsvLine({Title(), "GPUHours", "Paid", "UnpricedGPUHours", "ProgressGPUHours", "LostGPUHours",
                 "UnknownGPUHours", "LostMoney", "Loss1", "Loss2", "Loss3", "AsPaid", "AsUnpricedGPUHours"})
            .c_str(),
        stdout);
    const auto hours = [](GpuNs ns) { return absl::StrFormat("%.4f", GpuHours(ns)); };
    const auto money = [](const PricedTime& time) {
      return time.unpriced == time.gpu_ns ? std::string() : absl::StrFormat("%.2f", time.money);
    };
    for (const StatementRow& row : statement_.rows) {
      std::vector<std::string> cells{row.group,
                                     hours(row.paid.gpu_ns),
                                     money(row.paid),
                                     hours(row.paid.unpriced),
                                     hours(row.progress.gpu_ns),
                                     hours(row.lost.gpu_ns),
                                     hours(row.unknown.gpu_ns),
                                     money(row.lost)};
      const std::vector<Bucket> losses = row.LargestLosses(kLossesShown);
      for (std::size_t i = 0; i < kLossesShown; ++i)
        cells.push_back(i < losses.size() ? std::string(BucketName(losses[i])) : "");
      cells.push_back(options_.as.empty() ? "" : money(row.as));
      cells.push_back(options_.as.empty() ? "" : hours(row.as.unpriced));
      std::fputs(CsvLine(cells).c_str(), stdout);
    }
  }

  // Without scripts and without anything that must be loaded, as mail needs it.
  void WriteHtml() const {
    std::printf(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>GPU time in "
        "%s</title></head>\n"
        "<body style=\"font-family:sans-serif;max-width:60em\">\n<h1>GPU time in %s</h1>\n<p>%s</p>\n",
        months_.name.c_str(), months_.name.c_str(), Html(Head()).c_str());
    std::printf("<table style=\"border-collapse:collapse\">\n<tr>");
    for (const std::string& title :
         {Title(), std::string("GPU-hours"), prices_.InCurrency("paid"), std::string("Progress"),
          std::string("Lost"), std::string("Unknown"),
          prices_.InCurrency(options_.as.empty() ? "lost" : Cat("as ", options_.as))})
      std::printf("<th scope=\"col\" style=\"%s;text-align:left\">%s</th>", kCell, Html(title).c_str());
    std::printf("</tr>\n");
    for (const StatementRow& row : statement_.rows) {
      std::printf("<tr>");
      const std::vector<std::string> cells = Cells(row, row.group);
      for (std::size_t i = 0; i < cells.size(); ++i)
        std::printf("<td style=\"%s;text-align:%s\">%s</td>", kCell, i == 0 ? "left" : "right",
                    Html(cells[i]).c_str());
      std::printf("</tr>\n");
    }
    std::printf("</table>\n");
    if (const std::string as = As(); !as.empty()) std::printf("<p>%s</p>\n", Html(as).c_str());
    for (const StatementRow& row : statement_.rows) {
      const std::vector<Bucket> losses = row.LargestLosses(kLossesShown);
      if (losses.empty()) continue;
      std::printf("<h2>%s: the largest losses</h2>\n<ol>\n", Html(row.group).c_str());
      for (const Bucket bucket : losses) std::printf("<li>%s</li>\n", Html(Loss(row, bucket)).c_str());
      std::printf("</ol>\n");
    }
    std::printf("</body></html>\n");
  }

 private:
  static constexpr const char* kCell = "padding:4px 10px;border-bottom:1px solid #ccc";

  static std::string Html(const std::string& text) {
    return absl::StrReplaceAll(Printable(text),
                               {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
  }
  std::string Title() const {
    std::string title = options_.by;
    title.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(title.front())));
    return title;
  }

  std::string Head() const {
    const StatementRow& total = statement_.total;
    if (statement_.rows.empty()) return Cat(months_.name, ": no GPU was allocated.");
    std::string text =
        Cat(months_.name, ": ", FormatGpuHours(total.paid.gpu_ns), " GPU-hours were allocated");
    const std::string money = Money(total.paid);
    if (money != "-") text += Cat(", for ", prices_.InCurrency(money));
    text += Cat("; ", FormatPercent(total.ShareOf(total.progress)), " became progress, ",
                FormatPercent(total.ShareOf(total.lost)), " did not, and ",
                FormatPercent(total.ShareOf(total.unknown)), " is not known.");
    if (prices_.list.empty()) {
      text += " goodput.conf has no `price`.";
    } else if (total.paid.unpriced > 0) {
      text +=
          Cat(" No `price` of goodput.conf fits ", FormatGpuHours(total.paid.unpriced), " of the GPU-hours.");
    }
    return text;
  }

  std::vector<std::string> Cells(const StatementRow& row, const std::string& name) const {
    return {Printable(name),
            FormatGpuHours(row.paid.gpu_ns),
            Money(row.paid),
            FormatPercent(row.ShareOf(row.progress)),
            FormatPercent(row.ShareOf(row.lost)),
            FormatPercent(row.ShareOf(row.unknown)),
            Money(options_.as.empty() ? row.lost : row.as)};
  }

  // What the same GPU-hours cost at the price of another model; empty if that was not asked.
  std::string As() const {
    if (options_.as.empty() || statement_.rows.empty()) return "";
    const StatementRow& total = statement_.total;
    if (!statement_.without_price.empty()) {
      const auto& [type, day] = *statement_.without_price.begin();
      return Cat(
          "What the same GPU-hours cost as ", options_.as, " is not known: goodput.conf has no `price` of ",
          type.empty() ? "GPUs of an unknown type" : type, " ", options_.as, " on ",
          absl::FormatCivilTime(day), ", and ", FormatGpuHours(total.as.unpriced), " GPU-hours lack one.");
    }
    return Cat(
        "At the price of ", options_.as, ", the same GPU-hours cost ", prices_.InCurrency(Money(total.as)),
        Money(total.paid) == "-" ? std::string() : Cat(" instead of ", prices_.InCurrency(Money(total.paid))),
        ". This is arithmetic with the prices of goodput.conf, not a prediction: other machines are there "
        "at other times, are interrupted in other ways, and may have to be paid for while they are idle.");
  }

  // "lost_work 8.1% (12.0% the month before), 1,024 GPUh, USD 3,277: save more often ...".
  std::string Loss(const StatementRow& row, Bucket bucket) const {
    const PricedTime& time = row.losses.at(bucket);
    std::string text = Cat(BucketName(bucket), " ", FormatPercent(row.ShareOf(time)));
    if (const StatementRow* const before = RowOf(before_, row.group)) {
      const auto found = before->losses.find(bucket);
      const PricedTime then = found == before->losses.end() ? PricedTime() : found->second;
      text += Cat(" (", FormatPercent(before->ShareOf(then)), " the month before)");
    }
    text += Cat(", ", FormatGpuHours(time.gpu_ns), " GPUh");
    const std::string money = Money(time);
    if (money != "-") text += Cat(", ", prices_.InCurrency(money));
    const std::string_view remedy = RemedyFor(bucket);
    return remedy.empty() ? text : Cat(text, ": ", remedy);
  }

  void WriteLosses(const StatementRow& row) const {
    const std::vector<Bucket> losses = row.LargestLosses(kLossesShown);
    if (losses.empty()) return;
    std::printf("\n%s\n", Printable(row.group).c_str());
    for (const Bucket bucket : losses) {
      const std::string text = Wrap(Loss(row, bucket), "    ");
      std::printf("  %s", text.substr(text.find_first_not_of(' ')).c_str());
    }
  }

  const StatementOptions& options_;
  const Months& months_;
  const Prices& prices_;
  const CostStatement& statement_;
  const CostStatement& before_;
};

}  // namespace

int RunStatement(const StatementOptions& options) {
  if (options.csv && options.html)
    return Fail(absl::InvalidArgumentError("--csv cannot be used with --html"));
  const std::optional<RollupBy> by = RollupByName(options.by);
  if (!by || (*by != RollupBy::kAccount && *by != RollupBy::kUser && *by != RollupBy::kPartition &&
              *by != RollupBy::kReservation && *by != RollupBy::kConsumption && *by != RollupBy::kRun))
    return Fail(absl::InvalidArgumentError(
        Cat("--by: '", options.by, "' is not account, user, partition, reservation, consumption or run")));
  if (!options.as.empty() && !IsConsumption(options.as))
    return Fail(absl::InvalidArgumentError(Cat(
        "--as: '", options.as, "' is not reserved, reserved:NAME, calendar, spot, flex-start or on-demand")));
  const absl::StatusOr<Months> months = ReadMonth(options.month, absl::Now());
  if (!months.ok()) return Fail(months.status());
  const absl::StatusOr<Config> config = LoadConfig(options.common.config);
  if (!config.ok()) return Fail(config.status());
  const Prices prices{config->prices, config->currency};
  const absl::StatusOr<CostStatement> statement =
      StatementOf(options, *by, months->begin, months->end, prices.list);
  if (!statement.ok()) return Fail(statement.status());
  const absl::StatusOr<CostStatement> before =
      StatementOf(options, *by, months->before, months->begin, prices.list);
  if (!before.ok()) return Fail(before.status());
  const StatementWriter writer(options, *months, prices, *statement, *before);
  if (options.csv) {
    writer.WriteCsv();
  } else if (options.html) {
    writer.WriteHtml();
  } else {
    writer.WriteText();
  }
  return statement->rows.empty() ? kNothingMatched : kAnswered;
}

}  // namespace goodput
