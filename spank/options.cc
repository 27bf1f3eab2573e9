#include "spank/options.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>

namespace goodput {

const OptionSpec kOptions[kOptionCount] = {
    {OptionId::kEnabled, "goodput", "GOODPUT", nullptr, "on|off",
     "record the goodput of this job (on) or not (off)"},
    {OptionId::kRun, "goodput-run", "GOODPUT_RUN", nullptr, "NAME",
     "name of the training run; jobs with the same name are one run"},
    {OptionId::kCheckpointDir, "goodput-checkpoint-dir", "GOODPUT_CHECKPOINT_DIR", "checkpoint_dir", "PATH",
     "checkpoint directory; absolute or relative to the job's; %j %A %a %x %u expand"},
    {OptionId::kCheckpointSignal, "goodput-checkpoint-signal", "GOODPUT_CHECKPOINT_SIGNAL",
     "checkpoint_signal", "SIG[,SIG]",
     "signals that ask the job to save a checkpoint (default TERM,USR1,USR2)"},
    {OptionId::kLogProfile, "goodput-log-profile", "GOODPUT_LOG_PROFILE", "log_profile", "NAME",
     "read steps and checkpoints from the job's output with this log profile"},
    {OptionId::kFlopsPerStep, "goodput-flops-per-step", "GOODPUT_FLOPS_PER_STEP", nullptr, "FLOPS",
     "model FLOPs of one optimizer step of the whole job"},
    {OptionId::kModel, "goodput-model", "GOODPUT_MODEL", nullptr, "params=N,tokens-per-step=N",
     "model size, for the FLOPs of a step; more keys: layers, hidden, seq"},
    {OptionId::kPrecision, "goodput-precision", "GOODPUT_PRECISION", "precision", "PRECISION",
     "number format of the training: bf16, fp16, fp8, fp4, tf32, fp32, fp64 or int8"},
    {OptionId::kTags, "goodput-tags", "GOODPUT_TAGS", "tags", "K=V[,K=V]", "labels of this job"},
    {OptionId::kSpares, "goodput-spares", "GOODPUT_SPARES", nullptr, "GPUS",
     "how many GPUs of the job are spares that wait to replace others"},
    {OptionId::kHangEvidence, "goodput-hang-evidence", "GOODPUT_HANG_EVIDENCE", nullptr, "py-spy",
     "if the job hangs, also ask py-spy for the stacks of its Python programs"},
};

namespace {

constexpr std::string_view kPySpy = "py-spy";
constexpr std::size_t kMaxRunBytes = 128;
constexpr std::size_t kMaxPathBytes = 1024;  // a longer one does not fit into a record of 4096 bytes
constexpr std::size_t kMaxProfileBytes = 64;
constexpr std::size_t kMaxTags = 32;
constexpr std::size_t kMaxTagKeyBytes = 64;
constexpr std::size_t kMaxTagValueBytes = 256;
constexpr std::size_t kMaxTagsBytes = 2048;
constexpr std::size_t kMaxSocketPathBytes = 107;  // sun_path with its NUL or leading '@'

bool IsAlnum(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

bool IsControl(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
}

bool HasControl(std::string_view text) {
  return std::any_of(text.begin(), text.end(), IsControl);
}

// Letters, digits and "._-", beginning with a letter, digit or '_'.
bool IsWord(std::string_view text, std::size_t max_bytes) {
  return !text.empty() && text.size() <= max_bytes && text.front() != '.' && text.front() != '-' &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return IsAlnum(c) || c == '_' || c == '-' || c == '.'; });
}

std::string Upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return out;
}

std::string Lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0;;) {
    const std::size_t end = text.find(separator, at);
    parts.push_back(text.substr(at, end == std::string_view::npos ? end : end - at));
    if (end == std::string_view::npos) return parts;
    at = end + 1;
  }
}

