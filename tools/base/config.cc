#include "tools/base/config.h"

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "sql/status_macros.h"
#include "sql/text.h"

namespace goodput {
namespace {

constexpr std::size_t kMaxConfigBytes = 1U << 20U;

absl::Status SetPath(std::string_view key, std::string_view value, std::string& into) {
  if (value.empty() || value.front() != '/') {
    return absl::InvalidArgumentError(Cat("`", key, "` must be an absolute path, not '", value, "'"));
  }
  into = std::string(value);
  return absl::OkStatus();
}

absl::Status SetBytes(std::string_view key, std::string_view value, std::int64_t& into) {
  std::int64_t factor = 1;
  std::string_view digits = value;
  if (!value.empty()) {
    constexpr std::string_view kUnits = "KMGT";
    const std::size_t unit = kUnits.find(absl::ascii_toupper(static_cast<unsigned char>(value.back())));
    if (unit != std::string_view::npos) {
      factor = std::int64_t{1} << (10 * (unit + 1));
      digits.remove_suffix(1);
    }
  }
  std::int64_t number = 0;
  if (!absl::SimpleAtoi(ToAbsl(digits), &number) || number <= 0 ||
      number > (std::int64_t{1} << 53) / factor) {
    return absl::InvalidArgumentError(Cat("`", key, "` must be a size such as 256M, not '", value, "'"));
  }
  into = number * factor;
  return absl::OkStatus();
}

absl::Status SetInterval(std::string_view key, std::string_view value, absl::Duration& into) {
  absl::Duration interval;
  if (!absl::ParseDuration(ToAbsl(value), &interval) || interval < absl::Milliseconds(100) ||
      interval > absl::Hours(1)) {
    return absl::InvalidArgumentError(Cat("`", key, "` must be a time such as 5s, not '", value, "'"));
  }
  into = interval;
  return absl::OkStatus();
}

// Days, or a shorter duration in absl's syntax.
absl::Status SetDays(std::string_view key, std::string_view value, absl::Duration& into) {
  std::int64_t days = 0;
  absl::Duration duration;
  if (!value.empty() && value.back() == 'd' &&
      absl::SimpleAtoi(ToAbsl(value.substr(0, value.size() - 1)), &days) && days > 0 && days <= 36500) {
    duration = absl::Hours(24 * days);
  } else if (!absl::ParseDuration(ToAbsl(value), &duration) || duration < absl::Seconds(1)) {
    return absl::InvalidArgumentError(
        Cat("`", key, "` must be a time such as 30d or 12h, not '", value, "'"));
  }
  into = duration;
  return absl::OkStatus();
}

absl::Status SetOtlp(std::string_view key, std::string_view value, Config& config) {
  if (key == "otlp_headers_file") return SetPath(key, value, config.otlp_headers_file);
  if (key == "otlp") {
    const bool http = value.substr(0, 7) == "http://" || value.substr(0, 8) == "https://";
    // Without the value, which may contain a password by mistake.
    if (!http || value.find('@') != std::string_view::npos)
      return absl::InvalidArgumentError(
          "`otlp` must be http://HOST:PORT or https://HOST, without a user; put secrets into "
          "otlp_headers_file");
    config.otlp = std::string(value);
    return absl::OkStatus();
  }
  if (key == "otlp_protocol") {
    if (value != "http/protobuf" && value != "http/json")
      return absl::InvalidArgumentError(
          Cat("`otlp_protocol` must be http/protobuf or http/json, not '", value, "'"));
    config.otlp_protocol = std::string(value);
    return absl::OkStatus();
  }
  if (value != "metrics,traces" && value != "metrics" && value != "traces")
    return absl::InvalidArgumentError(
        Cat("`otlp_signals` must be metrics, traces or metrics,traces, not '", value, "'"));
  config.otlp_metrics = value != "traces";
  config.otlp_traces = value != "metrics";
  return absl::OkStatus();
}

// projects/PROJECT, or projects/PROJECT/logs/LOG.
absl::Status CheckCloudName(std::string_view key, absl::string_view name) {
  const bool of_log = key != "cloud_metrics";
  const std::vector<absl::string_view> words = absl::StrSplit(name, '/');
  const bool good = words.size() == (of_log ? 4U : 2U) && words[0] == "projects" && !words[1].empty() &&
                    (!of_log || (words[2] == "logs" && !words[3].empty()));
  if (good) return absl::OkStatus();
  return absl::InvalidArgumentError(Cat("`", key, "` must be projects/PROJECT", of_log ? "/logs/LOG" : "",
                                        ", not '", std::string_view(name.data(), name.size()), "'"));
}

absl::Status SetCloud(std::string_view key, std::string_view value, Config& config) {
  if (key == "cloud_import") {
    config.cloud_import = absl::StrSplit(ToAbsl(value), absl::ByAnyChar(", "), absl::SkipEmpty());
    for (const std::string& log : config.cloud_import) RETURN_IF_ERROR(CheckCloudName(key, log));
    return absl::OkStatus();
  }
  (key == "cloud_export" ? config.cloud_export : config.cloud_metrics) = std::string(value);
  return CheckCloudName(key, ToAbsl(value));
}

absl::Status SetEvents(std::string_view key, std::string_view value, Config& config) {
  if (key == "event_program") return SetPath(key, value, config.event_program);
  const bool http = value.substr(0, 7) == "http://" || value.substr(0, 8) == "https://";
  // Without the value, which may be a secret.
  if (!http || value.find_first_of(" @") != std::string_view::npos)
    return absl::InvalidArgumentError(
        "`event_url` must be http://HOST/PATH or https://HOST/PATH, without a user; an event_program can use "
        "secrets");
  config.event_url = std::string(value);
  return absl::OkStatus();
}

absl::Status SetHangSources(std::string_view value, HangSources& into) {
  HangSources sources{false, false, false, false};
  for (const absl::string_view word : absl::StrSplit(ToAbsl(value), ',')) {
    const absl::string_view name = absl::StripAsciiWhitespace(word);
    if (name == "proc") {
      sources.proc = true;
    } else if (name == "output") {
      sources.output = true;
    } else if (name == "ras") {
      sources.ras = true;
    } else if (name == "py-spy") {
      sources.py_spy = true;
    } else if (value != "off") {
      return absl::InvalidArgumentError(
          Cat("`hang_evidence` must be off, or some of proc,output,ras,py-spy, not '", value, "'"));
    }
  }
  into = sources;
  return absl::OkStatus();
}

// An address of this machine, so that no name server is asked and nobody else's GPUs are taken for those of a
// job here.
absl::Status SetGpuUse(std::string_view value, std::string& into) {
  const bool here = value.substr(0, 17) == "http://127.0.0.1:" || value.substr(0, 13) == "http://[::1]:" ||
                    value.substr(0, 6) == "unix:/";
  if (value == "off") {
    into.clear();
  } else if (value == "dcgm") {
    into = kDcgmUrl;
  } else if (value == "nvml") {
    into = kNvmlSocket;
  } else if (here && value.find_first_of(" @") == std::string_view::npos) {
    into = std::string(value);
  } else {
    return absl::InvalidArgumentError(Cat(
        "`gpu_use` must be off, dcgm, nvml, http://127.0.0.1:PORT/metrics or unix:/PATH, not '", value, "'"));
  }
  return absl::OkStatus();
}

absl::Status Set(std::string_view key, std::string_view value, Config& config) {
  if (key == "spool") return SetPath(key, value, config.spool);
  if (key == "database") return SetPath(key, value, config.database);
  if (key == "database_copy") return SetPath(key, value, config.database_copy);
  if (key == "cluster") {
    config.cluster = std::string(value);
    return absl::OkStatus();
  }
  if (key == "socket") {
    if (value.size() < 2 || value.size() > 100 || (value.front() != '@' && value.front() != '/')) {
      return absl::InvalidArgumentError(
          Cat("`socket` must be @name or an absolute path of at most 100 bytes, not '", value, "'"));
    }
    config.socket = std::string(value);
    return absl::OkStatus();
  }
  if (key == "socket_path") return SetPath(key, value, config.socket_path);
  if (key == "role") return SetRoles(value, config);
  if (key == "database_lease") return SetInterval(key, value, config.database_lease);
  if (key == "backfill") return SetDays(key, value, config.backfill);
  if (key == "queue_interval") return SetInterval(key, value, config.queue_interval);
  if (key == "spool_max") return SetBytes(key, value, config.spool_max);
  if (key == "shared_spool") return SetPath(key, value, config.shared_spool);
  if (key == "shared_spool_user") {
    config.shared_spool_user = std::string(value);
    return absl::OkStatus();
  }
  if (key == "keep_spool") return SetDays(key, value, config.keep_spool);
  if (key == "keep_events") {
    if (value != "forever") return SetDays(key, value, config.keep_events);
    config.keep_events = absl::InfiniteDuration();
    return absl::OkStatus();
  }
  if (key == "heartbeat") return SetInterval(key, value, config.heartbeat);
  if (key == "log_profiles") return SetPath(key, value, config.log_profiles);
  if (key == "checkpoint_scan") return SetInterval(key, value, config.checkpoint_scan);
  if (key == "signals") {
    if (value != "on" && value != "off")
      return absl::InvalidArgumentError(Cat("`signals` must be on or off, not '", value, "'"));
    config.signals = value == "on";
    return absl::OkStatus();
  }
  if (key == "host_notices") {
    for (const HostNotices when : {HostNotices::kAuto, HostNotices::kOn, HostNotices::kOff}) {
      if (value != HostNoticesName(when)) continue;
      config.host_notices = when;
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(Cat("`host_notices` must be auto, on or off, not '", value, "'"));
  }
  if (key == "kernel_log") {
    if (value == "on") return absl::OkStatus();
    if (value != "off") return SetPath(key, value, config.kernel_log);
    config.kernel_log.clear();
    return absl::OkStatus();
  }
  if (key == "gpu_use") return SetGpuUse(value, config.gpu_use);
  if (key == "gpu_use_interval") return SetInterval(key, value, config.gpu_use_interval);
  if (key == "hang_evidence") return SetHangSources(value, config.hang_evidence);
  if (key == "py_spy") return SetPath(key, value, config.py_spy);
  if (key == "hang_evidence_after") return SetInterval(key, value, config.hang_evidence_after);
  if (key == "listen" || key == "query_socket") {
    std::string& into = key == "listen" ? config.listen : config.query_socket;
    if (value == "off") {
      into.clear();
      return absl::OkStatus();
    }
    if (key == "query_socket") return SetPath(key, value, into);
    if (value.find(':') == std::string_view::npos)
      return absl::InvalidArgumentError(
          Cat("`listen` must be ADDRESS:PORT such as 127.0.0.1:9645, or off, not '", value, "'"));
    into = std::string(value);
    return absl::OkStatus();
  }
  if (key == "reader_user") {
    config.reader_user = std::string(value);
    return absl::OkStatus();
  }
  if (key == "listen_names") {
    config.listen_names = std::string(value);
    return absl::OkStatus();
  }
  if (key == "url" || key == "cluster_url") {
    if (value.substr(0, 7) != "http://" && value.substr(0, 6) != "unix:/")
      return absl::InvalidArgumentError(
          Cat("`", key, "` must be http://HOST:PORT or unix:/PATH, not '", value, "'"));
    (key == "url" ? config.url : config.cluster_url) = std::string(value);
    return absl::OkStatus();
  }
  if (key == "fleet") {
    // Without the value, which may contain a password by mistake.
    if (value.substr(0, 13) != "postgresql://")
      return absl::InvalidArgumentError("`fleet` must be postgresql://USER@HOST/DATABASE");
    config.fleet = std::string(value);
    return absl::OkStatus();
  }
  if (key == "otlp" || key == "otlp_headers_file" || key == "otlp_protocol" || key == "otlp_signals")
    return SetOtlp(key, value, config);
  if (key == "cloud_import" || key == "cloud_export" || key == "cloud_metrics")
    return SetCloud(key, value, config);
  if (key == "event_program" || key == "event_url") return SetEvents(key, value, config);
  if (key == "peak") {
    absl::StatusOr<GpuPeak> peak = ParsePeak(value);
    if (!peak.ok()) return Annotate(peak.status(), "`peak`");
    config.peaks.push_back(*std::move(peak));
    return absl::OkStatus();
  }
  if (key == "price") {
    absl::StatusOr<GpuPrice> price = ParseGpuPrice(value);
    if (!price.ok()) return Annotate(price.status(), "`price`");
    config.prices.push_back(*std::move(price));
    return absl::OkStatus();
  }
  if (key == "currency") {
    config.currency = std::string(value);
    return absl::OkStatus();
  }
  if (key == "busbw") {
    if (!absl::SimpleAtod(ToAbsl(value), &config.busbw) || !(config.busbw > 0 && config.busbw < 1e6))
      return absl::InvalidArgumentError(
          Cat("`busbw` must be a number of GB/s such as 185, not '", value, "'"));
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      Cat("unknown key '", key,
          "'; known keys: spool, database, database_lease, database_copy, cluster, socket, socket_path, "
          "role, backfill, queue_interval, spool_max, shared_spool, shared_spool_user, keep_spool, "
          "keep_events, heartbeat, checkpoint_scan, log_profiles, signals, host_notices, "
          "kernel_log, gpu_use, gpu_use_interval, hang_evidence, hang_evidence_after, py_spy, listen, "
          "listen_names, query_socket, "
          "reader_user, url, "
          "cluster_url, fleet, otlp, otlp_headers_file, otlp_protocol, otlp_signals, cloud_import, "
          "cloud_export, cloud_metrics, event_program, event_url, peak, price, currency, "
          "busbw"));
}

}  // namespace

std::string_view HostNoticesName(HostNotices when) {
  return when == HostNotices::kAuto ? "auto" : when == HostNotices::kOn ? "on" : "off";
}

std::string HangSourcesName(const HangSources& sources) {
  std::string names;
  const auto add = [&](bool has, std::string_view name) {
    if (has) names += Cat(names.empty() ? "" : ",", name);
  };
  add(sources.proc, "proc");
  add(sources.output, "output");
  add(sources.ras, "ras");
  add(sources.py_spy, "py-spy");
  return names.empty() ? "off" : names;
}

absl::Status SetRoles(std::string_view value, Config& config) {
  config.node_role = config.controller_role = false;
  for (absl::string_view role : absl::StrSplit(ToAbsl(value), ',', absl::SkipWhitespace())) {
    role = absl::StripAsciiWhitespace(role);
    if (role == "node") {
      config.node_role = true;
    } else if (role == "controller") {
      config.controller_role = true;
    } else {
      return absl::InvalidArgumentError(
          Cat("`role` cannot be '", std::string(role), "'; use node, controller, or node,controller"));
    }
  }
  if (!config.node_role && !config.controller_role) {
    return absl::InvalidArgumentError("`role` cannot be empty; use node, controller, or node,controller");
  }
  return absl::OkStatus();
}

absl::StatusOr<Config> ParseConfig(std::string_view text, std::string_view file_name) {
  Config config;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(ToAbsl(text), '\n')) {
    ++number;
    line = absl::StripAsciiWhitespace(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    const std::size_t equals = line.find('=');
    absl::Status status = absl::InvalidArgumentError("expected `key = value`");
    if (equals != absl::string_view::npos) {
      status = Set(std::string(absl::StripAsciiWhitespace(line.substr(0, equals))),
                   std::string(absl::StripAsciiWhitespace(line.substr(equals + 1))), config);
    }
    if (!status.ok()) return Annotate(status, Cat(file_name, ":", number));
  }
  return config;
}

absl::StatusOr<Config> LoadConfig(const std::string& path) {
  std::string file = path;
  bool must_exist = true;
  if (file.empty()) {
    const char* named = std::getenv("GOODPUT_CONF");
    must_exist = named != nullptr;
    file = named != nullptr ? named : kDefaultConfigPath;
  }
  std::ifstream in(file);
  if (!in) {
    if (must_exist) return absl::NotFoundError(Cat("cannot read the configuration ", file));
    return Config{};
  }
  std::string text(kMaxConfigBytes + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (in.bad())
    return absl::InvalidArgumentError(
        Cat("cannot read the configuration ", file, "; check that it is a regular file"));
  text.resize(static_cast<std::size_t>(in.gcount()));
  if (text.size() > kMaxConfigBytes) return absl::InvalidArgumentError(Cat(file, ": is larger than 1 MiB"));
  return ParseConfig(text, file);
}

}  // namespace goodput
