// Isolates access to the shared folder in a child process, so that a hang there affects only the child.
#pragma once

#include <string>
#include <vector>

#include "tools/base/helper_process.h"
#include "tools/sources/shared_spool/shared_folder.h"

namespace goodput {

inline constexpr const char* kShipHelper = "ship";

// The helper; its only argument is the shared folder.
HelperAnswers ShipHelper(const std::vector<std::string>& arguments);

// Executes one encoded request with DirectSharedFolder and encodes the reply.
std::string AnswerShipRequest(SharedFolder& folder, std::string_view request);

// The parent's side. A helper that does not reply is an error like any other.
class RemoteSharedFolder final : public SharedFolder {
 public:
  // Borrows the process, whose helper is ShipHelper.
  RemoteSharedFolder(HelperProcess& process, std::string root) : process_(process), root_(std::move(root)) {}

  absl::StatusOr<SharedFile> Look(const std::string& folder, const std::string& file, bool settled) override;
  absl::StatusOr<SharedFile> Append(const std::string& folder, const std::string& file, std::int64_t offset,
                                    std::string_view bytes) override;
  absl::StatusOr<SharedFile> Replace(const std::string& folder, const std::string& file,
                                     std::string_view bytes) override;

 private:
  absl::StatusOr<SharedFile> Ask(char what, const std::string& folder, const std::string& file,
                                 std::int64_t number, std::string_view bytes);

  HelperProcess& process_;
  std::string root_;
};

}  // namespace goodput
