// `sgoodput mcp`: answers the questions of a language model's client over stdin and stdout, by the Model
// Context Protocol (JSON-RPC 2.0, one message per line; https://modelcontextprotocol.io/specification). Each
// tool is a read-only subcommand, run with the rights of the user who started this.
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "config.h"
#include "spank/json_text.h"
#include "sql/text.h"
#include "tools/base/format.h"
#include "tools/base/subprocess.h"
#include "tools/reader/question.h"
#include "tools/sgoodput/options.h"

namespace goodput {
namespace {

namespace dom = simdjson::dom;

constexpr std::size_t kLongestMessage = std::size_t{1} << 20U;
constexpr std::size_t kLongestAnswer = std::size_t{4} << 20U;
constexpr absl::Duration kLongestRun = absl::Minutes(2);
constexpr std::string_view kProtocol = "2025-06-18";

// JSON-RPC's error codes.
constexpr int kParseError = -32700;
constexpr int kInvalidRequest = -32600;
constexpr int kNoMethod = -32601;
constexpr int kInvalidParameters = -32602;

struct Tool {
  std::string_view name;
  std::string_view what;
};
constexpr std::array<Tool, 8> kTools{{
    {"now",
     "What pending and running runs do at this moment: those that waste GPUs first, since when, with "
     "evidence."},
    {"list", "Runs since a time (starttime, default midnight), one object each with goodput and buckets."},
    {"show",
     "Where the time of one run went (job, or run): goodput, buckets, attempts, interruptions, steps, what "
     "to do."},
    {"attempts", "The attempts of one run (job, or run), in the same form as show."},
    {"report",
     "Sums over runs since starttime, by user, account, partition, reservation, consumption, stockout, run, "
     "node, day, "
     "cause or "
     "tag:KEY."},
    {"advise",
     "How often a run (job, or run) should save checkpoints, and what else to change, with the gains."},
    {"diff", "What changed between two runs a and b (job ids or run names), bucket by bucket."},
    {"check", "Compares a run (job, or run) with limits such as rg=90% or no-progress=10m; one line."},
}};

std::string Member(std::string_view name, std::string_view json) {
  return Cat(QuotedJson(name), ":", json);
}

std::string SchemaOf(std::string_view tool) {
  std::vector<std::string> members;
  for (const QuestionParameter& parameter : QuestionParameters(tool))
    members.push_back(
        Member(parameter.name, parameter.is_flag ? R"({"type":"boolean"})" : R"({"type":"string"})"));
  return Cat(R"({"type":"object","additionalProperties":false,"properties":{)", absl::StrJoin(members, ","),
             "}}");
}

std::string ToolList() {
  std::vector<std::string> tools;
  tools.reserve(kTools.size());
  for (const Tool& tool : kTools) {
    tools.push_back(
        Cat("{", Member("name", QuotedJson(tool.name)), ",", Member("description", QuotedJson(tool.what)),
            R"(,"annotations":{"readOnlyHint":true},)", Member("inputSchema", SchemaOf(tool.name)), "}"));
  }
  return Cat(R"({"tools":[)", absl::StrJoin(tools, ","), "]}");
}

std::string Content(std::string_view text, bool is_error) {
  return Cat(R"({"content":[{"type":"text","text":)", QuotedJson(text), R"(}],"isError":)",
             is_error ? "true" : "false", "}");
}

// The arguments of a call as parameters of a question. InvalidArgument: one is no text, number or boolean.
absl::StatusOr<UrlParameters> ParametersOf(const simdjson::simdjson_result<dom::element>& arguments) {
  UrlParameters parameters;
  dom::object object;
  if (arguments.error() == simdjson::NO_SUCH_FIELD) return parameters;
  if (arguments.get_object().get(object) != simdjson::SUCCESS)
    return absl::InvalidArgumentError("`arguments` is not an object");
  for (const auto [key, value] : object) {
    std::string_view text;
    bool flag = false;
    std::string given;
    if (value.get_string().get(text) == simdjson::SUCCESS) {
      given = std::string(text);
    } else if (value.get_bool().get(flag) == simdjson::SUCCESS) {
      given = flag ? "1" : "0";
    } else if (value.is_number()) {
      given = simdjson::minify(value);
    } else {
      return absl::InvalidArgumentError(Cat("`", key, "` is no text, number or boolean"));
    }
    parameters.emplace_back(std::string(key), std::move(given));
  }
  return parameters;
}

class McpServer {
 public:
  explicit McpServer(const McpOptions& options) : options_(options) {}

