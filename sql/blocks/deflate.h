// Compression by zlib (RFC 1950). Whoever stores the bytes stores the size of the plain ones, too.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace goodput {

// `level`: 1 is the fastest, 9 makes the fewest bytes.
std::string Deflate(std::string_view plain, int level);

// Exactly `size` bytes. False: these are not their compressed form.
bool Inflate(std::string_view packed, std::size_t size, std::string& plain);

}  // namespace goodput
