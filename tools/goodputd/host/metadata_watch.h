// Polls one key of Compute Engine's metadata server: what to request next, when, and what a response means.
// Pure: no sockets, no clock.
//
// https://cloud.google.com/compute/docs/metadata: requests and responses carry `Metadata-Flavor: Google`;
// with wait_for_change, the server responds when the value no longer has last_etag, at the latest after
// timeout_sec; 503 and 429 mean: retry later.
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

enum class HostKey : std::uint8_t {
  kMaintenance,
  kPreempted,
  kUpcomingMaintenance,
  kScheduling,  // how the machine was obtained; its value is a provisioning model (rollup/provision.h)
  kZone,
};

// Whether this is a fact about the machine that does not change while it runs, instead of a notice.
bool IsMachineFact(HostKey key);

// The `notice` of a record.
std::string_view NoticeName(HostKey key);
// The value that means that nothing is planned; empty for facts about the machine.
std::string_view NothingToExpect(HostKey key);

// Parses a response body. An error: it is not documented. The value of kScheduling is the machine's
// `provisioningModel`, or, if the server names none, SPOT or NOT_SPOT by `preemptible`; that of kZone is the
// zone's name.
absl::StatusOr<NoticeKind> ParseNotice(HostKey key, std::string_view body);

// Whether this is a valid metadata server address for GCE_METADATA_HOST: a name or an address, with or
// without a port.
bool IsMetadataHost(std::string_view host);

// 1, 2, 4 ... s, at most `longest`.
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
    bool of_server = false;            // the metadata server responded
    std::optional<NoticeKind> change;  // the notice, if it changed
    absl::Duration wait;               // before the next request
    std::string trouble;               // why there is no notice, in words; empty: no problem
  };
  Outcome Take(const HttpAnswer& answer);

  // A preemption is announced 30 s before.
  static constexpr absl::Duration kLongestWait = absl::Seconds(16);
  // The facts about a machine are asked for again after this.
  static constexpr absl::Duration kFactsLast = absl::Hours(24);
  // Maintenance is announced hours or days before, and never on many machines.
  static constexpr absl::Duration kLongestWaitForUpcoming = absl::Seconds(60);

 private:
  std::optional<NoticeKind> Hear(NoticeKind word);

  HostKey key_;
  std::string host_;
  Backoff backoff_;
  std::string etag_;  // of the last response; empty: request the value without waiting
  std::optional<NoticeKind> said_;
};

}  // namespace goodput
