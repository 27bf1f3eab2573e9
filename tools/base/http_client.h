// HTTP GET from a server nearby, several at a time, in the thread that asks: no redirects, no proxies, no
// TLS. The one user of libcurl.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace goodput {

struct HttpRequest {
  std::string url;                   // http://
  std::string unix_socket;           // the path of one to connect to, whatever host the URL names
  std::vector<std::string> headers;  // "Name: value"
  absl::Duration connect_timeout = absl::Seconds(3);
  absl::Duration timeout = absl::Seconds(10);        // of all of it; a server may be asked to wait
  absl::Duration answer_timeout = absl::Seconds(5);  // from the answer's first byte to its last
  std::size_t max_bytes = std::size_t{64} << 10U;    // of the body; of the headers, too
};

struct HttpAnswer {
  int id = 0;
  absl::Status status;  // not OK: there was no answer, or not all of it; then the rest is empty
  int code = 0;
  std::map<std::string, std::string> headers;  // by name in lower case; of equal ones the last
  std::string body;
  absl::Duration took;
};

class HttpClient {
 public:
  HttpClient();
  ~HttpClient();  // breaks off what is under way
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // The id of its answer, which comes from Wait() in any case.
  int Start(const HttpRequest& request);
  // Returns when there are answers, when `stop_fd` is readable (-1: none), or after `timeout`.
  std::vector<HttpAnswer> Wait(int stop_fd, absl::Duration timeout);

 private:
  struct Transfer;
  struct Multi;
  void Collect(std::vector<HttpAnswer>& answers);

  std::unique_ptr<Multi> multi_;
  std::map<int, std::unique_ptr<Transfer>> transfers_;
  std::vector<HttpAnswer> failed_;  // before they began
  int last_id_ = 0;
};

}  // namespace goodput
