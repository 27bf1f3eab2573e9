#include "tools/accounting/timeline/checkpoint_files.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "tools/accounting/timeline/sanitize_facts.h"

namespace goodput {
namespace {

// A file system's clock and the program's differ by at most this much.
constexpr Ns kClockSlack = kSecond;

// The mark of the program's save that wrote the file; null: none.
Checkpoint* MarkOf(const SavedFile& file, std::vector<Checkpoint>& marked) {
  Checkpoint* mark = nullptr;
  for (Checkpoint& checkpoint : marked) {
    if (checkpoint.begin > file.begin + kClockSlack) break;
    mark = &checkpoint;
  }
  // It was complete before the file began, so the file belongs to another save.
  if (mark != nullptr && mark->complete && *mark->complete + kClockSlack < file.begin) return nullptr;
  return mark;
}

// The part of its step that a save took.
bool AddSave(const SavedFile& file, IncarnationFacts& program) {
  const auto after = std::upper_bound(program.steps.begin(), program.steps.end(), file.begin,
                                      [](Ns t, const StepRecord& step) { return t < step.begin; });
  if (after == program.steps.begin() || !program.median_step) return false;
  const StepRecord& step = *std::prev(after);
  if (step.block != nullptr || file.begin >= step.end) return false;
  const Ns excess = std::max<Ns>(0, step.net - TimesAtMost(*program.median_step, step.count()));
  const Ns last = std::min(file.complete.value_or(step.end), step.end);
  // If the begin is uncertain: the excess of its step over the others ended with the save.
  const Ns early = std::max(file.begin - file.earlier, step.begin);
  const Ns begin = file.earlier > 0 ? std::clamp(last - excess, early, file.begin) : file.begin;
  const Ns end = std::min(last, begin + excess);
  if (end <= begin) return false;
  program.saves.push_back({begin, end, "", file.ref, file.complete_ref, Evidence::kFile});
  return true;
}

}  // namespace

std::vector<SavedFile> PairFiles(const AttemptFacts& attempt) {
  std::vector<const CheckpointFile*> events;
  for (const CheckpointFile& event : attempt.checkpoint_files) events.push_back(&event);
  // At the same time, a begin comes before its end.
  std::sort(events.begin(), events.end(), [](const CheckpointFile* a, const CheckpointFile* b) {
    return std::tie(a->t, b->begin, a->name, a->train_step, a->ref.source, a->ref.offset) <
           std::tie(b->t, a->begin, b->name, b->train_step, b->ref.source, b->ref.offset);
  });
  std::vector<SavedFile> files;
  std::map<std::string, std::size_t> last_of;  // by name, since a name may be reused
  for (const CheckpointFile* event : events) {
    const auto found = last_of.find(event->name);
    if (event->begin) {
      if (found != last_of.end() && files[found->second].begin == event->t) continue;
    } else if (found != last_of.end()) {
      SavedFile& file = files[found->second];
      if (!file.complete) {
        file.complete = event->t;
        file.complete_ref = event->ref;
      }
      continue;
    }
    last_of[event->name] = files.size();
    files.push_back({event->name, event->train_step, event->t,
                     event->begin ? std::nullopt : std::optional<Ns>(event->t), event->ref,
                     event->begin ? EvidenceRef{} : event->ref, event->earlier});
  }
  return files;
}

bool TakeFiles(const std::vector<SavedFile>& files, Ns begin, Ns end, IncarnationFacts& program) {
  std::vector<Checkpoint>& checkpoints = program.checkpoints.own();
  std::vector<Checkpoint> marked = checkpoints;
  bool saves_added = false;
  for (const SavedFile& file : files) {
    if (file.begin < begin || file.begin >= end) continue;
    if (Checkpoint* mark = MarkOf(file, marked); mark != nullptr) {
      if (!mark->complete && file.complete) {
        mark->complete = file.complete;
        mark->evidence = Evidence::kFile;
      }
      continue;
    }
    Checkpoint checkpoint;
    checkpoint.step = file.step;
    checkpoint.begin = file.begin;
    checkpoint.complete = file.complete;
    checkpoint.evidence = Evidence::kFile;
    checkpoint.ref = file.ref;
    checkpoint.complete_ref = file.complete_ref;
    checkpoint.earlier = file.earlier;
    checkpoints.push_back(checkpoint);
    if (AddSave(file, program)) saves_added = true;
  }
  // Marks that files completed.
  std::copy(marked.begin(), marked.end(), checkpoints.begin());
  std::stable_sort(checkpoints.begin(), checkpoints.end(), [](const Checkpoint& a, const Checkpoint& b) {
    return std::tie(a.begin, a.complete, a.step) < std::tie(b.begin, b.complete, b.step);
  });
  return saves_added;
}

namespace {

// Files that each save overwrites on a file system without change notification: a look finds only the latest
// save.
std::vector<std::string> ReplacedFiles(const AttemptFacts& attempt) {
  std::map<std::string, int> saves;  // number of saves whose begin a look could not find, by file name
  for (const CheckpointFile& file : attempt.checkpoint_files) {
    if (file.begin && file.earlier > 0) ++saves[file.name];
  }
  std::vector<std::string> warnings;
  for (const auto& [name, count] : saves) {
    if (count < 2) continue;
    warnings.push_back("job " + std::to_string(attempt.job_id) + ": each save overwrites " + name +
                       " on a file system without change notification, so only the last save between two "
                       "scans (checkpoint_scan) is counted. Write one file per save, or send marks");
  }
  return warnings;
}

}  // namespace

void WarnOfUnseenSaves(const std::vector<const AttemptFacts*>& attempts, std::vector<std::string>& warnings) {
  std::set<std::string> said;
  for (const AttemptFacts* attempt : attempts) {
    for (std::string& warning : ReplacedFiles(*attempt)) {
      if (said.insert(warning).second) warnings.push_back(std::move(warning));
    }
    if (attempt->checkpoints_unseen.empty()) continue;
    std::string warning = "job " + std::to_string(attempt->job_id) +
                          ": its checkpoint directory could not be read (" + attempt->checkpoints_unseen +
                          "): steps that no other record shows as saved are at_risk, not lost";
    if (said.insert(warning).second) warnings.push_back(std::move(warning));
  }
}

}  // namespace goodput
