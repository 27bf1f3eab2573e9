#include "tools/sources/import_export/google_import.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "spank/event.h"
#include "sql/status_macros.h"
#include "sql/tables/imports.h"
#include "sql/text.h"
#include "tools/sources/import_export/clock_setback.h"
#include "tools/sources/import_export/google_fold.h"
#include "tools/sources/import_export/json_stream.h"
#include "tools/sources/import_export/time_order.h"
#include "tools/sources/logs/google_entry.h"

namespace goodput {
namespace {

// Number of job names that an error lists.
constexpr std::size_t kMaxNames = 6;
constexpr std::int64_t kProgressEvery = 4096;

// One pass over a file; its result may require another.
class GooglePass {
 public:
  enum class Result : std::uint8_t { kDone, kNotInOrder, kSeveralJobs };

  GooglePass(const Input& input, const FileImportOptions& options, ImportWriter& writer)
      : input_(input),
        options_(options),
        writer_(writer),
        sink_(writer, options.join),
        fold_(sink_),
        stream_(input) {}

  // `only`: entries of this job; all if empty. `sorted`: assumes that the file is sorted, which is verified.
  absl::StatusOr<Result> Run(const std::string& only, bool sorted);
  const std::set<std::string>& names() const { return names_; }
  std::string first_problem() const { return first_problem_; }
  const std::string& name() const { return name_; }
  FileImportReport Report() const;
  std::string fingerprint() const { return stream_.fingerprint().Text(); }

 private:
  bool IsTheOthers(std::string_view name, const std::string& only);
  absl::Status TakePlaces();
  absl::Status SetAside(const EntryText& text, std::string_view reason);
  void TellProgress(std::int64_t done);

