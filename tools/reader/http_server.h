// Serves HTTP/1.1 GET and HEAD on a listening socket. Only this file uses libmicrohttpd.
//
// Whatever a client does costs a bounded amount: requests with a body, other methods, long lines, many
// parameters and connections beyond a number are refused, and a connection on which a request takes too long
// to come, or an answer too long to be taken, is cut.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tools/base/http_reply.h"

namespace goodput {

struct HttpQuestion {
  std::string path;                                             // "/v1/list", decoded
  std::string target;                                           // as it was sent: path and query
  std::vector<std::pair<std::string, std::string>> parameters;  // of the query, decoded, in order
  std::string authorization;                                    // the header's value; empty: none
  std::string accept;
  std::optional<uid_t> peer;  // who is on the other end of a Unix socket
};

class HttpServer {
 public:
  struct Limits {
    unsigned connections = 256;
    unsigned connections_of_peer = 48;      // of an address, or of a user on a Unix socket
    std::size_t request_bytes = 24U << 10;  // of the request's line and headers
    std::size_t parameters = 64;
    absl::Duration idle = absl::Seconds(15);     // without a byte
    absl::Duration request = absl::Seconds(20);  // for all of a request to come
    absl::Duration answer = absl::Seconds(120);  // for all of an answer to be taken
  };
  // Called in the server's thread, which it must not hold up; `done` may be called at once or later, by any
  // thread, once.
  using Answers = std::function<void(HttpQuestion question, std::function<void(HttpReply)> done)>;

  // Takes over `listener`.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(int listener, const Limits& limits,
                                                           Answers answers);
  // Every question must have been answered by then.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Cuts the connections that have taken too long; to be called about once a second.
  void CutSlowOnes();

 private:
  struct Impl;
  HttpServer();
  std::unique_ptr<Impl> impl_;
};

}  // namespace goodput
