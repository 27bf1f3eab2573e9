// `sgoodput profile`: lists log profiles, prints one, and shows what one finds in a log.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>

#include "sql/status_macros.h"
#include "sql/text.h"
#include "tools/base/config.h"
#include "tools/base/format.h"
#include "tools/sgoodput/options.h"
#include "tools/sgoodput/session.h"
#include "tools/sources/import_export/cloud_log.h"
#include "tools/sources/import_export/input.h"
#include "tools/sources/logs/line_words.h"
#include "tools/sources/logs/lines.h"
#include "tools/sources/logs/log_reader.h"

namespace goodput {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{1} << 16U;
constexpr std::size_t kShownBytes = 100;

int List(const std::vector<KnownProfile>& profiles) {
  Table table({{"Profile"}, {"Where", Table::Align::kLeft, 40}, {"Rules", Table::Align::kRight}, {"About"}});
  int bad = 0;
  for (const KnownProfile& known : profiles) {
    if (known.profile.ok()) {
      table.Add({Printable(known.name), Printable(known.where), Cat(known.profile->rules()),
                 Printable(known.profile->about())});
    } else {
      ++bad;
      std::fprintf(stderr, "sgoodput: %s; the profile is not used\n",
                   Printable(Message(known.profile.status())).c_str());
    }
  }
  table.Add(
      {std::string(kGoogleProfile), "built in", "", "JSON entries of Google's goodput library and Orbax"});
  table.Add({std::string(kEpochsProfile), "built in", "", "epochs as steps: lines with an epoch and a loss"});
  table.Add({std::string(kAutoProfile), "built in", "", "the profile that fits the output"});
  std::printf("%s\n", table.Render(true).c_str());
  return bad == 0 ? kAnswered : kBadUsage;
}

int Show(const std::vector<KnownProfile>& profiles, const std::string& name) {
  for (const KnownProfile& known : profiles) {
    if (known.name != name) continue;
    std::fputs(known.text.c_str(), stdout);
    return kAnswered;
  }
  return Fail(absl::InvalidArgumentError(Cat("unknown log profile ", name, "; see sgoodput profile list")));
}

// A profile by its name, or from a file, which is then the only one.
absl::StatusOr<LogReader> Open(const std::string& profile, const Config& config) {
  if (!IsProfileFile(profile)) return LogReader::Open(profile, config.log_profiles);
  ASSIGN_OR_RETURN(const Input input, Input::Open(profile));
  if (input.size() > static_cast<std::int64_t>(kMaxProfileBytes))
    return absl::InvalidArgumentError(Cat(profile, ": longer than 256 KiB"));
  std::string text(static_cast<std::size_t>(input.size()), '\0');
  RETURN_IF_ERROR(input.Read(0, text.data(), text.size()).status());
  return LogReader::Of(text, profile);
}

// The lines of a log, also of one from Cloud Logging.
absl::StatusOr<Input> OpenLog(const std::string& path) {
  ASSIGN_OR_RETURN(Input input, Input::Open(path));
  if (input.size() == 0) return absl::InvalidArgumentError(Cat(path, ": the file is empty"));
  return OpenLines(std::move(input));
}

absl::Status ReadLines(const Input& input, const LogLines::Take& take) {
  LogLines splitter;
  std::string piece(kPieceBytes, '\0');
  for (std::int64_t at = 0; at < input.size();) {
    ASSIGN_OR_RETURN(const std::size_t got, input.Read(at, piece.data(), piece.size()));
    if (got == 0) break;
    splitter.Add(std::string_view(piece).substr(0, got), take);
    at += static_cast<std::int64_t>(got);
  }
  splitter.Finish(take);
  return absl::OkStatus();
}

// Lines that look like progress in which a profile finds nothing.
class Unknown {
 public:
  void See(std::string_view line) {
    if (!LooksLikeProgress(line)) return;
    ++lines_;
    if (shapes_.size() < kShownShapes) shapes_.try_emplace(MaskDigits(line), line.substr(0, kShownBytes));
  }
  void Print() const {
    if (lines_ == 0) return;
    std::printf("%lld %s like progress, but the profile finds nothing in %s:\n",
                static_cast<long long>(lines_), lines_ == 1 ? "line looks" : "lines look",
                lines_ == 1 ? "it" : "them");
    for (const auto& [shape, line] : shapes_) std::printf("            | %s\n", Printable(line).c_str());
  }

 private:
  static constexpr std::size_t kShownShapes = 5;
  std::int64_t lines_ = 0;
  std::map<std::string, std::string> shapes_;
};

std::int64_t Sum(const std::map<std::string_view, std::int64_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::int64_t{0},
                         [](std::int64_t sum, const auto& count) { return sum + count.second; });
}

