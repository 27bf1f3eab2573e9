// Serves HTTP/1.1 on a listening socket: GET and HEAD without a body, or only POST, with one. Only this file
// uses libmicrohttpd.
//
// The cost of a client is bounded: other methods, long bodies and headers, and too many parameters
// or connections are refused, and a connection is cut if its request arrives or its response is read too
// slowly, or if responses that are being read take too much memory and its client has most of them.
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
  std::string target;                                           // as sent: path and query
  std::vector<std::pair<std::string, std::string>> parameters;  // of the query, decoded, in order
  std::string authorization;                                    // value of the header; empty: none
  std::string accept;
  std::string host;           // value of the header
  std::string address;        // of the other end of a TCP connection; empty: unknown
  int port = 0;               // of it; 0: unknown
  std::optional<uid_t> peer;  // user at the other end of a Unix socket
  std::string content_type;   // of a body
  std::string content_encoding;
  std::string body;
};

class HttpServer {
 public:
  struct Limits {
    unsigned connections = 256;
    unsigned connections_of_peer = 48;      // of an address, or of a user on a Unix socket
    std::size_t request_bytes = 24U << 10;  // of the request line and headers
    std::size_t body_bytes = 0;             // 0: GET and HEAD; else POST
    std::size_t parameters = 64;
    std::size_t unread_bytes = std::size_t{128} << 20;  // of responses that are being read
    absl::Duration idle = absl::Seconds(15);            // without a byte
    absl::Duration request = absl::Seconds(20);         // for the whole request to arrive
    absl::Duration answer = absl::Seconds(120);         // for the whole response to be read
  };
  // Called in the server's thread and must not block; `done` may be called at once or later, from any thread,
  // once.
  using Answers = std::function<void(HttpQuestion question, std::function<void(HttpReply)> done)>;

  // Takes ownership of `listener`.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(int listener, const Limits& limits,
                                                           Answers answers);
  // All requests must have been answered before.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Cuts slow connections; call about once a second.
  void CutSlowOnes();

 private:
  struct Impl;
  HttpServer();
  std::unique_ptr<Impl> impl_;
};

}  // namespace goodput