// A positive, finite decimal number, with or without exponent. strtod would also accept hex, "inf" and a
// locale's comma.
std::optional<double> ParsePositive(std::string_view text) {
  if (text.empty() || text.size() > 40 || text.front() == '+') return std::nullopt;
  const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || c == '.' || c == 'e' || c == 'E' || c == '+' || c == '-';
  });
  if (!plain) return std::nullopt;
  const std::string copy(text);
  char* end = nullptr;
  const double value = std::strtod(copy.c_str(), &end);
  if (end != copy.c_str() + copy.size() || !std::isfinite(value) || value <= 0) return std::nullopt;
  return value;
}

// 0 to 2^24, in digits.
std::optional<int64_t> ParseCount(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size() && !text.empty();
  return whole && value >= 0 && value <= (1 << 24) ? std::optional(value) : std::nullopt;
}

std::optional<bool> ParseOnOff(std::string_view text) {
  const std::string word = Lower(text);
  if (word == "on" || word == "yes" || word == "true" || word == "1") return true;
  if (word == "off" || word == "no" || word == "false" || word == "0") return false;
  return std::nullopt;
}

struct SignalName {
  const char* name;
  int number;
};
// sigabbrev_np would do, but the glibc of older clusters lacks it.
constexpr std::array<SignalName, 34> kSignals = {{
    {"HUP", SIGHUP},   {"INT", SIGINT},     {"QUIT", SIGQUIT}, {"ILL", SIGILL},   {"TRAP", SIGTRAP},
    {"ABRT", SIGABRT}, {"BUS", SIGBUS},     {"FPE", SIGFPE},   {"KILL", SIGKILL}, {"USR1", SIGUSR1},
    {"SEGV", SIGSEGV}, {"USR2", SIGUSR2},   {"PIPE", SIGPIPE}, {"ALRM", SIGALRM}, {"TERM", SIGTERM},
    {"CHLD", SIGCHLD}, {"CONT", SIGCONT},   {"STOP", SIGSTOP}, {"TSTP", SIGTSTP}, {"TTIN", SIGTTIN},
    {"TTOU", SIGTTOU}, {"URG", SIGURG},     {"XCPU", SIGXCPU}, {"XFSZ", SIGXFSZ}, {"VTALRM", SIGVTALRM},
    {"PROF", SIGPROF}, {"WINCH", SIGWINCH}, {"IO", SIGIO},     {"POLL", SIGIO},   {"PWR", SIGPWR},
    {"SYS", SIGSYS},   {"STKFLT", 16},      {"CLD", SIGCHLD},  {"IOT", SIGABRT},
}};
constexpr int kMaxSignal = 64;
constexpr std::size_t kMaxSignals = 8;

std::string ParseSignals(std::string_view value, std::optional<std::string>* out) {
  std::string canonical;
  std::vector<int> seen;
  for (const std::string_view part : Split(value, ',')) {
    std::string word = Upper(part);
    if (word.rfind("SIG", 0) == 0) word.erase(0, 3);
    int number = 0;
    const auto parsed = std::from_chars(word.data(), word.data() + word.size(), number);
    const bool numeric = parsed.ec == std::errc() && parsed.ptr == word.data() + word.size();
    std::string name = numeric ? word : "";
    for (const SignalName& known : kSignals) {
      if (numeric ? known.number == number : word == known.name) {
        number = known.number;
        const auto* first = std::find_if(kSignals.begin(), kSignals.end(),
                                         [&](const SignalName& s) { return s.number == known.number; });
        name = first->name;
        break;
      }
    }
    if (name.empty() || number < 1 || number > kMaxSignal) {
      return "has an unknown signal; use names or numbers, e.g. TERM,USR1";
    }
    if (number == SIGKILL || number == SIGSTOP) {
      return "has a signal no program can handle (KILL, STOP); use e.g. TERM,USR1";
    }
    if (std::find(seen.begin(), seen.end(), number) != seen.end()) continue;
    seen.push_back(number);
    if (seen.size() > kMaxSignals) return "has more than 8 signals; use fewer";
    canonical += (canonical.empty() ? "" : ",") + name;
  }
  *out = canonical;
  return "";
}

