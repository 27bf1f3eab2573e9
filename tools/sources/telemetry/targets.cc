#include "tools/sources/telemetry/targets.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "sql/status_macros.h"
#include "sql/text.h"

namespace goodput {
namespace {

constexpr std::size_t kMostHeaderBytes = 65'536;
constexpr const char* kOtlp = "OTEL_EXPORTER_OTLP_";

// Values are percent-encoded there, as in W3C Baggage.
std::string Decoded(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool coded = text[i] == '%' && i + 2 < text.size() &&
                       absl::ascii_isxdigit(static_cast<unsigned char>(text[i + 1])) &&
                       absl::ascii_isxdigit(static_cast<unsigned char>(text[i + 2]));
    plain += coded ? absl::HexStringToBytes(std::string(text.substr(i + 1, 2))) : std::string(1, text[i]);
    if (coded) i += 2;
  }
  return plain;
}

std::vector<std::pair<std::string, std::string>> Pairs(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const absl::string_view one : absl::StrSplit(ToAbsl(text), ',', absl::SkipWhitespace())) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(one, absl::MaxSplits('=', 1));
    const std::string value(absl::StripAsciiWhitespace(parts.second));
    pairs.emplace_back(std::string(absl::StripAsciiWhitespace(parts.first)), Decoded(value));
  }
  return pairs;
}

absl::Status AddHeader(const std::string& name, const std::string& value, std::vector<std::string>& headers) {
  bool good = !name.empty() && value.find_first_of("\r\n") == std::string::npos;
  for (const char c : name)
    good = good && (absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_');
  // Without the value, which is a secret.
  if (!good) return absl::InvalidArgumentError("a header of OTLP must be `Name: value`");
  headers.push_back(Cat(name, ": ", value));
  return absl::OkStatus();
}

absl::Status AddHeaderLines(const std::string& text, std::vector<std::string>& headers) {
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || line.front() == '#') continue;
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(line, absl::MaxSplits(':', 1));
    RETURN_IF_ERROR(AddHeader(std::string(absl::StripAsciiWhitespace(parts.first)),
                              std::string(absl::StripAsciiWhitespace(parts.second)), headers));
  }
  return absl::OkStatus();
}

// One kind of telemetry: traces or metrics.
class Signal {
 public:
  Signal(std::string upper, std::string path, const GetVariable& get)
      : upper_(std::move(upper)), path_(std::move(path)), get_(get) {}

  // The variable of this signal, else that of all; empty if neither is set.
  std::string Setting(const std::string& name) const {
    const std::string own = Variable(Cat(kOtlp, upper_, "_", name));
    return own.empty() ? Variable(Cat(kOtlp, name)) : own;
  }
  std::string Variable(const std::string& name) const {
    const char* const value = get_(name.c_str());
    return value == nullptr ? "" : value;
  }
  bool IsOff() const { return Variable(Cat("OTEL_", upper_, "_EXPORTER")) == "none"; }

  // The specification: a signal's own URL is used as it is, the common one gets the signal's path.
  std::string Url(const std::string& configured) const {
    std::string own = Variable(Cat(kOtlp, upper_, "_ENDPOINT"));
    if (!own.empty()) return own;
    std::string common = Variable(Cat(kOtlp, "ENDPOINT"));
    if (common.empty()) common = configured;
    if (common.empty()) return "";
    return Cat(std::string(absl::StripSuffix(common, "/")), path_);
  }

  absl::StatusOr<OtlpTarget> Target(const Config& config, const std::string& headers_file) const {
    OtlpTarget target;
    target.url = Url(config.otlp);
    if (!absl::StartsWith(target.url, "http://") && !absl::StartsWith(target.url, "https://"))
      return absl::InvalidArgumentError(Cat("an OTLP endpoint must begin with http:// or https://, not '",
                                            target.url.substr(0, target.url.find(':')), "'"));
    if (target.url.find('@') != std::string::npos)
      return absl::InvalidArgumentError(
          "an OTLP endpoint must not contain a user or a password; use otlp_headers_file");
    RETURN_IF_ERROR(SetProtocol(config, target));
    RETURN_IF_ERROR(AddHeaderLines(headers_file, target.headers));
    for (const auto& [name, value] : Pairs(Setting("HEADERS")))
      RETURN_IF_ERROR(AddHeader(name, value, target.headers));
    std::int64_t timeout_ms = 0;
    if (absl::SimpleAtoi(Setting("TIMEOUT"), &timeout_ms) && timeout_ms > 0)
      target.timeout = absl::Milliseconds(std::min<std::int64_t>(timeout_ms, 600'000));
    target.gzip = Setting("COMPRESSION") != "none";
    return target;
  }

 private:
  absl::Status SetProtocol(const Config& config, OtlpTarget& target) const {
    std::string protocol = Setting("PROTOCOL");
    if (protocol.empty()) protocol = config.otlp_protocol;
    if (protocol != "http/json" && protocol != "http/protobuf")
      return absl::InvalidArgumentError(
          Cat("the protocol of OTLP must be http/protobuf or http/json, not '", protocol, "'"));
    target.protocol = protocol == "http/json" ? OtlpProtocol::kJson : OtlpProtocol::kProtobuf;
    return absl::OkStatus();
  }

  std::string upper_;
  std::string path_;
  const GetVariable& get_;
};

}  // namespace

absl::StatusOr<OtlpTargets> FindTargets(const Config& config, const std::string& headers_file,
                                        const GetVariable& get) {
  OtlpTargets targets;
  const Signal metrics("METRICS", "/v1/metrics", get);
  const Signal traces("TRACES", "/v1/traces", get);
  const auto wanted = [&](const Signal& signal, bool configured) {
    return configured && !signal.IsOff() && !signal.Url(config.otlp).empty();
  };
  if (wanted(metrics, config.otlp_metrics)) {
    ASSIGN_OR_RETURN(targets.metrics, metrics.Target(config, headers_file));
  }
  if (wanted(traces, config.otlp_traces)) {
    ASSIGN_OR_RETURN(targets.traces, traces.Target(config, headers_file));
  }
  if (!targets.metrics && !targets.traces)
    return absl::NotFoundError(
        "nothing is sent: set `otlp = http://HOST:4318` in goodput.conf, or OTEL_EXPORTER_OTLP_ENDPOINT");
  for (auto& [key, value] : Pairs(metrics.Variable("OTEL_RESOURCE_ATTRIBUTES")))
    targets.resource.push_back({std::move(key), std::move(value)});
  return targets;
}

absl::StatusOr<std::string> ReadHeadersFile(const std::string& path) {
  if (path.empty()) return "";
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return absl::FailedPreconditionError(Cat("cannot read ", path, ": ", std::strerror(errno)));
  struct stat about {};
  std::string text(kMostHeaderBytes, '\0');
  const bool good = fstat(fd, &about) == 0 && S_ISREG(about.st_mode);
  const ssize_t length = good ? read(fd, text.data(), text.size()) : -1;
  close(fd);
  if (length < 0)
    return absl::FailedPreconditionError(Cat("cannot read ", path, ": it must be a regular file"));
  if ((about.st_mode & 077U) != 0)
    return absl::PermissionDeniedError(
        Cat(path, " has secrets, but others may read it; run chmod 0600 ", path));
  text.resize(static_cast<std::size_t>(length));
  return text;
}

}  // namespace goodput
