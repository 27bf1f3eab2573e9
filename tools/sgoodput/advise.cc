// `sgoodput advise`: how often to checkpoint and what else to change, with the gains; without a job, computed
// from the values on the command line.
#include "tools/sgoodput/advise.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "sql/status_macros.h"
#include "sql/text.h"
#include "tools/accounting/advise/checkpoint_interval.h"
#include "tools/accounting/advise/mttf.h"
#include "tools/accounting/advise/network.h"
#include "tools/accounting/report/gpu_hours.h"
#include "tools/base/format.h"
#include "tools/base/gpu_prices.h"
#include "tools/base/hostlist.h"
#include "tools/base/parse_duration.h"
#include "tools/sgoodput/options.h"
#include "tools/sgoodput/rollup_subject.h"
#include "tools/sgoodput/run_report.h"
#include "tools/sgoodput/session.h"

namespace goodput {
namespace {

constexpr double kMostOfAnything = 1e9;

// ---- command line

// The given values, in seconds and plain numbers.
struct Given {
  std::optional<double> mttf_s;
  std::optional<double> nodes;
  std::optional<double> failures_per_node_day;
  std::optional<double> save_s;
  std::optional<double> restart_s;
  std::optional<double> interval_s;
  std::optional<double> gpus;
  std::optional<double> gpu_hour;
};

absl::Status ReadDuration(const char* name, const std::string& text, bool may_be_zero,
                          std::optional<double>& into) {
  if (text.empty()) return absl::OkStatus();
  const absl::StatusOr<double> seconds = ParseDurationOption(text);
  if (!seconds.ok()) return Annotate(seconds.status(), name);
  if (*seconds <= 0 && !may_be_zero)
    return absl::InvalidArgumentError(Cat(name, ": it must be longer than 0s"));
  into = *seconds;
  return absl::OkStatus();
}

absl::Status ReadNumber(const char* name, const std::string& text, bool whole, bool may_be_zero,
                        std::optional<double>& into) {
  if (text.empty()) return absl::OkStatus();
  double value = 0;
  const bool number = absl::SimpleAtod(text, &value) && std::isfinite(value);
  if (!number || value < 0 || (value == 0 && !may_be_zero) || value > kMostOfAnything ||
      (value > 0 && value < 1 / kMostOfAnything) || (whole && value != std::floor(value))) {
    return absl::InvalidArgumentError(Cat(name, ": '", text, "' is not ",
                                          whole ? "a whole number" : "a number",
                                          may_be_zero ? "" : " above 0", " (at most 1e9)"));
  }
  into = value;
  return absl::OkStatus();
}

absl::StatusOr<Given> ReadGiven(const AdviseOptions& options) {
  Given given;
  for (const absl::Status& status :
       {ReadDuration("--mttf", options.mttf, false, given.mttf_s),
        ReadDuration("--save", options.save, true, given.save_s),
        ReadDuration("--restart", options.restart, true, given.restart_s),
        ReadDuration("--interval", options.interval, false, given.interval_s),
        ReadNumber("--nodes", options.nodes, true, false, given.nodes),
        ReadNumber("--failures-per-node-day", options.failures_per_node_day, false, false,
                   given.failures_per_node_day),
        ReadNumber("--gpus", options.gpus, true, false, given.gpus),
        ReadNumber("--gpu-hour", options.gpu_hour, false, true, given.gpu_hour)}) {
    if (!status.ok()) return status;
  }
  if (given.mttf_s && given.failures_per_node_day) {
    return absl::InvalidArgumentError("--mttf and --failures-per-node-day cannot be used together");
  }
  if (given.nodes && !given.failures_per_node_day)
    return absl::InvalidArgumentError("--nodes requires --failures-per-node-day");
  const bool of_job = !options.target.job.empty() || !options.target.run.empty();
  if (!of_job && given.failures_per_node_day && !given.nodes)
    return absl::InvalidArgumentError("--failures-per-node-day requires --nodes N");
  if (!of_job && !given.mttf_s && !given.failures_per_node_day) {
    return absl::InvalidArgumentError(
        "specify a job id, a run (--run NAME) or a failure rate (--mttf 3h, or --nodes N "
        "--failures-per-node-day R)");
  }
  return given;
}

// ---- result

// Given values replace measured ones.
void Settle(const Given& given, AdviseReport& report) {
  Situation& situation = report.situation;
  if (report.measured) {
    const Measured& measured = *report.measured;
    situation.save_s = measured.save_s;
    situation.restart_s = measured.restart_s;
    situation.interval_s = measured.interval_s;
    if (measured.gpus > 0) situation.gpus = measured.gpus;
    if (measured.nodes > 0) report.nodes = measured.nodes;
    if (measured.up_s > 0) {
      const MttfEstimate mttf = EstimateMttf(measured.up_s, measured.failures);
      situation.mttf_s = mttf.mttf_s;
      situation.mttf_low_s = mttf.low_s;
      situation.mttf_high_s = mttf.high_s;
    }
  }
  if (given.nodes) report.nodes = given.nodes;
  std::optional<double> mttf_s = given.mttf_s;
  if (given.failures_per_node_day && report.nodes)
    mttf_s = MttfOfNodes(*report.nodes, *given.failures_per_node_day);
  if (mttf_s) {
    situation.mttf_s = mttf_s;
    situation.mttf_low_s.reset();
    situation.mttf_high_s.reset();
    report.mttf_given = "given";
    if (given.failures_per_node_day) {
      report.mttf_given =
          Cat(*report.nodes, " nodes, ", *given.failures_per_node_day, " failures per node-day");
    }
  }
  const auto take = [](const std::optional<double>& from, std::optional<double>& into) {
    if (from) into = from;
    return from.has_value();
  };
  report.save_given = take(given.save_s, situation.save_s);
  report.restart_given = take(given.restart_s, situation.restart_s);
  report.interval_given = take(given.interval_s, situation.interval_s);
  take(given.gpus, situation.gpus);
  take(given.gpu_hour, situation.gpu_hour);
}

void MeasureRun(const Timeline& timeline, const Account& account, double busbw, AdviseReport& report) {
  report.measured = Measure(timeline, account);
  report.advice = AdviseFromTimeline(timeline, account, *report.measured);
  for (Advice& advice : AdviseNetwork(timeline, busbw)) report.advice.push_back(std::move(advice));
  report.spares = PlanSpares(report.measured->spares);
  for (Advice& advice : AdviseSpares(*report.spares, *report.measured))
    report.advice.push_back(std::move(advice));
  report.caveats = timeline.warnings;
  if (report.spares->pays() && report.measured->spares.of_several > 0)
    report.caveats.push_back(Cat(report.measured->spares.of_several, " of the ",
                                 report.measured->spares.losses,
                                 " losses took several nodes at once, for which the number of spares has too "
                                 "little room"));
}

// What a reservation would have changed, and the price of a GPU-hour today.
absl::Status LookAtMachines(Target& target, const Report& run, AdviseReport& report) {
  NodeFeatures features;
  ASSIGN_OR_RETURN(const RollupSubject subject, SubjectOf(run, true, target.session.db, features));
  report.reservation = EffectOfReservation(subject, run.timeline);
  for (Advice& advice : AdviseReservation(*report.reservation)) report.advice.push_back(std::move(advice));
  if (run.timeline.attempts.empty()) return absl::OkStatus();
  const AttemptFacts& last = *run.timeline.attempts.back().facts;
  const Provision provision = ProvisionOfFacts(last, ExpandHostList(last.node_list), subject.partition,
                                               subject.cluster, subject.node_features);
  report.situation.gpu_hour =
      FindGpuPrice(target.session.config.prices, run.run.info.gpu_type, provision.name(),
                   absl::ToCivilDay(absl::Now(), absl::LocalTimeZone()));
  return absl::OkStatus();
}

// Computes the plan and the advice from measured and given values.
void Conclude(const Given& given, AdviseReport& report) {
  Settle(given, report);
  report.plan = MakePlan(report.situation);
  const Measured* measured = report.measured ? &*report.measured : nullptr;
  for (Advice& advice : AdviseInterval(report.situation, report.plan, measured))
    report.advice.push_back(std::move(advice));
  Rank(report.advice);
  for (std::string& caveat : Caveats(report.situation, report.plan, measured))
    report.caveats.push_back(std::move(caveat));
}

std::string Title(const RunInfo& info) {
  const std::string what =
      info.run.empty() ? Cat("Job ", info.job_id_text) : Cat("Run ", info.run, ", job ", info.job_id_text);
  return Printable(Cat(what, "  ", info.name));
}

absl::StatusOr<AdviseReport> MakeAdvice(const AdviseOptions& options, const Given& given) {
  AdviseReport report;
  report.title = "What if";
  if (!options.target.job.empty() || !options.target.run.empty()) {
    ASSIGN_OR_RETURN(Target target, OpenTarget(options.common, options.target));
    const absl::StatusOr<Report> run = MakeReport(target, {});
    if (!run.ok()) {
      return Annotate(run.status(), options.target.job.empty() ? Cat("run ", options.target.run)
                                                               : Cat("job ", options.target.job));
    }
    report.title = Title(run->run.info);
    MeasureRun(run->timeline, run->account, run->busbw, report);
    RETURN_IF_ERROR(LookAtMachines(target, *run, report));
  }
  Conclude(given, report);
  return report;
}

// ---- text output

std::string Words(const std::optional<double>& seconds) {
  return seconds ? SecondsInWords(*seconds) : "-";
}

std::string Amount(double value) {
  return absl::StrFormat("%.*f", value < 100 ? 2 : 0, value);
}

// A share of the time as GPU-hours per day, and as money if there is a price.
std::string ADay(const Situation& situation, double share) {
  if (!situation.gpus) return "";
  const double gpu_hours = share * *situation.gpus * 24;
  std::string text = Cat(Amount(gpu_hours), " GPU-hours per day");
  if (situation.gpu_hour) text += Cat(" (", Amount(gpu_hours * *situation.gpu_hour), ")");
  return text;
}

void PrintBasis(const AdviseReport& report) {
  const Situation& situation = report.situation;
  const Measured* measured = report.measured ? &*report.measured : nullptr;
  Table table({{""}, {"", Table::Align::kRight}, {""}});
  const auto source = [](bool given, const std::optional<double>& value, const std::string& how) {
    return given ? std::string("given") : value ? how : std::string();
  };
  std::string mttf = report.mttf_given;
  if (measured != nullptr && report.mttf_given.empty()) {
    mttf = Cat(measured->failures, measured->failures == 1 ? " failure in " : " failures in ",
               SecondsInWords(measured->up_s), " up");
    if (situation.mttf_high_s) {
      mttf += Cat("; 90%: ", Words(situation.mttf_low_s), " to ", Words(situation.mttf_high_s));
    }
  }
  table.Add({"time to failure (MTTF)", Words(situation.mttf_s), mttf});
  table.Add({"save (training waits)", Words(situation.save_s),
             source(report.save_given, situation.save_s,
                    measured == nullptr ? "" : Cat("mean of ", measured->saves, " saves"))});
  table.Add({"restart to first step", Words(situation.restart_s),
             source(report.restart_given, situation.restart_s,
                    measured == nullptr
                        ? ""
                        : Cat("mean of ", measured->restarts, ": resources ", Words(measured->resources_s),
                              " + ", Words(measured->first_step_s)))});
  table.Add({"interval in use", Words(situation.interval_s),
             source(report.interval_given, situation.interval_s,
                    measured == nullptr ? "" : Cat("mean of ", measured->intervals, ", without the save"))});
  std::printf("Based on\n%s", table.Render(false, "  ").c_str());
  if (measured != nullptr && !measured->causes.empty() && report.mttf_given.empty()) {
    std::string causes;
    for (const auto& [cause, count] : measured->causes)
      causes += Cat(causes.empty() ? "" : ", ", count, " ", cause);
    std::fputs(Wrap(Cat("failures by cause: ", causes), "  ").c_str(), stdout);
  }
  std::printf("\n");
}

void PrintIntervals(const AdviseReport& report) {
  const Situation& situation = report.situation;
  const Plan& plan = report.plan;
  if (!plan.young_s && !plan.goodput_now) return;
  Table table({{"Save every"}, {"Interval", Table::Align::kRight}, {"Goodput", Table::Align::kRight}, {""}});
  const auto add = [&](const char* name, const std::optional<double>& interval_s, const char* remark) {
    std::optional<double> goodput;
    if (interval_s && situation.restart_s)
      goodput = PoissonGoodput(*situation.mttf_s, *situation.save_s, *situation.restart_s, *interval_s);
    table.Add({name, Words(interval_s), FormatPercent(goodput), remark});
  };
  add("in use", situation.interval_s, "");
  add("best", plan.poisson_s, "exact for Poisson failures");
  add("Young", plan.young_s, "also used by ETTR");
  add("Daly", plan.daly_s, "");
  std::optional<double> saxena_s = plan.saxena_s;
  if (saxena_s) *saxena_s -= *situation.save_s;
  add("Saxena", saxena_s, "");
  std::fputs(table.Render(true).c_str(), stdout);
  if (plan.ettr) {
    std::printf("ETTR at the interval in use: %s (first order, arXiv 2410.21680)\n",
                FormatPercent(plan.ettr).c_str());
  }
  if (plan.goodput_now && plan.goodput_best) {
    const double gain = std::max(0.0, *plan.goodput_best - *plan.goodput_now);
    const std::string a_day = ADay(situation, gain);
    std::fputs(Wrap(Cat("the best interval instead of the one in use gains ", FormatPercent(gain),
                        " of the time", a_day.empty() ? "" : Cat(", ", a_day)),
                    "")
                   .c_str(),
               stdout);
  }
  std::printf("\n");
}

void PrintAlternatives(const Plan& plan) {
  if (plan.alternatives.empty()) return;
  const auto restart = [&](std::size_t i) { return Words(plan.alternatives[0][i].restart_s); };
  Table table({{"Best goodput if"},
               {Cat("restart ", restart(0)), Table::Align::kRight},
               {restart(1), Table::Align::kRight},
               {restart(2), Table::Align::kRight},
               {"save every", Table::Align::kRight}});
  for (const auto& row : plan.alternatives) {
    table.Add({Cat("save ", Words(row[0].save_s)), FormatPercent(row[0].goodput),
               FormatPercent(row[1].goodput), FormatPercent(row[2].goodput), Words(row[0].interval_s)});
  }
  std::printf("%s\n", table.Render(true).c_str());
}

void PrintSpares(const AdviseReport& report) {
  if (!report.spares || report.measured->spares.losses == 0) return;
  const SparePlan& plan = *report.spares;
  if (!plan.unknown.empty()) {
    std::fputs(Wrap(Cat("It is not known how many hot spares would pay: ", plan.unknown), "").c_str(),
               stdout);
    std::printf("\n");
    return;
  }
  const double gpus = report.measured->gpus;
  Table table({{"Spares", Table::Align::kRight},
               {"GPU time wanted per training", Table::Align::kRight},
               {"GPU-hours saved a day", Table::Align::kRight},
               {""}});
  for (std::size_t k = 0; k < plan.cost.size(); ++k) {
    const double saved = (plan.cost.front() - plan.cost[k]) * gpus * 24;
    table.Add({Cat(k), absl::StrFormat("%.3f", plan.cost[k]), k == 0 ? "" : Amount(saved),
               static_cast<int>(k) == plan.best ? "least" : ""});
  }
  std::fputs(table.Render(true).c_str(), stdout);
  std::string verdict =
      plan.range[1] == 0 ? "No spare is worth its GPUs"
      : plan.range[0] == 0
          ? Cat("The evidence allows 0 to ", plan.range[1], " spares: it does not tell whether one pays")
          : Cat("The evidence allows ", plan.range[0], " to ", plan.range[1], " spares");
  if (plan.range[1] > 0 && report.situation.gpu_hour)
    verdict += "; time waited for counts as if it were paid for, as in a reservation";
  std::fputs(Wrap(verdict, "").c_str(), stdout);
  std::printf("\n");
}

void PrintReservation(const AdviseReport& report) {
  if (!report.reservation || report.reservation->instead_of.empty()) return;
  const ReservationEffect& effect = *report.reservation;
  std::string text = Cat("In a reservation instead of ", effect.instead_of, " machines, ");
  if (effect.known()) {
    text += Cat("Scheduling Goodput would have been ", FormatPercent(effect.with_reservation[0]), " to ",
                FormatPercent(effect.with_reservation[1]), " instead of ", FormatPercent(effect.scheduling),
                " (without ", FormatGpuHours(effect.stockouts),
                " GPU-hours waited for after stockouts; without all ", FormatGpuHours(effect.waits),
                " waited for such machines)");
  } else {
    text += Cat("Scheduling Goodput is not known: ", effect.unknown);
  }
  std::fputs(Wrap(text, "").c_str(), stdout);
  std::printf("\n");
}

void PrintAdvice(const AdviseReport& report) {
  constexpr const char* kIndent = "     ";
  int number = 0;
  for (const Advice& advice : report.advice) {
    if (number == 0) std::printf("Advice, largest gain first\n");
    std::string text = advice.action;
    if (advice.gain) {
      const std::string a_day = ADay(report.situation, *advice.gain);
      text += Cat(": saves ", advice.at_most ? "at most " : "", a_day.empty() ? "" : Cat(a_day, ", "),
                  FormatPercent(advice.gain), " of its time");
    }
    std::string lines = Wrap(Printable(text), kIndent);
    lines.replace(0, 5, absl::StrFormat("%3d. ", ++number));
    std::fputs(lines.c_str(), stdout);
    std::fputs(Wrap(Cat("because ", Printable(advice.evidence)), kIndent).c_str(), stdout);
  }
  if (number == 0) std::printf("No advice: no change is known to help.\n");
  for (const std::string& caveat : report.caveats) {
    std::string lines = Wrap(Cat("note: ", Printable(caveat)), "      ");
    std::fputs(lines.substr(6).c_str(), stdout);
  }
}

}  // namespace

AdviseReport AdviseOn(const Timeline& timeline, const Account& account, double busbw) {
  AdviseReport report;
  MeasureRun(timeline, account, busbw, report);
  Conclude({}, report);
  return report;
}

int RunAdvise(const AdviseOptions& options) {
  const absl::StatusOr<Given> given = ReadGiven(options);
  if (!given.ok()) return Fail(given.status());
  const absl::StatusOr<AdviseReport> report = MakeAdvice(options, *given);
  if (!report.ok()) return Fail(report.status());
  if (options.common.json) {
    std::fputs(AdviseAsJson(*report).c_str(), stdout);
    return kAnswered;
  }
  std::printf("%s\n\n", report->title.c_str());
  PrintBasis(*report);
  PrintIntervals(*report);
  PrintAlternatives(report->plan);
  PrintSpares(*report);
  PrintReservation(*report);
  PrintAdvice(*report);
  return kAnswered;
}

}  // namespace goodput
