#include "tools/sources/google_cloud/error_details.h"

namespace goodput {

std::vector<simdjson::dom::element> ErrorDetails(simdjson::dom::parser& parser, const std::string& body) {
  std::vector<simdjson::dom::element> all;
  simdjson::dom::element parsed;
  simdjson::dom::array details;
  if (parser.parse(body).get(parsed) != simdjson::SUCCESS ||
      parsed["error"]["details"].get(details) != simdjson::SUCCESS)
    return all;
  for (const simdjson::dom::element detail : details) all.push_back(detail);
  return all;
}

}  // namespace goodput
