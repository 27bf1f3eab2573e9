#include "tools/reader/http_server.h"

#include <microhttpd.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <string_view>

#include "absl/strings/numbers.h"
#include "spank/clock.h"
#include "sql/text.h"

namespace goodput {
namespace {

// One connection, from accept to close.
struct Connection {
  enum class State { kReading, kAnswering, kSending };
  int fd = -1;
  std::optional<uid_t> peer;
  State state = State::kReading;
  std::int64_t since_ns = 0;
  bool refused = false;    // its peer has too many connections
  std::string client;      // the user or the address at the other end
  std::size_t unread = 0;  // bytes of the response that is being read
};

std::optional<uid_t> PeerOf(int fd) {
  sockaddr_storage address{};
  socklen_t length = sizeof(address);
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0 || address.ss_family != AF_UNIX)
    return std::nullopt;
  ucred peer{};
  length = sizeof(peer);
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) return std::nullopt;
  return peer.uid;
}

// One request, from its first line to the end of its response.
struct Request {
  std::string target;
  std::string body;
  bool begun = false;
  bool too_long = false;
  bool answered = false;
  HttpReply reply;
};

std::string HeaderOf(MHD_Connection* connection, const char* name) {
  const char* value = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
  return value == nullptr ? std::string() : std::string(value);
}

int PortOf(MHD_Connection* connection) {
  const MHD_ConnectionInfo* info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
  if (info == nullptr || info->client_addr == nullptr || info->client_addr->sa_family != AF_INET) return 0;
  return ntohs(reinterpret_cast<const sockaddr_in*>(info->client_addr)->sin_port);
}

// "192.0.2.7"; empty for a Unix socket.
std::string AddressOf(MHD_Connection* connection) {
  const MHD_ConnectionInfo* info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
  if (info == nullptr || info->client_addr == nullptr) return "";
  std::array<char, NI_MAXHOST> host{};
  const socklen_t length =
      info->client_addr->sa_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  if (getnameinfo(info->client_addr, length, host.data(), host.size(), nullptr, 0, NI_NUMERICHOST) != 0)
    return "";
  return host.data();
}

struct Parameters {
  std::vector<std::pair<std::string, std::string>> all;
  std::size_t most = 0;
  bool too_many = false;
};

MHD_Result TakeParameter(void* into, MHD_ValueKind /*kind*/, const char* key, std::size_t key_size,
                         const char* value, std::size_t value_size) {
  auto* parameters = static_cast<Parameters*>(into);
  if (parameters->all.size() >= parameters->most) {
    parameters->too_many = true;
    return MHD_NO;
  }
  parameters->all.emplace_back(std::string(key, key_size),
                               value == nullptr ? std::string() : std::string(value, value_size));
  return MHD_YES;
}

// `mode`: whether `reply` lives until the response has been read.
MHD_Result Send(MHD_Connection* connection, const HttpReply& reply, MHD_ResponseMemoryMode mode) {
  MHD_Response* response =
      MHD_create_response_from_buffer(reply.body.size(), const_cast<char*>(reply.body.data()), mode);
  if (response == nullptr) return MHD_NO;
  MHD_add_response_header(response, "Content-Type", reply.type.c_str());
  MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
  MHD_add_response_header(response, "Cache-Control", "no-store");
  for (const auto& [name, value] : reply.headers)
    MHD_add_response_header(response, name.c_str(), value.c_str());
  const MHD_Result result = MHD_queue_response(connection, static_cast<unsigned>(reply.code), response);
  MHD_destroy_response(response);
  return result;
}

}  // namespace

struct HttpServer::Impl {
  Limits limits;
  Answers answers;
  MHD_Daemon* daemon = nullptr;
  std::mutex mutex;
  std::map<const MHD_Connection*, Connection> connections;  // guarded by mutex

  void Enter(MHD_Connection* connection, Connection::State state) {
    const std::lock_guard<std::mutex> lock(mutex);
    const auto found = connections.find(connection);
    if (found == connections.end()) return;
    found->second.state = state;
    found->second.unread = 0;
    found->second.since_ns = kSystemClock.mono_ns();
  }

