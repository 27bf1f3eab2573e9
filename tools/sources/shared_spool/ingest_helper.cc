#include "tools/sources/shared_spool/ingest_helper.h"

#include <unistd.h>

#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "sql/status_macros.h"
#include "sql/text.h"
#include "tools/base/helper_message.h"
#include "tools/sources/shared_spool/files_as.h"

namespace goodput {
namespace {

// Of thousands of problems, as many as fit into a message.
constexpr std::size_t kMaxProblemBytes = std::size_t{32} << 10U;

struct SharedIngest {
  std::string database;
  std::string root;
  std::string cluster;
  std::int64_t keep_s = 0;
  std::string user;    // empty: this process's
  std::string writer;  // the name under which the database is written
};

// The user who reads the shared spool, and how.
class Reader {
 public:
  static absl::StatusOr<Reader> Of(const std::string& user) {
    Reader reader;
    if (user.empty()) return reader;
    const absl::StatusOr<HelperUser> found = FindHelperUser(user);
    if (!found.ok()) return Annotate(found.status(), "shared_spool_user");
    reader.uid_ = found->uid;
    // A process without root is that user or cannot read; in either case there is nothing to change.
    if (geteuid() == 0) reader.as_ = std::make_unique<FilesAs>(found->uid, found->gid);
    if (reader.as_ != nullptr && !reader.as_->Works()) {
      return absl::PermissionDeniedError(
          Cat("shared_spool_user: goodputd cannot read as ", user,
              "; if it is confined, permit setfsuid, setfsgid, CAP_SETUID and CAP_SETGID"));
    }
    return reader;
  }
  Files& files() const { return as_ != nullptr ? *as_ : RealFiles(); }
  uid_t uid() const { return uid_; }

 private:
  uid_t uid_ = geteuid();
  std::unique_ptr<FilesAs> as_;
};

IngestOptions OptionsOf(const SharedIngest& shared, const Reader& reader) {
  IngestOptions options;
  options.cluster = shared.cluster;
  options.files = &reader.files();
  options.shared = true;
  options.owner = reader.uid();
  options.remove_after_s = shared.keep_s;
  return options;
}

std::string Answer(const absl::StatusOr<IngestReport>& report) {
  MessageWriter reply;
  reply.Status(report.ok() ? absl::OkStatus()
                           : absl::Status(report.status().code(),
                                          Message(report.status()).substr(0, kMaxProblemBytes)));
  if (!report.ok()) return reply.Take();
  reply.Number(report->records).Number(report->bad).Number(report->removed).Flag(report->whole);
  for (const std::string& problem : report->problems) {
    if (reply.size() + problem.size() < kMaxProblemBytes) reply.Text(problem);
  }
  return reply.Take();
}

class IngestWorker {
 public:
  explicit IngestWorker(SharedIngest shared) : shared_(std::move(shared)) {}

  absl::StatusOr<IngestReport> Pass(std::set<std::string> avoid, const HelperProgress& at) {
    if (!reader_) {
      absl::StatusOr<Reader> reader = Reader::Of(shared_.user);
      if (!reader.ok()) return reader.status();
      reader_.emplace(*std::move(reader));
    }
    if (database_ && !database_->StillThere()) {
      database_.reset();
      memory_ = SpoolMemory();
    }
    if (!database_) {
      absl::StatusOr<Database> opened = Database::Open(shared_.database, Database::Mode::kReadWrite);
      if (!opened.ok()) return opened.status();
      database_.emplace(*std::move(opened));
      database_->WriteAs(shared_.writer);
    }
    IngestOptions options = OptionsOf(shared_, *reader_);
    options.avoid = std::move(avoid);
    options.memory = &memory_;
    options.at = at;
    const std::int64_t until_ns = options.clock.mono_ns() + kIngestPassNs;
    options.out_of_time = [&] { return options.clock.mono_ns() >= until_ns; };
    absl::StatusOr<IngestReport> report = IngestSpool(*database_, shared_.root, options);
    if (absl::IsAborted(report.status())) {
      // Other writers may change the database from now on.
      database_.reset();
      memory_ = SpoolMemory();
    }
    return report;
  }

 private:
  SharedIngest shared_;
  std::optional<Reader> reader_;
  std::optional<Database> database_;
  SpoolMemory memory_;
};

std::int64_t KeptS(const Config& config) {
  return absl::ToInt64Seconds(config.keep_spool) + kSharedKeptLongerS;
}

}  // namespace

std::vector<std::string> IngestHelperArguments(const Config& config, const std::string& writer) {
  return {config.database,    config.shared_spool,      config.cluster,
          Cat(KeptS(config)), config.shared_spool_user, writer};
}

HelperAnswers IngestHelper(const std::vector<std::string>& arguments) {
  SharedIngest shared;
  std::int64_t keep_s = 0;
  if (arguments.size() == 6 && absl::SimpleAtoi(arguments[3], &keep_s)) {
    shared = {arguments[0], arguments[1], arguments[2], keep_s, arguments[4], arguments[5]};
  }
  const auto worker = std::make_shared<IngestWorker>(shared);
  return [worker](std::string_view request, const HelperProgress& at) {
    std::set<std::string> avoid;
    for (MessageReader names(request); names.ok() && !names.AtEnd();) avoid.emplace(names.Text());
    return Answer(worker->Pass(std::move(avoid), at));
  };
}

std::string IngestRequest(const std::set<std::string>& avoid) {
  MessageWriter names;
  for (const std::string& name : avoid) names.Text(name);
  return names.Take();
}

absl::StatusOr<IngestReport> ParseIngestAnswer(std::string_view answer) {
  MessageReader reply(answer);
  RETURN_IF_ERROR(reply.Status());
  IngestReport report;
  report.records = reply.Number();
  report.bad = reply.Number();
  report.removed = reply.Number();
  report.whole = reply.Flag();
  while (reply.ok() && !reply.AtEnd()) report.problems.emplace_back(reply.Text());
  if (!reply.ok()) return absl::InternalError("malformed reply from the ingest helper");
  return report;
}

absl::StatusOr<IngestReport> IngestShared(Database& db, const Config& config) {
  ASSIGN_OR_RETURN(const Reader reader, Reader::Of(config.shared_spool_user));
  IngestOptions options = OptionsOf(
      {config.database, config.shared_spool, config.cluster, 0, config.shared_spool_user, ""}, reader);
  return IngestSpool(db, config.shared_spool, options);
}

}  // namespace goodput
