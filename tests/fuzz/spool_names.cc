// Fuzzes the names of folders and files in the shared spool: whatever they are called, only records of a
// folder that can be a node's are taken, and they are that node's.
//
// Each line of the input is FOLDER/FILE.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "spank/json_text.h"
#include "spank/spool.h"
#include "sql/database.h"
#include "sql/ingest/ingest.h"
#include "sql/text.h"
#include "tests/fuzz/target.h"

namespace {

using namespace goodput;

constexpr std::size_t kMostNames = 8;

// Ends with the process.
struct Place {
  Place() {
    std::string name = "/dev/shm/goodput-fuzz-XXXXXX";
    REQUIRE(mkdtemp(name.data()) != nullptr);
    folder = name;
    database.emplace(*Database::Open(folder + "/db", Database::Mode::kReadWrite));
  }
  ~Place() {
    database.reset();
    std::filesystem::remove_all(folder);
  }
  std::string folder;
  std::optional<Database> database;
};

void AppendTo(const std::string& path, const std::string& text) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0) return;  // no name for a file
  REQUIRE(write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  close(fd);
}

}  // namespace

FUZZ_TARGET(spool_names) {
  static Place place;
  const std::string spool = place.folder + "/spool";
  std::filesystem::remove_all(spool);
  REQUIRE(mkdir(spool.c_str(), 0700) == 0);
  const std::vector<std::string> names =
      absl::StrSplit(std::string(reinterpret_cast<const char*>(data), size), '\n');
  for (std::size_t i = 0; i < names.size() && i < kMostNames; ++i) {
    const std::vector<std::string> parts = absl::StrSplit(names[i], absl::MaxSplits('/', 1));
    const std::string& folder = parts.front();
    const std::string& file = parts.back();
    if (folder.empty() || folder == "." || folder == ".." || file.find('/') != std::string::npos) continue;
    if (folder.find('\0') != std::string::npos || file.find('\0') != std::string::npos) continue;
    mkdir(Cat(spool, "/", folder).c_str(), 0700);
    AppendTo(Cat(spool, "/", folder, "/", file),
             Cat(R"({"v":1,"t":1767225600000000000,"m":1,"kind":"task_start","cluster":"c","job":7,"node":)",
                 QuotedJson(folder), "}\n"));
  }
  IngestOptions options;
  options.cluster = "c";
  options.shared = true;
  options.owner = geteuid();
  const absl::StatusOr<IngestReport> report = IngestSpool(*place.database, spool, options);
  REQUIRE(report.ok());
  Statement rows = place.database->Prepare("SELECT node, file FROM source");
  while (rows.Step()) {
    const std::string node = rows.Text(0);
    REQUIRE(IsNodeFolderName(node) && node.front() != '@');
    REQUIRE(rows.Text(1).find('/') == std::string::npos);
  }
  REQUIRE(rows.status().ok());
  for (const char* table : {"event", "quarantine", "job_seen", "source"})
    REQUIRE(place.database->Prepare(Cat("DELETE FROM ", table)).Run().ok());
  return 0;
}
