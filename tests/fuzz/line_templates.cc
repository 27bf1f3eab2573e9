// Fuzzes lines of a spool file: each line, recognized by a template or parsed, gives the same result as the
// parser alone.
#include "sql/ingest/line_templates.h"

#include <cstdint>
#include <string>
#include <tuple>

#include "tests/fuzz/target.h"

FUZZ_TARGET(line_templates) {
  using namespace goodput;
  const std::string text(reinterpret_cast<const char*>(data), size);
  LineTemplates shapes;
  SpoolLineParser parser;
  const auto all = [](const SpoolLine& line) {
    return std::tie(line.t_ns, line.m_ns, line.kind, line.node, line.cluster, line.job, line.slurm_step,
                    line.task, line.is_step_mark, line.train_step, line.run);
  };
  // Each line twice, and then from another node: the second time uses what was learnt from the first.
  for (const std::string node : {"n1", "n1", "n2"}) {
    for (std::size_t at = 0; at < size;) {
      const std::size_t end = std::min(text.find('\n', at), size);
      std::string line = text.substr(at, end - at);
      at = end + 1;
      if (node == "n2") {
        const std::size_t name = line.find("\"n1\"");
        if (name != std::string::npos) line.replace(name, 4, "\"n2\"");
      }
      const std::size_t length = line.size();
      // A line is followed by another one, or by nothing.
      line += at % 2 == 0 ? "\n" : "";
      const std::size_t whole = line.size();
      line.append(SpoolLineParser::kPadding, '}');
      const std::string_view view(line.data(), length);
      const auto expected = parser.Parse(view);
      const auto record = shapes.Parse(std::string_view(line.data(), whole), node);
      REQUIRE(record.status() == expected.status());
      REQUIRE(shapes.line() == view);
      if (!record.ok()) continue;
      REQUIRE(all(*record) == all(*expected));
      if (shapes.shape() == nullptr) continue;
      std::string written;
      shapes.shape()->text().Write(node, shapes.numbers(), written);
      REQUIRE(written == view);
    }
  }
  return 0;
}
