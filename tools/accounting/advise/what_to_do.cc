#include "tools/accounting/advise/what_to_do.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/str_format.h"
#include "sql/text.h"
#include "tools/base/format.h"

namespace goodput {
namespace {

constexpr std::size_t kMostSentences = 3;
// Losses below this share of the run's time get no sentence.
constexpr double kWorthASentence = 0.01;
// With fewer failures, the failure rate is not known well enough.
constexpr std::int64_t kFewFailures = 3;

// Formats shares of the wanted time: GPU-hours, or time without GPUs.
class Amounts {
 public:
  explicit Amounts(const Account& account) : has_gpus_(account.has_gpus) {
    for (const BucketTotal& total : account.buckets) {
      if (BucketSide(total.bucket) != Side::kExcluded) wanted_ns_ += static_cast<double>(total.gpu_ns);
    }
  }
  double ShareOf(const BucketTotal& total) const {
    return wanted_ns_ > 0 ? static_cast<double>(total.gpu_ns) / wanted_ns_ : 0;
  }
  std::string operator()(double share) const {
    const double seconds = share * wanted_ns_ / 1e9;
    if (!has_gpus_) return SecondsInWords(seconds);
    const double hours = seconds / 3600;
    if (hours < 0.1) return absl::StrFormat("%.0f GPU-s", seconds);
    return absl::StrFormat("%.*f GPU-h", hours < 9.95 ? 2 : hours < 99.5 ? 1 : 0, hours);
  }

