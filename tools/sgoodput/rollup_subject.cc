#include "tools/sgoodput/rollup_subject.h"

#include <utility>

#include "tools/accounting/fleet/load_fleet.h"

namespace goodput {

absl::StatusOr<RollupSubject> SubjectOf(const Report& report, bool with_features, Database& db,
                                        NodeFeatures& known) {
  const RunInfo& info = report.run.info;
  RollupSubject subject{info.user, info.account, info.partition,
                        info.run.empty() ? info.job_id_text : info.run, info.tags};
  subject.cluster = info.cluster;
  subject.program = report.account.goodput.program;
  if (!with_features) return subject;
  const auto [found, fresh] = known.try_emplace(info.cluster);
  if (fresh) {
    absl::StatusOr<std::map<std::string, std::string>> loaded = LoadNodeFeatures(db, info.cluster);
    if (!loaded.ok()) return loaded.status();
    found->second = *std::move(loaded);
  }
  subject.node_features = &found->second;
  return subject;
}

}  // namespace goodput