int Test(const Config& config, const ProfileOptions& options) {
  absl::StatusOr<LogReader> reader = Open(options.profile, config);
  if (!reader.ok()) return Fail(absl::InvalidArgumentError(reader.status().message()));
  const absl::StatusOr<Input> input = OpenLog(options.log);
  if (!input.ok()) return Fail(absl::InvalidArgumentError(input.status().message()));
  // The whole log is available, so the profile and its progress bar are chosen from all of it.
  absl::Status counted =
      ReadLines(*input, [&](std::string_view line, std::int64_t /*offset*/) { reader->Count(line); });
  if (!counted.ok()) return Fail(absl::InvalidArgumentError(counted.message()));
  const LogReader::Counted most = reader->MostCounted();
  if (reader->profile().empty() && !most.name.empty())
    reader = LogReader::OpenCounted(most, config.log_profiles);
  if (!reader.ok()) return Fail(absl::InvalidArgumentError(reader.status().message()));
  std::map<std::string_view, std::int64_t> counts;
  Unknown unknown;
  // While the profile is not known yet, events are held and passed without their lines.
  std::map<std::int64_t, std::string> lines;
  const auto take = [&](const LogReader::Said& said) {
    if (!most.counters.IsTrainings(said.event)) return;
    const std::string_view kind = LogEventKindName(said.event.kind);
    ++counts[kind];
    if (options.quiet) return;
    const auto line = lines.find(said.offset);
    std::printf("%10lld  %-14s  %s\n", static_cast<long long>(said.offset), std::string(kind).c_str(),
                Printable(EventInWords(said.event)).c_str());
    if (line != lines.end()) std::printf("            | %s\n", Printable(line->second).c_str());
  };
  std::int64_t total = 0;
  const auto read_line = [&](std::string_view line, std::int64_t offset) {
    ++total;
    if (!options.quiet) {
      if (reader->profile().empty() ? lines.size() > 4096 : true) lines.clear();
      lines[offset] = std::string(line.substr(0, kShownBytes));
    }
    const std::int64_t before = Sum(counts);
    reader->Line(line, offset, 0, take);
    if (Sum(counts) == before) unknown.See(WithoutLabel(line));
  };
  if (absl::Status status = ReadLines(*input, read_line); !status.ok())
    return Fail(absl::InvalidArgumentError(status.message()));
  reader->Finish(take);
  unknown.Print();
  std::string sums;
  for (const auto& [kind, count] : counts) sums += Cat(sums.empty() ? "" : ", ", count, " ", kind);
  if (const std::string why = most.counters.Why(); !why.empty()) std::printf("%s\n", why.c_str());
  const char* const none = options.profile == kAutoProfile ? "no profile matches; " : "";
  if (most.learned) std::printf("%s%s\n", none, Printable(most.learned->why).c_str());
  if (!most.no_steps.empty())
    std::printf("%s%s\n", counts.empty() ? none : "no steps are found; ", Printable(most.no_steps).c_str());
  std::printf("%lld lines, profile %s: %s\n", static_cast<long long>(total),
              reader->profile().empty() ? "none" : Printable(reader->profile()).c_str(),
              sums.empty() ? "nothing found" : sums.c_str());
  return counts.empty() ? kNothingMatched : kAnswered;
}

int Learn(const ProfileOptions& options) {
  ProfileLearner learner;
  std::int64_t total = 0;
  for (const std::string& log : options.logs) {
    const absl::StatusOr<Input> input = OpenLog(log);
    if (!input.ok()) return Fail(absl::InvalidArgumentError(input.status().message()));
    const absl::Status read = ReadLines(*input, [&](std::string_view line, std::int64_t /*offset*/) {
      ++total;
      learner.See(WithoutLabel(line));
    });
    if (!read.ok()) return Fail(absl::InvalidArgumentError(read.message()));
  }
  const std::optional<LearnedProfile> learned = learner.Learn(options.profile);
  if (!learned) {
    std::fprintf(stderr, "sgoodput: nothing learned from %lld lines: %s\n", static_cast<long long>(total),
                 Printable(learner.WhyNot()).c_str());
    return kNothingMatched;
  }
  std::fputs(learned->text.c_str(), stdout);
  std::fprintf(stderr, "sgoodput: %s\n", Printable(learned->why).c_str());
  return kAnswered;
}

}  // namespace

int RunProfile(const ProfileOptions& options) {
  const absl::StatusOr<Config> config = LoadConfig(options.config);
  if (!config.ok()) return Fail(absl::FailedPreconditionError(config.status().message()));
  if (options.what == ProfileOptions::What::kTest) return Test(*config, options);
  if (options.what == ProfileOptions::What::kLearn) return Learn(options);
  const std::vector<KnownProfile> profiles = LoadProfiles(config->log_profiles);
  return options.what == ProfileOptions::What::kList ? List(profiles) : Show(profiles, options.profile);
}

}  // namespace goodput
