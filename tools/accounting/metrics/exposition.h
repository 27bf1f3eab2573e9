// OpenMetrics text: families, samples, histograms. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace goodput {

using MetricLabels = std::vector<std::pair<std::string, std::string>>;

// A histogram: observations by upper bound.
class MetricHistogram {
 public:
  explicit MetricHistogram(std::vector<double> bounds)
      : bounds_(std::move(bounds)), counts_(bounds_.size()) {}
  void Observe(double value);
  const std::vector<double>& bounds() const { return bounds_; }
  // The number of observations up to bounds()[i].
  std::int64_t CountUpTo(std::size_t i) const { return counts_[i]; }
  std::int64_t count() const { return count_; }
  double sum() const { return sum_; }

 private:
  std::vector<double> bounds_;
  std::vector<std::int64_t> counts_;
  std::int64_t count_ = 0;
  double sum_ = 0;
};

// Writes OpenMetrics text. The format requires all samples of a family to follow its header.
class MetricText {
 public:
  // `type`: gauge, counter or histogram.
  void Family(std::string_view name, std::string_view type, std::string_view help);
  void Gauge(const MetricLabels& labels, double value);
  void Counter(const MetricLabels& labels, double value);
  void Histogram(const MetricLabels& labels, const MetricHistogram& histogram);
  // The text, with the end marker.
  std::string Finish() &&;

 private:
  void Sample(std::string_view suffix, const MetricLabels& labels, double value);
  std::string family_;
  std::string text_;
};

// Converts to Prometheus' older text format, in which a counter's family has the name of its samples and
// there is no end marker.
std::string AsPrometheusText(std::string_view open_metrics);

// `now`, with no counter and no histogram count lower than in `before`: a new count from the database may be
// slightly lower, which a scraper would take for a restart.
std::string NeverLower(std::string_view before, std::string_view now);

}  // namespace goodput
