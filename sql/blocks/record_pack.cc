#include "sql/blocks/record_pack.h"

#include <array>
#include <utility>

#include "spank/event.h"
#include "sql/blocks/deflate.h"
#include "sql/blocks/varint.h"

namespace goodput {
namespace {

constexpr std::uint64_t kPlain = 1;
constexpr std::uint64_t kCompressed = 2;
// Thousands of records of the largest size; more is a damaged length.
constexpr std::uint64_t kMostInflated = 64U << 20U;

void PutText(std::string_view text, std::string& data) {
  PutVarint(text.size(), data);
  data += text;
}

}  // namespace

RecordColumns::OfShape RecordColumns::Of(const RecordTemplate& shape) {
  OfShape of;
  for (const std::string& name : shape.names()) {
    of.columns.push_back(columns_.try_emplace(name, columns_.size()).first->second);
  }
  const std::optional<std::size_t> t = shape.NumberOf(key::kTime);
  const std::optional<std::size_t> m = shape.NumberOf(key::kMonotonic);
  if (t) of.t = *t;
  if (t && m && *t < *m) of.m = *m;
  return of;
}

void RecordPacker::SetFile(std::int64_t source_id, std::string_view node, std::string_view boot) {
  if (records_ > 0 && source_id == source_id_) return;
  source_id_ = source_id;
  node_ = node;
  boot_ = boot;
  new_file_ = true;
}

std::size_t RecordPacker::AddShape(const RecordTemplate& shape) {
  shapes_.push_back(&shape);
  of_shape_.push_back(columns_.Of(shape));
  last_.resize(columns_.size());
  clocks_.resize(columns_.size());
  return shapes_.size() - 1;
}

void RecordPacker::PutHead(std::size_t number, std::int64_t offset) {
  PutVarint(number << 1U | (new_file_ ? 1U : 0U), data_);
  if (new_file_) {
    PutVarint(Zigzag(Minus(source_id_, packed_source_id_)), data_);
    PutText(node_ == packed_node_ ? std::string_view() : node_, data_);
    PutText(boot_ == packed_boot_ ? std::string_view() : boot_, data_);
    packed_source_id_ = source_id_;
    packed_node_ = node_;
    packed_boot_ = boot_;
    offset_ = 0;
    new_file_ = false;
  }
  PutVarint(Zigzag(Minus(offset, offset_)), data_);
  offset_ = offset;
  ++records_;
}

void RecordPacker::AddText(std::int64_t offset, std::int64_t t_ns, std::string_view kind,
                           std::string_view record) {
  PutHead(0, offset);
  PutVarint(Zigzag(Minus(t_ns, text_t_ns_)), data_);
  text_t_ns_ = t_ns;
  PutText(kind, data_);
  PutText(record, data_);
}

void RecordPacker::Add(std::size_t shape, std::int64_t offset, const std::int64_t* numbers) {
  PutHead(shape + 1, offset);
  const RecordColumns::OfShape& of = of_shape_[shape];
  // Which they are comes before what they are.
  std::array<char, RecordTemplate::kMostNumbers * kMostVarint> differences;  // NOLINT: nothing reads the rest
  char* end = differences.data();
  std::uint64_t which = 0;
  for (std::size_t i = 0; i < of.columns.size(); ++i) {
    const std::int64_t value = i == of.m ? Minus(numbers[of.t], numbers[i]) : numbers[i];
    std::int64_t& last = i == of.m ? clocks_[of.columns[i]] : last_[of.columns[i]];
    if (value == last) continue;
    which |= std::uint64_t{1} << i;
    end = PutVarint(Zigzag(Minus(value, last)), end);
    last = value;
  }
  if (of.m != RecordColumns::kNone) last_[of.columns[of.m]] = numbers[of.m];
  PutVarint(which, data_);
  data_.append(differences.data(), static_cast<std::size_t>(end - differences.data()));
}

std::string RecordPacker::Body() const {
  std::string body;
  PutVarint(shapes_.size(), body);
  for (const RecordTemplate* shape : shapes_) PutText(shape->text(), body);
  PutVarint(static_cast<std::uint64_t>(records_), body);
  return body + data_;
}

std::string RecordPacker::Finish() const {
  std::string block;
  PutVarint(kPlain, block);
  return block + Body();
}

std::string RecordPacker::FinishCompressed() const {
  const std::string body = Body();
  std::string block;
  PutVarint(kCompressed, block);
  PutVarint(body.size(), block);
  return block + Deflate(body, DeflateFor::kText);
}

RecordUnpacker::RecordUnpacker(std::string_view data) : data_(data) {
  std::uint64_t format = 0;
  good_ = GetVarint(data_, at_, format) &&
          (format == kPlain || (format == kCompressed && ReadCompressed())) && ReadHeader();
}

bool RecordUnpacker::ReadCompressed() {
  std::uint64_t size = 0;
  if (!GetVarint(data_, at_, size) || size > kMostInflated) return false;
  if (!Inflate(data_.substr(at_), static_cast<std::size_t>(size), inflated_)) return false;
  data_ = inflated_;
  at_ = 0;
  return true;
}

bool RecordUnpacker::ReadHeader() {
  std::uint64_t shapes = 0;
  if (!GetVarint(data_, at_, shapes)) return false;
  RecordColumns columns;
  for (; shapes > 0; --shapes) {
    std::string_view text;
    std::optional<RecordTemplate> shape;
    if (TakeText(text)) shape = RecordTemplate::FromText(text);
    if (!shape) return false;
    of_shape_.push_back(columns.Of(*shape));
    if (of_shape_.back().t == RecordColumns::kNone) return false;
    kinds_.push_back(KindOf(*shape));
    shapes_.push_back(*std::move(shape));
  }
  last_.resize(columns.size());
  clocks_.resize(columns.size());
  return GetVarint(data_, at_, left_);
}

bool RecordUnpacker::TakeText(std::string_view& text) {
  std::uint64_t size = 0;
  if (!GetVarint(data_, at_, size) || size > data_.size() - at_) return false;
  text = data_.substr(at_, static_cast<std::size_t>(size));
  at_ += static_cast<std::size_t>(size);
  return true;
}

bool RecordUnpacker::TakeSigned(std::int64_t& value) {
  std::uint64_t packed = 0;
  if (!GetVarint(data_, at_, packed)) return false;
  value = Unzigzag(packed);
  return true;
}

bool RecordUnpacker::Next() {
  if (!good_) return false;
  if (left_ == 0) {
    good_ = at_ == data_.size();
    return false;
  }
  --left_;
  std::uint64_t head = 0;
  std::int64_t difference = 0;
  if (!GetVarint(data_, at_, head) || head >> 1U > shapes_.size()) return Fail();
  shape_ = static_cast<std::size_t>(head >> 1U) - 1;
  if ((head & 1U) != 0) {
    std::string_view node;
    std::string_view boot;
    if (!TakeSigned(difference) || !TakeText(node) || !TakeText(boot)) return Fail();
    source_id_ = Plus(source_id_, difference);
    if (!node.empty()) node_ = node;
    if (!boot.empty()) boot_ = boot;
    offset_ = 0;
  }
  if (node_.empty() || !TakeSigned(difference)) return Fail();
  offset_ = Plus(offset_, difference);
  if (shape_ == kNoShape) return ReadText() || Fail();
  const RecordColumns::OfShape& of = of_shape_[shape_];
  std::uint64_t which = 0;
  if (!GetVarint(data_, at_, which) || which >> of.columns.size() != 0) return Fail();
  for (std::size_t i = 0; which != 0; ++i, which >>= 1U) {
    if ((which & 1U) == 0) continue;
    if (!TakeSigned(difference)) return Fail();
    std::int64_t& last = i == of.m ? clocks_[of.columns[i]] : last_[of.columns[i]];
    last = Plus(last, difference);
  }
  if (of.m != RecordColumns::kNone)
    last_[of.columns[of.m]] = Minus(last_[of.columns[of.t]], clocks_[of.columns[of.m]]);
  return true;
}

bool RecordUnpacker::ReadText() {
  std::int64_t difference = 0;
  if (!TakeSigned(difference) || !TakeText(text_kind_) || !TakeText(text_)) return false;
  text_t_ns_ = Plus(text_t_ns_, difference);
  return true;
}

void RecordUnpacker::AppendText(std::string& record) const {
  if (shape_ == kNoShape) {
    record += text_;
    return;
  }
  std::array<std::int64_t, RecordTemplate::kMostNumbers> numbers{};
  const RecordTemplate& shape = shapes_[shape_];
  for (std::size_t i = 0; i < shape.names().size(); ++i) numbers[i] = number(i);
  shape.Write(node_, numbers.data(), record);
}

}  // namespace goodput
