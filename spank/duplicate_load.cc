#include "spank/duplicate_load.h"

#include <dlfcn.h>
#include <link.h>

#include <array>
#include <cstddef>
#include <cstring>

namespace goodput {
namespace {

struct Search {
  const char* own = nullptr;  // path of this image
  static constexpr std::size_t kMaxCandidates = 8;
  std::array<const char*, kMaxCandidates> earlier{};
  std::size_t count = 0;
};

int Visit(dl_phdr_info* info, std::size_t /*size*/, void* data) {
  auto* search = static_cast<Search*>(data);
  const char* path = info->dlpi_name;
  if (path == nullptr) return 0;
  if (std::strcmp(path, search->own) == 0) return 1;
  const char* slash = std::strrchr(path, '/');
  if (std::strstr(slash == nullptr ? path : slash, "goodput") != nullptr &&
      search->count < search->kMaxCandidates) {
    search->earlier[search->count++] = path;
  }
  return 0;
}

}  // namespace

bool IsFirstImage() noexcept {
  static const char anchor = 0;
  Dl_info own{};
  if (dladdr(&anchor, &own) == 0 || own.dli_fname == nullptr) return true;
  Search search;
  search.own = own.dli_fname;
  dl_iterate_phdr(Visit, &search);
  for (std::size_t i = 0; i < search.count; ++i) {
    void* image = dlopen(search.earlier[i], RTLD_NOLOAD | RTLD_LAZY);
    if (image == nullptr) continue;
    const auto* name = static_cast<const char*>(dlsym(image, "plugin_name"));
    const bool same = name != nullptr && std::strcmp(name, "goodput") == 0;
    dlclose(image);
    if (same) return false;
  }
  return true;
}

}  // namespace goodput
