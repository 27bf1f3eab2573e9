// Which user owns which job on which node, from what the plugin wrote to the spool: only root can write
// there.
#ifndef GOODPUT_TOOLS_GOODPUTD_JOB_OWNERS_H_
#define GOODPUT_TOOLS_GOODPUTD_JOB_OWNERS_H_

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace goodput {

class JobOwners {
 public:
  explicit JobOwners(std::string spool_root) : spool_root_(std::move(spool_root)) {}

  struct Job {
    uid_t uid = 0;
    std::string cluster;
    std::string first_node;  // where a mark goes that names no node
    std::map<std::string, bool> nodes;
  };
  // Looks at what the spool gained when the job is not known yet. Valid until the next call.
  const Job* Find(std::int64_t job);

 private:
  void Refresh();
  void ReadFile(const std::string& node, const std::string& path, std::int64_t& offset);
  void TakeLine(const std::string& node, std::string_view line);

  std::string spool_root_;
  std::map<std::string, std::int64_t> offsets_;  // by path
  std::map<std::int64_t, Job> jobs_;
};

}  // namespace goodput

#endif  // GOODPUT_TOOLS_GOODPUTD_JOB_OWNERS_H_
