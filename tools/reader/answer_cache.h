// Caches answers that have to read every run. One is served for a while, and longer while a new one is being
// computed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "absl/time/time.h"
#include "spank/clock.h"
#include "tools/base/http_reply.h"

namespace goodput {

class AnswerCache {
 public:
  using Compute = std::function<HttpReply()>;
  // What is served after `before` was; its body may not be less.
  using Join = std::function<std::string(const std::string& before, std::string now)>;

  // An answer is served for `fresh`, or for 20 times its computing time if that is longer: whoever asks, and
  // however often, computing takes at most a twentieth of a processor for each viewer.
  explicit AnswerCache(absl::Duration fresh, Clock clock = kSystemClock, Join join = nullptr)
      : fresh_(fresh), clock_(clock), join_(std::move(join)) {}

  // The answer to this viewer; older while another thread computes it. Only answers with code 200 are kept.
  HttpReply Get(const std::string& viewer, const Compute& compute);

 private:
  struct Entry {
    HttpReply answer;
    bool have = false;
    bool computing = false;
    std::int64_t good_until_ns = 0;
  };
  const absl::Duration fresh_;
  const Clock clock_;
  const Join join_;
  std::mutex mutex_;
  std::map<std::string, Entry> entries_;  // guarded by mutex_
};

}  // namespace goodput
