#include "sql/blocks/mark_block.h"

#include <cstddef>

#include "sql/blocks/varint.h"

namespace goodput {
namespace {

constexpr unsigned kKindBits = 3U;
constexpr unsigned kBegin = 4U;
constexpr unsigned kHasStep = 8U;
constexpr unsigned kOthers = 16U;  // not of the name, Slurm step and task of the mark before
constexpr unsigned kEnded = 32U;   // its end, one byte on in the file, is the mark after it
constexpr unsigned kAllFlags = 63U;

bool GetSigned(std::string_view data, std::size_t& at, std::int64_t before, std::int64_t& value) {
  std::uint64_t packed = 0;
  if (!GetVarint(data, at, packed)) return false;
  value = Plus(before, Unzigzag(packed));
  return true;
}

bool GetWord(std::string_view data, std::size_t& at, const std::vector<std::string_view>& words,
             std::string_view& word) {
  std::uint64_t index = 0;
  if (!GetVarint(data, at, index) || index > words.size()) return false;
  word = index == 0 ? std::string_view() : words[index - 1];
  return true;
}

}  // namespace

std::uint64_t MarkPacker::WordOf(std::string_view word) {
  if (word.empty()) return 0;
  const auto found = index_.find(word);
  if (found != index_.end()) return found->second;
  words_.emplace_back(word);
  index_.emplace(std::string(word), words_.size());
  return words_.size();
}

bool MarkPacker::IsEndOfLast(const PackedMark& mark, std::uint64_t name, std::uint64_t slurm_step) const {
  return open_ && !mark.begin && mark.kind == last_kind_ && mark.step == last_step_ && name == name_ &&
         slurm_step == slurm_step_ && mark.task == task_ && mark.offset == Plus(offset_, 1);
}

void MarkPacker::Add(const PackedMark& mark) {
  const std::uint64_t name = WordOf(mark.name);
  const std::uint64_t slurm_step = WordOf(mark.slurm_step);
  if (IsEndOfLast(mark, name, slurm_step)) {
    bytes_[last_at_] = static_cast<char>(static_cast<unsigned char>(bytes_[last_at_]) | kEnded);
    PutVarint(Zigzag(Minus(mark.t_ns, t_ns_)), bytes_);
    t_ns_ = mark.t_ns;
    offset_ = mark.offset;
    open_ = false;
    ++marks_;
    return;
  }
  const bool others = name != name_ || slurm_step != slurm_step_ || mark.task != task_;
  unsigned flags = static_cast<unsigned>(mark.kind);
  if (mark.begin) flags |= kBegin;
  if (mark.step) flags |= kHasStep;
  if (others) flags |= kOthers;
  open_ = mark.begin;
  last_kind_ = mark.kind;
  last_step_ = mark.step;
  last_at_ = bytes_.size();
  bytes_.push_back(static_cast<char>(flags));
  PutVarint(Zigzag(Minus(mark.t_ns, t_ns_)), bytes_);
  PutVarint(Zigzag(Minus(mark.offset, offset_)), bytes_);
  t_ns_ = mark.t_ns;
  offset_ = mark.offset;
  if (mark.step) {
    PutVarint(Zigzag(Minus(*mark.step, step_)), bytes_);
    step_ = *mark.step;
  }
  if (others) {
    PutVarint(name_ = name, bytes_);
    PutVarint(slurm_step_ = slurm_step, bytes_);
    PutVarint(Zigzag(Minus(mark.task, task_)), bytes_);
    task_ = mark.task;
  }
  ++marks_;
}

std::string MarkPacker::Finish() const {
  std::string data;
  PutVarint(words_.size(), data);
  for (const std::string& word : words_) {
    PutVarint(word.size(), data);
    data += word;
  }
  return data + bytes_;
}

bool UnpackMarks(std::string_view data, const std::function<void(const PackedMark&)>& take) {
  std::size_t at = 0;
  std::uint64_t count = 0;
  if (!GetVarint(data, at, count)) return false;
  std::vector<std::string_view> words;
  while (count-- > 0) {
    std::uint64_t size = 0;
    if (!GetVarint(data, at, size) || size > data.size() - at) return false;
    words.push_back(data.substr(at, static_cast<std::size_t>(size)));
    at += static_cast<std::size_t>(size);
  }
  PackedMark mark;
  std::int64_t step = 0;
  while (at < data.size()) {
    const unsigned flags = static_cast<unsigned char>(data[at++]);
    if (flags > kAllFlags || (flags & kKindBits) > static_cast<unsigned>(PackedMark::Kind::kStepEnd))
      return false;
    mark.kind = static_cast<PackedMark::Kind>(flags & kKindBits);
    mark.begin = (flags & kBegin) != 0;
    mark.step.reset();
    if (!GetSigned(data, at, mark.t_ns, mark.t_ns) || !GetSigned(data, at, mark.offset, mark.offset))
      return false;
    if ((flags & kHasStep) != 0) {
      if (!GetSigned(data, at, step, step)) return false;
      mark.step = step;
    }
    if ((flags & kOthers) != 0 &&
        (!GetWord(data, at, words, mark.name) || !GetWord(data, at, words, mark.slurm_step) ||
         !GetSigned(data, at, mark.task, mark.task))) {
      return false;
    }
    take(mark);
    if ((flags & kEnded) == 0) continue;
    mark.begin = false;
    mark.offset = Plus(mark.offset, 1);
    if (!GetSigned(data, at, mark.t_ns, mark.t_ns)) return false;
    take(mark);
  }
  return true;
}

}  // namespace goodput
