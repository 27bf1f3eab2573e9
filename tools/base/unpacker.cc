#include "tools/base/unpacker.h"

#include <zlib.h>

#include <array>
#include <cstddef>

#include "sql/status_macros.h"

namespace goodput {
namespace {

constexpr std::size_t kUnpackedBytes = std::size_t{64} << 10U;
// zlib: the largest window, and gzip's header only.
constexpr int kGzipOnly = 15 + 16;

}  // namespace

struct Unpacker::State {
  z_stream stream{};
  bool ok = false;
  bool ended = false;
  std::array<char, kUnpackedBytes> out{};
};

Unpacker::Unpacker() : state_(std::make_unique<State>()) {
  state_->ok = inflateInit2(&state_->stream, kGzipOnly) == Z_OK;
}

Unpacker::~Unpacker() {
  inflateEnd(&state_->stream);
}

bool Unpacker::whole() const {
  return state_->ended;
}

absl::Status Unpacker::Unpack(std::string_view piece, const Take& take) {
  State& state = *state_;
  if (!state.ok) return absl::ResourceExhaustedError("not enough memory to unpack it");
  z_stream& stream = state.stream;
  // zlib does not change its input, whatever its type says.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(piece.data()));  // NOLINT
  stream.avail_in = static_cast<uInt>(piece.size());
  bool more = true;
  while (stream.avail_in > 0 || more) {
    if (state.ended) {
      if (stream.avail_in == 0) break;
      // Padding after the last member, as tapes have it.
      if (*stream.next_in == 0) {
        ++stream.next_in;
        --stream.avail_in;
        continue;
      }
      if (inflateReset(&stream) != Z_OK) return absl::InternalError("zlib cannot go on");
      state.ended = false;
    }
    stream.next_out = reinterpret_cast<Bytef*>(state.out.data());
    stream.avail_out = kUnpackedBytes;
    const int result = inflate(&stream, Z_NO_FLUSH);
    if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR)
      return absl::InvalidArgumentError("not gzip, or damaged");
    const std::size_t got = kUnpackedBytes - stream.avail_out;
    if (got > 0) RETURN_IF_ERROR(take(std::string_view(state.out.data(), got)));
    state.ended = result == Z_STREAM_END;
    more = stream.avail_out == 0;
  }
  return absl::OkStatus();
}

}  // namespace goodput
