#include "tools/sources/shared_spool/ship_helper.h"

#include <unistd.h>

#include <memory>
#include <utility>

#include "absl/strings/numbers.h"
#include "sql/text.h"

namespace goodput {
namespace {

// A message is words that each end with a NUL, followed by bytes:
//   request: what, folder, file, number, bytes
//   reply:   error code ("0": none), message or place, size, tail
constexpr char kLook = 'L';
constexpr char kLookSettled = 'S';
constexpr char kAppend = 'A';
constexpr char kReplace = 'R';

std::string Word(std::string_view& from) {
  const std::size_t end = from.find('\0');
  std::string word(from.substr(0, end));
  from.remove_prefix(end == std::string_view::npos ? from.size() : end + 1);
  return word;
}

std::int64_t Number(std::string_view& from) {
  std::int64_t number = -1;
  return absl::SimpleAtoi(Word(from), &number) ? number : -1;
}

std::string Pack(std::initializer_list<std::string_view> words, std::string_view bytes) {
  std::string message;
  for (const std::string_view word : words) {
    message.append(word);
    message.push_back('\0');
  }
  message.append(bytes);
  return message;
}

}  // namespace

std::string AnswerShipRequest(SharedFolder& folder, std::string_view request) {
  const std::string what = Word(request);
  const std::string node = Word(request);
  const std::string file = Word(request);
  const std::int64_t number = Number(request);
  absl::StatusOr<SharedFile> found = absl::InvalidArgumentError("malformed request");
  if (what.size() == 1) {
    switch (what[0]) {
      case kLook:
      case kLookSettled:
        found = folder.Look(node, file, what[0] == kLookSettled);
        break;
      case kAppend:
        found = folder.Append(node, file, number, request);
        break;
      case kReplace:
        found = folder.Replace(node, file, request);
        break;
      default:
        break;
    }
  }
  if (found.ok()) return Pack({"0", found->place, Cat(found->size)}, found->tail);
  return Pack({Cat(found.status().raw_code()), Message(found.status()), "0"}, "");
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
  const absl::StatusOr<std::string> answer =
      process_.Call(Pack({std::string_view(&what, 1), folder, file, Cat(number)}, bytes));
  if (!answer.ok()) {
    return Annotate(answer.status(), Cat("shared_spool ", root_, " hangs (records are kept on the node)"));
  }
  std::string_view rest = *answer;
  const std::int64_t code = Number(rest);
  SharedFile found;
  std::string text = Word(rest);
  found.size = Number(rest);
  found.tail = rest;
  if (code != 0) return absl::Status(static_cast<absl::StatusCode>(code), text);
  if (found.size < 0)
    return absl::InternalError(Cat("shared_spool ", root_, ": malformed reply from its helper"));
  found.place = std::move(text);
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