 private:
  double wanted_ns_ = 0;
  bool has_gpus_;
};

std::string InWords(const std::string& cause, int count) {
  static const std::map<std::string, std::pair<const char*, const char*>> kWords{
      {"preempted", {"preemption", "preemptions"}},
      {"node_fail", {"node failure", "node failures"}},
      {"timeout", {"time limit", "time limits"}},
      {"maintenance", {"maintenance", "maintenances"}},
      {"oom", {"out of memory", "times out of memory"}},
      {"user_requeue", {"requeue", "requeues"}},
      {"admin_requeue", {"requeue by an administrator", "requeues by administrators"}},
      {"cancelled", {"cancellation", "cancellations"}},
      {"failed", {"program failure", "program failures"}},
      {"hang", {"hang", "hangs"}}};
  const auto known = kWords.find(cause);
  const char* const one = known == kWords.end() ? "interruption" : known->second.first;
  const char* const many = known == kWords.end() ? "interruptions" : known->second.second;
  return Cat(count, " ", count == 1 ? one : many);
}

// "3 node failures", or "4 interruptions (3 node failures, 1 preemption)": those that lost work.
std::string Interruptions(const Timeline& timeline) {
  std::map<std::string, int> by_cause;
  int all = 0;
  for (const Interruption& interruption : timeline.interruptions) {
    if (interruption.t_ch.value_or(0) <= 0) continue;
    ++by_cause[interruption.cause];
    ++all;
  }
  if (by_cause.empty()) return "";
  if (by_cause.size() == 1) return InWords(by_cause.begin()->first, all);
  std::vector<std::pair<int, std::string>> most;
  most.reserve(by_cause.size());
  for (const auto& [cause, count] : by_cause) most.emplace_back(-count, InWords(cause, count));
  std::sort(most.begin(), most.end());
  std::string causes;
  for (const auto& [count, words] : most) causes += Cat(causes.empty() ? "" : ", ", words);
  return Cat(all, " interruptions (", causes, ")");
}

std::string Sentence(std::string text) {
  if (!text.empty()) text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
  return text + ".";
}

bool IsInterval(const Advice& advice) {
  return advice.action.rfind("checkpoint every ", 0) == 0;
}

// On lost steps, if no change is known to save more of them than it costs.
std::optional<std::string> LostSteps(const Timeline& timeline, const Amounts& amounts, double share,
                                     const Measured& measured) {
  const std::string after = Interruptions(timeline);
  if (share < kWorthASentence || after.empty()) return std::nullopt;
  std::string text = Cat("lost ", amounts(share), " of steps after ", after, ": ");
  if (measured.interval_s) text += Cat("saves every ", SecondsInWords(*measured.interval_s), ", and ");
  if (measured.failures < kFewFailures) {
    text += Cat(measured.failures == 0 ? std::string("no") : Cat(measured.failures),
                measured.failures == 1 ? " failure is" : " failures are",
                " too few to find the best interval; sgoodput advise --mttf computes it for an assumed MTTF");
  } else if (!measured.save_s || !measured.interval_s) {
    text +=
        "the cost of a save is not known; sgoodput advise --save computes the best interval for an assumed "
        "cost";
  } else {
    text += "no other interval is known to be better";
  }
  return Sentence(text);
}

// The basis of the best interval, without the confidence interval.
std::string_view Basis(const std::string& evidence) {
  return std::string_view(evidence).substr(0, evidence.find(", every "));
}

// Steps that failed and were tried again are lost whatever is saved.
double LostToInterruptions(const Account& account, const Amounts& amounts) {
  const BucketTotal& lost = account.buckets[static_cast<std::size_t>(Bucket::kLostWork)];
  double share = amounts.ShareOf(lost);
  for (const BucketTotal& part : lost.parts) {
    if (part.part == kFailedStep) share -= amounts.ShareOf(part);
  }
  return share;
}

std::string LossSentence(const Timeline& timeline, const Amounts& amounts, double lost_steps,
                         const Measured& measured, const Advice& advice) {
  if (IsInterval(advice) && measured.interval_s) {
    const std::string after = Interruptions(timeline);
    return Sentence(Cat("lost ", amounts(lost_steps), after.empty() ? "" : " after ", after, ": saves every ",
                        SecondsInWords(*measured.interval_s), "; ",
                        advice.action.substr(std::string_view("checkpoint ").size()), " would have saved ",
                        amounts(*advice.gain), " (", Basis(advice.evidence), ")"));
  }
  const double lost = advice.lost.value_or(*advice.gain);
  std::string text =
      Cat("lost ", amounts(lost), " ", advice.loss, " (", advice.evidence, "): ", advice.action);
  if (advice.lost) text += Cat(", which saves at most ", amounts(*advice.gain));
  return Sentence(text);
}

}  // namespace

std::vector<std::string> WhatToDo(const Timeline& timeline, const Account& account, const Measured& measured,
                                  const std::vector<Advice>& advice) {
  std::vector<std::string> sentences;
  if (timeline.attempts.empty() || account.buckets.empty()) return sentences;
  const Amounts amounts(account);
  const double lost_steps = LostToInterruptions(account, amounts);
  std::vector<std::pair<double, std::string>> losses;
  bool spares_steps = false;
  for (const Advice& one : advice) {
    if (!one.gain || *one.gain < kWorthASentence || one.loss.empty()) continue;
    losses.emplace_back(*one.gain, LossSentence(timeline, amounts, lost_steps, measured, one));
    spares_steps = spares_steps || IsInterval(one) || !one.at_most;
  }
  if (!spares_steps) {
    if (std::optional<std::string> text = LostSteps(timeline, amounts, lost_steps, measured))
      losses.emplace_back(lost_steps, *std::move(text));
  }
  std::stable_sort(losses.begin(), losses.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  for (auto& [share, text] : losses) sentences.push_back(std::move(text));
  // Advice without a known loss: a failure, and unobserved time.
  for (const Advice& one : advice) {
    if (!one.gain) sentences.push_back(Sentence(Cat(one.evidence, ": ", one.action)));
  }
  if (sentences.size() > kMostSentences) sentences.resize(kMostSentences);
  const bool started =
      std::any_of(timeline.attempts.begin(), timeline.attempts.end(),
                  [](const AttemptSummary& attempt) { return attempt.facts->start.has_value(); });
  if (sentences.empty() && started)
    sentences.push_back(Sentence("nothing to change: no avoidable loss of 1% of the time or more is known"));
  return sentences;
}

}  // namespace goodput
