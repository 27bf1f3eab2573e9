#include "tools/sources/shared_spool/ship_helper.h"

#include <unistd.h>

#include <memory>
#include <utility>

#include "sql/status_macros.h"
#include "sql/text.h"
#include "tools/base/helper_message.h"

namespace goodput {
namespace {

// Request: what, folder, file, number, bytes. Reply: status, place, size, tail.
constexpr char kLook = 'L';
constexpr char kLookSettled = 'S';
constexpr char kAppend = 'A';
constexpr char kReplace = 'R';

}  // namespace

std::string AnswerShipRequest(SharedFolder& folder, std::string_view request) {
  MessageReader message(request);
  const std::string what(message.Text());
  const std::string node(message.Text());
  const std::string file(message.Text());
  const std::int64_t number = message.Number();
  const std::string_view bytes = message.Text();
  absl::StatusOr<SharedFile> found = absl::InvalidArgumentError("malformed request");
  if (message.ok() && what.size() == 1) {
    switch (what[0]) {
      case kLook:
      case kLookSettled:
        found = folder.Look(node, file, what[0] == kLookSettled);
        break;
      case kAppend:
        found = folder.Append(node, file, number, bytes);
        break;
      case kReplace:
        found = folder.Replace(node, file, bytes);
        break;
      default:
        break;
    }
  }
  MessageWriter reply;
  reply.Status(found.status());
  if (found.ok()) reply.Text(found->place).Number(found->size).Text(found->tail);
  return reply.Take();
}

HelperAnswers ShipHelper(const std::vector<std::string>& arguments) {
  const std::string root = arguments.empty() ? "" : arguments.front();
  const auto folder = std::make_shared<DirectSharedFolder>(root, geteuid(), RealFiles());
  return [folder](std::string_view request, const HelperProgress&) {
    return AnswerShipRequest(*folder, request);
  };
}

absl::StatusOr<SharedFile> RemoteSharedFolder::Ask(char what, const std::string& folder,
                                                   const std::string& file, std::int64_t number,
                                                   std::string_view bytes) {
  MessageWriter request;
  request.Text({&what, 1}).Text(folder).Text(file).Number(number).Text(bytes);
  const absl::StatusOr<std::string> answer = process_.Call(request.Take());
  if (!answer.ok()) {
    return Annotate(answer.status(), Cat("shared_spool ", root_, " hangs (records are kept on the node)"));
  }
  MessageReader reply(*answer);
  RETURN_IF_ERROR(reply.Status());
  SharedFile found;
  found.place = reply.Text();
  found.size = reply.Number();
  found.tail = reply.Text();
  if (!reply.ok() || found.size < 0)
    return absl::InternalError(Cat("shared_spool ", root_, ": malformed reply from its helper"));
  return found;
}

absl::StatusOr<SharedFile> RemoteSharedFolder::Look(const std::string& folder, const std::string& file,
                                                    bool settled) {
  return Ask(settled ? kLookSettled : kLook, folder, file, 0, "");
}

absl::StatusOr<SharedFile> RemoteSharedFolder::Append(const std::string& folder, const std::string& file,
                                                      std::int64_t offset, std::string_view bytes) {
  return Ask(kAppend, folder, file, offset, bytes);
}

absl::StatusOr<SharedFile> RemoteSharedFolder::Replace(const std::string& folder, const std::string& file,
                                                       std::string_view bytes) {
  return Ask(kReplace, folder, file, 0, bytes);
}

}  // namespace goodput