  const Input& input_;
  const FileImportOptions& options_;
  ImportWriter& writer_;
  StoreSink sink_;
  GoogleFold fold_;
  EntryStream stream_;
  GoogleEntryParser parser_;
  TimeOrder order_;
  ClockSteps clock_;
  std::set<std::string> names_;
  std::string name_;
  std::string first_problem_;
  FileImportReport report_;
  std::int64_t calls_ = 0;
};

FileImportReport GooglePass::Report() const {
  FileImportReport report = report_;
  report.bad = writer_.set_aside();
  report.attempts = sink_.attempts();
  report.outside = sink_.outside();
  return report;
}

void GooglePass::TellProgress(std::int64_t done) {
  if (options_.progress && ++calls_ % kProgressEvery == 0) options_.progress(done, input_.size());
}

bool GooglePass::IsTheOthers(std::string_view name, const std::string& only) {
  if (name.empty()) return false;
  if (name != name_) {
    if (names_.size() < kMaxNames) names_.emplace(name);
    if (only.empty() || name == only) name_ = name;
  }
  return !only.empty() && name != only;
}

absl::Status GooglePass::SetAside(const EntryText& text, std::string_view reason) {
  if (first_problem_.empty()) first_problem_ = Cat("byte ", text.offset, ": ", reason);
  return writer_.SetAside(text.offset, reason, text.text);
}

absl::StatusOr<GooglePass::Result> GooglePass::Run(const std::string& only, bool sorted) {
  EntryText text;
  GoogleEntry entry;
  Ns last = 0;
  while (true) {
    ASSIGN_OR_RETURN(const bool more, stream_.Next(text));
    if (!more) break;
    TellProgress(stream_.position());
    if (!text.problem.empty()) {
      RETURN_IF_ERROR(SetAside(text, text.problem));
      continue;
    }
    const absl::StatusOr<bool> taken = parser_.Parse(text.text, entry);
    if (!taken.ok()) {
      RETURN_IF_ERROR(SetAside(text, Message(taken.status())));
      continue;
    }
    if (!*taken) {
      ++report_.other;
      continue;
    }
    if (!entry.HasPlausibleTime()) {
      RETURN_IF_ERROR(SetAside(text, "its time is before the year 2000"));
      continue;
    }
    if (IsTheOthers(entry.job_name, only)) {
      ++report_.other_job;
      continue;
    }
    if (names_.size() > 1 && only.empty()) return Result::kSeveralJobs;
    ++report_.entries;
    const Ns t = entry.time();
    if (!sorted) {
      order_.Add({t + clock_.See(entry, text.offset), entry.order(), text.offset,
                  static_cast<std::int64_t>(text.text.size())});
      continue;
    }
    if (t < last) return Result::kNotInOrder;
    last = t;
    if (absl::Status status = fold_.Take(entry, text.offset); !status.ok()) return status;
  }
  if (!sorted) {
    if (absl::Status status = TakePlaces(); !status.ok()) return status;
  }
  RETURN_IF_ERROR(fold_.Finish());
  return Result::kDone;
}

absl::Status GooglePass::TakePlaces() {
  order_.Sort();
  EntryPlace place;
  GoogleEntry entry;
  std::string text;
  while (order_.Next(place)) {
    TellProgress(input_.size());
    const auto length = static_cast<std::size_t>(place.length);
    text.resize(length + GoogleEntryParser::kPadding);
    ASSIGN_OR_RETURN(const std::size_t got, input_.Read(place.offset, text.data(), length));
    const absl::StatusOr<bool> taken = parser_.Parse(std::string_view(text).substr(0, length), entry);
    const Ns delay = clock_.At(place.offset);
    if (got < length || !taken.ok() || !*taken || entry.time() + delay != place.t)
      return absl::AbortedError(Cat(input_.name(), ": changed while it was read"));
    if (delay != 0) entry.Delay(delay);
    if (absl::Status status = fold_.Take(entry, place.offset); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status NoEntries(const Input& input, const GooglePass& pass, const std::string& only) {
  const FileImportReport report = pass.Report();
  const std::string file = NameOf(input);
  if (input.size() == 0) return absl::InvalidArgumentError(Cat(file, ": empty"));
  if (report.other_job > 0) {
    std::string names;
    for (const std::string& name : pass.names()) names += (names.empty() ? "" : ", ") + name;
    return absl::InvalidArgumentError(
        Cat(file, ": no entry belongs to job ", only, "; the entries belong to ", names));
  }
  return absl::InvalidArgumentError(Cat(file, ": not a goodput log (",
                                        pass.first_problem().empty()
                                            ? Cat(report.other, " JSON objects without job, step or phase")
                                            : pass.first_problem(),
                                        "); for a program's output, use --log-profile=auto"));
}

absl::Status SeveralJobs(const Input& input, const GooglePass& pass) {
  return absl::InvalidArgumentError(Cat(NameOf(input), ": has entries of several jobs (",
                                        *pass.names().begin(), ", ", *pass.names().rbegin(),
                                        "); choose one with --run NAME"));
}

// The attempts of one log, of which the other has a later or equal part: they began at the same nanoseconds.
bool BeginsAlike(const std::vector<ImportedAttempt>& part, const std::vector<ImportedAttempt>& whole) {
  return !part.empty() && part.size() <= whole.size() &&
         std::equal(
             part.begin(), part.end(), whole.begin(),
             [](const ImportedAttempt& a, const ImportedAttempt& b) { return a.begin_ns == b.begin_ns; });
}

// A log may come by several ways: from Cloud Logging, from the file of --keep, from gcloud. Whichever has
// more of it stays; the others would count the same time again. Absent: this import stays.
absl::StatusOr<std::optional<FileImportReport>> SettleCopies(Database& db, const ImportRow& row,
                                                             FileImportReport& report) {
  ASSIGN_OR_RETURN(const std::vector<ImportedAttempt> own, LoadImportedAttempts(db, row.source_id));
  ASSIGN_OR_RETURN(const std::vector<ImportRow> others, FindOtherImports(db, row));
  for (const ImportRow& other : others) {
    ASSIGN_OR_RETURN(const std::vector<ImportedAttempt> attempts, LoadImportedAttempts(db, other.source_id));
    if (other.entries > row.entries && BeginsAlike(own, attempts)) {
      FileImportReport earlier = UnchangedImport(other);
      earlier.note = Cat("the import of ", other.file, " has these entries and more: nothing is imported");
      return std::optional<FileImportReport>(std::move(earlier));
    }
    if (other.entries > row.entries || !BeginsAlike(attempts, own)) continue;
    RETURN_IF_ERROR(RemoveImport(db, other.source_id));
    report.note = Cat("replaces the import of ", other.file, ", whose entries it has");
  }
  return std::optional<FileImportReport>();
}

std::string Identity(const std::string& file, const std::string& only) {
  return only.empty() ? file : Cat(file, "#", only);
}

}  // namespace

absl::StatusOr<FileImportReport> ImportGoogleLog(Database& db, const Input& input,
                                                 const FileImportOptions& options) {
  std::string file = input.name();
  std::string fingerprint;
  if (!input.is_file()) {
    ASSIGN_OR_RETURN(const std::string content, input.FingerprintOfAll());
    fingerprint = content;
    file = Cat("-", fingerprint);
  }
  ASSIGN_OR_RETURN(const std::optional<FileImportReport> unchanged,
                   Unchanged(db, input, {file, Identity(file, options.run)}, options, fingerprint));
  if (unchanged) return *unchanged;

  std::string only;
  bool sorted = true;
  while (true) {
    Transaction transaction(db);
    if (!transaction.status().ok()) return transaction.status();
    ImportWriter writer(db);
    RETURN_IF_ERROR(writer.Begin(Identity(file, only), options.cluster));
    GooglePass pass(input, options, writer);
    ASSIGN_OR_RETURN(const GooglePass::Result result, pass.Run(only, sorted));
    if (result == GooglePass::Result::kNotInOrder) {
      sorted = false;
      continue;
    }
    if (result == GooglePass::Result::kSeveralJobs) {
      if (options.run.empty()) return SeveralJobs(input, pass);
      only = options.run;
      continue;
    }
    FileImportReport report = pass.Report();
    if (report.entries == 0) return NoEntries(input, pass, only);
    ImportRow row;
    row.fingerprint = pass.fingerprint();
    row.name = pass.name();
    report.run = row.run = options.run.empty() ? pass.name() : options.run;
    row.user = options.user;
    row.joined = options.joined;
    row.entries = report.entries;
    if (options.join.empty()) row.job_id = writer.own_job_id();
    if (row.run.empty()) {
      return absl::InvalidArgumentError(
          Cat(input.name(), ": the entries name no job; name the run with --run NAME"));
    }
    RETURN_IF_ERROR(writer.Finish(row, input.size(), options.now_s));
    if (row.job_id && !row.name.empty()) {
      row.source_id = writer.source_id();
      ASSIGN_OR_RETURN(std::optional<FileImportReport> earlier, SettleCopies(db, row, report));
      if (earlier) return *std::move(earlier);
    }
    RETURN_IF_ERROR(transaction.Commit());
    return report;
  }
}

}  // namespace goodput
