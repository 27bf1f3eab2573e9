// A reply to an HTTP request.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace goodput {

struct HttpReply {
  int code = 200;
  std::string type = "application/json";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
};

// {"error":"..."} and a newline.
HttpReply ErrorReply(int code, const std::string& message);

// Percent-encodes all but letters, digits and -._~ .
std::string PercentEncoded(std::string_view text);

}  // namespace goodput
