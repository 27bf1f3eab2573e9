// Spool lines of which most were written by the same few lines of code: one that is like another but for its
// numbers is recognized and not parsed, and is understood as its parser would have understood it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "sql/blocks/record_template.h"
#include "sql/spool_line.h"

namespace goodput {

class LineTemplates {
 public:
  class Shape {
   public:
    const RecordTemplate& text() const { return text_; }
    std::size_t number() const { return number_; }  // from 0, of those learnt
    // There may be very many of a job: of slurmd's hooks on its nodes, or of marks of its saves.
    bool may_be_many() const { return of_slurmd_ || of_save_; }
    bool of_save() const { return of_save_; }
    // Jobs tell of themselves in these.
    bool begins_work() const { return begins_work_; }

   private:
    friend class LineTemplates;
    explicit Shape(RecordTemplate text) : text_(std::move(text)) {}
    RecordTemplate text_;
    std::size_t number_ = 0;
    // What is the same in all of its lines.
    std::string kind_, cluster_, slurm_step_, run_;
    bool is_step_mark_ = false;
    bool of_slurmd_ = false;
    bool of_save_ = false;
    bool begins_work_ = false;
    std::int64_t version_ = 0;
    std::size_t version_at_ = 0, t_at_ = 0, m_at_ = 0;
    std::optional<std::size_t> job_at_, task_at_, train_step_at_;
    Shape* next_ = nullptr;  // the last that came after it
  };

  // As SpoolLineParser::Parse, of the line in `node`'s folder that `text` begins with. What the line is views
  // into stays until this is destroyed where shape() is not null, else until the next line.
  absl::StatusOr<SpoolLine> Parse(std::string_view text, std::string_view node);
  // The line at hand, without its newline.
  std::string_view line() const { return line_; }
  // Of the line at hand; null: it is like no other, or cannot be told to be.
  const Shape* shape() const { return shape_; }
  const std::int64_t* numbers() const { return numbers_.data(); }

 private:
  // More than this are no shapes any more: a text in them differs each time.
  static constexpr std::size_t kMost = 256;
  // Shapes a line is compared with.
  static constexpr std::size_t kTried = 16;

  // True: what `text` begins with is a line of the shape; then it is line_, and its numbers are numbers_.
  bool Begins(std::string_view text, const Shape& shape, std::string_view node);
  SpoolLine Line(const Shape& shape, std::string_view node) const;
  Shape* Learn(std::string_view node, const SpoolLine& record);
  void Follow(Shape* shape);
  Shape* ToFront(std::size_t at);

  SpoolLineParser parser_;
  std::vector<std::unique_ptr<Shape>> shapes_;  // the one that was used last is first
  std::array<std::int64_t, RecordTemplate::kMostNumbers> numbers_{};
  std::string_view line_;
  Shape* shape_ = nullptr;
  Shape* before_ = nullptr;
  std::string node_;  // of the line at hand
  bool node_is_plain_ = false;
};

}  // namespace goodput
