#include "sql/tables/summary_pack.h"

#include <simdjson.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <optional>

#include "absl/strings/ascii.h"
#include "spank/event.h"
#include "sql/blocks/varint.h"
#include "sql/text.h"

namespace goodput {
namespace {

// Thousands of records of the largest size; more is a damaged length.
constexpr std::uint64_t kMostBytes = 64U << 20U;

// `t` is a column.
constexpr std::array<std::string_view, 7> kLeftOut = {
    key::kVersion, key::kTime, key::kStepd, key::kUid, key::kGid, key::kSenderPid, key::kLocalTask};

bool LeftOut(std::string_view name, std::string_view kind) {
  // Of a signal's target it tells one process from another.
  if (name == key::kPid) return kind != kind::kSignal;
  return std::find(kLeftOut.begin(), kLeftOut.end(), name) != kLeftOut.end();
}

// Needs no escapes.
bool IsPlainKey(std::string_view name) {
  return std::all_of(name.begin(), name.end(),
                     [](char c) { return c == '_' || absl::ascii_isalnum(static_cast<unsigned char>(c)); });
}

struct Kept {
  std::string record;  // without `m`
  std::optional<std::int64_t> m;
};

Kept KeptOf(const EventRow& event, simdjson::dom::parser& parser) {
  Kept kept;
  simdjson::dom::object object;
  if (parser.parse(event.record.data(), event.record.size()).get(object) != simdjson::SUCCESS) {
    kept.record = event.record;
    return kept;
  }
  kept.record = "{";
  for (const auto field : object) {
    std::int64_t m = 0;
    if (field.key == key::kMonotonic && !kept.m && field.value.get(m) == simdjson::SUCCESS) {
      kept.m = m;
      continue;
    }
    if (!IsPlainKey(field.key)) return {event.record, std::nullopt};
    if (LeftOut(field.key, event.kind)) continue;
    kept.record +=
        Cat(kept.record.size() > 1 ? "," : "", "\"", field.key, "\":", simdjson::minify(field.value));
  }
  kept.record.push_back('}');
  return kept;
}

std::string Joined(std::string record, std::int64_t m) {
  record.pop_back();
  return Cat(record, record.size() > 1 ? "," : "", "\"", key::kMonotonic, "\":", m, "}");
}

class Numbers {
 public:
  explicit Numbers(std::string_view data) : data_(data) {}
  std::uint64_t Next() {
    std::uint64_t value = 0;
    good_ = good_ && GetVarint(data_, at_, value);
    return value;
  }
  std::int64_t NextSigned() { return Unzigzag(Next()); }
  std::string_view Bytes(std::uint64_t size) {
    good_ = good_ && size <= data_.size() - at_;
    if (!good_) return {};
    const std::string_view bytes = data_.substr(at_, static_cast<std::size_t>(size));
    at_ += static_cast<std::size_t>(size);
    return bytes;
  }
  std::string_view Rest() { return Bytes(data_.size() - at_); }
  bool good() const { return good_; }

 private:
  std::string_view data_;
  std::size_t at_ = 0;
  bool good_ = true;
};

struct Before {
  std::int64_t source = 0;
  std::int64_t offset = 0;
  std::int64_t t = 0;
  std::int64_t clock = 0;
};

}  // namespace

std::string SummaryOfRecord(const EventRow& event) {
  simdjson::dom::parser parser;
  Kept kept = KeptOf(event, parser);
  return kept.m ? Joined(std::move(kept.record), *kept.m) : kept.record;
}

std::string PackSummary(const std::vector<EventRow>& events) {
  simdjson::dom::parser parser;
  std::string columns;
  std::string texts;
  Before before;
  for (const EventRow& event : events) {
    const Kept kept = KeptOf(event, parser);
    PutVarint(Zigzag(Minus(event.source_id, before.source)), columns);
    PutVarint(Zigzag(Minus(event.offset, before.offset)), columns);
    PutVarint(Zigzag(Minus(event.t_ns, before.t)), columns);
    before.source = event.source_id;
    before.offset = event.offset;
    before.t = event.t_ns;
    columns.push_back(kept.m ? '\1' : '\0');
    if (kept.m) {
      const std::int64_t clock = Minus(event.t_ns, *kept.m);
      PutVarint(Zigzag(Minus(clock, before.clock)), columns);
      before.clock = clock;
    }
    PutVarint(event.kind.size(), columns);
    PutVarint(kept.record.size(), columns);
    texts += event.kind;
    texts += kept.record;
  }
  std::string plain;
  PutVarint(events.size(), plain);
  PutVarint(columns.size(), plain);
  plain += columns;
  plain += texts;
  uLongf size = compressBound(plain.size());
  std::string packed(size, '\0');
  // NOLINTBEGIN(cppcoreguidelines-pro-type-reinterpret-cast): zlib's bytes are unsigned.
  if (compress2(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(plain.data()),
                plain.size(), Z_BEST_COMPRESSION) != Z_OK) {
    return "";
  }
  // NOLINTEND(cppcoreguidelines-pro-type-reinterpret-cast)
  packed.resize(size);
  std::string data;
  PutVarint(plain.size(), data);
  return data + packed;
}

bool UnpackSummary(std::string_view data, std::vector<EventRow>& events) {
  Numbers outer(data);
  const std::uint64_t plain_size = outer.Next();
  const std::string_view packed = outer.Rest();
  if (!outer.good() || plain_size > kMostBytes) return false;
  std::string plain(static_cast<std::size_t>(plain_size), '\0');
  uLongf size = plain.size();
  // NOLINTBEGIN(cppcoreguidelines-pro-type-reinterpret-cast): zlib's bytes are unsigned.
  if (uncompress(reinterpret_cast<Bytef*>(plain.data()), &size, reinterpret_cast<const Bytef*>(packed.data()),
                 packed.size()) != Z_OK ||
      size != plain.size()) {
    return false;
  }
  // NOLINTEND(cppcoreguidelines-pro-type-reinterpret-cast)
  Numbers inner(plain);
  const std::uint64_t count = inner.Next();
  Numbers columns(inner.Bytes(inner.Next()));
  Numbers texts(inner.Rest());
  Before before;
  for (std::uint64_t i = 0; i < count && inner.good() && columns.good() && texts.good(); ++i) {
    EventRow event;
    event.source_id = before.source = Plus(before.source, columns.NextSigned());
    event.offset = before.offset = Plus(before.offset, columns.NextSigned());
    event.t_ns = before.t = Plus(before.t, columns.NextSigned());
    const bool has_m = columns.Next() != 0;
    if (has_m) before.clock = Plus(before.clock, columns.NextSigned());
    const std::uint64_t kind_size = columns.Next();
    const std::uint64_t record_size = columns.Next();
    event.kind = std::string(texts.Bytes(kind_size));
    event.record = std::string(texts.Bytes(record_size));
    if (has_m && event.record.size() < 2) return false;
    if (has_m) event.record = Joined(std::move(event.record), Minus(before.t, before.clock));
    events.push_back(std::move(event));
  }
  return inner.good() && columns.good() && texts.good();
}

}  // namespace goodput