  // Cuts other responses, if needed, so that this one may be sent.
  void MakeRoom(MHD_Connection* connection, std::size_t bytes) {
    const std::lock_guard<std::mutex> lock(mutex);
    const auto found = connections.find(connection);
    if (found == connections.end()) return;
    found->second.unread = bytes;
    while (Connection* greedy = OldestOfGreediest()) {
      shutdown(greedy->fd, SHUT_RDWR);
      greedy->unread = 0;
    }
  }
  // Of the client with the most unread bytes, if all clients together have too many; otherwise null.
  Connection* OldestOfGreediest() {
    std::map<std::string, std::size_t> unread;
    std::size_t all = 0;
    for (const auto& [handle, connection] : connections) {
      unread[connection.client] += connection.unread;
      all += connection.unread;
    }
    if (all <= limits.unread_bytes) return nullptr;
    const auto most = std::max_element(unread.begin(), unread.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    Connection* oldest = nullptr;
    for (auto& [handle, connection] : connections) {
      if (connection.unread == 0 || connection.client != most->first) continue;
      if (oldest == nullptr || connection.since_ns < oldest->since_ns) oldest = &connection;
    }
    return oldest;
  }
  MHD_Result Handle(MHD_Connection* connection, const char* url, const char* method, Request& request,
                    std::string_view upload);
  std::optional<HttpReply> Refusal(MHD_Connection* connection, std::string_view method) const;
  MHD_Result Refuse(MHD_Connection* connection, const HttpReply& reply) {
    Enter(connection, Connection::State::kSending);
    HttpReply last = reply;
    last.headers.emplace_back("Connection", "close");
    return Send(connection, last, MHD_RESPMEM_MUST_COPY);
  }

  static void* OnTarget(void* /*self*/, const char* uri, MHD_Connection* /*connection*/) {
    auto* request = new Request;
    request->target = uri;
    return request;
  }
  static MHD_Result OnRequest(void* self, MHD_Connection* connection, const char* url, const char* method,
                              const char* /*version*/, const char* upload, std::size_t* upload_size,
                              void** context) {
    const std::string_view bytes(upload, *upload_size);
    const MHD_Result result =
        static_cast<Impl*>(self)->Handle(connection, url, method, *static_cast<Request*>(*context), bytes);
    if (result == MHD_YES) *upload_size = 0;
    return result;
  }
  static void OnCompleted(void* self, MHD_Connection* connection, void** context,
                          MHD_RequestTerminationCode /*why*/) {
    delete static_cast<Request*>(*context);
    *context = nullptr;
    static_cast<Impl*>(self)->Enter(connection, Connection::State::kReading);
  }
  static void OnConnection(void* self, MHD_Connection* connection, void** /*context*/,
                           MHD_ConnectionNotificationCode what) {
    auto* impl = static_cast<Impl*>(self);
    const std::lock_guard<std::mutex> lock(impl->mutex);
    if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
      impl->connections.erase(connection);
      return;
    }
    Connection entry;
    entry.fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    entry.peer = PeerOf(entry.fd);
    entry.client = entry.peer ? Cat(*entry.peer) : AddressOf(connection);
    entry.since_ns = kSystemClock.mono_ns();
    unsigned of_peer = 0;
    for (const auto& [other, known] : impl->connections) {
      if (entry.peer && known.peer == entry.peer && !known.refused) ++of_peer;
    }
    entry.refused = of_peer >= impl->limits.connections_of_peer;
    if (entry.refused) shutdown(entry.fd, SHUT_RDWR);
    impl->connections[connection] = entry;
  }
};

// Why a request is refused once its headers are known.
std::optional<HttpReply> HttpServer::Impl::Refusal(MHD_Connection* connection,
                                                   std::string_view method) const {
  const bool posts = limits.body_bytes > 0;
  if (posts ? method != "POST" : method != "GET" && method != "HEAD") {
    HttpReply reply = ErrorReply(405, posts ? "only POST is allowed" : "only GET and HEAD are allowed");
    reply.headers.emplace_back("Allow", posts ? "POST" : "GET, HEAD");
    return reply;
  }
  const std::string length = HeaderOf(connection, "Content-Length");
  if (!posts) {
    const bool body =
        (!length.empty() && length != "0") || !HeaderOf(connection, "Transfer-Encoding").empty();
    return body ? std::optional(ErrorReply(413, "a request must not have a body")) : std::nullopt;
  }
  std::size_t bytes = 0;
  // A client reads the reply only once its body has been read, so that a body that is somewhat too long is.
  constexpr std::size_t kRead = 4;
  if (length.empty() || (absl::SimpleAtoi(length, &bytes) && bytes / kRead <= limits.body_bytes))
    return std::nullopt;
  return ErrorReply(413, Cat("a body of more than ", limits.body_bytes, " bytes"));
}

