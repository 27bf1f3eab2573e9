#include "sql/blocks/deflate.h"

#define ZLIB_CONST  // input is const
#include <zlib.h>

#include <new>

// NOLINTBEGIN(cppcoreguidelines-pro-type-reinterpret-cast): zlib's bytes are unsigned.
namespace goodput {
namespace {

struct Settings {
  int level;
  int window_bits;
  int memory_level;
  int strategy;
};
constexpr Settings kForText{Z_BEST_COMPRESSION, MAX_WBITS, 8, Z_DEFAULT_STRATEGY};
// In this much memory zlib makes new codes after every 2,048 bytes, about where one column ends and the next
// begins. Repeated bytes are all that it looks for: whatever else is alike in measured times is chance.
constexpr Settings kForColumns{Z_BEST_SPEED, 12, 5, Z_RLE};
// 16 more: zlib's sign for gzip.
constexpr Settings kForGzip{Z_DEFAULT_COMPRESSION, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY};

const Settings& SettingsFor(DeflateFor what) {
  if (what == DeflateFor::kGzip) return kForGzip;
  return what == DeflateFor::kText ? kForText : kForColumns;
}

}  // namespace

std::string Deflate(std::string_view plain, DeflateFor what) {
  const Settings& settings = SettingsFor(what);
  z_stream stream{};
  if (deflateInit2(&stream, settings.level, Z_DEFLATED, settings.window_bits, settings.memory_level,
                   settings.strategy) != Z_OK) {
    throw std::bad_alloc();  // there is nothing else that it could lack
  }
  std::string packed(deflateBound(&stream, plain.size()), '\0');
  stream.next_in = reinterpret_cast<const Bytef*>(plain.data());
  stream.avail_in = static_cast<uInt>(plain.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);  // all at once: there is room for it
  packed.resize(stream.total_out);
  deflateEnd(&stream);
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
