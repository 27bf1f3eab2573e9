// Fuzzes what goodputd and its helpers tell each other: any bytes are an answer whose fields are those that
// it would be written with, or an error; a request reaches the shared folder only as it was written.
#include <cstdint>
#include <string>
#include <string_view>

#include "tests/fuzz/target.h"
#include "tools/goodputd/checkpoints/scan_helper.h"
#include "tools/goodputd/hang/hang_helper.h"
#include "tools/goodputd/output/follow_helper.h"
#include "tools/sources/shared_spool/ingest_helper.h"
#include "tools/sources/shared_spool/ship_helper.h"

namespace {

using namespace goodput;

// Accepts everything, and says what arrived.
class Folder final : public SharedFolder {
 public:
  absl::StatusOr<SharedFile> Look(const std::string& folder, const std::string& file, bool) override {
    return SharedFile{0, folder, file};
  }
  absl::StatusOr<SharedFile> Append(const std::string&, const std::string&, std::int64_t offset,
                                    std::string_view bytes) override {
    appended_ += bytes.size();
    return SharedFile{offset, std::string(bytes), "appended"};
  }
  absl::StatusOr<SharedFile> Replace(const std::string&, const std::string&,
                                     std::string_view bytes) override {
    return SharedFile{0, std::string(bytes), "replaced"};
  }
  std::size_t appended() const { return appended_; }

 private:
  std::size_t appended_ = 0;
};

}  // namespace

FUZZ_TARGET(helper_answer) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto scan = DecodeScan(text); scan.ok()) {
    REQUIRE(scan->took_ns >= 0);
    const std::string written = EncodeScan(*scan);
    const auto again = DecodeScan(written);
    REQUIRE(again.ok() && EncodeScan(*again) == written);
    REQUIRE(again->found.size() == scan->found.size());
  } else {
    REQUIRE(!scan.status().message().empty());
  }
  if (const auto found = DecodeFound(text); found.ok()) {
    const std::string written = EncodeFound(found->found, found->problem);
    const auto again = DecodeFound(written);
    REQUIRE(again.ok() && EncodeFound(again->found, again->problem) == written);
    REQUIRE(again->found.events.size() == found->found.events.size());
  } else {
    REQUIRE(!found.status().message().empty());
  }
  if (const auto found = DecodeFindings(text); found.ok()) {
    const std::string written = EncodeFindings(*found);
    const auto again = DecodeFindings(written);
    REQUIRE(again.ok() && EncodeFindings(*again) == written);
    REQUIRE(found->size() <= kMostFindings && again->size() == found->size());
  } else {
    REQUIRE(!found.status().message().empty());
  }
  if (const auto report = ParseIngestAnswer(text); report.ok()) {
    REQUIRE(report->problems.size() <= size);
  } else {
    REQUIRE(report.status().code() != absl::StatusCode::kOk);
  }
  Folder folder;
  REQUIRE(!AnswerShipRequest(folder, text).empty());
  REQUIRE(folder.appended() <= size);
  return 0;
}
