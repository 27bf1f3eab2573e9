#include "sql/blocks/record_template.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <limits>
#include <set>

#include "spank/event.h"
#include "sql/text.h"

namespace goodput {
namespace {

bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}

// How many of eight bytes are digits before the first that is none. `bytes`: as they are in memory, less '0'
// each.
constexpr bool kLittleEndian = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
unsigned DigitsIn(std::uint64_t bytes) {
  const std::uint64_t none = ((bytes + 0x7676767676767676U) | bytes) & 0x8080808080808080U;
  return none == 0 ? 8 : static_cast<unsigned>(__builtin_ctzll(none)) / 8;
}

// Eight digits, the first in the lowest byte, as a number: pairs of them, then of those, then of those.
std::uint64_t OfDigits(std::uint64_t digits) {
  constexpr std::uint64_t kPairs = 0x000000FF000000FFU;
  digits = digits * 10 + (digits >> 8U);
  const std::uint64_t high = (digits & kPairs) * (100 + (std::uint64_t{1'000'000} << 32U));
  const std::uint64_t low = ((digits >> 16U) & kPairs) * (1 + (std::uint64_t{10'000} << 32U));
  return (high + low) >> 32U;
}

constexpr std::array<std::uint64_t, 9> kPowers = {1,       10,        100,        1'000,      10'000,
                                                  100'000, 1'000'000, 10'000'000, 100'000'000};

// How many digits the text begins with, and what they are; more than 20 are counted as some more than 20.
// Eight at a time as far as there are eight bytes: times have nineteen.
std::size_t TakeDigits(const char* text, std::size_t size, std::uint64_t& number) {
  constexpr std::size_t kMany = 20;
  std::size_t at = 0;
  number = 0;
  while (kLittleEndian && at <= kMany && size - at >= sizeof(std::uint64_t)) {
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, text + at, sizeof(bytes));
    bytes ^= 0x3030303030303030U;
    const unsigned digits = DigitsIn(bytes);
    if (digits == 0) return at;
    // What is behind them leaves, and zeros come before them.
    number = number * kPowers[digits] + OfDigits(bytes << (64U - 8U * digits));
    at += digits;
    if (digits < sizeof(bytes)) return at;
  }
  for (; at <= kMany && at < size && IsDigit(text[at]); ++at)
    number = number * 10 + static_cast<std::uint64_t>(text[at] - '0');
  return at;
}

// How many bytes at the beginning are an integer, spelled as it would be spelled again; 0: they are none.
std::size_t TakeInteger(const char* text, std::size_t size, std::int64_t& value) {
  constexpr std::size_t kMostDigits = 19;
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  const std::size_t first = size > 0 && text[0] == '-' ? 1 : 0;
  std::uint64_t number = 0;
  const std::size_t digits = TakeDigits(text + first, size - first, number);
  // Nineteen digits fit; more may not, and what they gave is not looked at.
  if (digits == 0 || digits > kMostDigits || number > kMost) return 0;
  if (text[first] == '0' && (digits > 1 || first == 1)) return 0;
  value = first == 1 ? -static_cast<std::int64_t>(number) : static_cast<std::int64_t>(number);
  return first + digits;
}

// As memcmp says; the texts are too short for a call to be worth it.
bool SameBytes(const char* a, const char* b, std::size_t size) {
  std::uint64_t of_a = 0;
  std::uint64_t of_b = 0;
  while (size >= sizeof(of_a)) {
    std::memcpy(&of_a, a, sizeof(of_a));
    std::memcpy(&of_b, b, sizeof(of_b));
    if (of_a != of_b) return false;
    a += sizeof(of_a);
    b += sizeof(of_b);
    size -= sizeof(of_a);
  }
  for (; size > 0; --size) {
    if (*a++ != *b++) return false;
  }
  return true;
}

// Goes through a JSON text, or a shape's, and says of what is outside its strings where it is.
class Outline {
 public:
  explicit Outline(std::string_view text) : text_(text) {}

  // The next byte outside strings; false: it is over.
  bool Next() {
    for (++at_; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '"') {
        if (!SkipString()) return false;
        continue;
      }
      if (c == '{' || c == '[') ++depth_;
      if (c == '}' || c == ']') --depth_;
      if (c == ':') name_ = string_;
      return true;
    }
    return false;
  }
  std::size_t at() const { return at_; }
  void Skip(std::size_t bytes) { at_ += bytes - 1; }
  int depth() const { return depth_; }
  // Of the member at hand, as it is spelled.
  std::string_view name() const { return name_; }
  bool escaped() const { return name_.find('\\') != std::string_view::npos; }

 private:
  bool SkipString() {
    const std::size_t begin = ++at_;
    while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
    if (at_ >= text_.size()) return false;
    string_ = text_.substr(begin, at_ - begin);
    return true;
  }

  std::string_view text_;
  std::size_t at_ = std::string_view::npos;  // before the first
  int depth_ = 0;
  std::string_view string_;
  std::string_view name_;
};

}  // namespace

bool RecordTemplate::IsPlain(std::string_view node) {
  return !node.empty() && std::all_of(node.begin(), node.end(), [](char c) {
    return static_cast<unsigned char>(c) >= ' ' && c != '"' && c != '\\';
  });
}

std::optional<RecordTemplate> RecordTemplate::FromText(std::string_view text) {
  RecordTemplate shape;
  shape.text_ = std::string(text);
  const std::string_view all = shape.text_;
  std::size_t begin = 0;
  const auto end_piece = [&](std::size_t at, char then) {
    shape.pieces_.push_back({begin, at - begin, then});
    begin = at + 1;
  };
  // In a string, right behind its name; nobody else's member may be taken for it.
  const std::string node_place = Cat("\"", key::kNode, "\":\"", std::string_view(&kNode, 1), "\"");
  const std::size_t node_at = all.find(kNode);
  const std::size_t before = node_place.size() - 2;
  if (node_at == std::string_view::npos || node_at < before || node_at != all.rfind(kNode) ||
      all.substr(node_at - before, node_place.size()) != node_place) {
    return std::nullopt;
  }
  bool node_is_own = false;
  bool node_passed = false;
  std::set<std::string_view> members;
  Outline outline(all);
  while (outline.Next()) {
    const std::size_t at = outline.at();
    if (all[at] == ':') {
      // Of a name that is there twice, or spelled with escapes, readers may take another than the other does.
      if (outline.escaped()) return std::nullopt;
      if (outline.depth() == 1 && !members.insert(outline.name()).second) return std::nullopt;
      if (at + 2 == node_at) node_is_own = outline.depth() == 1;
    }
    if (all[at] != kNumber) continue;
    if (!node_passed && at > node_at) {
      end_piece(node_at, kNode);
      node_passed = true;
    }
    end_piece(at, kNumber);
    std::string name(outline.name());
    while (std::find(shape.names_.begin(), shape.names_.end(), name) != shape.names_.end()) name += '#';
    shape.names_.push_back(std::move(name));
    shape.own_.push_back(outline.depth() == 1);
  }
  if (!node_is_own) return std::nullopt;
  if (!node_passed) end_piece(node_at, kNode);
  end_piece(all.size(), '\0');
  const auto numbers = static_cast<std::size_t>(std::count(all.begin(), all.end(), kNumber));
  // One that is in a string is none that was put there.
  if (numbers != shape.names_.size() || numbers > kMostNumbers) return std::nullopt;
  return shape;
}

std::optional<RecordTemplate> RecordTemplate::Of(std::string_view record, std::string_view node,
                                                 std::vector<std::int64_t>& numbers) {
  numbers.clear();
  if (!IsPlain(node) || record.find(kNumber) != std::string_view::npos ||
      record.find(kNode) != std::string_view::npos) {
    return std::nullopt;
  }
  const std::string node_member = Cat("\"", key::kNode, "\":\"", node, "\"");
  const std::size_t node_at = record.find(node_member);
  if (node_at == std::string_view::npos) return std::nullopt;
  const std::size_t name_at = node_at + node_member.size() - 1 - node.size();
  std::string text;
  std::size_t copied = 0;
  const auto copy_until = [&](std::size_t at) {
    text += record.substr(copied, at - copied);
    copied = at;
  };
  bool node_passed = false;
  const auto pass_node = [&](std::size_t at) {
    if (node_passed || at < name_at) return;
    copy_until(name_at);
    text += kNode;
    copied += node.size();
    node_passed = true;
  };
  Outline outline(record);
  while (outline.Next()) {
    const char c = record[outline.at()];
    if (c != '-' && !IsDigit(c)) continue;
    std::int64_t value = 0;
    const std::size_t size = TakeInteger(record.data() + outline.at(), record.size() - outline.at(), value);
    const char after = outline.at() + size < record.size() ? record[outline.at() + size] : '\0';
    if (size == 0 || (after != ',' && after != '}' && after != ']')) {
      // Whatever number that is, it stays, to its last byte.
      std::size_t end = outline.at() + 1;
      while (end < record.size() && (IsDigit(record[end]) || std::strchr("+-.eE", record[end]) != nullptr))
        ++end;
      outline.Skip(end - outline.at());
      continue;
    }
    pass_node(outline.at());
    copy_until(outline.at());
    text += kNumber;
    copied += size;
    numbers.push_back(value);
    outline.Skip(size);
  }
  pass_node(record.size());
  copy_until(record.size());
  return FromText(text);
}

std::optional<std::size_t> RecordTemplate::NumberOf(std::string_view name) const {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    if (own_[i] && names_[i] == name) found = i;
  }
  return found;
}

std::size_t RecordTemplate::ReadFirst(std::string_view text, std::string_view node,
                                      std::int64_t* numbers) const {
  const char* at = text.data();
  const char* const end = at + text.size();
  for (const Piece& piece : pieces_) {
    if (static_cast<std::size_t>(end - at) < piece.size ||
        !SameBytes(at, text_.data() + piece.begin, piece.size)) {
      return 0;
    }
    at += piece.size;
    const auto left = static_cast<std::size_t>(end - at);
    if (piece.then == kNumber) {
      // What follows it in the text ends it.
      const std::size_t size = TakeInteger(at, left, *numbers++);
      if (size == 0) return 0;
      at += size;
    } else if (piece.then == kNode) {
      if (left < node.size() || !SameBytes(at, node.data(), node.size())) return 0;
      at += node.size();
    }
  }
  return static_cast<std::size_t>(at - text.data());
}

void RecordTemplate::Write(std::string_view node, const std::int64_t* numbers, std::string& record) const {
  for (const Piece& piece : pieces_) {
    record.append(text_, piece.begin, piece.size);
    if (piece.then == kNumber) {
      std::array<char, 24> digits{};
      const auto written = std::to_chars(digits.data(), digits.data() + digits.size(), *numbers++);
      record.append(digits.data(), static_cast<std::size_t>(written.ptr - digits.data()));
    } else if (piece.then == kNode) {
      record += node;
    }
  }
}

std::string KindOf(const RecordTemplate& shape) {
  const std::string_view text = shape.text();
  constexpr std::string_view kBefore = "\"kind\":\"";
  const std::size_t at = text.find(kBefore);
  if (at == std::string_view::npos) return "";
  const std::size_t begin = at + kBefore.size();
  return std::string(text.substr(begin, text.find('"', begin) - begin));
}

}  // namespace goodput
