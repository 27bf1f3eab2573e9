#include "tools/otlp/receiver.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "sql/text.h"
#include "tools/base/unpacker.h"
#include "tools/otlp/otlp_message.h"

namespace goodput {
namespace {

constexpr const char* kProtobuf = "application/x-protobuf";
constexpr const char* kJson = "application/json";

// Without parameters such as the character set.
std::string MediaType(const std::string& header) {
  return absl::AsciiStrToLower(absl::StripAsciiWhitespace(header.substr(0, header.find(';'))));
}

absl::StatusOr<std::string> Unpacked(const HttpQuestion& question) {
  const std::string coding = absl::AsciiStrToLower(absl::StripAsciiWhitespace(question.content_encoding));
  if (coding.empty() || coding == "identity") return question.body;
  if (coding != "gzip")
    return absl::UnimplementedError(Cat("Content-Encoding ", coding, ": send gzip or none"));
  std::string unpacked;
  Unpacker unpacker;
  absl::Status status = unpacker.Unpack(question.body, [&](std::string_view bytes) -> absl::Status {
    if (unpacked.size() + bytes.size() > kMostRequestBytes)
      return absl::OutOfRangeError("the request is longer than 16 MiB; send smaller batches");
    unpacked += bytes;
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  if (!unpacker.whole()) return absl::InvalidArgumentError("the body's gzip data was cut off");
  return unpacked;
}

int CodeOf(const absl::Status& status) {
  if (absl::IsUnimplemented(status)) return 415;
  return absl::IsOutOfRange(status) ? 413 : 400;
}

HttpReply Refused(const absl::Status& status) {
  return ErrorReply(CodeOf(status), std::string(status.message()));
}

}  // namespace

HttpReply SpanReceiver::Answer(const HttpQuestion& question) {
  if (!may_send_(question)) return ErrorReply(403, "only processes of the job's user may send spans");
  const bool traces = question.path == "/v1/traces";
  if (!traces && question.path != "/v1/metrics" && question.path != "/v1/logs")
    return ErrorReply(404, "only /v1/traces, /v1/metrics and /v1/logs are served");
  const std::string type = MediaType(question.content_type);
  if (type != kProtobuf && type != kJson)
    return ErrorReply(415, Cat("Content-Type: send ", kProtobuf, " or ", kJson));
  ++requests_;
  HttpReply reply;
  reply.type = type;
  reply.body = type == kJson ? "{}" : "";
  if (!traces) return reply;
  absl::StatusOr<std::string> body = Unpacked(question);
  if (!body.ok()) return Refused(body.status());
  absl::Status told;
  const SpanParser::Take take = [&](const SpanProcess& process, const Span& span, std::int64_t /*index*/) {
    if (told.ok()) told = spans_.Take(process, span);
  };
  absl::Status status;
  if (type == kProtobuf) {
    status = ReadTraceRequest(*body, take);
  } else {
    const std::size_t size = body->size();
    body->append(SpanParser::kPadding, '\0');
    status = parser_.Parse(std::string_view(*body).substr(0, size), take).status();
  }
  if (!status.ok()) return Refused(status);
  if (told.ok()) told = spans_.Tell();
  return told.ok() ? reply : ErrorReply(500, std::string(told.message()));
}

std::optional<std::uint32_t> UserOfConnection(std::string_view proc_net_tcp, int from, int to) {
  const std::uint32_t loopback = htonl(INADDR_LOOPBACK);  // printed in this machine's byte order
  const std::string client = absl::StrFormat("%08X:%04X", loopback, from);
  const std::string server = absl::StrFormat("%08X:%04X", loopback, to);
  for (const absl::string_view line : absl::StrSplit(ToAbsl(proc_net_tcp), '\n')) {
    // sl local_address rem_address st tx_queue:rx_queue tr:tm->when retrnsmt uid ...
    const std::vector<absl::string_view> fields = absl::StrSplit(line, ' ', absl::SkipEmpty());
    constexpr std::size_t kUid = 7;
    std::uint32_t uid = 0;
    if (fields.size() > kUid && fields[1] == client && fields[2] == server &&
        absl::SimpleAtoi(fields[kUid], &uid))
      return uid;
  }
  return std::nullopt;
}

}  // namespace goodput
