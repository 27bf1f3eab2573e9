#include "sql/blocks/deflate.h"

#include <zlib.h>

#include <new>

// NOLINTBEGIN(cppcoreguidelines-pro-type-reinterpret-cast): zlib's bytes are unsigned.
namespace goodput {

std::string Deflate(std::string_view plain, int level) {
  uLongf size = compressBound(plain.size());
  std::string packed(size, '\0');
  // With so much room it lacks nothing but memory.
  if (compress2(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(plain.data()),
                plain.size(), level) != Z_OK) {
    throw std::bad_alloc();
  }
  packed.resize(size);
  return packed;
}

bool Inflate(std::string_view packed, std::size_t size, std::string& plain) {
  plain.resize(size);
  uLongf inflated = size;
  return uncompress(reinterpret_cast<Bytef*>(plain.data()), &inflated,
                    reinterpret_cast<const Bytef*>(packed.data()), packed.size()) == Z_OK &&
         inflated == size;
}

}  // namespace goodput
// NOLINTEND(cppcoreguidelines-pro-type-reinterpret-cast)
