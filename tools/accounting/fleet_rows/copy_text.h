// Fields of COPY's text format, as the lines of FleetRows have them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace goodput {

// The value of a field; absent: NULL.
std::optional<std::string> ReadCopyField(std::string_view field);

}  // namespace goodput
