// HTTP GET and POST, several at a time, in the calling thread: no redirects. The only user of libcurl.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace goodput {

struct HttpRequest {
  std::string url;                   // http://, from Reach::kInternet also https://
  std::optional<std::string> body;   // sent with POST; a header has to tell its type
  std::string unix_socket;           // path of a Unix socket to connect to, whatever host the URL names
  std::vector<std::string> headers;  // "Name: value"
  absl::Duration connect_timeout = absl::Seconds(3);
  absl::Duration timeout = absl::Seconds(10);        // of the whole request; a server may be asked to wait
  absl::Duration answer_timeout = absl::Seconds(5);  // from the response's first byte to its last
  std::size_t max_bytes = std::size_t{64} << 10U;    // of the body, and of the headers
  // Sent at most once. Otherwise libcurl repeats a request whose kept connection turns out to be closed,
  // which the server may have done after it took the request.
  bool at_most_once = false;
};

struct HttpAnswer {
  int id = 0;
  absl::Status status;  // not OK: no response, or an incomplete one; the rest is then empty
  int code = 0;
  std::map<std::string, std::string> headers;  // by name in lower case; the last of equal ones
  std::string body;
  absl::Duration took;
};

// kNearby: no TLS, no proxies. kInternet: for https, certificates are verified, and proxies are those of the
// environment. A process uses one of them.
enum class Reach { kNearby, kInternet };

class HttpClient {
 public:
  explicit HttpClient(Reach reach = Reach::kNearby);
  ~HttpClient();  // cancels pending requests
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // Returns an id; Wait() always returns a response with that id.
  int Start(const HttpRequest& request);
  // Returns when there are responses, when `stop_fd` is readable (-1: none), or after `timeout`.
  std::vector<HttpAnswer> Wait(int stop_fd, absl::Duration timeout);

 private:
  struct Transfer;
  struct Multi;
  void Collect(std::vector<HttpAnswer>& answers);

  Reach reach_;
  std::unique_ptr<Multi> multi_;
  std::map<int, std::unique_ptr<Transfer>> transfers_;
  std::vector<HttpAnswer> failed_;  // requests that could not be started
  int last_id_ = 0;
};

}  // namespace goodput
