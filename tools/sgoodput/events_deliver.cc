#include "tools/sgoodput/events_deliver.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>

#include "absl/strings/numbers.h"
#include "sql/status_macros.h"
#include "sql/text.h"
#include "tools/base/format.h"
#include "tools/base/installed_program.h"
#include "tools/base/subprocess.h"

namespace goodput {
namespace {

constexpr absl::Duration kProgramPatience = absl::Minutes(1);
// More than goodput-post takes by itself.
constexpr absl::Duration kPostPatience = absl::Seconds(20);
constexpr std::size_t kMostEventOutput = 4096;
constexpr std::size_t kMostProblem = 200;

std::string FirstLineOf(const std::string& text) {
  return Printable(text.substr(0, text.find('\n')), kMostProblem);
}

absl::Status CheckOwner(const std::string& path, bool may_be_sticky) {
  struct stat file {};
  if (stat(path.c_str(), &file) != 0)
    return absl::FailedPreconditionError(Cat(path, ": ", absl::ErrnoToStatus(errno, "").message()));
  const bool others_write = (file.st_mode & (S_IWGRP | S_IWOTH)) != 0;
  const bool sticky = may_be_sticky && (file.st_mode & S_ISVTX) != 0;
  if (file.st_uid != 0 || (others_write && !sticky)) {
    return absl::FailedPreconditionError(Cat(
        path, ": must belong to root and be writable by root only; it is not run: chown root, chmod go-w"));
  }
  return absl::OkStatus();
}

absl::Status ResultOf(const absl::StatusOr<CommandResult>& done) {
  if (!done.ok()) return absl::UnavailableError(Message(done.status()));
  if (done->exit_code == 0) return absl::OkStatus();
  const std::string said = FirstLineOf(done->err);
  return absl::UnavailableError(Cat("exit status ", done->exit_code, said.empty() ? "" : ": ", said));
}

absl::Status RunEventProgram(const WaitingEvent& event, const Config& config) {
  RETURN_IF_ERROR(CheckEventProgram(config.event_program));
  CommandOptions options;
  options.timeout = kProgramPatience;
  options.max_output = kMostEventOutput;
  options.cut_output = true;
  options.input = event.json + "\n";
  options.env = event.env;
  return ResultOf(RunCommand({config.event_program}, options));
}

// The URL comes by stdin, since everybody can read a process's arguments.
Delivered Post(const WaitingEvent& event, const Config& config) {
  CommandOptions options;
  options.timeout = kPostPatience;
  options.max_output = kMostEventOutput;
  options.cut_output = true;
  options.input = Cat(config.event_url, "\n", event.json);
  const absl::StatusOr<CommandResult> done = RunCommand({InstalledProgram("post", "goodput-post")}, options);
  if (!done.ok() || done->exit_code == 0 || done->err.empty()) return {ResultOf(done), std::nullopt};
  Delivered delivered{absl::UnavailableError(FirstLineOf(done->err)), std::nullopt};
  std::int64_t seconds = 0;
  if (absl::SimpleAtoi(done->out, &seconds)) delivered.retry_after = seconds * kSecond;
  return delivered;
}

}  // namespace

absl::Status CheckEventProgram(const std::string& path) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(path, error);
  if (error) return absl::FailedPreconditionError(Cat(path, ": ", error.message()));
  struct stat file {};
  if (stat(real.c_str(), &file) != 0 || !S_ISREG(file.st_mode) || access(real.c_str(), X_OK) != 0)
    return absl::FailedPreconditionError(
        Cat(path, ": is not a program that this user may execute: chmod go+rx"));
  // Links on the way are in folders that are checked, too.
  for (std::filesystem::path one : {real, std::filesystem::path(path).lexically_normal()}) {
    RETURN_IF_ERROR(CheckOwner(one, false));
    while (one.has_relative_path()) {
      one = one.parent_path();
      RETURN_IF_ERROR(CheckOwner(one, true));
    }
  }
  return absl::OkStatus();
}

Delivered Deliver(const WaitingEvent& event, const Config& config) {
  if (event.target == EventTarget::kUrl) return Post(event, config);
  return {RunEventProgram(event, config), std::nullopt};
}

}  // namespace goodput
