// Fuzzes the reader of files to import: reading ends, and the values found lie in the file one after the
// other.
#include "tools/sources/import_export/json_stream.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include "tests/fuzz/target.h"
#include "tools/sources/logs/google_entry.h"

FUZZ_TARGET(json_stream) {
  using namespace goodput;
  const int fd = memfd_create("fuzz", 0);
  REQUIRE(write(fd, data, size) == static_cast<ssize_t>(size));
  const auto input = Input::Open("/proc/self/fd/" + std::to_string(fd));
  REQUIRE(input.ok());
  EntryStream stream(*input);
  GoogleEntryParser parser;
  GoogleEntry entry;
  EntryText value;
  std::int64_t behind = 0;
  for (std::size_t count = 0;; ++count) {
    const auto more = stream.Next(value);
    REQUIRE(more.ok());
    if (!*more) break;
    REQUIRE(count <= size);
    REQUIRE(value.offset >= behind && value.offset <= static_cast<std::int64_t>(size));
    REQUIRE(std::string_view(reinterpret_cast<const char*>(data), size)
                .substr(static_cast<std::size_t>(value.offset), value.text.size()) == value.text);
    behind = value.offset + static_cast<std::int64_t>(value.text.size());
    if (value.problem.empty()) (void)parser.Parse(value.text, entry);
  }
  REQUIRE(stream.fingerprint().Text() == *input->FingerprintOfAll());
  close(fd);
  return 0;
}
