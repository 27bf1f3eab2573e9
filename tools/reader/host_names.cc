#include "tools/reader/host_names.h"

#include <arpa/inet.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "absl/strings/match.h"
#include "sql/text.h"

namespace goodput {
namespace {

bool IsAddress(const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> address{};
  return inet_pton(AF_INET, host.c_str(), address.data()) == 1 ||
         inet_pton(AF_INET6, host.c_str(), address.data()) == 1;
}

// Without the port, the brackets of an IPv6 address, and the dot of the root.
std::string HostOnly(std::string_view host) {
  if (!host.empty() && host.front() == '[') {
    const std::size_t end = host.find(']');
    return std::string(host.substr(1, end == std::string_view::npos ? end : end - 1));
  }
  host = host.substr(0, host.find(':'));
  if (!host.empty() && host.back() == '.') host.remove_suffix(1);
  return std::string(host);
}

}  // namespace

bool NamesThisServer(std::string_view host, const std::vector<std::string>& names) {
  if (host.empty()) return true;
  const std::string name = HostOnly(host);
  if (IsAddress(name) || absl::EqualsIgnoreCase(name, "localhost")) return true;
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& one) { return absl::EqualsIgnoreCase(name, one); });
}

std::vector<std::string> NamesOfThisMachine() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return {};
  const std::string whole = name.data();
  const std::string first = whole.substr(0, whole.find('.'));
  return first == whole ? std::vector<std::string>{whole} : std::vector<std::string>{whole, first};
}

}  // namespace goodput
