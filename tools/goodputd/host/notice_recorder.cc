#include "tools/goodputd/host/notice_recorder.h"

#include <algorithm>
#include <utility>

#include "spank/event.h"
#include "tools/goodputd/job_record.h"

namespace goodput {
namespace {

bool ExpectsNothing(HostKey key, const NoticeKind& word) {
  return word.value == NothingToExpect(key);
}

}  // namespace

void NoticeRecorder::Set(HostKey key, NoticeKind word) {
  said_[key] = std::move(word);
}

bool NoticeRecorder::HasNotice() const {
  return std::any_of(said_.begin(), said_.end(), [](const auto& said) {
    return !IsMachineFact(said.first) && !ExpectsNothing(said.first, said.second);
  });
}

bool NoticeRecorder::HasMachineFact() const {
  return std::any_of(said_.begin(), said_.end(), [](const auto& said) { return IsMachineFact(said.first); });
}

void NoticeRecorder::Tell(const NodeJobs& jobs) {
  std::map<Key, NoticeKind> tried;
  for (const NodeJobs::NoticedJob& noticed : jobs.NoticedJobs()) {
    const NodeJob& job = *noticed.job;
    for (const auto& [key, word] : said_) {
      const auto told = noticed.told.find(std::string(NoticeName(key)));
      const bool never = told == noticed.told.end();
      // A job without any record needs none that nothing is planned.
      if (never ? ExpectsNothing(key, word) : told->second == word) continue;
      const Key of_job{job.node, job.job, job.since_ns, key};
      const auto before = tried_.find(of_job);
      if (before == tried_.end() || before->second != word) Write(job, key, word);
      tried[of_job] = word;
    }
  }
  tried_ = std::move(tried);
}

bool NoticeRecorder::Write(const NodeJob& job, HostKey key, const NoticeKind& word) {
  JobRecord record(kind::kHost, job, StampAtReal(clock_, job.node, clock_.real_ns()));
  record.Text(key::kNotice, NoticeName(key));
  record.Text(key::kValue, word.value);
  if (word.window_s) record.Int(key::kWindowS, *word.window_s);
  if (word.window_end_s) record.Int(key::kWindowEndS, *word.window_end_s);
  return store_(job, record.Finish());
}

}  // namespace goodput
