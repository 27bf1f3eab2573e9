#include "tools/base/http_client.h"

#include <curl/curl.h>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "spank/clock.h"
#include "sql/text.h"

namespace goodput {
namespace {

// How often to check whether a response that has begun is too slow; libcurl checks the other timeouts itself.
constexpr absl::Duration kTick = absl::Milliseconds(500);
constexpr absl::Duration kLongestPoll = absl::Hours(1);
constexpr std::size_t kMaxHeaders = 64;

std::string_view Trimmed(std::string_view text) {
  const absl::string_view trimmed = absl::StripAsciiWhitespace(ToAbsl(text));
  return {trimmed.data(), trimmed.size()};
}

}  // namespace

struct HttpClient::Multi {
  explicit Multi(Reach reach) {
    static const CURLcode started =
        curl_global_init(reach == Reach::kInternet ? CURL_GLOBAL_SSL : CURL_GLOBAL_NOTHING);
    if (started == CURLE_OK) handle = curl_multi_init();
  }
  ~Multi() {
    if (handle != nullptr) curl_multi_cleanup(handle);
  }
  Multi(const Multi&) = delete;
  Multi& operator=(const Multi&) = delete;
  CURLM* handle = nullptr;
};

struct HttpClient::Transfer {
  Transfer(CURLM* of, const HttpRequest& asked) : multi(of), request(asked), easy(curl_easy_init()) {}
  ~Transfer() {
    if (easy != nullptr) {
      curl_multi_remove_handle(multi, easy);
      curl_easy_cleanup(easy);
    }
    curl_slist_free_all(headers);
  }
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  bool TakesTooLong() const {
    return first_byte_ns != 0 &&
           kSystemClock.mono_ns() - first_byte_ns > absl::ToInt64Nanoseconds(request.answer_timeout);
  }
  // Returns false if it exceeds the limit, which ends the transfer.
  bool Count(std::size_t bytes, std::size_t& of) {
    if (first_byte_ns == 0) first_byte_ns = kSystemClock.mono_ns();
    of += bytes;
    return of <= request.max_bytes && !TakesTooLong();
  }

  static std::size_t TakeBody(char* bytes, std::size_t size, std::size_t count, void* self) {
    auto* transfer = static_cast<Transfer*>(self);
    if (!transfer->Count(size * count, transfer->body_bytes)) return 0;
    transfer->answer.body.append(bytes, size * count);
    return size * count;
  }
  static std::size_t TakeHeader(char* bytes, std::size_t size, std::size_t count, void* self) {
    auto* transfer = static_cast<Transfer*>(self);
    if (!transfer->Count(size * count, transfer->header_bytes)) return 0;
    const std::string_view line(bytes, size * count);
    const std::size_t colon = line.find(':');
    std::map<std::string, std::string>& into = transfer->answer.headers;
    if (colon == std::string_view::npos) return size * count;
    const std::string name = absl::AsciiStrToLower(ToAbsl(Trimmed(line.substr(0, colon))));
    if (into.size() < kMaxHeaders || into.count(name) != 0)
      into[name] = std::string(Trimmed(line.substr(colon + 1)));
    return size * count;
  }
  static int Progress(void* self, curl_off_t /*of*/, curl_off_t /*got*/, curl_off_t /*to*/,
                      curl_off_t /*sent*/) {
    return static_cast<Transfer*>(self)->TakesTooLong() ? 1 : 0;
  }

