// `sgoodput show --html`: the run as a page for a browser.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "sql/text.h"
#include "tools/sgoodput/options.h"
#include "tools/sgoodput/session.h"
#include "tools/sgoodput/show_sections.h"
#include "tools/web/single_page.h"

namespace goodput {

int WritePage(const std::string& json, const std::string& name) {
  const std::string page = SinglePage(WebAssets(), json);
  const bool to_stdout = name == "-";
  std::FILE* const file = to_stdout ? stdout : std::fopen(name.c_str(), "we");
  bool whole = file != nullptr && std::fwrite(page.data(), 1, page.size(), file) == page.size();
  if (file != nullptr) whole = (to_stdout ? std::fflush(file) : std::fclose(file)) == 0 && whole;
  if (whole) return kAnswered;
  return Fail(absl::FailedPreconditionError(
      Cat(to_stdout ? std::string("stdout") : name, ": cannot write: ", std::strerror(errno))));
}

}  // namespace goodput
