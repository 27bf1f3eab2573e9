// One key of Compute Engine's metadata server that tells what will become of this machine: what to ask next,
// when, and what an answer means. Pure: no sockets, no clock.
//
// https://cloud.google.com/compute/docs/metadata: a request and its answer carry `Metadata-Flavor: Google`;
// with wait_for_change the server answers when the value is another one than that of last_etag, at the latest
// after timeout_sec; 503 and 429 mean: later.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tools/base/http_client.h"
#include "tools/goodputd/host/notice_kind.h"

namespace goodput {

enum class HostKey : std::uint8_t { kMaintenance, kPreempted, kUpcomingMaintenance };

// The `notice` of a record.
std::string_view NoticeName(HostKey key);
// What the host says when nothing is to be expected.
std::string_view NothingToExpect(HostKey key);

// A body as the server gives it. An error: it is none of the things the documentation has.
absl::StatusOr<NoticeKind> ParseNotice(HostKey key, std::string_view body);

// The metadata server's address as in GCE_METADATA_HOST: a name or an address, with or without a port.
bool IsMetadataHost(std::string_view host);

// 1, 2, 4 ... s, no longer than `longest`.
class Backoff {
 public:
  static constexpr absl::Duration kFirst = absl::Seconds(1);
  explicit Backoff(absl::Duration longest) : longest_(longest) {}
  absl::Duration Next() {
    const absl::Duration now = next_;
    next_ = std::min(2 * next_, longest_);
    return now;
  }
  void Reset() { next_ = kFirst; }

 private:
  absl::Duration longest_;
  absl::Duration next_ = kFirst;
};

class MetadataWatch {
 public:
  MetadataWatch(HostKey key, std::string host);

  HostKey key() const { return key_; }
  HttpRequest NextRequest() const;

  struct Outcome {
    bool of_server = false;            // it was the metadata server that answered
    std::optional<NoticeKind> change;  // what is said now, where it is another word than before
    absl::Duration wait;               // before the next request
    std::string trouble;               // why there is no word, in words; empty: there is
  };
  Outcome Take(const HttpAnswer& answer);

  // A machine that is preempted is told 30 s before.
  static constexpr absl::Duration kLongestWait = absl::Seconds(16);
  // Maintenance is told of hours or days before it; many machines never have a word of it.
  static constexpr absl::Duration kLongestWaitForUpcoming = absl::Seconds(60);

 private:
  std::optional<NoticeKind> Hear(NoticeKind word);

  HostKey key_;
  std::string host_;
  Backoff backoff_;
  std::string etag_;  // of the last answer; empty: the value is asked for without waiting
  std::optional<NoticeKind> said_;
};

}  // namespace goodput
