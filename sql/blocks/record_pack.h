// Thousands of records of one job in few bytes: each as its template (record_template.h) and its numbers or,
// if it has no template, as its text. Pure. docs/formats/record_block.md describes the bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sql/blocks/record_template.h"

namespace goodput {

// Which number of a name each number of a shape is.
class RecordColumns {
 public:
  struct OfShape {
    std::vector<std::size_t> columns;
    std::size_t t = kNone;  // of its numbers, the time
    std::size_t m = kNone;  // where it comes behind that
  };
  static constexpr std::size_t kNone = ~std::size_t{0};

  OfShape Of(const RecordTemplate& shape);
  std::size_t size() const { return columns_.size(); }

 private:
  std::map<std::string, std::size_t, std::less<>> columns_;
};

class RecordPacker {
 public:
  // The file the next records are of. Both texts must stay.
  void SetFile(std::int64_t source_id, std::string_view node, std::string_view boot);
  // Index of a shape, for Add. It must have a time, and must stay.
  std::size_t AddShape(const RecordTemplate& shape);
  void Add(std::size_t shape, std::int64_t offset, const std::int64_t* numbers);
  // Adds a record that has no template.
  void AddText(std::int64_t offset, std::int64_t t_ns, std::string_view kind, std::string_view record);
  std::int64_t records() const { return records_; }
  std::string Finish() const;
  // The same block compressed.
  std::string FinishCompressed() const;

 private:
  void PutHead(std::size_t number, std::int64_t offset);
  std::string Body() const;

  std::vector<const RecordTemplate*> shapes_;
  std::vector<RecordColumns::OfShape> of_shape_;
  RecordColumns columns_;
  std::vector<std::int64_t> last_;    // by column
  std::vector<std::int64_t> clocks_;  // by column, instead of `m`
  std::int64_t records_ = 0;
  std::string data_;
  std::int64_t source_id_ = 0;
  std::string_view node_;
  std::string_view boot_;
  std::string_view packed_node_;
  std::string_view packed_boot_;
  std::int64_t packed_source_id_ = 0;
  bool new_file_ = true;
  std::int64_t offset_ = 0;
  std::int64_t text_t_ns_ = 0;
};

// Reads them in order. The bytes must stay.
class RecordUnpacker {
 public:
  explicit RecordUnpacker(std::string_view data);
  RecordUnpacker(const RecordUnpacker&) = delete;
  RecordUnpacker& operator=(const RecordUnpacker&) = delete;

  const std::vector<RecordTemplate>& shapes() const { return shapes_; }
  // False: there are no more, or these are no such bytes; then good() is false.
  bool Next();
  bool good() const { return good_; }

  // Of the record at hand.
  static constexpr std::size_t kNoShape = ~std::size_t{0};
  std::size_t shape() const { return shape_; }  // kNoShape: it is a text
  std::int64_t source_id() const { return source_id_; }
  std::string_view node() const { return node_; }
  std::string_view boot() const { return boot_; }
  std::int64_t offset() const { return offset_; }
  std::int64_t t_ns() const { return shape_ == kNoShape ? text_t_ns_ : number(of_shape_[shape_].t); }
  std::string_view kind() const { return shape_ == kNoShape ? text_kind_ : kinds_[shape_]; }
  std::int64_t number(std::size_t index) const { return last_[of_shape_[shape_].columns[index]]; }
  void AppendText(std::string& record) const;

 private:
  bool Fail() {
    good_ = false;
    return false;
  }
  bool ReadCompressed();
  bool ReadHeader();
  bool ReadText();
  bool TakeText(std::string_view& text);
  bool TakeSigned(std::int64_t& value);

  std::string inflated_;
  std::string_view data_;
  std::size_t at_ = 0;
  bool good_ = true;
  std::uint64_t left_ = 0;
  std::vector<RecordTemplate> shapes_;
  std::vector<std::string> kinds_;  // by shape
  std::vector<RecordColumns::OfShape> of_shape_;
  std::vector<std::int64_t> last_;
  std::vector<std::int64_t> clocks_;  // by column, instead of `m`
  std::size_t shape_ = 0;
  std::int64_t source_id_ = 0;
  std::string_view node_;
  std::string_view boot_;
  std::int64_t offset_ = 0;
  std::int64_t text_t_ns_ = 0;
  std::string_view text_kind_;
  std::string_view text_;
};

}  // namespace goodput