std::string CheckRun(std::string_view value) {
  if (value.empty()) return "is empty; give the run a name";
  if (value.size() > kMaxRunBytes) return "is longer than 128 bytes; give the run a shorter name";
  if (HasControl(value)) return "has control characters; use printable ones";
  if (value.front() == ' ' || value.back() == ' ') return "begins or ends with a space; leave it out";
  return "";
}

std::string CheckCheckpointDir(std::string_view value) {
  if (value.empty()) return "is empty; give the checkpoint directory";
  if (value.size() > kMaxPathBytes) return "is longer than 1024 bytes; use a shorter path or a symbolic link";
  if (HasControl(value)) return "has control characters; use a path without them";
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (value[i] != '%') continue;
    const char next = i + 1 < value.size() ? value[i + 1] : '\0';
    if (next == '\0' || std::strchr("jAaxu%", next) == nullptr) {
      return "has a % that does not expand; use %j %A %a %x %u, or %% for a percent sign";
    }
    ++i;
  }
  return "";
}

std::string CheckModel(std::string_view value) {
  static constexpr std::array<std::string_view, 5> kKeys = {"params", "tokens-per-step", "layers", "hidden",
                                                            "seq"};
  constexpr const char* kForm =
      "; write params=70e9,tokens-per-step=4194304, with layers=,hidden=,seq= to count attention";
  std::array<bool, kKeys.size()> given{};
  for (const std::string_view part : Split(value, ',')) {
    const std::size_t equals = part.find('=');
    const auto* found = std::find(kKeys.begin(), kKeys.end(), part.substr(0, equals));
    if (equals == std::string_view::npos || found == kKeys.end()) {
      return std::string("has an unknown key; use params, tokens-per-step, layers, hidden or seq") + kForm;
    }
    const auto index = static_cast<std::size_t>(found - kKeys.begin());
    if (given[index]) return std::string("has ") + std::string(*found) + " twice" + kForm;
    given[index] = true;
    if (!ParsePositive(part.substr(equals + 1))) {
      return std::string("has a ") + std::string(*found) + " that is not a positive number" + kForm;
    }
  }
  if (!given[0] || !given[1]) return std::string("lacks params or tokens-per-step") + kForm;
  if (given[2] != given[3] || given[3] != given[4]) {
    return std::string("has only some of layers, hidden and seq; give all three or none") + kForm;
  }
  return "";
}

constexpr std::array<std::string_view, 8> kPrecisions = {"bf16", "fp16", "fp8",  "fp4",
                                                         "tf32", "fp32", "fp64", "int8"};

std::string ParseTags(std::string_view value, std::optional<Tags>* out) {
  if (value.size() > kMaxTagsBytes) return "is longer than 2048 bytes; use fewer or shorter tags";
  if (HasControl(value)) return "has control characters; use printable ones";
  Tags tags;
  for (const std::string_view part : Split(value, ',')) {
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos) return "has a tag without a value; write K=V[,K=V]";
    const std::string_view name = part.substr(0, equals);
    const std::string_view text = part.substr(equals + 1);
    if (!IsWord(name, kMaxTagKeyBytes)) {
      return "has a tag whose name is not made of letters, digits, '_', '-' and '.' (at most 64)";
    }
    if (text.size() > kMaxTagValueBytes) return "has a tag longer than 256 bytes; use a shorter one";
    for (const auto& [known, unused] : tags) {
      if (known == name) return "has the tag '" + std::string(name) + "' twice; give it once";
    }
    tags.emplace_back(name, text);
  }
  if (tags.size() > kMaxTags) return "has more than 32 tags; use fewer";
  *out = std::move(tags);
  return "";
}

// Makes text fit for one line: unprintable characters become '?', and long text is cut.
std::string Shown(std::string_view text) {
  constexpr std::size_t kCharacters = 80;
  std::string line;
  std::size_t shown = 0;
  while (!text.empty() && shown < kCharacters) {
    const std::size_t length = Utf8SequenceLength(text);
    if (length == 0 || IsControl(text.front())) {
      line += '?';
      text.remove_prefix(1);
    } else {
      line += text.substr(0, length);
      text.remove_prefix(length);
    }
    ++shown;
  }
  if (!text.empty()) line += "...";
  return line;
}

