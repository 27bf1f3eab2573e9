#include "sql/ingest/line_templates.h"

#include <algorithm>
#include <utility>

#include "spank/event.h"
#include "sql/spool_line.h"

namespace goodput {
namespace {

bool IsOfSlurmd(std::string_view kind) {
  return kind == kind::kJobProlog || kind == kind::kStepStart || kind == kind::kTaskStart ||
         kind == kind::kTaskExit || kind == kind::kStepEnd || kind == kind::kJobEpilog;
}

// A mark of a checkpoint. No string within a record has such quotes.
bool IsOfSave(std::string_view kind, std::string_view record) {
  return kind == kind::kMark && record.find(R"("mark":"checkpoint")") != std::string_view::npos;
}

}  // namespace

bool LineTemplates::Begins(std::string_view text, const Shape& shape, std::string_view node) {
  const std::size_t size = shape.text_.ReadFirst(text, node, numbers_.data());
  if (size == 0 || size > kMaxRecordBytes || (size < text.size() && text[size] != '\n')) return false;
  line_ = text.substr(0, size);
  return numbers_[shape.version_at_] == shape.version_ && IsTime(numbers_[shape.t_at_]) &&
         IsTime(numbers_[shape.m_at_]);
}

SpoolLine LineTemplates::Line(const Shape& shape, std::string_view node) const {
  SpoolLine line;
  line.t_ns = numbers_[shape.t_at_];
  line.m_ns = numbers_[shape.m_at_];
  line.kind = shape.kind_;
  line.node = node;
  line.cluster = shape.cluster_;
  line.slurm_step = shape.slurm_step_;
  line.run = shape.run_;
  line.is_step_mark = shape.is_step_mark_;
  if (shape.job_at_) line.job = numbers_[*shape.job_at_];
  if (shape.task_at_) line.task = numbers_[*shape.task_at_];
  if (shape.train_step_at_) line.train_step = numbers_[*shape.train_step_at_];
  return line;
}

// Only where each number the parser took is found in its place.
LineTemplates::Shape* LineTemplates::Learn(std::string_view node, const SpoolLine& record) {
  if (shapes_.size() >= kMost || record.node != node) return nullptr;
  std::vector<std::int64_t> numbers;
  std::optional<RecordTemplate> text = RecordTemplate::Of(line_, node, numbers);
  if (!text) return nullptr;
  for (std::size_t i = 0; i < shapes_.size(); ++i) {
    if (shapes_[i]->text_.text() == text->text())
      return Begins(line_, *shapes_[i], node) ? ToFront(i) : nullptr;
  }
  auto shape = std::unique_ptr<Shape>(new Shape(*std::move(text)));
  const auto at = [&](std::string_view name) { return shape->text_.NumberOf(name); };
  const std::optional<std::size_t> version = at(key::kVersion);
  const std::optional<std::size_t> t = at(key::kTime);
  const std::optional<std::size_t> m = at(key::kMonotonic);
  if (!version || !t || !m || numbers[*t] != record.t_ns || numbers[*m] != record.m_ns) return nullptr;
  shape->version_at_ = *version;
  shape->version_ = numbers[*version];
  shape->t_at_ = *t;
  shape->m_at_ = *m;
  shape->job_at_ = at(key::kJob);
  shape->task_at_ = at(key::kTask);
  shape->train_step_at_ = at(key::kTrainStep);
  const auto same = [&](const std::optional<std::size_t>& place, const std::optional<std::int64_t>& value) {
    return place ? value == numbers[*place] : !value;
  };
  const std::int64_t train_step = shape->train_step_at_ ? numbers[*shape->train_step_at_] : 0;
  if (!same(shape->job_at_, record.job) || !same(shape->task_at_, record.task) ||
      train_step != record.train_step) {
    return nullptr;
  }
  shape->kind_ = std::string(record.kind);
  shape->cluster_ = std::string(record.cluster);
  shape->slurm_step_ = std::string(record.slurm_step);
  shape->run_ = std::string(record.run);
  shape->is_step_mark_ = record.is_step_mark;
  shape->of_slurmd_ = IsOfSlurmd(record.kind);
  shape->of_save_ = IsOfSave(record.kind, shape->text_.text());
  shape->begins_work_ = record.kind == kind::kJobProlog || record.kind == kind::kStepStart;
  shape->number_ = shapes_.size();
  std::copy(numbers.begin(), numbers.end(), numbers_.begin());
  shapes_.insert(shapes_.begin(), std::move(shape));
  return shapes_.front().get();
}

LineTemplates::Shape* LineTemplates::ToFront(std::size_t at) {
  const auto found = shapes_.begin() + static_cast<std::ptrdiff_t>(at);
  std::rotate(shapes_.begin(), found, found + 1);
  return shapes_.front().get();
}

void LineTemplates::Follow(Shape* shape) {
  shape_ = shape;
  if (before_ != nullptr) before_->next_ = shape;
  before_ = shape;
}

absl::StatusOr<SpoolLine> LineTemplates::Parse(std::string_view text, std::string_view node) {
  shape_ = nullptr;
  if (node != node_) {
    node_ = std::string(node);
    node_is_plain_ = RecordTemplate::IsPlain(node);
  }
  // Where a line ends is not looked for before: one that is recognized says it.
  if (node_is_plain_) {
    if (before_ != nullptr && before_->next_ != nullptr && Begins(text, *before_->next_, node)) {
      Follow(before_->next_);
      return Line(*shape_, node);
    }
    const std::size_t tried = std::min(kTried, shapes_.size());
    for (std::size_t i = 0; i < tried; ++i) {
      if (!Begins(text, *shapes_[i], node)) continue;
      Follow(ToFront(i));
      return Line(*shape_, node);
    }
  }
  line_ = text.substr(0, text.find('\n'));
  absl::StatusOr<SpoolLine> record = parser_.Parse(line_);
  if (!record.ok()) return record;
  if (Shape* learnt = Learn(node, *record); learnt != nullptr) {
    Follow(learnt);
    return Line(*shape_, node);
  }
  return record;
}

}  // namespace goodput
