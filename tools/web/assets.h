// The web page's files, embedded in the program.
#pragma once

#include <string_view>
#include <vector>

namespace goodput {

struct WebAsset {
  std::string_view name;  // "index.html", "style.css", "main.js": as the page refers to them
  std::string_view type;  // for Content-Type
  std::string_view body;
};

// index.html first; it refers to all others.
const std::vector<WebAsset>& WebAssets();

}  // namespace goodput
