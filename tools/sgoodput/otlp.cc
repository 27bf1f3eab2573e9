// `sgoodput otlp`: executes goodput-otlp, which is separate because of libprotobuf.
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "tools/base/installed_program.h"
#include "tools/sgoodput/options.h"

namespace goodput {
namespace {

// Next to this program in a build, otherwise where it was installed.
std::string OtlpProgram() {
  if (const char* named = std::getenv("GOODPUT_OTLP"); named != nullptr) return named;
  return InstalledProgram("otlp", "goodput-otlp");
}

}  // namespace

int RunOtlp(int argc, char** argv) {
  const std::string program = OtlpProgram();
  std::vector<char*> arguments{const_cast<char*>("goodput-otlp")};
  char** command = nullptr;
  for (int i = 0; i < argc; ++i) {
    arguments.push_back(argv[i]);
    if (command == nullptr && std::string_view(argv[i]) == "--" && i + 1 < argc) command = argv + i + 1;
  }
  arguments.push_back(nullptr);
  execv(program.c_str(), arguments.data());
  std::fprintf(stderr, "sgoodput: otlp: cannot execute %s: %s; install it, or name it in GOODPUT_OTLP\n",
               program.c_str(), std::strerror(errno));
  // The job's program runs without it.
  if (command != nullptr) execvp(command[0], command);
  return kBadUsage;
}

}  // namespace goodput
