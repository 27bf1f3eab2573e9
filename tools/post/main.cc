// goodput-post: posts JSON once, as `sgoodput events` asks for. The first line of stdin is the URL, the rest
// the JSON. Exit status 0: the server answered 2xx. 1: one line on stderr says why not, without the URL's
// path, which may be a secret, and stdout has the seconds of the answer's Retry-After. It has neither the
// database nor goodput.conf.
#include <cstdio>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "sql/text.h"
#include "tools/base/format.h"
#include "tools/base/http_client.h"
#include "tools/base/retry_after.h"

namespace {

constexpr absl::Duration kTimeout = absl::Seconds(10);
constexpr std::size_t kMostShown = 120;

int Complain(const std::string& what) {
  std::fprintf(stderr, "%s\n", goodput::Printable(what).c_str());
  return 1;
}

}  // namespace

int main() {
  goodput::HttpRequest request;
  std::getline(std::cin, request.url);
  if (!absl::StartsWith(request.url, "http://") && !absl::StartsWith(request.url, "https://"))
    return Complain("the first line must be http://... or https://...");
  request.body = std::string(std::istreambuf_iterator<char>(std::cin), {});
  request.headers = {"Content-Type: application/json"};
  request.timeout = kTimeout;
  request.at_most_once = true;
  goodput::HttpClient client(goodput::Reach::kInternet);
  client.Start(request);
  const std::vector<goodput::HttpAnswer> answers = client.Wait(-1, kTimeout + absl::Seconds(5));
  if (answers.empty()) return Complain("no answer");
  const goodput::HttpAnswer& answer = answers.front();
  if (!answer.status.ok()) return Complain(goodput::Message(answer.status));
  if (answer.code / 100 == 2) return 0;
  if (const auto wait = goodput::RetryAfter(answer, absl::Now()))
    std::printf("%lld\n", static_cast<long long>(absl::ToInt64Seconds(absl::Ceil(*wait, absl::Seconds(1)))));
  const std::string body = goodput::Printable(answer.body.substr(0, answer.body.find('\n')), kMostShown);
  return Complain(absl::StrCat("the server answered ", answer.code, body.empty() ? "" : ": ", body));
}
