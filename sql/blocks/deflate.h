// Compression by zlib. Whoever stores the bytes stores the size of the plain ones, too.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace goodput {

enum class DeflateFor {
  kText,     // as few bytes as zlib can (RFC 1950)
  kColumns,  // some kilobytes of numbers, the bytes of equal weight together; fast (RFC 1950)
  kGzip,     // for HTTP's Content-Encoding (RFC 1952); Inflate() does not read it
};
std::string Deflate(std::string_view plain, DeflateFor what);

// Exactly `size` bytes. False: these are not their compressed form.
bool Inflate(std::string_view packed, std::size_t size, std::string& plain);

}  // namespace goodput
