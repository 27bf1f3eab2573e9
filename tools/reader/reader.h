// Handles one query: identifies the caller, checks what they may see, and returns sgoodput's answer.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/reader/answer.h"
#include "tools/reader/answer_cache.h"
#include "tools/reader/control.h"
#include "tools/reader/http_server.h"
#include "tools/reader/question.h"
#include "tools/reader/work_queue.h"

namespace goodput {

class Reader {
 public:
  struct Options {
    std::string sgoodput;                // path of the program to run
    std::vector<std::string> arguments;  // of every command: database and configuration
    std::vector<std::string> names;      // of this server, for requests by TCP (host_names.h)
    AnswerLimits limits;
    std::size_t at_once = 3;
    std::size_t most_waiting = 64;
    absl::Duration patience = absl::Seconds(10);
  };
  Reader(Options options, Control& control);

  // As in HttpServer::Answers.
  void Answer(HttpQuestion question, std::function<void(HttpReply)> done);

 private:
  HttpReply AnswerNow(const HttpQuestion& question);
  HttpReply Ask(const CommandQuestion& asked, const Viewer& viewer);
  HttpReply Metrics(const HttpQuestion& question, const Viewer& viewer);
  HttpReply Health();
  absl::StatusOr<Viewer> ViewerOf(const HttpQuestion& question);

  const Options options_;
  Control& control_;
  AnswerCache metrics_;
  AnswerCache now_;  // of the page
  // Last, since their threads use the other members. Whether the server is healthy does not wait for queries.
  WorkQueue queue_;
  WorkQueue health_;
};

}  // namespace goodput
