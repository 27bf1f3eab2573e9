// A record as what others of its kind say, too, and the numbers that are its own. The records of thousands of
// tasks differ in nothing else but their node: they are recognized without being parsed, and kept as a few
// bytes each. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace goodput {

class RecordTemplate {
 public:
  // Stand in the text for a number and for the node's name; no JSON has them.
  static constexpr char kNumber = '\1';
  static constexpr char kNode = '\2';
  static constexpr std::size_t kMostNumbers = 32;

  // That of a record, a JSON object with `node` as its node, and its numbers. Absent: it has none: too many
  // numbers, a member that is there twice, a name that is spelled with escapes.
  static std::optional<RecordTemplate> Of(std::string_view record, std::string_view node,
                                          std::vector<std::int64_t>& numbers);
  // The shape that has this text. Absent: there is none.
  static std::optional<RecordTemplate> FromText(std::string_view text);

  const std::string& text() const { return text_; }
  // The name each number has, with `#` behind it where another before it has the same one.
  const std::vector<std::string>& names() const { return names_; }
  // Which of the numbers is the record's own member of that name, and no other member's member.
  std::optional<std::size_t> NumberOf(std::string_view name) const;

  // True: a node of this name may be in a shape.
  static bool IsPlain(std::string_view node);

  // True: the record is of this shape and of this node; then `numbers`, of which there must be room for
  // kMostNumbers, are its own. Whatever it is true for, Write gives back to the byte.
  bool Read(std::string_view record, std::string_view node, std::int64_t* numbers) const {
    return !record.empty() && ReadFirst(record, node, numbers) == record.size();
  }
  // The same of what `text` begins with; how many bytes that is. 0: it begins with no such record.
  std::size_t ReadFirst(std::string_view text, std::string_view node, std::int64_t* numbers) const;
  // Appends the record.
  void Write(std::string_view node, const std::int64_t* numbers, std::string& record) const;

 private:
  struct Piece {
    std::size_t begin;  // of what stays the same, in text_
    std::size_t size;
    char then;  // kNumber, kNode, or 0 at the end
  };
  std::string text_;
  std::vector<Piece> pieces_;
  std::vector<std::string> names_;
  std::vector<bool> own_;  // of each number: it is the record's own member
};

// The kind that all records of the template have.
std::string KindOf(const RecordTemplate& shape);

}  // namespace goodput
