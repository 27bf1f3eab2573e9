#include "tools/web/single_page.h"

#include <cstddef>

#include "sql/text.h"

namespace goodput {
namespace {

// Within a script element only "</script" and "<!--" are special; in JSON, `<` only occurs in strings.
std::string Harmless(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (const char c : json) {
    if (c == '<') {
      out += "\\u003c";
    } else {
      out.push_back(c);
    }
  }
  return out;
}

void Replace(std::string_view what, std::string_view with, std::string& page) {
  const std::size_t at = page.find(what);
  if (at != std::string::npos) page.replace(at, what.size(), with);
}

constexpr std::string_view kMayLoadNothing =
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; style-src "
    "'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n";

}  // namespace

std::string SinglePage(const std::vector<WebAsset>& assets, std::string_view json) {
  std::string page(assets.front().body);
  std::string scripts = Cat("<script type=\"application/json\" id=\"run\">", Harmless(json), "</script>\n");
  for (const WebAsset& asset : assets) {
    Replace(Cat("<link rel=\"stylesheet\" href=\"", asset.name, "\">"),
            Cat("<style>\n", asset.body, "</style>"), page);
    const std::string reference = Cat("<script src=\"", asset.name, "\" defer></script>\n");
    if (page.find(reference) == std::string::npos) continue;
    Replace(reference, "", page);
    scripts += Cat("<script>\n", asset.body, "</script>\n");
  }
  Replace("<meta charset=\"utf-8\">\n", Cat("<meta charset=\"utf-8\">\n", kMayLoadNothing), page);
  Replace("</body>", Cat(scripts, "</body>"), page);
  return page;
}

}  // namespace goodput
