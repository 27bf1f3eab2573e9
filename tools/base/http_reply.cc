#include "tools/base/http_reply.h"

#include "absl/strings/ascii.h"
#include "spank/json_text.h"
#include "sql/text.h"

namespace goodput {

HttpReply ErrorReply(int code, const std::string& message) {
  HttpReply reply;
  reply.code = code;
  reply.body = Cat("{\"error\":", QuotedJson(message), "}\n");
  return reply;
}

std::string PercentEncoded(std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  constexpr std::string_view kPlain = "-._~";
  std::string encoded;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (absl::ascii_isalnum(byte) || kPlain.find(c) != std::string_view::npos) {
      encoded.push_back(c);
    } else {
      encoded.push_back('%');
      encoded.push_back(kHex[byte >> 4U]);
      encoded.push_back(kHex[byte & 15U]);
    }
  }
  return encoded;
}

}  // namespace goodput