  CURLM* multi;
  HttpRequest request;
  CURL* easy;
  curl_slist* headers = nullptr;
  std::size_t header_bytes = 0;
  std::size_t body_bytes = 0;
  std::int64_t began_ns = kSystemClock.mono_ns();
  std::int64_t first_byte_ns = 0;
  HttpAnswer answer;
};

HttpClient::HttpClient(Reach reach) : reach_(reach), multi_(std::make_unique<Multi>(reach)) {}

HttpClient::~HttpClient() {
  transfers_.clear();
}

int HttpClient::Start(const HttpRequest& request) {
  const int id = ++last_id_;
  auto transfer = std::make_unique<Transfer>(multi_->handle, request);
  transfer->answer.id = id;
  CURL* easy = transfer->easy;
  bool good = easy != nullptr && multi_->handle != nullptr;
  const auto set = [&](CURLoption option, auto value) {
    good = good && curl_easy_setopt(easy, option, value) == CURLE_OK;
  };
  const auto in_ms = [](absl::Duration time) {
    return static_cast<long>(std::max<std::int64_t>(1, absl::ToInt64Milliseconds(time)));
  };
  std::vector<std::string> headers = request.headers;
  // Without this, libcurl waits for a second before it sends a large body to a server that does not answer
  // `Expect: 100-continue`.
  if (request.body) headers.emplace_back("Expect:");
  for (const std::string& header : headers) {
    curl_slist* more = curl_slist_append(transfer->headers, header.c_str());
    good = good && more != nullptr;
    if (more != nullptr) transfer->headers = more;
  }
  set(CURLOPT_URL, request.url.c_str());
  if (!request.unix_socket.empty()) set(CURLOPT_UNIX_SOCKET_PATH, request.unix_socket.c_str());
  set(CURLOPT_PROTOCOLS_STR, reach_ == Reach::kInternet ? "http,https" : "http");
  set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  set(CURLOPT_FOLLOWLOCATION, 0L);
  if (reach_ == Reach::kNearby || !absl::StartsWith(request.url, "https:")) {
    set(CURLOPT_PROXY, "");
    set(CURLOPT_NOPROXY, "*");
  }
  if (request.at_most_once) set(CURLOPT_FRESH_CONNECT, 1L);
  set(CURLOPT_NOSIGNAL, 1L);
  // Do not wait for a pending name lookup when the client is destroyed.
  set(CURLOPT_QUICK_EXIT, 1L);
  set(CURLOPT_USERAGENT, "slurm-goodput");
  if (transfer->request.body) {
    set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(transfer->request.body->size()));
    set(CURLOPT_POSTFIELDS, transfer->request.body->c_str());
  }
  set(CURLOPT_HTTPHEADER, transfer->headers);
  set(CURLOPT_CONNECTTIMEOUT_MS, in_ms(request.connect_timeout));
  set(CURLOPT_TIMEOUT_MS, in_ms(request.timeout));
  set(CURLOPT_WRITEFUNCTION, &Transfer::TakeBody);
  set(CURLOPT_WRITEDATA, transfer.get());
  set(CURLOPT_HEADERFUNCTION, &Transfer::TakeHeader);
  set(CURLOPT_HEADERDATA, transfer.get());
  set(CURLOPT_NOPROGRESS, 0L);
  set(CURLOPT_XFERINFOFUNCTION, &Transfer::Progress);
  set(CURLOPT_XFERINFODATA, transfer.get());
  set(CURLOPT_PRIVATE, transfer.get());
  if (!good || curl_multi_add_handle(multi_->handle, easy) != CURLM_OK) {
    HttpAnswer none;
    none.id = id;
    none.status = absl::InternalError("libcurl cannot be used");
    failed_.push_back(std::move(none));
    return id;
  }
  transfers_[id] = std::move(transfer);
  return id;
}

void HttpClient::Collect(std::vector<HttpAnswer>& answers) {
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi_->handle, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    const CURLcode result = message->data.result;
    Transfer* transfer = nullptr;
    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
    HttpAnswer answer = std::move(transfer->answer);
    answer.took = absl::Nanoseconds(kSystemClock.mono_ns() - transfer->began_ns);
    if (result == CURLE_OK) {
      long code = 0;
      curl_easy_getinfo(message->easy_handle, CURLINFO_RESPONSE_CODE, &code);
      answer.code = static_cast<int>(code);
    } else {
      const bool too_much =
          std::max(transfer->body_bytes, transfer->header_bytes) > transfer->request.max_bytes;
      answer.status = too_much                   ? absl::OutOfRangeError("the response is too long")
                      : transfer->TakesTooLong() ? absl::DeadlineExceededError("the response is too slow")
                                                 : absl::UnavailableError(curl_easy_strerror(result));
      answer.headers.clear();
      answer.body.clear();
    }
    transfers_.erase(answer.id);
    answers.push_back(std::move(answer));
  }
}

std::vector<HttpAnswer> HttpClient::Wait(int stop_fd, absl::Duration timeout) {
  std::vector<HttpAnswer> answers = std::move(failed_);
  failed_.clear();
  if (multi_->handle == nullptr) return answers;
  const std::int64_t until = kSystemClock.mono_ns() + absl::ToInt64Nanoseconds(timeout);
  curl_waitfd stop{stop_fd, CURL_WAIT_POLLIN, 0};
  while (true) {
    int running = 0;
    curl_multi_perform(multi_->handle, &running);
    Collect(answers);
    const absl::Duration left = absl::Nanoseconds(until - kSystemClock.mono_ns());
    if (!answers.empty() || stop.revents != 0 || left <= absl::ZeroDuration()) return answers;
    const bool answering = std::any_of(transfers_.begin(), transfers_.end(),
                                       [](const auto& one) { return one.second->first_byte_ns != 0; });
    const auto wait_ms = absl::ToInt64Milliseconds(std::min(left, answering ? kTick : kLongestPoll)) + 1;
    curl_multi_poll(multi_->handle, stop_fd < 0 ? nullptr : &stop, stop_fd < 0 ? 0 : 1,
                    static_cast<int>(wait_ms), nullptr);
  }
}

}  // namespace goodput
