#include "tools/reader/munge.h"

#include <dlfcn.h>

#include <cstdlib>

#include "sql/text.h"

namespace goodput {
namespace {

// From munge.h; libmunge keeps these values (libmunge.so.2 since 2006).
constexpr int kSuccess = 0;
constexpr int kBadArgument = 2;
constexpr int kNoSocket = 6;
constexpr int kOptionSocket = 8;
using Context = void*;

struct Library {
  Context (*create)() = nullptr;
  void (*destroy)(Context) = nullptr;
  int (*set)(Context, int, ...) = nullptr;
  int (*encode)(char**, Context, const void*, int) = nullptr;
  int (*decode)(const char*, Context, void**, int*, uid_t*, gid_t*) = nullptr;
  const char* (*error)(int) = nullptr;
  bool complete() const {
    return create != nullptr && destroy != nullptr && set != nullptr && encode != nullptr &&
           decode != nullptr && error != nullptr;
  }
};

const Library& Munge() {
  static const Library library = [] {
    Library found;
    void* handle = dlopen("libmunge.so.2", RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) return found;
    const auto take = [handle](auto& function, const char* name) {
      function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(handle, name));
    };
    take(found.create, "munge_ctx_create");
    take(found.destroy, "munge_ctx_destroy");
    take(found.set, "munge_ctx_set");
    take(found.encode, "munge_encode");
    take(found.decode, "munge_decode");
    take(found.error, "munge_strerror");
    return found;
  }();
  return library;
}

class MungeContext {
 public:
  explicit MungeContext(const std::string& socket) : context_(Munge().create()) {
    if (context_ != nullptr && !socket.empty()) Munge().set(context_, kOptionSocket, socket.c_str());
  }
  ~MungeContext() {
    if (context_ != nullptr) Munge().destroy(context_);
  }
  MungeContext(const MungeContext&) = delete;
  MungeContext& operator=(const MungeContext&) = delete;
  Context get() const { return context_; }

 private:
  Context context_;
};

absl::Status Failed(int code) {
  const std::string words = Cat("munge: ", Munge().error(code));
  if (code == kNoSocket || code == kBadArgument) return absl::UnavailableError(words);
  return absl::PermissionDeniedError(words);
}

const absl::Status& NoLibrary() {
  static const absl::Status none = absl::UnavailableError("libmunge is not installed");
  return none;
}

}  // namespace

absl::StatusOr<std::string> MakeCredential(const std::string& payload, const std::string& socket) {
  if (!Munge().complete()) return NoLibrary();
  const MungeContext context(socket);
  char* credential = nullptr;
  const int code =
      Munge().encode(&credential, context.get(), payload.data(), static_cast<int>(payload.size()));
  if (code != kSuccess || credential == nullptr) return Failed(code);
  std::string made = credential;
  std::free(credential);
  return made;
}

absl::StatusOr<Credential> ReadCredential(const std::string& credential, const std::string& socket) {
  if (!Munge().complete()) return NoLibrary();
  const MungeContext context(socket);
  void* payload = nullptr;
  int length = 0;
  gid_t gid = 0;
  Credential read;
  const int code = Munge().decode(credential.c_str(), context.get(), &payload, &length, &read.uid, &gid);
  if (code == kSuccess && payload != nullptr)
    read.payload.assign(static_cast<const char*>(payload), static_cast<std::size_t>(length));
  // A refused credential may also have a payload.
  std::free(payload);
  if (code != kSuccess) return Failed(code);
  return read;
}

std::string CredentialPayload(const std::string& target) {
  return Cat("slurm-goodput GET ", target);
}

}  // namespace goodput
