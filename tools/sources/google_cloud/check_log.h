// Tries what reading and writing a log needs, without writing anything: for `sgoodput doctor --cloud-log`.
#pragma once

#include <functional>
#include <string>

#include "tools/sources/google_cloud/log_name.h"
#include "tools/sources/google_cloud/logging_service.h"

namespace goodput {

struct CloudFinding {
  bool good = false;
  std::string what;
  std::string fix;  // if it is not good
};

// Returns whether all is well.
bool CheckLog(LoggingService& service, const LogName& log, absl::Time now,
              const std::function<void(const CloudFinding&)>& tell);

}  // namespace goodput