std::string CheckSocket(std::string_view value) {
  if (value.size() < 2 || value.size() > kMaxSocketPathBytes || HasControl(value) ||
      (value.front() != '@' && value.front() != '/')) {
    return "is not a socket; use an abstract name such as @goodput, or an absolute path, up to 107 bytes";
  }
  return "";
}

}  // namespace

std::string ParseOption(OptionId id, std::string_view value, JobOptions* out) {
  std::string bad;
  switch (id) {
    case OptionId::kEnabled: {
      const auto enabled = ParseOnOff(value);
      if (!enabled) return "is neither on nor off; use on or off";
      out->enabled = enabled;
      return "";
    }
    case OptionId::kRun:
      bad = CheckRun(value);
      if (bad.empty()) out->run = value;
      return bad;
    case OptionId::kCheckpointDir:
      bad = CheckCheckpointDir(value);
      if (bad.empty()) out->checkpoint_dir = value;
      return bad;
    case OptionId::kCheckpointSignal:
      return ParseSignals(value, &out->checkpoint_signal);
    case OptionId::kLogProfile:
      if (!IsWord(value, kMaxProfileBytes)) {
        return "is not a profile name; use letters, digits, '_', '-' and '.' (see sgoodput import --help)";
      }
      out->log_profile = value;
      return "";
    case OptionId::kFlopsPerStep: {
      const auto flops = ParsePositive(value);
      if (!flops) return "is not a positive number; write FLOPs as a number, e.g. 1.76e18";
      out->flops_per_step = flops;
      return "";
    }
    case OptionId::kModel:
      bad = CheckModel(value);
      if (bad.empty()) out->model = value;
      return bad;
    case OptionId::kPrecision: {
      const std::string word = Lower(value);
      if (std::find(kPrecisions.begin(), kPrecisions.end(), word) == kPrecisions.end()) {
        bad = "is not a precision; use one of";
        for (const std::string_view known : kPrecisions) {
          bad += (known == kPrecisions.front() ? " " : ", ") + std::string(known);
        }
        return bad;
      }
      out->precision = word;
      return "";
    }
    case OptionId::kTags:
      return ParseTags(value, &out->tags);
    case OptionId::kSpares: {
      const auto spares = ParseCount(value);
      if (!spares) return "is not a number of GPUs; use 0 to 16777216";
      out->spares = spares;
      return "";
    }
    case OptionId::kHangEvidence:
      if (value != kPySpy) return "is not evidence that a job may ask for; use py-spy";
      out->hang_evidence = value;
      return "";
  }
  return "is not known";
}

std::string ComplaintLine(std::string_view where, std::string_view value, std::string_view complaint) {
  return Shown(where) + "=" + Shown(value) + " " + std::string(complaint);
}

JobOptions Merge(const JobOptions& first, const JobOptions& second) {
  JobOptions out = first;
  const auto fill = [](auto* into, const auto& from) {
    if (!into->has_value()) *into = from;
  };
  fill(&out.enabled, second.enabled);
  fill(&out.run, second.run);
  fill(&out.checkpoint_dir, second.checkpoint_dir);
  fill(&out.checkpoint_signal, second.checkpoint_signal);
  fill(&out.log_profile, second.log_profile);
  // Two ways to state the same: if an option uses one, a default must not contradict it with the other.
  if (!first.flops_per_step && !first.model) {
    out.flops_per_step = second.flops_per_step;
    out.model = second.model;
  }
  fill(&out.precision, second.precision);
  fill(&out.tags, second.tags);
  fill(&out.spares, second.spares);
  fill(&out.hang_evidence, second.hang_evidence);
  return out;
}

