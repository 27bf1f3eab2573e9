#include "tools/accounting/report/statement_report.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/time/civil_time.h"
#include "sql/text.h"
#include "tools/accounting/report/gpu_hours.h"
#include "tools/base/format.h"

namespace goodput {
namespace {

constexpr std::size_t kLossesShown = 3;
constexpr std::size_t kRowsShown = 50;

// "20,736"; ">20,736" if the price of a part is unknown; "-" if that of all of it is.
std::string Money(const PricedTime& time) {
  if (time.gpu_ns > 0 && time.unpriced == time.gpu_ns) return "-";
  std::string text = absl::StrFormat("%.0f", time.money);
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
  return time.unpriced > 0 ? Cat(">", text) : text;
}

const StatementRow* FindRow(const CostStatement& statement, const std::string& group) {
  const auto found = std::find_if(statement.rows.begin(), statement.rows.end(),
                                  [&](const StatementRow& row) { return row.group == group; });
  return found == statement.rows.end() ? nullptr : &*found;
}

// Text, CSV and HTML of one statement.
class StatementWriter {
 public:
  explicit StatementWriter(const StatementReport& report) : report_(report) {}

  void WriteText() const {
    std::printf("%s\n", Wrap(Head(), "").c_str());
    using Align = Table::Align;
    Table table({{Title(), Align::kLeft, 20},
                 {"GPUh", Align::kRight},
                 {"Paid", Align::kRight},
                 {"Progress", Align::kRight},
                 {"Lost", Align::kRight},
                 {"Unknown", Align::kRight},
                 {report_.as.empty() ? "Lost money" : Cat("As ", report_.as), Align::kRight}});
    const std::size_t shown = std::min(report_.statement.rows.size(), kRowsShown);
    for (std::size_t i = 0; i < shown; ++i)
      table.Add(Cells(report_.statement.rows[i], report_.statement.rows[i].group));
    if (report_.statement.rows.size() > 1) table.Add(Cells(report_.statement.total, "total"));
    if (table.empty()) return;
    const std::string as = As();
    std::fputs(table.Render(true).c_str(), stdout);
    if (shown < report_.statement.rows.size())
      std::printf("%zu more are in the total; --csv lists all\n", report_.statement.rows.size() - shown);
    if (!as.empty()) std::printf("\n%s", Wrap(as, "").c_str());
    for (std::size_t i = 0; i < shown; ++i) WriteLosses(report_.statement.rows[i]);
  }

  void WriteCsv() const {
    std::fputs(
        CsvLine({Title(), "GPUHours", "Paid", "UnpricedGPUHours", "ProgressGPUHours", "LostGPUHours",
                 "UnknownGPUHours", "LostMoney", "Loss1", "Loss2", "Loss3", "AsPaid", "AsUnpricedGPUHours"})
            .c_str(),
        stdout);
    const auto hours = [](GpuNs ns) { return absl::StrFormat("%.4f", GpuHours(ns)); };
    const auto money = [](const PricedTime& time) {
      const bool unknown = time.gpu_ns > 0 && time.unpriced == time.gpu_ns;
      return unknown ? std::string() : absl::StrFormat("%.2f", time.money);
    };
    for (const StatementRow& row : report_.statement.rows) {
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
      cells.push_back(report_.as.empty() ? "" : money(row.as));
      cells.push_back(report_.as.empty() ? "" : hours(row.as.unpriced));
      std::fputs(CsvLine(cells).c_str(), stdout);
    }
  }

  // Without scripts and without anything that must be loaded, as mail needs it.
  void WriteHtml() const {
    std::printf(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>GPU time in "
        "%s</title></head>\n"
        "<body style=\"font-family:sans-serif;max-width:60em\">\n<h1>GPU time in %s</h1>\n<p>%s</p>\n",
        report_.month.c_str(), report_.month.c_str(), Html(Head()).c_str());
    std::printf("<table style=\"border-collapse:collapse\">\n<tr>");
    for (const std::string& title :
         {Title(), std::string("GPU-hours"), InCurrency("paid"), std::string("Progress"), std::string("Lost"),
          std::string("Unknown"), InCurrency(report_.as.empty() ? "lost" : Cat("as ", report_.as))})
      std::printf("<th scope=\"col\" style=\"%s;text-align:left\">%s</th>", kCell, Html(title).c_str());
    std::printf("</tr>\n");
    for (const StatementRow& row : report_.statement.rows) {
      std::printf("<tr>");
      const std::vector<std::string> cells = Cells(row, row.group);
      for (std::size_t i = 0; i < cells.size(); ++i)
        std::printf("<td style=\"%s;text-align:%s\">%s</td>", kCell, i == 0 ? "left" : "right",
                    Html(cells[i]).c_str());
      std::printf("</tr>\n");
    }
    std::printf("</table>\n");
    if (const std::string as = As(); !as.empty()) std::printf("<p>%s</p>\n", Html(as).c_str());
    for (const StatementRow& row : report_.statement.rows) {
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
  std::string InCurrency(const std::string& money) const {
    return report_.currency.empty() ? money : Cat(report_.currency, " ", money);
  }
  std::string Title() const {
    std::string title = report_.by;
    title.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(title.front())));
    return title;
  }

