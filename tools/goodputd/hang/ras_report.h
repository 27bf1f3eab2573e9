// Reads the report of NCCL's RAS (`STATUS`, as text), and /proc's tables of sockets. Pure.
//
// The words are those of src/ras/client_support.cc in NCCL, read at commit 5067397c2676 (2.30), and of the
// examples for older releases in docs/userguide/source/troubleshooting/ras.rst. The JSON that newer releases
// offer has every rank of every communicator; the text has only those that differ.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace goodput {

// One line for each rank or group of ranks that differs from most of its communicator, that gave no answer,
// or whose process is dead; at most kMostRasLines. If there is none, one line that says so. Empty: this is no
// such report.
inline constexpr std::size_t kMostRasLines = 12;
std::string RasSummary(std::string_view report);

struct ListeningSocket {
  bool v6 = false;
  std::string address;  // 4 or 16 bytes, in network order
  std::uint32_t uid = 0;
  std::uint64_t inode = 0;
};
// Those of a port, from the text of /proc/net/tcp or tcp6.
std::vector<ListeningSocket> ListeningSockets(std::string_view table, std::uint16_t port);

// The port in NCCL_RAS_ADDR, HOST:PORT; NCCL's own, 28028, if there is none. 0: it is malformed.
std::uint16_t RasPort(std::string_view address);

}  // namespace goodput
