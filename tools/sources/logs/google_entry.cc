#include "tools/sources/logs/google_entry.h"

#include <simdjson.h>

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "sql/status_macros.h"
#include "sql/text.h"
#include "tools/accounting/timeline/sanitize_facts.h"
#include "tools/base/decimal.h"
#include "tools/sources/logs/step_entry.h"

namespace goodput {
namespace {

namespace ondemand = simdjson::ondemand;

enum PhaseIndex : std::uint8_t { kInit, kPrep, kLoading, kCustom, kElasticWait, kElasticReinit };

absl::Status Bad(std::string_view what) {
  return absl::InvalidArgumentError(ToAbsl(what));
}

// The raw contents of an entry.
struct Draft {
  explicit Draft(GoogleEntry& into) : entry(into) {}

  GoogleEntry& entry;
  std::string_view event_type;
  std::string_view custom_type;
  std::string_view wait_type;
  bool has_step_start = false;
  bool known = false;  // it has a key of the vocabulary
  // From the checkpoint manager; the checkpointer below it logs the same for a slightly shorter time.
  struct Span {
    std::optional<Ns> start;
    std::optional<Ns> duration;
  };
  Span manager_save, checkpointer_save, manager_restore, checkpointer_restore, wait;
};

std::string_view RawToken(ondemand::value& value) {
  const std::string_view token = value.raw_json_token();
  return token.substr(0, token.find_last_not_of(" \t\r\n") + 1);
}

// Text and number tokens as they stand, without quotes; absent for null, an error for anything else.
absl::StatusOr<std::optional<std::string_view>> Token(ondemand::value& value) {
  ondemand::json_type type{};
  if (value.type().get(type) != simdjson::SUCCESS) return Bad("not JSON");
  if (type == ondemand::json_type::null) {
    if (RawToken(value) != "null") return Bad("not JSON");
    return std::optional<std::string_view>();
  }
  std::string_view token;
  if (type == ondemand::json_type::string) {
    if (value.get_string().get(token) != simdjson::SUCCESS) return Bad("not JSON");
    return std::optional(token);
  }
  if (type != ondemand::json_type::number) return Bad("neither text nor a number");
  return std::optional(RawToken(value));
}

absl::Status ReadNumber(ondemand::value& value, std::string_view key, int scale, std::int64_t limit,
                        std::optional<std::int64_t>& into) {
  const absl::StatusOr<std::optional<std::string_view>> token = Token(value);
  if (!token.ok()) return Annotate(token.status(), Cat("`", key, "`"));
  if (!*token) return absl::OkStatus();
  into = ParseDecimal(**token, scale);
  if (!into || *into < 0 || *into >= limit) {
    return Bad(Cat("`", key, "` is ", scale == 0 ? "no number" : "no time"));
  }
  return absl::OkStatus();
}

absl::Status ReadTime(ondemand::value& value, std::string_view key, std::optional<Ns>& into) {
  return ReadNumber(value, key, 9, kLatest, into);
}

// A step number; Cloud Logging has no integers and may write 12 as 12.0.
absl::Status ReadStep(ondemand::value& value, std::string_view key, std::optional<std::int64_t>& into) {
  constexpr std::int64_t kMilli = 1000;
  std::optional<std::int64_t> thousandths;
  if (absl::Status status = ReadNumber(value, key, 3, kMaxTrainStep * kMilli, thousandths); !status.ok())
    return Bad(Cat("`", key, "` is not a step number"));
  if (!thousandths) return absl::OkStatus();
  if (*thousandths % kMilli != 0) return Bad(Cat("`", key, "` is not a step number"));
  into = *thousandths / kMilli;
  return absl::OkStatus();
}

absl::Status ReadText(ondemand::value& value, std::string_view key, std::string_view& into) {
  ondemand::json_type type{};
  if (value.type().get(type) != simdjson::SUCCESS) return Bad("not JSON");
  if (type == ondemand::json_type::null && RawToken(value) == "null") return absl::OkStatus();
  if (type != ondemand::json_type::string || value.get_string().get(into) != simdjson::SUCCESS)
    return Bad(Cat("`", key, "` is not a string"));
  return absl::OkStatus();
}

// Reads "x_start_time" and "x_end_time" of a phase. False: another key.
bool ReadPhase(ondemand::value& value, std::string_view key, std::string_view prefix,
               GoogleEntry::Phase& phase, absl::Status& status) {
  if (key.substr(0, prefix.size()) != prefix) return false;
  const std::string_view rest = key.substr(prefix.size());
  if (rest != "_start_time" && rest != "_end_time") return false;
  status = ReadTime(value, key, rest == "_start_time" ? phase.start : phase.end);
  return true;
}

bool ReadSpan(ondemand::value& value, std::string_view key, std::string_view prefix, Draft::Span& span,
              absl::Status& status) {
  if (key.substr(0, prefix.size()) != prefix) return false;
  const std::string_view rest = key.substr(prefix.size());
  if (rest != "_start_time" && rest != "_duration_secs") return false;
  status = ReadTime(value, key, rest == "_start_time" ? span.start : span.duration);
  return true;
}

absl::Status ReadOurs(ondemand::object object, GoogleEntry::Ours& ours) {
  ours.any = true;
  for (auto field : object) {
    std::string_view key;
    ondemand::value value;
    if (field.unescaped_key().get(key) != simdjson::SUCCESS || field.value().get(value) != simdjson::SUCCESS)
      return Bad("not JSON");
    absl::Status status;
    constexpr std::int64_t kAnyInt = std::int64_t{1} << 31U;
    if (key == "slurm_step") {
      status = ReadText(value, key, ours.slurm_step);
    } else if (key == "task") {
      status = ReadNumber(value, key, 0, kAnyInt, ours.task);
    } else if (key == "srun_start_time") {
      status = ReadTime(value, key, ours.srun_start);
    } else if (key == "srun_end_time") {
      status = ReadTime(value, key, ours.srun_end);
    } else if (key == "exit_code") {
      status = ReadNumber(value, key, 0, kAnyInt, ours.exit_code);
    } else if (key == "exit_signal") {
      status = ReadNumber(value, key, 0, kAnyInt, ours.exit_signal);
    } else if (key == "state") {
      status = ReadText(value, key, ours.state);
    } else if (key == "stop_time") {
      status = ReadTime(value, key, ours.stop);
    } else if (key == "complete_time") {
      status = ReadTime(value, key, ours.complete);
    } else if (key == "running_time") {
      status = ReadTime(value, key, ours.running);
    } else if (key == "unfinished") {
      if (value.get_bool().get(ours.unfinished) != simdjson::SUCCESS)
        return Bad("`unfinished` is not a boolean");
    }
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

// Keys that steps do not have; separate, since nearly all of a log is steps.
absl::Status ReadOther(ondemand::value& value, std::string_view key, Draft& draft) {
  GoogleEntry& entry = draft.entry;
  absl::Status status;
  if (key == "job_start_time") {
    draft.known = true;
    return ReadTime(value, key, entry.job_start);
  }
  if (key == "job_end_time") {
    draft.known = true;
    return ReadTime(value, key, entry.job_end);
  }
  if (ReadPhase(value, key, "tpu_init", entry.phases[kInit], status) ||
      ReadPhase(value, key, "training_prep", entry.phases[kPrep], status) ||
      ReadPhase(value, key, "data_loading", entry.phases[kLoading], status) ||
      ReadPhase(value, key, "custom_badput_event", entry.phases[kCustom], status) ||
      ReadPhase(value, key, "elastic_wait", entry.phases[kElasticWait], status) ||
      ReadPhase(value, key, "elastic_reinit", entry.phases[kElasticReinit], status)) {
    draft.known = true;
    return status;
  }
  if (key == "elastic_slice_counts_timestamp") {
    draft.known = true;
    return ReadTime(value, key, entry.slice_counts);
  }
  if (key == "elastic_wait_event_type") return ReadText(value, key, draft.wait_type);
  if (key == "custom_badput_event_type") return ReadText(value, key, draft.custom_type);
  if (key == "event_type") return ReadText(value, key, draft.event_type);
  if (key == "step") return ReadStep(value, key, entry.checkpoint_step);
  if (ReadSpan(value, key, "checkpoint_manager_blocking", draft.manager_save, status) ||
      ReadSpan(value, key, "checkpointer_blocking", draft.checkpointer_save, status) ||
      ReadSpan(value, key, "checkpoint_manager", draft.manager_restore, status) ||
      ReadSpan(value, key, "checkpointer", draft.checkpointer_restore, status) ||
      ReadSpan(value, key, "wait_for_prev", draft.wait, status)) {
    return status;
  }
  if (key == "synchronous") {
    bool synchronous = true;
    if (value.get_bool().get(synchronous) == simdjson::SUCCESS) entry.asynchronous = !synchronous;
    return absl::OkStatus();
  }
  if (key == "slurm_goodput") {
    draft.known = true;
    ondemand::object ours;
    if (value.get_object().get(ours) != simdjson::SUCCESS) return Bad("`slurm_goodput` is not an object");
    return ReadOurs(ours, entry.ours);
  }
  return absl::OkStatus();
}

absl::Status ReadMembers(ondemand::object object, bool payload, Draft& draft) {
  for (auto field : object) {
    std::string_view key;
    ondemand::value value;
    if (field.unescaped_key().get(key) != simdjson::SUCCESS || field.value().get(value) != simdjson::SUCCESS)
      return Bad("not JSON");
    absl::Status status;
    if (key == "step_count") {
      status = ReadStep(value, key, draft.entry.step);
    } else if (key == "step_start_time") {
      std::optional<Ns> start;
      status = ReadTime(value, key, start);
      draft.has_step_start = start.has_value();
      draft.entry.step_start = start.value_or(0);
    } else if (key == "job_name") {
      status = ReadText(value, key, draft.entry.job_name);
    } else if (key == "jsonPayload" && !payload) {
      ondemand::object inner;
      if (value.get_object().get(inner) != simdjson::SUCCESS) return Bad("`jsonPayload` is not an object");
      status = ReadMembers(inner, true, draft);
    } else {
      status = ReadOther(value, key, draft);
    }
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

std::optional<Ns> EndOf(const Draft::Span& span) {
  if (!span.start || !span.duration || *span.duration >= kLatest - *span.start) return std::nullopt;
  return *span.start + *span.duration;
}

absl::Status FinishCheckpoint(const Draft& draft) {
  GoogleEntry& entry = draft.entry;
  const bool save = draft.event_type == "save";
  const Draft::Span& manager = save ? draft.manager_save : draft.manager_restore;
  const Draft::Span& span =
      manager.start ? manager : (save ? draft.checkpointer_save : draft.checkpointer_restore);
  if (!span.start) return Bad(save ? "a save without its start" : "a restore without its start");
  entry.checkpoint = save ? GoogleEntry::Checkpoint::kSave : GoogleEntry::Checkpoint::kRestore;
  entry.checkpoint_start = *span.start;
  if (!entry.ours.unfinished) entry.checkpoint_end = EndOf(span);
  entry.waited_until = EndOf(draft.wait);
  return absl::OkStatus();
}

absl::StatusOr<bool> Finish(const Draft& draft) {
  GoogleEntry& entry = draft.entry;
  bool any = draft.known;
  if (entry.step.has_value() != draft.has_step_start) {
    return Bad(entry.step ? "`step_count` without `step_start_time`"
                          : "`step_start_time` without `step_count`");
  }
  if (entry.step) any = true;
  GoogleEntry::Phase& custom = entry.phases[kCustom];
  entry.phases[kInit].name = "init";
  entry.phases[kPrep].name = "training_prep";
  entry.phases[kLoading].name = "data_loading";
  custom.name = draft.custom_type;
  // Google's calculator knows two kinds of waiting, and treats any other value as the first.
  const bool scale_up = absl::StrContains(absl::AsciiStrToLower(ToAbsl(draft.wait_type)), "scale_up");
  entry.phases[kElasticWait].name = scale_up ? "elastic_scale_up" : "elastic_slice_down";
  entry.phases[kElasticReinit].name = kElasticReinitPhase;
  if ((custom.start || custom.end) && custom.name.empty()) return Bad("no `custom_badput_event_type`");
  const bool restore = draft.event_type == "restore" || draft.event_type == "emergency_restore";
  if (draft.event_type == "save" || restore) {
    RETURN_IF_ERROR(FinishCheckpoint(draft));
    any = true;
  }
  if (any && entry.time() == INT64_MAX) {
    if (entry.ours.any) return Bad("`slurm_goodput` without a time");
    return Bad("no time");
  }
  return any;
}

}  // namespace

void GoogleEntry::Delay(Ns by) {
  const auto delay = [&](std::optional<Ns>& t) {
    if (t) *t += by;
  };
  for (std::optional<Ns>* t : {&job_start, &job_end, &slice_counts, &checkpoint_end, &waited_until,
                               &ours.srun_start, &ours.srun_end, &ours.stop, &ours.complete, &ours.running})
    delay(*t);
  for (Phase& phase : phases) {
    delay(phase.start);
    delay(phase.end);
  }
  step_start += by;
  checkpoint_start += by;
}

Ns GoogleEntry::time() const {
  if (step) return step_start;
  Ns first = INT64_MAX;
  const auto see = [&](const std::optional<Ns>& t) {
    if (t) first = std::min(first, *t);
  };
  see(job_start);
  see(job_end);
  see(slice_counts);
  for (const Phase& phase : phases) {
    see(phase.start);
    see(phase.end);
  }
  if (checkpoint != Checkpoint::kNone) first = std::min(first, checkpoint_start);
  see(ours.srun_start);
  see(ours.srun_end);
  see(ours.running);
  return first;
}

static_assert(GoogleEntryParser::kPadding >= simdjson::SIMDJSON_PADDING);

struct GoogleEntryParser::Impl {
  ondemand::parser parser{kMaxEntryBytes};
  PlainStepReader plain;
  const GoogleEntry* step = nullptr;  // the last parsed entry, if it was a plain step
};

GoogleEntryParser::GoogleEntryParser() : impl_(std::make_unique<Impl>()) {}
GoogleEntryParser::~GoogleEntryParser() = default;

absl::StatusOr<bool> GoogleEntryParser::Parse(std::string_view text, GoogleEntry& entry) {
  PlainStep step;
  if (text.size() > kMaxEntryBytes || !impl_->plain.Read(text, step)) {
    impl_->step = nullptr;
    return ParseJson(text, entry);
  }
  // An entry that held a step needs no clearing of other members.
  if (impl_->step != &entry) entry = GoogleEntry();
  impl_->step = &entry;
  entry.job_name = step.job_name;
  entry.step = step.step;
  entry.step_start = step.start;
  return true;
}

absl::StatusOr<bool> GoogleEntryParser::ParseJson(std::string_view text, GoogleEntry& entry) {
  entry = GoogleEntry();
  if (text.size() > kMaxEntryBytes) return Bad("longer than an entry may be");
  ondemand::document document;
  ondemand::object object;
  if (impl_->parser.iterate(text.data(), text.size(), text.size() + kPadding).get(document) !=
          simdjson::SUCCESS ||
      document.get_object().get(object) != simdjson::SUCCESS) {
    return Bad("not a JSON object");
  }
  Draft draft(entry);
  RETURN_IF_ERROR(ReadMembers(object, false, draft));
  if (document.current_location().error() == simdjson::SUCCESS) return Bad("text after the JSON object");
  return Finish(draft);
}

}  // namespace goodput