void AddOptions(const JobOptions& options, RecordBuilder* record) noexcept {
  const bool any = options.run || options.checkpoint_dir || options.checkpoint_signal ||
                   options.log_profile || options.flops_per_step || options.model || options.precision ||
                   options.tags || options.spares || options.hang_evidence;
  if (!any) return;
  record->OpenObject(key::kOpt);
  // Validation keeps the run short, and without it the job would count as a run of its own: it is never
  // dropped.
  if (options.run) record->Text(key::kRun, *options.run);
  if (options.checkpoint_dir) record->Text(key::kCheckpointDir, *options.checkpoint_dir, Worth::kFreeText);
  if (options.checkpoint_signal) record->Text(key::kCheckpointSignal, *options.checkpoint_signal);
  if (options.log_profile) record->Text(key::kLogProfile, *options.log_profile, Worth::kFreeText);
  if (options.flops_per_step) record->Number(key::kFlopsPerStep, *options.flops_per_step);
  if (options.model) record->Text(key::kModel, *options.model, Worth::kFreeText);
  if (options.precision) record->Text(key::kPrecision, *options.precision);
  if (options.spares) record->Int(key::kSpares, *options.spares);
  if (options.hang_evidence) record->Text(key::kHangEvidence, *options.hang_evidence);
  if (options.tags) {
    record->OpenObject(key::kTags, Worth::kTags);
    for (const auto& [name, value] : *options.tags) record->Text(name, value);
    record->CloseObject();
  }
  record->CloseObject();
}

std::optional<uint64_t> ParseSize(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || text.empty()) return std::nullopt;
  const std::string unit = Upper(text.substr(static_cast<std::size_t>(end - text.data())));
  constexpr std::string_view kUnits = "KMGT";
  if (unit.empty()) return value;
  const std::size_t power = kUnits.find(unit.front());
  if (unit.size() > 1 || power == std::string_view::npos) return std::nullopt;
  const auto shift = static_cast<unsigned>(10 * (power + 1));
  if (value > (UINT64_MAX >> shift)) return std::nullopt;
  return value << shift;
}

Site ParseSite(int argc, const char* const* argv, std::vector<std::string>* complaints) {
  Site site;
  for (int i = 0; i < argc && argv != nullptr && argv[i] != nullptr; ++i) {
    const std::string_view argument = argv[i];
    const std::size_t equals = argument.find('=');
    const std::string_view name = argument.substr(0, equals);
    const std::string_view value = equals == std::string_view::npos ? "" : argument.substr(equals + 1);
    std::string bad;
    if (name == "spool") {
      if (value.size() > 1 && value.front() == '/' && !HasControl(value)) {
        site.spool = value;
      } else {
        bad = "is not an absolute path; name a folder on a local disk";
      }
    } else if (name == "socket") {
      bad = CheckSocket(value);
      if (bad.empty()) site.socket = value;
    } else if (name == "socket_path") {
      bad = CheckSocket(value);
      if (bad.empty() && value.front() == '@') bad = "is not an absolute path; abstract names go to socket=";
      if (bad.empty()) site.socket_path = value;
    } else if (name == "default") {
      const auto enabled = ParseOnOff(value);
      if (enabled) site.enabled = *enabled;
      if (!enabled) bad = "is neither on nor off; use on or off";
    } else if (name == "spool_max") {
      const auto size = ParseSize(value);
      if (size && *size > 0) {
        site.spool_max = *size;
      } else {
        bad = "is not a size; write e.g. 256M";
      }
#ifdef GOODPUT_TEST_FAULTS
    } else if (name == "fault") {
      continue;  // faults.h
#endif
    } else {
      const auto* spec = std::find_if(
          std::begin(kOptions), std::end(kOptions),
          [&](const OptionSpec& option) { return option.site_key != nullptr && name == option.site_key; });
      bad = spec == std::end(kOptions)
                ? "is not a setting of this plugin; known: spool, socket, socket_path, default, spool_max, "
                  "checkpoint_dir, checkpoint_signal, log_profile, precision, tags"
                : ParseOption(spec->id, value, &site.defaults);
    }
    if (!bad.empty() && complaints != nullptr) {
      complaints->push_back("plugstack.conf: " + ComplaintLine(name, value, bad) + "; it is ignored");
    }
  }
  return site;
}

}  // namespace goodput
