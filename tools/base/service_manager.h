// What systemd does for a service, by its documented protocols (sd_listen_fds(3), sd_notify(3)): it holds
// sockets while the service restarts. Without systemd all of this does nothing.
#pragma once

#include <string_view>
#include <vector>

#include "absl/time/time.h"

namespace goodput {

// Descriptors handed over at the start: listening sockets, and those stored before a restart. Theirs to
// close. Empty for a process they were not meant for.
std::vector<int> PassedDescriptors();

// Whether a socket listens, and not is a connection.
bool IsListening(int fd);

// Tells the manager something, e.g. "READY=1". False where there is none, or it does not listen just now.
bool NotifyManager(std::string_view state);

// Gives the manager a copy of `fd` to hand to the next process of this service; it lets go of a connection
// whose other end is closed. It has room for few messages at a time: waits at most so long for its turn.
bool StoreDescriptor(int fd, absl::Duration wait);

}  // namespace goodput
