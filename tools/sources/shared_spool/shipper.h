// Copies a node's records to the shared folder, byte for byte.
//
// Copying continues at the current end of the copy, not at a remembered position, so it does not matter which
// process wrote how much before, or died while writing. A copy that is longer than its original, or whose end
// differs, is not touched again: it is reported once and counted, and the other files continue. Two daemons
// of one node exclude each other with a lock in the node's own folder; even a late write of one that was
// believed dead writes the same bytes to the same place.
//
// A file that is completely copied and has not changed for long is removed here, after the server has written
// the copy to its disk and its size and end were checked again.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "spank/clock.h"
#include "spank/files.h"
#include "tools/sources/shared_spool/shared_folder.h"

namespace goodput {

// A writer may have opened a file before its hour ended and still write to it.
inline constexpr std::int64_t kLeastKeptS = 7200;
// After this time every copy is checked again, as after a start: a restored or another file system may have
// less.
inline constexpr std::int64_t kLookAgainS = 3600;

struct ShipReport {
  std::int64_t bytes = 0;    // copied
  std::int64_t removed = 0;  // files removed here
  bool whole = false;        // everything that can be copied is there
  absl::Status shared;       // of the shared folder; the rest of the pass was skipped
  // Problems on this side or of single files; the other files were copied. Each begins with the name of the
  // file or node.
  std::vector<std::string> problems;
};

class Shipper {
 public:
  struct Options {
    std::string spool_root;
    std::int64_t keep_s = 0;  // 0: for ever; otherwise at least kLeastKeptS
    // Of a node's folder: beyond it, copied files are removed whatever their age, the oldest first. 0: no
    // limit.
    std::int64_t most_bytes = 0;
    uid_t owner = 0;      // of the spool
    std::string boot_id;  // of this boot, as in the names of files being written
    Files* files = &RealFiles();
    Clock clock = kSystemClock;
  };
  // Borrows the shared folder.
  Shipper(Options options, SharedFolder& shared);
  ~Shipper();

  // Copies what is new for every node of the spool, oldest files first. `out_of_time` is called between two
  // pieces.
  ShipReport Pass(const std::function<bool()>& out_of_time);

 private:
  struct Copy {
    bool looked = false;
    bool refused = false;
    std::int64_t size = 0;  // of the copy when it was last seen
  };
  struct Node {
    std::unique_ptr<Fd> lock;
    std::map<std::string, Copy> copies;
    std::string heartbeat;  // as it was last copied
    std::string counts;
  };
  struct Original {
    std::string name;
    std::int64_t size = 0;
    std::int64_t mtime_s = 0;
    std::int64_t mtime_ns = 0;
  };
  // The state of one pass.
  struct Round;

  void PassNode(const std::string& name, Round& round);
  bool LockNode(Node& node, int folder) const;
  bool CopyFile(const std::string& node, int folder, const Original& original, Copy& copy, Round& round);
  bool LookAt(const std::string& node, int fd, const Original& original, Copy& copy, Round& round);
  bool Remove(const std::string& node, int folder, const Original& original, Copy& copy, Round& round);
  std::string ReadSmall(int folder, const char* name) const;
  std::string Counts(int root, int folder, const Node& node, bool first) const;
  bool Seen(const SharedFile& found, Round& round);
  static bool GoesOn(const absl::Status& trouble, Round& round);
  void Forget();

  Options options_;
  SharedFolder& shared_;
  std::map<std::string, Node> nodes_;
  std::string place_;
  std::int64_t looked_s_ = 0;
};

}  // namespace goodput
