// A small, strict JSON reader for tests: RFC 8259, valid UTF-8, no duplicate keys.
#pragma once

#include <cctype>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "spank/event.h"

namespace json_check {

struct Value;
using Object = std::map<std::string, Value>;
struct Value {
  char type = '0';  // 'o' object, 'a' array, 's' string, 'n' number, 'b' true or false, '0' null
  // The decoded string or the number's text. \u escapes below 256 are decoded as a single byte.
  std::string text;
  std::shared_ptr<Object> object;
  std::vector<Value> array;
  bool has(const std::string& key) const { return object && object->count(key) != 0; }
  const Value& at(const std::string& key) const { return object->at(key); }
};

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  std::optional<Value> Whole() {
    Value value;
    if (!Read(&value, 0)) return std::nullopt;
    return text_.empty() ? std::optional<Value>(value) : std::nullopt;
  }

 private:
  bool Take(char c) {
    if (text_.empty() || text_.front() != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  bool String(std::string* out) {
    if (!Take('"')) return false;
    while (!text_.empty()) {
      if (Take('"')) return true;
      if (Take('\\')) {
        if (text_.empty()) return false;
        const char c = text_.front();
        text_.remove_prefix(1);
        if (c == '"' || c == '\\' || c == '/') {
          *out += c;
        } else if (c == 'u' && text_.size() >= 4) {
          const std::string hex(text_.substr(0, 4));
          for (const char digit : hex) {
            if (std::isxdigit(static_cast<unsigned char>(digit)) == 0) return false;
          }
          const int code = std::stoi(hex, nullptr, 16);
          if (code > 255) return false;  // the tested writer produces no others
          *out += static_cast<char>(code);
          text_.remove_prefix(4);
        } else {
          return false;
        }
        continue;
      }
      if (static_cast<unsigned char>(text_.front()) < 0x20) return false;
      const std::size_t length = goodput::Utf8SequenceLength(text_);
      if (length == 0) return false;
      *out += text_.substr(0, length);
      text_.remove_prefix(length);
    }
    return false;
  }
  bool Digits(std::string* out) {
    const std::size_t before = out->size();
    while (!text_.empty() && text_.front() >= '0' && text_.front() <= '9') {
      *out += text_.front();
      text_.remove_prefix(1);
    }
    return out->size() > before;
  }
  bool Number(std::string* out) {
    if (Take('-')) *out += '-';
    const bool zero = !text_.empty() && text_.front() == '0';
    std::string whole;
    if (!Digits(&whole) || (zero && whole.size() > 1)) return false;
    *out += whole;
    if (Take('.')) {
      *out += '.';
      if (!Digits(out)) return false;
    }
    if (Take('e') || Take('E')) {
      *out += 'e';
      if (Take('+')) *out += '+';
      if (Take('-')) *out += '-';
      if (!Digits(out)) return false;
    }
    return true;
  }
  bool Word(std::string_view word) {
    if (text_.substr(0, word.size()) != word) return false;
    text_.remove_prefix(word.size());
    return true;
  }
  bool Read(Value* out, int depth) {
    if (depth > 8 || text_.empty()) return false;
    const char c = text_.front();
    if (c == '"') {
      out->type = 's';
      return String(&out->text);
    }
    if (c == '{') {
      out->type = 'o';
      out->object = std::make_shared<Object>();
      text_.remove_prefix(1);
      if (Take('}')) return true;
      do {
        std::string name;
        Value member;
        if (!String(&name) || !Take(':') || !Read(&member, depth + 1)) return false;
        if (!out->object->emplace(name, member).second) return false;
      } while (Take(','));
      return Take('}');
    }
    if (c == '[') {
      out->type = 'a';
      text_.remove_prefix(1);
      if (Take(']')) return true;
      do {
        out->array.emplace_back();
        if (!Read(&out->array.back(), depth + 1)) return false;
      } while (Take(','));
      return Take(']');
    }
    if (c == 't' || c == 'f') {
      out->type = 'b';
      return Word(c == 't' ? "true" : "false");
    }
    if (c == 'n') return Word("null");
    out->type = 'n';
    return Number(&out->text);
  }

  std::string_view text_;
};

inline std::optional<Value> Parse(std::string_view text) {
  return Reader(text).Whole();
}

// Parses a spool record: newline, one JSON object without a raw newline, newline.
inline std::optional<Value> ParseRecord(std::string_view record) {
  if (record.size() < 3 || record.size() > goodput::kMaxRecordBytes) return std::nullopt;
  if (record.front() != '\n' || record.back() != '\n') return std::nullopt;
  auto value = Parse(record.substr(1, record.size() - 2));
  return value && value->type == 'o' ? value : std::nullopt;
}

}  // namespace json_check
