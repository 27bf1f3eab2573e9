// Reads the members of a spool record by name, as stored in the database.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace goodput {

// Parses one record at a time; a value of another type than requested is absent.
class RecordReader {
 public:
  RecordReader();
  ~RecordReader();
  // False: not a JSON object; then every member is absent.
  bool Parse(std::string_view record);
  std::optional<std::int64_t> Int(std::string_view name) const;
  std::string Text(std::string_view name) const;  // empty when absent
  std::vector<std::string> Texts(std::string_view name) const;
  // An array of whole numbers; empty when absent, or if an element is something else.
  std::vector<std::int64_t> Ints(std::string_view name) const;
  bool HasOpt() const;                               // whether there is an object `opt`
  std::string OptText(std::string_view name) const;  // member of `opt`
  std::optional<double> OptNumber(std::string_view name) const;
  std::map<std::string, std::string> OptTexts(std::string_view name) const;  // all members of that object

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace goodput
