// Refuses requests that a web page of a stranger made a browser send: its own name points to this machine
// (DNS rebinding), and that name is in the request's Host header.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace goodput {

// Whether a Host header ("controller:9645", "[::1]:9645") names this server: it is an address, "localhost" or
// one of `names`, which are compared without case. So does an empty one, which no browser sends.
bool NamesThisServer(std::string_view host, const std::vector<std::string>& names);

// What this machine is called: its host name, and that up to the first dot.
std::vector<std::string> NamesOfThisMachine();

}  // namespace goodput
