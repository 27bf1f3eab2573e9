// Fuzzes goodput.conf: a text is rejected with a one-line error that names the file's line, or every setting
// is within its bounds.
#include "tools/base/config.h"

#include <cstdint>
#include <string>

#include "tests/fuzz/target.h"

FUZZ_TARGET(config) {
  using namespace goodput;
  const auto config = ParseConfig({reinterpret_cast<const char*>(data), size}, "goodput.conf");
  if (!config.ok()) {
    const std::string message(config.status().message());
    REQUIRE(message.rfind("goodput.conf:", 0) == 0);
    REQUIRE(message.find('\n') == std::string::npos);
    return 0;
  }
  REQUIRE(config->spool.front() == '/' && config->database.front() == '/');
  REQUIRE(config->socket.size() >= 2 && config->socket.size() <= 100);
  REQUIRE(config->node_role || config->controller_role);
  REQUIRE(config->queue_interval >= absl::Milliseconds(100) && config->queue_interval <= absl::Hours(1));
  REQUIRE(config->spool_max > 0);
  return 0;
}
