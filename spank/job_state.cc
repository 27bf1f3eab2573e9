#include "spank/job_state.h"

#include <charconv>
#include <cstdio>

#include "spank/fixed_text.h"

namespace goodput {
namespace {

constexpr const char* kClusterNote = "cluster";

using Name = std::array<char, 32>;

Name NoteName(uint32_t job) {
  Name name;
  std::snprintf(name.data(), name.size(), "job.%u", job);
  return name;
}

void ParseInto(std::string_view text, std::optional<int64_t>* out) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size()) *out = value;
}

bool IsOneWord(const char* text) {
  for (; *text != '\0'; ++text) {
    if (static_cast<unsigned char>(*text) <= ' ') return false;
  }
  return true;
}

}  // namespace

bool WriteJobState(const Spool& spool, uint32_t job, const JobState& note) noexcept {
  for (const char* word : {note.cluster.data(), note.sluid.data(), note.gpu_ids.data()}) {
    if (!IsOneWord(word)) return false;
  }
  std::array<char, Spool::kMaxNoteBytes + 1> text;
  std::size_t used = 0;
  const auto add = [&](const char* format, auto value) {
    const int n = std::snprintf(text.data() + used, text.size() - used, format, value);
    used += n > 0 ? static_cast<std::size_t>(n) : 0;
  };
  const auto add_number = [&](const char* name, const std::optional<int64_t>& value) {
    if (!value) return;
    add(" %s=", name);
    add("%lld", static_cast<long long>(*value));
  };
  add("goodput=%s", note.enabled ? "on" : "off");
  add_number("gpus", note.gpus);
  add_number("restart", note.restart);
  add_number("job_start", note.job_start_s);
  add_number("het_job", note.het_job);
  if (note.gpu_ids[0] != '\0') add(" gpu_ids=%s", note.gpu_ids.data());
  if (note.cluster[0] != '\0') add(" cluster=%s", note.cluster.data());
  if (note.sluid[0] != '\0') add(" sluid=%s", note.sluid.data());
  return spool.PutNote(NoteName(job).data(), std::string_view(text.data(), used));
}

std::optional<JobState> ReadJobState(const Spool& spool, uint32_t job) noexcept {
  std::array<char, Spool::kMaxNoteBytes + 1> buffer;
  std::string_view text = spool.GetNote(NoteName(job).data(), buffer.data(), buffer.size());
  if (text.substr(0, 8) != "goodput=") return std::nullopt;
  JobState note;
  while (!text.empty()) {
    const std::size_t end = text.find(' ');
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view name = word.substr(0, equals);
    const std::string_view value = word.substr(equals + 1);
    if (name == "goodput") note.enabled = value == "on";
    if (name == "gpus") ParseInto(value, &note.gpus);
    if (name == "gpu_ids") CopyText(value, &note.gpu_ids);
    if (name == "restart") ParseInto(value, &note.restart);
    if (name == "job_start") ParseInto(value, &note.job_start_s);
    if (name == "het_job") ParseInto(value, &note.het_job);
    if (name == "cluster") CopyText(value, &note.cluster);
    if (name == "sluid") CopyText(value, &note.sluid);
  }
  return note;
}

void RememberCluster(const Spool& spool, const JobState& note) noexcept {
  const std::string_view name = note.cluster.data();
  std::array<char, 128> known;
  if (!name.empty() && spool.GetNote(kClusterNote, known.data(), known.size()) != name) {
    spool.PutNote(kClusterNote, name);
  }
}

JobState StateOfUnknownJob(const Spool& spool) noexcept {
  JobState note;
  std::array<char, 128> name;
  CopyText(spool.GetNote(kClusterNote, name.data(), name.size()), &note.cluster);
  return note;
}

void DropJobState(const Spool& spool, uint32_t job) noexcept {
  spool.DropNote(NoteName(job).data());
}

}  // namespace goodput