  // The reply to a message; empty: it wants none.
  std::string Answer(const std::string& line) {
    dom::element message;
    if (parser_.parse(line).get(message) != simdjson::SUCCESS) return Error("null", kParseError, "not JSON");
    std::string_view method;
    if (message["method"].get_string().get(method) != simdjson::SUCCESS)
      return Error("null", kInvalidRequest, "no `method`");
    dom::element id;
    if (message["id"].get(id) != simdjson::SUCCESS) return "";  // a notification
    if (!id.is_string() && !id.is_number())
      return Error("null", kInvalidRequest, "`id` is no text or number");
    const std::string id_text = simdjson::minify(id);
    if (method == "initialize") return Result(id_text, Initialized(message["params"]["protocolVersion"]));
    if (method == "ping") return Result(id_text, "{}");
    if (method == "tools/list") return Result(id_text, ToolList());
    if (method != "tools/call") return Error(id_text, kNoMethod, Cat("no method ", method));
    std::string_view name;
    if (message["params"]["name"].get_string().get(name) != simdjson::SUCCESS)
      return Error(id_text, kInvalidParameters, "no `name`");
    const absl::StatusOr<UrlParameters> parameters = ParametersOf(message["params"]["arguments"]);
    if (!parameters.ok()) return Error(id_text, kInvalidParameters, Message(parameters.status()));
    return Call(id_text, name, *parameters);
  }

 private:
  static std::string Result(const std::string& id, std::string_view result) {
    return Cat(R"({"jsonrpc":"2.0","id":)", id, R"(,"result":)", result, "}");
  }
  static std::string Error(const std::string& id, int code, std::string_view why) {
    return Cat(R"({"jsonrpc":"2.0","id":)", id, R"(,"error":{"code":)", code, R"(,"message":)",
               QuotedJson(why), "}}");
  }
  // The client's version of the protocol, whose part used here has not changed.
  static std::string Initialized(const simdjson::simdjson_result<dom::element>& asked) {
    std::string_view version;
    if (asked.get_string().get(version) != simdjson::SUCCESS) version = kProtocol;
    return Cat(R"({"protocolVersion":)", QuotedJson(version),
               R"(,"capabilities":{"tools":{}},"serverInfo":{"name":"slurm-goodput","version":)",
               QuotedJson(PACKAGE_VERSION), "}}");
  }

  std::string Call(const std::string& id, std::string_view name, const UrlParameters& parameters) {
    const bool known =
        std::any_of(kTools.begin(), kTools.end(), [&](const Tool& tool) { return tool.name == name; });
    if (!known) return Error(id, kInvalidParameters, Cat("no tool ", name));
    const absl::StatusOr<CommandQuestion> question = ReadQuestion(Cat("/v1/", name), parameters);
    if (!question.ok()) return Error(id, kInvalidParameters, Message(question.status()));
    std::vector<std::string> command{"/proc/self/exe"};
    // Options may come before the subcommand.
    for (const auto& [option, value] :
         {std::pair("--config", options_.common.config), std::pair("--db", options_.common.db),
          std::pair("--url", options_.common.url)}) {
      if (!value.empty()) command.push_back(Cat(option, "=", value));
    }
    for (const std::string& argument : question->arguments) {
      // Whoever asks wants the present.
      if (argument != "--no-refresh" || options_.common.no_refresh) command.push_back(argument);
    }
    CommandOptions how;
    how.timeout = kLongestRun;
    how.max_output = kLongestAnswer;
    const absl::StatusOr<CommandResult> result = RunCommand(command, how);
    if (!result.ok())
      return Result(id, Content(Cat("it takes too long or its answer is too large: select less (",
                                    Message(result.status()), ")"),
                                true));
    if (result->out.empty())
      return Result(id, Content(std::string(absl::StripAsciiWhitespace(result->err)), true));
    return Result(id, Content(result->out, false));
  }

  const McpOptions& options_;
  dom::parser parser_;
};

// A line without its end; of a longer one, kLongestMessage + 1 bytes. False: there is none.
bool ReadLine(std::string& line) {
  line.clear();
  int c = std::getc(stdin);
  if (c == EOF) return false;
  for (; c != EOF && c != '\n'; c = std::getc(stdin)) {
    if (line.size() <= kLongestMessage) line.push_back(static_cast<char>(c));
  }
  return true;
}

}  // namespace

int RunMcp(const McpOptions& options) {
  McpServer server(options);
  std::string line;
  while (ReadLine(line)) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const std::string reply =
        line.size() > kLongestMessage
            ? R"({"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"longer than 1 MiB"}})"
            : server.Answer(line);
    if (reply.empty()) continue;
    std::printf("%s\n", reply.c_str());
    if (std::fflush(stdout) != 0) return kBadUsage;
  }
  return kAnswered;
}

}  // namespace goodput
