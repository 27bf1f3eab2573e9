#include "sql/record.h"

#include <simdjson.h>

#include "spank/event.h"

namespace goodput {

struct RecordReader::Impl {
  struct Member {
    std::string_view name;
    simdjson::dom::element value;
  };
  simdjson::dom::parser parser;
  simdjson::dom::object object;
  bool valid = false;
  std::vector<Member> members;  // of object; filled when the first is asked for

  // The first member of this name; null: there is none. A look through the list takes a fraction of one
  // through simdjson's tape, and a reader asks for up to 20 members.
  const simdjson::dom::element* Find(std::string_view name) {
    if (!valid) return nullptr;
    if (members.empty()) {
      for (const auto member : object) members.push_back({member.key, member.value});
    }
    for (const Member& member : members) {
      // Most names differ in their first letter.
      if (member.name.size() == name.size() && !name.empty() && member.name.front() == name.front() &&
          member.name == name)
        return &member.value;
    }
    return nullptr;
  }
  // Its value, of this type.
  template <typename T>
  bool Get(std::string_view name, T& value) {
    const simdjson::dom::element* element = Find(name);
    return element != nullptr && element->get(value) == simdjson::SUCCESS;
  }
};

namespace {

// Readers that nobody uses, of this thread: to make one takes longer than to parse a record. A reader with
// static storage would outlive them; there is none.
template <typename T>
std::vector<std::unique_ptr<T>>& Idle() {
  thread_local std::vector<std::unique_ptr<T>> idle;
  return idle;
}

constexpr std::size_t kMostIdle = 16;
constexpr std::size_t kMostIdleBytes = std::size_t{64} << 10U;

}  // namespace

RecordReader::RecordReader() {
  std::vector<std::unique_ptr<Impl>>& idle = Idle<Impl>();
  if (idle.empty()) {
    impl_ = std::make_unique<Impl>();
    return;
  }
  impl_ = std::move(idle.back());
  idle.pop_back();
}

RecordReader::~RecordReader() {
  std::vector<std::unique_ptr<Impl>>& idle = Idle<Impl>();
  if (idle.size() >= kMostIdle || impl_->parser.capacity() > kMostIdleBytes) return;
  impl_->valid = false;
  impl_->members.clear();
  idle.push_back(std::move(impl_));
}

bool RecordReader::Parse(std::string_view record) {
  impl_->members.clear();
  impl_->valid = impl_->parser.parse(record.data(), record.size()).get(impl_->object) == simdjson::SUCCESS;
  return impl_->valid;
}

std::optional<std::int64_t> RecordReader::Int(std::string_view name) const {
  std::int64_t value = 0;
  if (!impl_->Get(name, value)) return std::nullopt;
  return value;
}

std::string RecordReader::Text(std::string_view name) const {
  std::string_view value;
  if (!impl_->Get(name, value)) return {};
  return std::string(value);
}

std::vector<std::string> RecordReader::Texts(std::string_view name) const {
  std::vector<std::string> values;
  simdjson::dom::array array;
  if (!impl_->Get(name, array)) return values;
  for (const auto element : array) {
    std::string_view value;
    if (element.get(value) == simdjson::SUCCESS) values.emplace_back(value);
  }
  return values;
}

std::vector<std::int64_t> RecordReader::Ints(std::string_view name) const {
  std::vector<std::int64_t> values;
  simdjson::dom::array array;
  if (!impl_->Get(name, array)) return values;
  for (const auto element : array) {
    std::int64_t value = 0;
    if (element.get(value) != simdjson::SUCCESS) return {};
    values.push_back(value);
  }
  return values;
}

bool RecordReader::HasOpt() const {
  simdjson::dom::object opt;
  return impl_->Get(key::kOpt, opt);
}

std::string RecordReader::OptText(std::string_view name) const {
  simdjson::dom::object opt;
  std::string_view value;
  if (!impl_->Get(key::kOpt, opt) || opt[name].get(value) != simdjson::SUCCESS) {
    return {};
  }
  return std::string(value);
}

std::optional<double> RecordReader::OptNumber(std::string_view name) const {
  simdjson::dom::object opt;
  double value = 0;
  if (!impl_->Get(key::kOpt, opt) || opt[name].get(value) != simdjson::SUCCESS) {
    return std::nullopt;
  }
  return value;
}

std::map<std::string, std::string> RecordReader::OptTexts(std::string_view name) const {
  std::map<std::string, std::string> texts;
  simdjson::dom::object opt;
  simdjson::dom::object members;
  if (!impl_->Get(key::kOpt, opt) || opt[name].get(members) != simdjson::SUCCESS) {
    return texts;
  }
  for (const auto member : members) {
    std::string_view value;
    if (member.value.get(value) == simdjson::SUCCESS) texts.emplace(member.key, value);
  }
  return texts;
}

}  // namespace goodput
