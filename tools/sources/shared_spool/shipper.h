// A node's records copied to the shared folder, byte for byte.
//
// A copy goes on where it ends, by its own size, never by what this process remembers; so it does not matter
// who wrote how much of it before, or died doing so. A copy that is longer than its original, or whose end
// differs from it, is not touched again: it is said once, counted, and the others go on. Two daemons of one
// node keep apart by a lock in the node's own folder; even a write of one that was believed dead puts the
// same bytes into the same place.
//
// What has been copied whole and not been touched for long is removed here, after the server has been made to
// write it to its disk and its size and end were looked at once more.
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
// After so long every copy is looked at again, as after a start: a restored or another file system has less.
inline constexpr std::int64_t kLookAgainS = 3600;

struct ShipReport {
  std::int64_t bytes = 0;    // copied
  std::int64_t removed = 0;  // files, here
  bool whole = false;        // all that can be copied is there
  absl::Status shared;       // of the shared folder: the rest of the pass was left out
  // Of this side or of one file; the others were copied. Each begins with what it is about.
  std::vector<std::string> problems;
};

class Shipper {
 public:
  struct Options {
    std::string spool_root;
    std::int64_t keep_s = 0;  // 0: for ever; else at least kLeastKeptS
    uid_t owner = 0;          // of the spool
    std::string boot_id;      // of this boot, in the names of the files that are written to
    Files* files = &RealFiles();
    Clock clock = kSystemClock;
  };
  // Borrows the shared folder.
  Shipper(Options options, SharedFolder& shared);
  ~Shipper();

  // Copies what is new of every node of the spool, oldest files first. `out_of_time` is asked between two
  // pieces.
  ShipReport Pass(const std::function<bool()>& out_of_time);

 private:
  struct Copy {
    bool looked = false;
    bool refused = false;
    std::int64_t size = 0;  // of the copy, as it was last seen
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
  // What one pass works with.
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
