// systemd's services for a daemon, by its documented protocols (sd_listen_fds(3), sd_notify(3)): it holds
// sockets while the service restarts. Without systemd, all of this does nothing.
#pragma once

#include <string_view>
#include <vector>

#include "absl/time/time.h"

namespace goodput {

// Descriptors that systemd passed at the start: listening sockets, and those stored before a restart. The
// caller closes them. Empty if they are meant for another process.
std::vector<int> PassedDescriptors();

// True for a listening socket, false for a connection.
bool IsListening(int fd);

// Sends a state to the manager, such as "READY=1". Returns false if there is no manager or it does not listen
// right now.
bool NotifyManager(std::string_view state);

// Gives the manager a copy of `fd` to pass to the next process of this service; the manager drops a
// connection whose other end is closed. Its queue holds few messages: waits at most `wait` for space.
bool StoreDescriptor(int fd, absl::Duration wait);

}  // namespace goodput
