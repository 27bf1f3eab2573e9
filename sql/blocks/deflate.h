// Compression by zlib (RFC 1950). Whoever stores the bytes stores the size of the plain ones, too.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace goodput {

enum class DeflateFor {
  kText,     // as few bytes as zlib can
  kColumns,  // some kilobytes of numbers, the bytes of equal weight together; fast
};
std::string Deflate(std::string_view plain, DeflateFor what);

// Exactly `size` bytes. False: these are not their compressed form.
bool Inflate(std::string_view packed, std::size_t size, std::string& plain);

}  // namespace goodput
