// A real directory as FolderView: never follows links out of it, and bounds the cost of a scan.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/goodputd/checkpoints/folder_watch.h"
#include "tools/goodputd/checkpoints/layout.h"

namespace goodput {

// What one scan may still look at. Once it is used up, everything else appears empty.
struct ScanBudget {
  std::size_t names = 200'000;
  std::size_t files = 20'000;  // whose times or contents are read
  std::size_t folders = 2'000;
  bool spent = false;
  bool watched = true;            // every relevant folder is watched
  FolderWatch* watch = nullptr;   // null: watches nothing
  std::function<void()> working;  // called from time to time to report progress
};

class OpenFolder : public FolderView {
 public:
  // Takes ownership of `fd`.
  OpenFolder(int fd, ScanBudget& budget);
  ~OpenFolder() override;
  OpenFolder(const OpenFolder&) = delete;
  OpenFolder& operator=(const OpenFolder&) = delete;

  const std::vector<FolderEntry>& Entries() const override;
  std::optional<FileTimes> Times(const std::string& name) const override;
  std::optional<std::string> Read(const std::string& name) const override;
  std::optional<std::string> Head(const std::string& name, std::size_t bytes) const override;
  std::optional<std::string> Tail(const std::string& name, std::size_t bytes) const override;
  std::unique_ptr<FolderView> Open(const std::string& name) const override;
  void Watch() const override;

 private:
  std::vector<FolderEntry> List() const;
  enum class Part { kWhole, kHead, kTail };
  std::optional<std::string> Read(const std::string& name, std::size_t most, Part part) const;
  bool Spend(std::size_t& left) const;

  int fd_;
  ScanBudget& budget_;
  mutable std::optional<std::vector<FolderEntry>> entries_;
};

}  // namespace goodput
