#include "tools/accounting/metrics/exposition.h"

#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "sql/text.h"

namespace goodput {
namespace {

std::string Number(double value) {
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  if (std::isnan(value)) return "NaN";
  if (value == std::floor(value) && std::fabs(value) < 9e15)
    return absl::StrFormat("%d", static_cast<std::int64_t>(value));
  return absl::StrFormat("%.9g", value);
}

// A bound in OpenMetrics syntax: always a float.
std::string Bound(double value) {
  const std::string text = Number(value);
  return text.find_first_not_of("0123456789") == std::string::npos ? text + ".0" : text;
}

void Escape(std::string_view value, std::string& into) {
  for (const char c : value) {
    if (c == '\\' || c == '"') into.push_back('\\');
    if (c == '\n') {
      into += "\\n";
    } else {
      into.push_back(c);
    }
  }
}

// Splits a sample's line into its series and value.
bool Split(std::string_view line, std::string_view& series, std::string_view& value) {
  const std::size_t blank = line.rfind(' ');
  if (line.empty() || line.front() == '#' || blank == std::string_view::npos) return false;
  series = line.substr(0, blank);
  value = line.substr(blank + 1);
  return true;
}

bool Rises(std::string_view series) {
  const std::string_view name = series.substr(0, series.find('{'));
  for (const std::string_view suffix : {"_total", "_bucket", "_count", "_sum"}) {
    if (name.size() > suffix.size() && name.substr(name.size() - suffix.size()) == suffix) return true;
  }
  return false;
}

}  // namespace

void MetricHistogram::Observe(double value) {
  for (std::size_t i = 0; i < bounds_.size(); ++i) {
    if (value <= bounds_[i]) ++counts_[i];
  }
  ++count_;
  sum_ += value;
}

void MetricText::Family(std::string_view name, std::string_view type, std::string_view help) {
  family_ = std::string(name);
  text_ += Cat("# HELP ", name, " ", help, "\n# TYPE ", name, " ", type, "\n");
}

void MetricText::Sample(std::string_view suffix, const MetricLabels& labels, double value) {
  text_ += Cat(family_, suffix);
  char separator = '{';
  for (const auto& [name, of] : labels) {
    text_.push_back(separator);
    text_ += Cat(name, "=\"");
    Escape(of, text_);
    text_.push_back('"');
    separator = ',';
  }
  if (!labels.empty()) text_.push_back('}');
  text_ += Cat(" ", Number(value), "\n");
}

void MetricText::Gauge(const MetricLabels& labels, double value) {
  Sample("", labels, value);
}

void MetricText::Counter(const MetricLabels& labels, double value) {
  Sample("_total", labels, value);
}

void MetricText::Histogram(const MetricLabels& labels, const MetricHistogram& histogram) {
  MetricLabels with_bound = labels;
  with_bound.emplace_back("le", "");
  for (std::size_t i = 0; i < histogram.bounds().size(); ++i) {
    with_bound.back().second = Bound(histogram.bounds()[i]);
    Sample("_bucket", with_bound, static_cast<double>(histogram.CountUpTo(i)));
  }
  with_bound.back().second = "+Inf";
  Sample("_bucket", with_bound, static_cast<double>(histogram.count()));
  Sample("_count", labels, static_cast<double>(histogram.count()));
  Sample("_sum", labels, histogram.sum());
}

std::string MetricText::Finish() && {
  text_ += "# EOF\n";
  return std::move(text_);
}

std::string AsPrometheusText(std::string_view open_metrics) {
  std::set<absl::string_view> counters;
  const std::vector<absl::string_view> lines = absl::StrSplit(ToAbsl(open_metrics), '\n', absl::SkipEmpty());
  for (const absl::string_view line : lines) {
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
    if (words.size() == 4 && words[1] == "TYPE" && words[3] == "counter") counters.insert(words[2]);
  }
  std::string text;
  for (const absl::string_view line : lines) {
    if (line == "# EOF") continue;
    const std::vector<absl::string_view> words = absl::StrSplit(line, absl::MaxSplits(' ', 3));
    if (words.size() == 4 && words[0] == "#" && counters.count(words[2]) != 0) {
      absl::StrAppend(&text, "# ", words[1], " ", words[2], "_total ", words[3], "\n");
    } else {
      absl::StrAppend(&text, line, "\n");
    }
  }
  return text;
}

std::string NeverLower(std::string_view before, std::string_view now) {
  std::map<std::string_view, std::pair<double, std::string_view>> was;
  std::string_view series;
  std::string_view value;
  for (const absl::string_view line : absl::StrSplit(ToAbsl(before), '\n')) {
    double number = 0;
    if (Split({line.data(), line.size()}, series, value) && Rises(series) &&
        absl::SimpleAtod(ToAbsl(value), &number))
      was[series] = {number, value};
  }
  std::string text;
  for (const absl::string_view line : absl::StrSplit(ToAbsl(now), '\n')) {
    double number = 0;
    const std::string_view view(line.data(), line.size());
    const bool sample = Split(view, series, value) && Rises(series);
    const auto found = sample ? was.find(series) : was.end();
    const bool lower =
        found != was.end() && absl::SimpleAtod(ToAbsl(value), &number) && number < found->second.first;
    text += lower ? Cat(series, " ", found->second.second) : std::string(view);
    text.push_back('\n');
  }
  text.pop_back();  // the text ended with a newline
  return text;
}

}  // namespace goodput