  std::string Head() const {
    const StatementRow& total = report_.statement.total;
    if (report_.statement.rows.empty()) return Cat(report_.month, ": no GPU was allocated.");
    std::string text =
        Cat(report_.month, ": ", FormatGpuHours(total.paid.gpu_ns), " GPU-hours were allocated");
    const std::string money = Money(total.paid);
    if (money != "-") text += Cat(", for ", InCurrency(money));
    text += Cat("; ", FormatPercent(total.ShareOf(total.progress)), " became progress, ",
                FormatPercent(total.ShareOf(total.lost)), " did not, and ",
                FormatPercent(total.ShareOf(total.unknown)), " is not known.");
    if (!report_.has_prices) {
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
            Money(report_.as.empty() ? row.lost : row.as)};
  }

  // What the same GPU-hours cost at the price of another model; empty if that was not asked.
  std::string As() const {
    if (report_.as.empty() || report_.statement.rows.empty()) return "";
    const StatementRow& total = report_.statement.total;
    if (!report_.statement.without_price.empty()) {
      const auto& [type, day] = *report_.statement.without_price.begin();
      return Cat(
          "What the same GPU-hours cost as ", report_.as, " is not known: goodput.conf has no `price` of ",
          type.empty() ? "GPUs of an unknown type" : type, " ", report_.as, " on ",
          absl::FormatCivilTime(day), ", and ", FormatGpuHours(total.as.unpriced), " GPU-hours lack one.");
    }
    return Cat(
        "At the price of ", report_.as, ", the same GPU-hours cost ", InCurrency(Money(total.as)),
        Money(total.paid) == "-" ? std::string() : Cat(" instead of ", InCurrency(Money(total.paid))),
        ". This is arithmetic with the prices of goodput.conf, not a prediction: other machines are there "
        "at other times, are interrupted in other ways, and may have to be paid for while they are idle.");
  }

  // "lost_work 8.1% (12.0% the month before), 1,024 GPUh, USD 3,277: save more often ...".
  std::string Loss(const StatementRow& row, Bucket bucket) const {
    const PricedTime& time = row.losses.at(bucket);
    std::string text = Cat(BucketName(bucket), " ", FormatPercent(row.ShareOf(time)));
    if (const StatementRow* const before = FindRow(report_.before, row.group)) {
      const auto found = before->losses.find(bucket);
      const PricedTime then = found == before->losses.end() ? PricedTime() : found->second;
      text += Cat(" (", FormatPercent(before->ShareOf(then)), " the month before)");
    }
    text += Cat(", ", FormatGpuHours(time.gpu_ns), " GPUh");
    const std::string money = Money(time);
    if (money != "-") text += Cat(", ", InCurrency(money));
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

  const StatementReport& report_;
};

}  // namespace

absl::StatusOr<StatementMonth> ReadStatementMonth(const std::string& text, absl::Time now,
                                                  absl::TimeZone zone) {
  absl::CivilMonth month = absl::CivilMonth(absl::ToCivilDay(now, zone)) - 1;
  if (!text.empty() && !absl::ParseCivilTime(text, &month))
    return absl::InvalidArgumentError(Cat("--month: '", Printable(text), "' is not a month such as 2026-10"));
  const auto begin_of = [&](absl::CivilMonth of) {
    return absl::ToUnixNanos(absl::FromCivil(absl::CivilSecond(of), zone));
  };
  if (begin_of(month) >= absl::ToUnixNanos(now))
    return absl::InvalidArgumentError(Cat("--month: ", absl::FormatCivilTime(month), " has not begun"));
  return StatementMonth{absl::FormatCivilTime(month), begin_of(month - 1), begin_of(month),
                        begin_of(month + 1)};
}

void PrintStatement(const StatementReport& report, StatementFormat format) {
  const StatementWriter writer(report);
  switch (format) {
    case StatementFormat::kText:
      return writer.WriteText();
    case StatementFormat::kCsv:
      return writer.WriteCsv();
    case StatementFormat::kHtml:
      return writer.WriteHtml();
  }
}

}  // namespace goodput
