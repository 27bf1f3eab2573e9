// Answers the requests of OTLP over HTTP: spans are taken, metrics and logs are accepted and dropped.
//
//   200  with the empty response of its kind, as protobuf or JSON like the request
//   400  not what its path says
//   403  from another user of this node
//   404  another path;  413  too long;  415  neither protobuf nor JSON, or compressed otherwise than with
//   gzip
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "tools/base/http_reply.h"
#include "tools/reader/http_server.h"
#include "tools/sources/otel/live_spans.h"
#include "tools/sources/otel/span_text.h"

namespace goodput {

// Of a request, as it is sent and unpacked: a batch of 512 spans is a hundredth of it.
inline constexpr std::size_t kMostRequestBytes = std::size_t{16} << 20U;

class SpanReceiver {
 public:
  // `may_send`: whether the client is a process of this user.
  SpanReceiver(LiveSpans& spans, std::function<bool(const HttpQuestion&)> may_send)
      : spans_(spans), may_send_(std::move(may_send)) {}
  HttpReply Answer(const HttpQuestion& question);
  std::int64_t requests() const { return requests_; }

 private:
  LiveSpans& spans_;
  std::function<bool(const HttpQuestion&)> may_send_;
  SpanParser parser_;
  std::int64_t requests_ = 0;
};

// The user whose socket is connected from port `from` to port `to` of the loopback interface, according to
// the text of /proc/net/tcp; absent: nobody's is.
std::optional<std::uint32_t> UserOfConnection(std::string_view proc_net_tcp, int from, int to);

}  // namespace goodput
