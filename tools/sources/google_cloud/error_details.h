// What a service of Google says about a refusal beside its message.
#pragma once

#include <simdjson.h>

#include <string>
#include <vector>

namespace goodput {

// error.details of the body of an answer; they are valid as long as `parser` is.
std::vector<simdjson::dom::element> ErrorDetails(simdjson::dom::parser& parser, const std::string& body);

}  // namespace goodput
