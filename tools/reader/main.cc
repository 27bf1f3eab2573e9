// goodput-reader: answers queries over HTTP. goodputd starts it as a user who owns only the database, and
// passes what it cannot open itself: the sockets on which it answers, and a channel to goodputd for
// information that only root gets.
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "sql/text.h"
#include "tools/reader/control.h"
#include "tools/reader/host_names.h"
#include "tools/reader/http_server.h"
#include "tools/reader/reader.h"
#include "tools/reader/reader_process.h"
#include "tools/reader/sandbox.h"

namespace {

void Say(const std::string& line) {
  std::fprintf(stderr, "goodput-reader: %s\n", line.c_str());
}

bool IsOpen(int fd) {
  return fcntl(fd, F_GETFD) >= 0;
}

int Serve(const std::string& database, const std::string& config, const std::string& names) {
  static goodput::Control control(goodput::kReaderControl);
  goodput::Reader::Options options;
  // Through the descriptor, since this user may not be able to reach the program's folder.
  options.sgoodput = goodput::Cat("/proc/self/fd/", goodput::kReaderProgram);
  options.arguments = {goodput::Cat("--db=", database)};
  if (!config.empty()) options.arguments.push_back(goodput::Cat("--config=", config));
  options.names = goodput::NamesOfThisMachine();
  for (const absl::string_view name : absl::StrSplit(names, ',', absl::SkipWhitespace()))
    options.names.emplace_back(absl::StripAsciiWhitespace(name));
  options.limits.output_bytes = std::size_t{64} << 20U;
  goodput::Reader reader(options, control);
  const auto answers = [&reader](goodput::HttpQuestion question,
                                 std::function<void(goodput::HttpReply)> done) {
    reader.Answer(std::move(question), std::move(done));
  };
  std::vector<std::unique_ptr<goodput::HttpServer>> servers;
  for (const int listener : {goodput::kReaderTcp, goodput::kReaderUnix}) {
    if (!IsOpen(listener)) continue;
    fcntl(listener, F_SETFD, FD_CLOEXEC);
    absl::StatusOr<std::unique_ptr<goodput::HttpServer>> server =
        goodput::HttpServer::Start(listener, {}, answers);
    if (!server.ok()) {
      Say(goodput::Message(server.status()));
      return 1;
    }
    servers.push_back(*std::move(server));
  }
  // The other end closes when goodputd is gone.
  constexpr int kTickMs = 1000;
  pollfd parent{goodput::kReaderControl, POLLRDHUP, 0};
  while (poll(&parent, 1, kTickMs) == 0) {
    for (const auto& server : servers) server->CutSlowOnes();
  }
  // Pending requests get no answer.
  _exit(0);
}

}  // namespace

int main(int argc, char** argv) {
  goodput::HelperUser user;
  if (argc != 6 || !absl::SimpleAtoi(argv[1], &user.uid) || !absl::SimpleAtoi(argv[2], &user.gid) ||
      !IsOpen(goodput::kReaderControl) || !IsOpen(goodput::kReaderProgram)) {
    Say("is started by goodputd; see goodputd(8)");
    return 2;
  }
  for (const int signal_number : {SIGTERM, SIGINT, SIGHUP, SIGPIPE}) signal(signal_number, SIG_IGN);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  fcntl(goodput::kReaderControl, F_SETFD, FD_CLOEXEC);
  fcntl(goodput::kReaderProgram, F_SETFD, FD_CLOEXEC);
  const std::string database = argv[3];
  const absl::StatusOr<bool> confined = goodput::Confine(user, std::filesystem::path(database).parent_path());
  if (!confined.ok()) {
    Say(goodput::Message(confined.status()));
    return 1;
  }
  if (!*confined) Say("this kernel has no Landlock: only file permissions restrict what can be read");
  return Serve(database, argv[4], argv[5]);
}
