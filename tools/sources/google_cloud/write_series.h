// Writes the time series of runs to Cloud Monitoring: one point of each series, all with the same end.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "tools/sources/google_cloud/monitoring_service.h"

namespace goodput {

struct WriteSeriesOptions {
  std::string project;
  std::string location;  // a zone or a region
  absl::Time now;
};

struct WriteSeriesReport {
  std::int64_t taken = 0;
  std::int64_t written = 0;
  std::int64_t refused = 0;  // each by itself, while others of the request were written
  std::string why_refused;   // the first of them
};

class SeriesWriter {
 public:
  SeriesWriter(MonitoringService& service, WriteSeriesOptions options)
      : service_(service), options_(std::move(options)) {}

  // One series, a JSON object without a newline, as WorkloadSeries is written (SeriesLine):
  //   {"workload_id":ID,"metric":{"type":TYPE,"labels":{...}},"valueType":TYPE,"value":{...}}
  // Sends a request when there is enough for one. An error: what is left need not be tried.
  absl::Status Take(std::string_view line);
  // Sends the rest. If a request failed but others were sent, its error.
  absl::Status Finish();
  const WriteSeriesReport& report() const { return report_; }

  static constexpr int kMostSeries = 200;

 private:
  absl::Status Send();

  MonitoringService& service_;
  WriteSeriesOptions options_;
  std::string body_;
  int series_ = 0;  // in body_
  absl::Status failed_;
  WriteSeriesReport report_;
};

}  // namespace goodput
