// `sgoodput ingest`: reads new spool records into the database now.
#include "sql/ingest/ingest.h"

#include <unistd.h>

#include <cstdio>

#include "sql/text.h"
#include "tools/sgoodput/options.h"
#include "tools/sgoodput/session.h"
#include "tools/sources/shared_spool/ingest_helper.h"

namespace goodput {

int RunIngest(const IngestOptionsCli& options) {
  const absl::StatusOr<Config> config = LoadConfig(options.common.config);
  if (!config.ok()) {
    std::fprintf(stderr, "sgoodput: %s\n", Message(config.status()).c_str());
    return kBadUsage;
  }
  const std::string path = options.common.db.empty() ? config->database : options.common.db;
  absl::StatusOr<Database> db = Database::Open(path, Database::Mode::kReadWrite);
  if (!db.ok()) {
    std::fprintf(stderr, "sgoodput: %s\n", Message(db.status()).c_str());
    return kBadUsage;
  }
  const std::string spool = options.spool.empty() ? config->spool : options.spool;
  IngestOptions of_spool;
  of_spool.cluster = config->cluster;
  absl::StatusOr<IngestReport> report = IngestSpool(*db, spool, of_spool);
  // A spool named on the command line is the only one to read.
  if (report.ok() && options.spool.empty() && !config->shared_spool.empty()) {
    const absl::StatusOr<IngestReport> shared = IngestShared(*db, *config);
    if (!shared.ok()) {
      report->problems.push_back(Message(shared.status()));
    } else {
      report->records += shared->records;
      report->bytes += shared->bytes;
      report->files += shared->files;
      report->bad += shared->bad;
      report->problems.insert(report->problems.end(), shared->problems.begin(), shared->problems.end());
    }
  }
  if (!report.ok()) {
    std::fprintf(stderr, "sgoodput: %s\n", Message(report.status()).c_str());
    return kBadUsage;
  }
  for (const std::string& problem : report->problems) std::fprintf(stderr, "sgoodput: %s\n", problem.c_str());
  std::printf("%lld new records (%lld bytes) from %lld files, %lld lines quarantined\n",
              static_cast<long long>(report->records), static_cast<long long>(report->bytes),
              static_cast<long long>(report->files), static_cast<long long>(report->bad));
  return report->problems.empty() ? kAnswered : kBadUsage;
}

}  // namespace goodput
