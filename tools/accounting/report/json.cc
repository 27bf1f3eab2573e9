// Writes reports as JSON. nlohmann-json is only included here, since it is slow to compile.
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "tools/accounting/report/advise_report.h"
#include "tools/accounting/report/event_report.h"
#include "tools/accounting/report/fleet_report.h"
#include "tools/accounting/report/gpu_hours.h"
#include "tools/accounting/report/gpu_use_report.h"
#include "tools/accounting/report/host_use_report.h"
#include "tools/accounting/report/late_ranks.h"
#include "tools/accounting/report/now_report.h"
#include "tools/accounting/report/report.h"
#include "tools/accounting/report/rollup_report.h"
#include "tools/accounting/runs/stored_steps.h"
#include "tools/accounting/timeline/allocation_check.h"
#include "tools/accounting/timeline/exclude.h"
#include "tools/accounting/timeline/google_difference.h"
#include "tools/accounting/timeline/hang.h"
#include "tools/accounting/timeline/hang_evidence.h"
#include "tools/accounting/timeline/hardware.h"
#include "tools/accounting/timeline/kept_steps_check.h"
#include "tools/accounting/timeline/last_step.h"
#include "tools/accounting/timeline/lens.h"
#include "tools/base/signal_name.h"

namespace goodput {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kSchema = "slurm-goodput/2";
constexpr const char* kReportSchema = "slurm-goodput-report/2";
constexpr const char* kFleetSchema = "slurm-goodput-fleet/1";
constexpr const char* kAdviseSchema = "slurm-goodput-advise/1";
constexpr const char* kEventSchema = "slurm-goodput-event/1";
constexpr std::size_t kMostEventText = 1000;
constexpr std::size_t kMostEventEvidence = 20;
constexpr const char* kNowSchema = "slurm-goodput-now/1";

template <typename T>
Json OrNull(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json TextOrNull(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

Json SecondsOrNull(const std::optional<Ns>& ns) {
  return ns ? Json(Seconds(*ns)) : Json(nullptr);
}

// An import has an id, but not one of Slurm's.
Json JobIdOrNull(std::int64_t job_id) {
  return job_id < 0 ? Json(nullptr) : Json(job_id);
}

double GpuSeconds(GpuNs gpu_ns) {
  // Whole seconds are converted separately: the total may exceed a double's precision.
  const GpuNs whole = gpu_ns / kSecond;
  return static_cast<double>(whole) + static_cast<double>(gpu_ns % kSecond) / 1e9;
}

Json RangeOrNull(const std::optional<Range>& range) {
  return range ? Json::array({range->first, range->second}) : Json(nullptr);
}

Json BucketJson(const BucketTotal& total) {
  Json bucket = {
      {"name", BucketName(total.bucket)},
      {"side", SideName(BucketSide(total.bucket))},
      {"ns", total.ns},
      {"seconds", Seconds(total.ns)},
      {"gpu_seconds", GpuSeconds(total.gpu_ns)},
      {"evidence", total.ns > 0 || total.gpu_ns > 0 ? Json(EvidenceName(total.evidence)) : Json(nullptr)},
      {"parts", Json::array()}};
  for (const BucketTotal& part : total.parts) {
    bucket["parts"].push_back({{"name", part.part},
                               {"ns", part.ns},
                               {"seconds", Seconds(part.ns)},
                               {"gpu_seconds", GpuSeconds(part.gpu_ns)},
                               {"evidence", EvidenceName(part.evidence)}});
  }
  return bucket;
}

// The numbers that were valid within the timeline.
Json WorldsJson(const Timeline& timeline) {
  Json worlds = Json::array();
  for (const WorldSpan& world : timeline.worlds) {
    const Ns begin = std::max(world.begin, timeline.begin);
    const Ns end = std::min(world.end, timeline.end);
    if (begin >= end) continue;
    worlds.push_back({{"attempt", world.attempt},
                      {"begin_ns", begin},
                      {"end_ns", end},
                      {"stepping", OrNull(world.stepping)},
                      {"wanted", OrNull(world.wanted)},
                      {"spares", world.spares},
                      {"evidence", EvidenceName(world.evidence)}});
  }
  return worlds;
}

Json ProvisionJson(const Provision& provision) {
  const bool known = provision.kind != "-";
  return {{"kind", known ? Json(provision.kind) : Json(nullptr)},
          {"reservation", TextOrNull(provision.reservation)},
          {"evidence", known ? Json(provision.evidence) : Json(nullptr)}};
}

Json AttemptJson(const AttemptSummary& attempt) {
  const AttemptFacts& facts = *attempt.facts;
  return {{"restart", OrNull(facts.restart)},
          {"job_id", JobIdOrNull(facts.job_id)},
          {"submit_ns", facts.submit},
          {"eligible_ns", OrNull(facts.eligible)},
          {"start_ns", OrNull(facts.start)},
          {"end_ns", OrNull(facts.end)},
          {"state", facts.state},
          {"nodes", facts.nodes},
          {"gpus", facts.gpus},
          {"first_step", OrNull(attempt.first_step)},
          {"last_step", OrNull(attempt.last_step)},
          {"kept_step", OrNull(attempt.kept_step)}};
}

Json InterruptionJson(const Interruption& interruption) {
  return {{"attempt", interruption.attempt},
          {"time_ns", interruption.time},
          {"cause", interruption.cause},
          {"planned", interruption.planned},
          {"recovery", TextOrNull(interruption.recovery)},
          {"node", TextOrNull(interruption.node)},
          {"t_ch_s", SecondsOrNull(interruption.t_ch)},
          {"t_detect_s", SecondsOrNull(interruption.t_detect)},
          {"t_re_s", SecondsOrNull(interruption.t_re)},
          {"t_rm_s", SecondsOrNull(interruption.t_rm)},
          {"evidence", interruption.evidence}};
}

Json RangesJson(const std::vector<StepRange>& ranges) {
  Json array = Json::array();
  for (const StepRange& range : ranges) array.push_back({range.first, range.last});
  return array;
}

// The parts of productive time.
Json PaceJson(const Account& account) {
  if (!account.lens) return nullptr;
  const Lens& lens = *account.lens;
  return {{"best_step_s", Seconds(lens.best)},
          {"p05_step_s", Seconds(lens.p05)},
          {"at_best_gpu_seconds", GpuSeconds(lens.at_best())},
          {"slower_gpu_seconds", GpuSeconds(lens.slower())},
          {"first_step_gpu_seconds", GpuSeconds(lens.first_step)},
          {"after_checkpoint_gpu_seconds",
           lens.after_checkpoint ? Json(GpuSeconds(*lens.after_checkpoint)) : Json()}};
}

// Of the ranks that were last to begin steps, those that others waited for longest.
constexpr std::size_t kMostLateRanks = 10;

Json RankWaitJson(const Report& report) {
  if (!report.account.rank_wait) return nullptr;
  const RankWait& wait = *report.timeline.rank_wait;
  Json late = Json::array();
  for (const NamedLateRank& one : LateRanks(report, kMostLateRanks)) {
    late.push_back({{"attempt", one.rank.attempt + 1},
                    {"slurm_step", TextOrNull(StepText(one.rank.task.first))},
                    {"rank", one.rank.task.second},
                    {"node", TextOrNull(one.node)},
                    {"steps", one.rank.steps},
                    {"wait_share", one.share},
                    {"most_share", one.most_share}});
  }
  return {{"gpu_seconds", GpuSeconds(report.account.rank_wait->wait)},
          {"most_gpu_seconds", GpuSeconds(report.account.rank_wait->most)},
          {"ranks", wait.ranks},
          {"ranks_left_out", wait.left_out},
          {"measured_steps", wait.measured.size()},
          {"kept_steps", wait.kept ? Json(*wait.kept) : Json(nullptr)},
          {"late_steps", wait.late_steps()},
          {"longest_s", Seconds(wait.longest())},
          {"late", std::move(late)}};
}

Json GpuUseSumJson(const GpuUseSum& sum) {
  return {{"measured_gpu_seconds", GpuSeconds(sum.measured)},
          {"busy", OrNull(BusyShare(sum))},
          {"tensor", OrNull(TensorShare(sum))},
          {"energy_j", OrNull(EnergyJ(sum))}};
}

Json GpuUseJson(const Report& report) {
  if (!report.account.gpu_use) return nullptr;
  const GpuUse& use = *report.account.gpu_use;
  Json json = GpuUseSumJson(use.total);
  json["measured_share"] = MeasuredShare(report);
  json["busy_by_driver"] = use.by_driver;
  json["energy_of_kept_step_j"] = OrNull(EnergyOfKeptStepJ(report));
  json["memory_mib"] = use.memory_mib > 0 ? Json(use.memory_mib) : Json();
  json["memory_of_mib"] = OrNull(use.memory_of_mib);
  json["buckets"] = Json::array();
  for (const Bucket bucket : AllBuckets()) {
    if (use.Of(bucket).measured == 0) continue;
    Json of = GpuUseSumJson(use.Of(bucket));
    of["name"] = BucketName(bucket);
    json["buckets"].push_back(std::move(of));
  }
  return json;
}

Json HostUseJson(const Report& report) {
  const std::optional<HostUseTotal> total = HostUseOf(report);
  if (!total) return nullptr;
  return {{"steps", total->steps},
          {"measured", total->measured},
          {"cpu_s", OrNull(total->cpu_s)},
          {"cpu_waited_only", total->waited_only},
          {"cpu_given_s", OrNull(total->cpu_given_s)},
          {"memory_peak_bytes", OrNull(total->memory_peak)},
          {"largest_process_bytes", OrNull(total->largest_rss)},
          {"memory_given_bytes", OrNull(total->memory_given)},
          {"read_bytes", OrNull(total->read_bytes)},
          {"written_bytes", OrNull(total->written_bytes)}};
}

Json LedgerJson(const Timeline& timeline) {
  const Ledger ledger = ReadLedger(timeline);
  const bool none = ledger.kept_in.empty();
  return {{"holds", none ? Json(nullptr) : Json(ledger.holds())},
          {"kept", ledger.kept},
          {"first", none ? Json(nullptr) : Json(ledger.kept_in.front().first)},
          {"last", none ? Json(nullptr) : Json(ledger.kept_in.back().last)},
          {"trainings", RangesJson(ledger.kept_in)},
          {"missing", RangesJson(ledger.missing)},
          {"twice", RangesJson(ledger.twice)}};
}

Json AccountingJson(const Timeline& timeline) {
  const AllocatedTime allocated = ReadAllocatedTime(timeline);
  Json differences = Json::array();
  for (const AllocatedTime::Difference& difference : allocated.differences)
    differences.push_back({{"gpu_seconds", GpuSeconds(difference.gpu_ns)}, {"why", difference.why}});
  return {{"allocated_gpu_seconds", GpuSeconds(allocated.told)},
          {"buckets_gpu_seconds", GpuSeconds(allocated.counted())},
          {"provisioning_gpu_seconds", GpuSeconds(allocated.provisioning)},
          {"suspended_gpu_seconds", GpuSeconds(allocated.suspended)},
          {"up_gpu_seconds", GpuSeconds(allocated.up)},
          {"agrees", allocated.agrees()},
          {"differences", std::move(differences)},
          {"evidence", EvidenceName(allocated.evidence)}};
}

Json HangEvidenceJson(const HangEvidence& found) {
  return {{"time_ns", found.t},
          {"since_ns", found.since},
          {"source", HangSourceName(found.source)},
          {"node", found.node},
          {"task", OrNull(found.task)},
          {"pid", found.pid > 0 ? Json(found.pid) : Json()},
          {"program", TextOrNull(found.program)},
          {"state", TextOrNull(found.state)},
          {"wchan", TextOrNull(found.wchan)},
          {"threads", found.threads > 0 ? Json(found.threads) : Json()},
          {"processor", OrNull(found.processor)},
          {"text", TextOrNull(found.text)},
          {"problem", TextOrNull(found.problem)}};
}

Json HardwareErrorJson(const HardwareError& error, std::size_t attempt) {
  return {{"attempt", attempt},
          {"time_ns", error.t},
          {"last_ns", error.last_t},
          {"count", error.count},
          {"node", error.node},
          {"kind", HardwareKindName(error.kind)},
          {"device", TextOrNull(error.device)},
          {"code", OrNull(error.code)},
          {"meaning", Meaning(error)},
          {"fault", FaultName(FaultOf(error))},
          {"what_to_do", WhatToDo(error)},
          {"text", TextOrNull(error.text)}};
}

Json StallJson(const Report& report, const Stall& stall) {
  const auto source = static_cast<std::size_t>(stall.ref.source);
  const std::vector<EvidenceSource>& sources = report.run.facts.sources;
  const bool known = stall.ref.source >= 0 && source < sources.size();
  Json found = Json::array();
  for (const HangEvidence* one : EvidenceOf(report.timeline, stall)) found.push_back(HangEvidenceJson(*one));
  return {
      {"attempt", stall.attempt},
      {"hang_evidence", std::move(found)},
      {"told", AllInWords(report.timeline, stall)},
      {"last_progress_ns", stall.last_progress},
      {"seconds", Seconds(stall.ns)},
      {"step", stall.step},
      {"recovered", stall.recovered},
      {"evidence", known ? Json(report.run.facts.SourceName(source) + ":" + std::to_string(stall.ref.offset))
                         : Json(nullptr)}};
}

// In a delivery to more tasks than this, all further tasks with the same outcome share one element.
constexpr std::size_t kMostTasks = 64;

std::string_view OutcomeName(SignalDelivery::Outcome outcome) {
  switch (outcome) {
    case SignalDelivery::Outcome::kNotAsked:
      return "not_asked";
    case SignalDelivery::Outcome::kInTime:
      return "in_time";
    case SignalDelivery::Outcome::kCutShort:
      return "cut_short";
    case SignalDelivery::Outcome::kNothing:
      return "nothing";
    case SignalDelivery::Outcome::kOpen:
      return "open";
  }
  return "not_asked";
}

Json SignalJson(const SignalDelivery& delivery, const SignalReceiver& receiver, std::int64_t tasks) {
  const auto since = [&](const std::optional<Ns>& t) {
    return t ? Json(Seconds(*t - delivery.t)) : Json(nullptr);
  };
  const bool one = tasks == 1;
  // If the program trained on after the signal, its exit is not a response to it.
  const std::optional<Ns> exit = one && delivery.exit ? receiver.exit : delivery.exit;
  return {{"time_ns", delivery.t},
          {"signal", SignalName(delivery.signo)},
          {"sender", TextOrNull(delivery.sender)},
          {"node", one ? Json(receiver.node) : Json(nullptr)},
          {"slurm_step", TextOrNull(StepText(receiver.slurm_step))},
          {"task", one && receiver.task >= 0 ? Json(receiver.task) : Json(nullptr)},
          {"tasks", tasks},
          {"handled", OrNull(receiver.handled)},
          {"ignored", receiver.ignored},
          {"set_up", receiver.set_up},
          {"died", receiver.died_of_it},
          {"helpers", receiver.helpers},
          {"helpers_unprepared", receiver.helpers_unprepared},
          {"attempt", delivery.attempt},
          {"outcome", OutcomeName(delivery.outcome)},
          {"checkpoint_begin_s", since(delivery.checkpoint_begin)},
          {"checkpoint_complete_s", since(delivery.checkpoint_complete)},
          {"exit_s", since(exit)},
          {"grace_s", SecondsOrNull(delivery.grace)}};
}

Json CollectiveJson(const CollectiveTest& test, std::size_t attempt) {
  return {{"attempt", attempt},  {"time_ns", test.t},   {"bytes", test.bytes},
          {"algbw", test.algbw}, {"busbw", test.busbw}, {"nodes", test.nodes}};
}

void AddSignals(const SignalDelivery& delivery, Json& signals) {
  // What distinguishes outcomes: step, handled, ignored, set up, died.
  using Fared = std::tuple<std::int32_t, std::optional<bool>, bool, bool, bool>;
  std::map<Fared, std::pair<SignalReceiver, std::int64_t>> folded;
  for (std::size_t i = 0; i < delivery.receivers.size(); ++i) {
    const SignalReceiver& receiver = delivery.receivers[i];
    if (i < kMostTasks) {
      signals.push_back(SignalJson(delivery, receiver, 1));
      continue;
    }
    const Fared fared{receiver.slurm_step, receiver.handled, receiver.ignored, receiver.set_up,
                      receiver.died_of_it};
    auto& [sum, tasks] = folded.emplace(fared, std::pair{receiver, 0}).first->second;
    if (tasks++ == 0) continue;
    sum.helpers += receiver.helpers;
    sum.helpers_unprepared += receiver.helpers_unprepared;
  }
  for (const auto& [fared, sum] : folded) signals.push_back(SignalJson(delivery, sum.first, sum.second));
}

Json SensitivityJson(const std::vector<SensitivityRow>& rows) {
  Json array = Json::array();
  for (const SensitivityRow& row : rows) {
    array.push_back({{"name", row.name},
                     {"scheduling", OrNull(row.goodput.scheduling)},
                     {"runtime", OrNull(row.goodput.runtime)},
                     {"sg_rg", OrNull(row.goodput.sg_rg)},
                     {"kept", row.kept},
                     {"stall_s", Seconds(row.stall)},
                     {"lost_s", Seconds(row.lost)}});
  }
  return array;
}

Json CellJson(const Cell& cell) {
  Json buckets = Json::object();
  for (const Bucket bucket : AllBuckets()) {
    const Ns ns = cell.ns[static_cast<std::size_t>(bucket)];
    if (ns > 0) buckets[std::string(BucketName(bucket))] = ns;
  }
  return {{"begin_ns", cell.begin}, {"end_ns", cell.end}, {"buckets", std::move(buckets)}};
}

Json JobJson(const Report& report) {
  const RunInfo& info = report.run.info;
  const Timeline& timeline = report.timeline;
  const Account& account = report.account;
  const Goodput& goodput = account.goodput;
  const Definitions& definitions = account.definitions;
  const Ns wall = timeline.end - timeline.begin;
  const std::optional<LastStep> last_step = FindLastStep(timeline);
  const std::optional<GoogleDifference> why_google = ExplainGoogleDifference(timeline, account);
  const std::optional<Ns> no_progress = NoProgressSince(timeline);
  Evidence evidence = Evidence::kMark;
  Json buckets = Json::array();
  for (const BucketTotal& total : account.buckets) {
    buckets.push_back(BucketJson(total));
    if (total.ns > 0) evidence = Weaker(evidence, total.evidence);
  }
  Json job = {{"cluster", info.cluster},
              {"job_id", JobIdOrNull(info.job_id)},
              {"run", TextOrNull(info.run)},
              {"run_inferred", TextOrNull(report.run_inferred)},
              {"name", info.name},
              {"user", info.user},
              {"account", info.account},
              {"partition", info.partition},
              {"state", info.state},
              {"submit_ns", timeline.begin},
              {"end_ns", timeline.running ? Json(nullptr) : Json(timeline.end)},
              {"wall_ns", wall},
              {"wall_s", Seconds(wall)},
              {"excluded_ns", wall - Included(timeline, timeline.begin, timeline.end)},
              {"gpus", account.gpus},
              {"evidence", EvidenceName(evidence)},
              {"goodput",
               {{"scheduling", OrNull(goodput.scheduling)},
                {"runtime", OrNull(goodput.runtime)},
                {"program", OrNull(goodput.program)},
                {"program_evidence", TextOrNull(report.program_evidence)},
                {"program_reason", TextOrNull(report.program_reason)},
                {"mpg", OrNull(goodput.mpg)},
                {"sg_rg", OrNull(goodput.sg_rg)},
                {"scheduling_after_start", OrNull(goodput.scheduling_after_start)},
                {"scheduling_range", RangeOrNull(goodput.scheduling_range)},
                {"runtime_range", RangeOrNull(goodput.runtime_range)}}},
              {"definitions",
               {{"rg", OrNull(definitions.rg)},
                {"google_api", OrNull(definitions.google_api)},
                {"google_interval", OrNull(definitions.google_interval)},
                {"nvcre", OrNull(definitions.nvcre)},
                {"ettr", OrNull(definitions.ettr)},
                {"ettr_1h", OrNull(definitions.ettr_1h)},
                {"lens", OrNull(definitions.lens)},
                {"lens_scheduling", OrNull(definitions.lens_scheduling)},
                {"lens_runtime", OrNull(definitions.lens_runtime)},
                {"lens_app", OrNull(definitions.lens_app)},
                {"app_p05", OrNull(definitions.app_p05)}}},
              {"google_api_why", TextOrNull(why_google ? InWords(*why_google) : std::string())},
              {"lens_why", TextOrNull(WhyLensDiffers(account))},
              {"pace", PaceJson(account)},
              {"rank_wait", RankWaitJson(report)},
              {"rank_wait_why", TextOrNull(timeline.rank_wait ? std::string() : timeline.rank_wait_why)},
              {"gpu_use", GpuUseJson(report)},
              {"host_use", HostUseJson(report)},
              {"buckets", std::move(buckets)},
              {"attempts", Json::array()},
              {"interruptions", Json::array()},
              {"stalls", Json::array()},
              {"no_progress_since_ns", no_progress ? Json(*no_progress) : Json()},
              {"signals", Json::array()},
              {"checkpoints", Json::array()},
              {"collectives", Json::array()},
              {"hardware_errors", Json::array()},
              {"steps",
               {{"count", timeline.steps.executed},
                {"kept", timeline.steps.kept},
                {"lost", timeline.steps.lost},
                {"failed", timeline.steps.failed},
                {"at_risk", timeline.steps.at_risk},
                {"median_s", SecondsOrNull(timeline.steps.median)},
                {"last_begin_ns", last_step ? Json(last_step->begin) : Json()}}},
              {"ledger", LedgerJson(timeline)},
              {"accounting", AccountingJson(timeline)}};
  for (const Stall& stall : timeline.stalls) job["stalls"].push_back(StallJson(report, stall));
  for (const SignalDelivery& delivery : timeline.signals.deliveries) AddSignals(delivery, job["signals"]);
  if (!timeline.signals.empty()) {
    job["signals_summary"] = TextOrNull(timeline.signals.summary);
    job["signals_warnings"] = timeline.signals.warnings;
  }
  if (!report.what_to_do.empty()) job["what_to_do"] = report.what_to_do;
  if (Json worlds = WorldsJson(timeline); !worlds.empty()) job["worlds"] = std::move(worlds);
  for (const Cell& cell : report.cells) job["timeline"].push_back(CellJson(cell));
  if (!report.sensitivity.empty()) job["sensitivity"] = SensitivityJson(report.sensitivity);
  for (const AttemptSummary& attempt : timeline.attempts) {
    for (const CollectiveTest& test : attempt.facts->collectives)
      job["collectives"].push_back(CollectiveJson(test, job["attempts"].size()));
    for (const HardwareError& error : attempt.facts->hardware_errors)
      job["hardware_errors"].push_back(HardwareErrorJson(error, job["attempts"].size()));
    const std::size_t index = job["attempts"].size();
    Json json = AttemptJson(attempt);
    if (index < report.provisions.size() && report.provisions[index])
      json["machines"] = ProvisionJson(*report.provisions[index]);
    job["attempts"].push_back(std::move(json));
  }
  for (const Interruption& interruption : timeline.interruptions) {
    job["interruptions"].push_back(InterruptionJson(interruption));
  }
  for (const Checkpoint& checkpoint : timeline.checkpoints) {
    job["checkpoints"].push_back({{"step", OrNull(checkpoint.step)},
                                  {"begin_ns", checkpoint.begin},
                                  {"complete_ns", OrNull(checkpoint.complete)},
                                  {"evidence", EvidenceName(checkpoint.evidence)}});
  }
  return job;
}

// JSON allows DEL and the C1 controls in strings, but terminals interpret them, so they are escaped.
std::string WithoutControls(const std::string& json) {
  std::string out;
  out.reserve(json.size());
  for (std::size_t i = 0; i < json.size(); ++i) {
    const auto byte = static_cast<unsigned char>(json[i]);
    const auto next = static_cast<unsigned char>(i + 1 < json.size() ? json[i + 1] : '\0');
    if (byte == 0x7f) {
      out += "\\u007f";
    } else if (byte == 0xc2 && next >= 0x80 && next < 0xa0) {
      out += absl::StrFormat("\\u%04x", next);
      ++i;
    } else {
      out.push_back(json[i]);
    }
  }
  return out;
}

// Names may contain bytes that are not UTF-8; they are replaced instead of throwing.
std::string Print(const Json& document) {
  return WithoutControls(document.dump(2, ' ', false, Json::error_handler_t::replace)) + "\n";
}

}  // namespace

void JsonReports::Begin() {
  if (!begun_) std::fprintf(out_, "{\n  \"schema\": \"%s\",\n  \"jobs\": [", kSchema);
  begun_ = true;
}

void JsonReports::Add(const Report& report) {
  Begin();
  std::fprintf(out_, "%s\n%s", any_ ? "," : "", Print(JobJson(report)).c_str());
  any_ = true;
}

std::string ReportAsJson(const Report& report) {
  return absl::StrFormat("{\n  \"schema\": \"%s\",\n  \"jobs\": [\n%s]\n}\n", kSchema,
                         Print(JobJson(report)));
}

void JsonReports::Finish(const std::string& next) {
  Begin();
  const std::string more = next.empty() ? "" : ",\n  \"next\": " + Json(next).dump();
  std::fprintf(out_, "]%s\n}\n", more.c_str());
}

std::string NowAsJson(const NowReport& report) {
  Json states = Json::object();
  for (std::size_t i = 0; i < kNowStates; ++i) {
    const NowTotals::OfState& of = report.totals.states[i];
    states[std::string(NowStateName(static_cast<NowState>(i)))] = {
        {"runs", of.runs}, {"gpus", of.gpus}, {"gpu_seconds_lost", GpuSeconds(of.lost)}};
  }
  Json runs = Json::array();
  for (const NowRow& row : report.rows) {
    runs.push_back({{"job_id", row.job_id},
                    {"job_id_text", row.job_id_text},
                    {"cluster", row.cluster},
                    {"run", row.run},
                    {"user", row.user},
                    {"account", row.account},
                    {"partition", row.partition},
                    {"state", std::string(NowStateName(row.now.state))},
                    {"wastes_gpus", WastesGpus(row.now.state)},
                    {"since_ns", row.now.since},
                    {"seconds", Seconds(report.time - row.now.since)},
                    {"gpus", row.now.gpus},
                    {"gpu_seconds_lost", GpuSeconds(row.now.lost)},
                    {"evidence", row.now.evidence},
                    {"told", TextOrNull(row.now.told)},
                    {"command", row.command}});
  }
  return Json({{"schema", kNowSchema},
               {"time_ns", report.time},
               {"summary", NowSummary(report.totals)},
               {"states", std::move(states)},
               {"runs", std::move(runs)}})
      .dump(2, ' ', false, Json::error_handler_t::replace);
}

std::string EventAsJson(const Event& event) {
  const auto cut = [](const std::string& text) { return text.substr(0, kMostEventText); };
  const auto text_or_null = [&](const std::string& text) { return TextOrNull(cut(text)); };
  Json evidence = Json::array();
  for (const std::string& line : event.evidence) {
    if (evidence.size() < kMostEventEvidence) evidence.push_back(cut(line));
  }
  const bool interruption = event.kind == EventKind::kInterruption || event.kind == EventKind::kCorrection;
  return Json({{"schema", kEventSchema},
               {"id", cut(event.id)},
               {"corrects", text_or_null(event.corrects)},
               {"kind", std::string(EventKindName(event.kind))},
               {"time_ns", event.time},
               {"text", cut(event.text)},
               {"cluster", cut(event.run.cluster)},
               {"job_id", event.job_id > 0 ? Json(event.job_id) : Json(nullptr)},
               {"run", text_or_null(event.run.run)},
               {"user", text_or_null(event.run.user)},
               {"account", text_or_null(event.run.account)},
               {"partition", text_or_null(event.run.partition)},
               {"node", text_or_null(event.node)},
               {"cause", text_or_null(event.cause)},
               {"planned", interruption ? Json(event.planned) : Json(nullptr)},
               {"gpus", event.gpus},
               {"seconds_lost", SecondsOrNull(event.lost)},
               {"gpu_seconds_lost", event.gpu_lost ? Json(GpuSeconds(*event.gpu_lost)) : Json(nullptr)},
               {"evidence", std::move(evidence)},
               {"command", text_or_null(event.command)}})
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string AdviseAsJson(const AdviseReport& report) {
  const Situation& situation = report.situation;
  const Plan& plan = report.plan;
  const auto hours = [](const std::optional<double>& seconds) {
    return seconds ? Json(*seconds / 3600) : Json(nullptr);
  };
  const auto whole = [](const std::optional<double>& count) {
    return count ? Json(std::llround(*count)) : Json(nullptr);
  };
  Json document = {{"schema", kAdviseSchema},
                   {"mttf_hours", hours(situation.mttf_s)},
                   {"mttf_ci_hours", situation.mttf_low_s ? Json::array({hours(situation.mttf_low_s),
                                                                         hours(situation.mttf_high_s)})
                                                          : Json(nullptr)},
                   {"young_s", OrNull(plan.young_s)},
                   {"daly_s", OrNull(plan.daly_s)},
                   {"poisson_s", OrNull(plan.poisson_s)},
                   {"saxena_s", OrNull(plan.saxena_s)},
                   {"ettr", OrNull(plan.ettr)},
                   {"ettr_interval_s", OrNull(plan.ettr_interval_s)},
                   {"goodput_now", OrNull(plan.goodput_now)},
                   {"goodput_best", OrNull(plan.goodput_best)},
                   {"gpu_hours_gained", OrNull(plan.gpu_hours_gained)},
                   {"money_gained", OrNull(plan.money_gained)},
                   {"failures", report.measured ? Json(report.measured->failures) : Json(nullptr)},
                   {"up_hours", report.measured ? Json(report.measured->up_s / 3600) : Json(nullptr)},
                   {"save_s", OrNull(situation.save_s)},
                   {"restart_s", OrNull(situation.restart_s)},
                   {"interval_s", OrNull(situation.interval_s)},
                   {"nodes", whole(report.nodes)},
                   {"gpus", whole(situation.gpus)},
                   {"gpu_hour", OrNull(situation.gpu_hour)},
                   {"advice", Json::array()},
                   {"notes", report.caveats}};
  const SparePlan* const spares = report.spares ? &*report.spares : nullptr;
  const bool told = spares != nullptr && spares->unknown.empty();
  document["spares"] = told ? Json(spares->best) : Json(nullptr);
  document["spares_range"] = told ? Json(spares->range) : Json(nullptr);
  document["spares_gpu_hours_gained"] = told ? Json(spares->gpu_hours_saved) : Json(nullptr);
  document["spares_unknown"] = spares == nullptr || told ? Json(nullptr) : Json(spares->unknown);
  document["node_losses"] = report.measured ? Json(report.measured->spares.losses) : Json(nullptr);
  document["node_replace_s"] = told ? Json(spares->model.replace_s) : Json(nullptr);
  const bool range = report.reservation && report.reservation->known();
  document["scheduling"] = range ? Json(report.reservation->scheduling) : Json(nullptr);
  document["reserved_scheduling"] = range ? Json(report.reservation->with_reservation) : Json(nullptr);
  for (const Advice& advice : report.advice) {
    document["advice"].push_back({{"action", advice.action},
                                  {"evidence", advice.evidence},
                                  {"gain", OrNull(advice.gain)},
                                  {"at_most", advice.at_most}});
  }
  return Print(document);
}

namespace {

Json NodeWaitJson(const RollupRow& row) {
  const std::optional<NodeWait>& wait = row.awaited();
  if (!wait) return nullptr;
  return {{"gpu_seconds", GpuSeconds(wait->time.wait)},
          {"most_gpu_seconds", GpuSeconds(wait->time.most)},
          {"share", wait->share()},
          {"most_share", wait->most_share()}};
}

Json GpuUseRowJson(const RollupRow& row) {
  if (row.gpu_use.measured == 0) return nullptr;
  Json json = GpuUseSumJson(row.gpu_use);
  json["productive_busy"] = OrNull(BusyShare(row.productive_gpu_use));
  json["productive_tensor"] = OrNull(TensorShare(row.productive_gpu_use));
  return json;
}

Json RollupRowJson(const RollupReport& report, const RollupRow& row) {
  Json buckets = Json::array();
  for (const Bucket bucket : AllBuckets()) {
    const auto i = static_cast<std::size_t>(bucket);
    buckets.push_back({{"name", BucketName(bucket)},
                       {"side", SideName(BucketSide(bucket))},
                       {"ns", row.ns[i]},
                       {"seconds", Seconds(row.ns[i])},
                       {"gpu_seconds", GpuSeconds(row.gpu_ns[i])}});
  }
  const auto money = [&](GpuNs gpu_ns) {
    return report.gpu_hour ? Json(GpuHours(gpu_ns) * *report.gpu_hour) : Json(nullptr);
  };
  Json document = {
      {"group", absl::StrJoin(GroupParts(row.group), ",")},
      {"groups", GroupParts(row.group)},
      {"begin_ns", report.windows ? Json(row.begin) : Json(nullptr)},
      {"end_ns", report.windows ? Json(row.end) : Json(nullptr)},
      {"runs", row.runs},
      {"interruptions", row.interruptions},
      {"scheduling", OrNull(row.scheduling())},
      {"runtime", OrNull(row.runtime())},
      {"sg_rg", OrNull(row.sg_rg())},
      {"scheduling_range", RangeOrNull(row.scheduling_range())},
      {"runtime_range", RangeOrNull(row.runtime_range())},
      {"sg_rg_range", RangeOrNull(row.sg_rg_range())},
      {"wanted_gpu_hours", GpuHours(row.wanted())},
      {"allocated_gpu_hours", GpuHours(row.allocated())},
      {"unobserved_gpu_hours", GpuHours(row.unobserved())},
      {"cost", money(row.allocated())},
      {"wasted", money(row.wasted())},
      {"maybe_wasted", money(row.maybe_wasted())},
      {"node_failures", report.by_node() ? Json(row.node_failures) : Json(nullptr)},
      {"chance", OrNull(row.chance)},
      {"hardware_errors", OrNull(row.hardware_errors)},
      {"network",
       row.network
           ? Json({{"time_ns", row.network->t}, {"bytes", row.network->bytes}, {"busbw", row.network->busbw}})
           : Json(nullptr)},
      {"rank_wait", NodeWaitJson(row)},
      {"gpu_use", GpuUseRowJson(row)},
      {"buckets", std::move(buckets)}};
  if (report.waits) {
    document["waited_gpu_hours"] = GpuHours(row.waited());
    document["waited_s"] = Seconds(row.waited_ns());
  }
  if (report.consumption) {
    document["told_by"] = Json::object();
    for (const auto& [evidence, time] : row.told_by) document["told_by"][evidence] = GpuHours(time);
  }
  if (report.clusters || report.consumption) {
    document["program"] = OrNull(row.program);
    document["program_share"] = OrNull(row.program_share);
    document["mpg"] = OrNull(row.mpg);
  }
  return document;
}

Json FleetRowJson(const FleetRow& row) {
  Json held = Json::array();
  for (const Bucket bucket : AllBuckets()) {
    const GpuNs gpu_ns = row.held[static_cast<std::size_t>(bucket)];
    held.push_back({{"name", BucketName(bucket)},
                    {"side", SideName(BucketSide(bucket))},
                    {"gpu_seconds", GpuSeconds(gpu_ns)}});
  }
  Json unheld = Json::array();
  for (int i = 0; i < kConditionCount; ++i) {
    const auto at = static_cast<std::size_t>(i);
    unheld.push_back({{"name", ConditionName(static_cast<NodeCondition>(i))},
                      {"gpu_seconds", GpuSeconds(row.unheld[at])}});
  }
  return {{"group", row.group},
          {"nodes", row.nodes},
          {"capacity_gpu_seconds", GpuSeconds(row.capacity())},
          {"held_gpu_seconds", GpuSeconds(row.held_sum())},
          {"scheduling", OrNull(row.scheduling())},
          {"scheduling_range", RangeOrNull(row.scheduling_range())},
          {"runtime", OrNull(row.runtime())},
          {"runtime_range", RangeOrNull(row.runtime_range())},
          {"program", OrNull(row.program())},
          {"program_share", row.rated_share()},
          {"mpg", OrNull(row.mpg())},
          {"held", std::move(held)},
          {"unheld", std::move(unheld)}};
}

}  // namespace

std::string FleetAsJson(const FleetReport& report) {
  Json document = {{"schema", kFleetSchema},
                   {"cluster", report.cluster},
                   {"by", report.by},
                   {"begin_ns", report.begin},
                   {"end_ns", report.end},
                   {"watched_ns", report.watched},
                   {"unplaced_gpu_seconds", GpuSeconds(report.count.unplaced)},
                   {"rows", Json::array()},
                   {"total", FleetRowJson(report.count.total)}};
  for (const FleetRow& row : report.count.rows) document["rows"].push_back(FleetRowJson(row));
  return Print(document);
}

std::string RollupAsJson(const RollupReport& report) {
  Json document = {{"schema", kReportSchema},
                   {"by", report.by},
                   {"gpu_hour", OrNull(report.gpu_hour)},
                   {"rows", Json::array()},
                   {"total", RollupRowJson(report, report.total)}};
  for (const RollupRow& row : report.rows) document["rows"].push_back(RollupRowJson(report, row));
  if (report.clusters) {
    document["clusters"] = Json::array();
    for (const FleetClusterTime& of : *report.clusters)
      document["clusters"].push_back({{"cluster", of.cluster}, {"as_of_ns", OrNull(of.as_of)}});
  }
  return Print(document);
}

}  // namespace goodput