MHD_Result HttpServer::Impl::Handle(MHD_Connection* connection, const char* url, const char* method,
                                    Request& request, std::string_view upload) {
  if (request.answered) {
    Enter(connection, Connection::State::kSending);
    MakeRoom(connection, request.reply.body.size());
    return Send(connection, request.reply, MHD_RESPMEM_PERSISTENT);
  }
  if (!request.begun) {
    request.begun = true;
    const std::optional<HttpReply> refusal = Refusal(connection, method);
    return refusal ? Refuse(connection, *refusal) : MHD_YES;
  }
  if (!upload.empty()) {
    if (limits.body_bytes == 0) return MHD_NO;
    request.too_long |= upload.size() > limits.body_bytes - request.body.size();
    if (!request.too_long) request.body += upload;
    return MHD_YES;
  }
  if (request.too_long) {
    return Refuse(connection, ErrorReply(413, Cat("a body of more than ", limits.body_bytes, " bytes")));
  }
  Parameters parameters;
  parameters.most = limits.parameters;
  MHD_get_connection_values_n(connection, MHD_GET_ARGUMENT_KIND, &TakeParameter, &parameters);
  if (parameters.too_many)
    return Refuse(connection, ErrorReply(400, Cat("more than ", limits.parameters, " parameters")));
  HttpQuestion question;
  question.path = url;
  question.target = request.target;
  question.parameters = std::move(parameters.all);
  question.authorization = HeaderOf(connection, "Authorization");
  question.accept = HeaderOf(connection, "Accept");
  question.host = HeaderOf(connection, "Host");
  question.address = AddressOf(connection);
  question.port = PortOf(connection);
  question.content_type = HeaderOf(connection, "Content-Type");
  question.content_encoding = HeaderOf(connection, "Content-Encoding");
  question.body = std::move(request.body);
  {
    const std::lock_guard<std::mutex> lock(mutex);
    const auto found = connections.find(connection);
    if (found != connections.end()) question.peer = found->second.peer;
  }
  Enter(connection, Connection::State::kAnswering);
  MHD_suspend_connection(connection);
  answers(std::move(question), [connection, &request](HttpReply reply) {
    request.reply = std::move(reply);
    request.answered = true;
    MHD_resume_connection(connection);
  });
  return MHD_YES;
}

HttpServer::HttpServer() : impl_(std::make_unique<Impl>()) {}

HttpServer::~HttpServer() {
  if (impl_->daemon != nullptr) MHD_stop_daemon(impl_->daemon);
}

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(int listener, const Limits& limits,
                                                              Answers answers) {
  std::unique_ptr<HttpServer> server(new HttpServer);
  Impl* impl = server->impl_.get();
  impl->limits = limits;
  impl->answers = std::move(answers);
  impl->daemon = MHD_start_daemon(
      MHD_USE_AUTO_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, 0, nullptr, nullptr, &Impl::OnRequest, impl,
      MHD_OPTION_LISTEN_SOCKET, static_cast<MHD_socket>(listener), MHD_OPTION_CONNECTION_LIMIT,
      limits.connections, MHD_OPTION_PER_IP_CONNECTION_LIMIT, limits.connections_of_peer,
      MHD_OPTION_CONNECTION_TIMEOUT, static_cast<unsigned>(absl::ToInt64Seconds(limits.idle)),
      MHD_OPTION_CONNECTION_MEMORY_LIMIT, limits.request_bytes, MHD_OPTION_URI_LOG_CALLBACK, &Impl::OnTarget,
      impl, MHD_OPTION_NOTIFY_COMPLETED, &Impl::OnCompleted, impl, MHD_OPTION_NOTIFY_CONNECTION,
      &Impl::OnConnection, impl, MHD_OPTION_END);
  if (impl->daemon == nullptr) return absl::InternalError("libmicrohttpd does not start");
  return server;
}

void HttpServer::CutSlowOnes() {
  const std::int64_t now = kSystemClock.mono_ns();
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  for (const auto& [handle, connection] : impl_->connections) {
    const absl::Duration taken = absl::Nanoseconds(now - connection.since_ns);
    const bool slow = (connection.state == Connection::State::kReading && taken > impl_->limits.request) ||
                      (connection.state == Connection::State::kSending && taken > impl_->limits.answer);
    if (slow) shutdown(connection.fd, SHUT_RDWR);
  }
}

}  // namespace goodput
