/* goodput-mark: does what `sgoodput mark` does, for container images without sgoodput's libraries. It is
 * linked statically, so that it runs in any image, also mounted as `sgoodput` (`mark` is then its first
 * argument). The exit status is 0 unless --strict is given, so that it never fails a script. */
#include <stdio.h>

#include "tools/clients/goodput.h"

#define MAX_WORDS 9

static const char help[] =
    "Usage: goodput-mark [--strict] WHAT\n"
    "\n"
    "Reports the training progress of this Slurm job to goodputd on this node.\n"
    "\n"
    "  step N                      training step N begins\n"
    "  step N failed               it failed and is tried again: its time until now is lost work\n"
    "  checkpoint begin|end [N]    a save of step N begins, or is complete\n"
    "  restore begin|end [N]       the checkpoint of step N is being loaded, or is loaded\n"
    "  phase NAME begin|end        a phase: init, data_loading, compile, evaluation or a name of your own\n"
    "  world W [of N] [spares S] [tokens T]\n"
    "                              W GPUs step from now on, N should; S more are spares; T tokens a step\n"
    "\n"
    "      --strict                exit 1 if the mark cannot be sent, 2 if it is invalid\n"
    "                              (without it the exit status is always 0)\n"
    "\n"
    "It takes the job, step and task from Slurm's environment and the socket from GOODPUT_SOCKET.\n";

/* -1: no step. */
static long long step_of(const char* word) {
  char* end = NULL;
  long long step;
  if (word == NULL || *word < '0' || *word > '9') return -1;
  errno = 0;
  step = strtoll(word, &end, 10);
  return errno == 0 && *end == 0 && step <= GOODPUT_MAX_STEP_ ? step : -1;
}

/* world W [of N] [spares S] [tokens T]. 0: they are not that. */
static int mark_world(const char* const words[], int count) {
  static const char* const names[] = {"of", "spares", "tokens"};
  long long numbers[3] = {-1, -1, -1};
  const long long stepping = count > 1 ? step_of(words[1]) : -1;
  int i, which;
  if (count % 2 != 0) return 0;
  for (i = 2; i + 1 < count; i += 2) {
    for (which = 0; which < 3 && strcmp(words[i], names[which]) != 0; ++which) {
    }
    if (which == 3 || numbers[which] >= 0) return 0;
    numbers[which] = step_of(words[i + 1]);
    if (numbers[which] < 0) return 0;
  }
  if (!goodput_is_world_(stepping, numbers[0], numbers[1], numbers[2])) return 0;
  goodput_world(stepping, numbers[0], numbers[1], numbers[2]);
  return 1;
}

/* Sends the mark. Returns null, or why the arguments are invalid. */
static const char* mark(const char* const words[], int count) {
  const int is_restore = count > 0 && strcmp(words[0], "restore") == 0;
  const char* edge;
  long long step = -1;
  if (count == 0)
    return "missing argument: step, checkpoint, restore, phase or world; see goodput-mark --help";
  if (strcmp(words[0], "step") == 0) {
    const int failed = count == 3 && strcmp(words[2], "failed") == 0;
    if ((count != 2 && !failed) || step_of(words[1]) < 0) return "usage: goodput-mark step N [failed]";
    (failed ? goodput_step_failed : goodput_step)(step_of(words[1]));
    return NULL;
  }
  if (strcmp(words[0], "phase") == 0) {
    edge = count == 3 ? words[2] : "";
    if (count != 3 || *words[1] == 0 || strlen(words[1]) > GOODPUT_NAME_BYTES_ ||
        (strcmp(edge, "begin") != 0 && strcmp(edge, "end") != 0))
      return "usage: goodput-mark phase NAME begin|end, NAME at most 128 bytes";
    (strcmp(edge, "begin") == 0 ? goodput_phase_begin : goodput_phase_end)(words[1]);
    return NULL;
  }
  if (strcmp(words[0], "world") == 0) {
    return mark_world(words, count) ? NULL
                                    : "usage: goodput-mark world W [of N] [spares S] [tokens T], in GPUs, W "
                                      "at least 1 and N at least W";
  }
  if (!is_restore && strcmp(words[0], "checkpoint") != 0)
    return "unknown mark: use step, checkpoint, restore, phase or world";
  edge = count > 1 ? words[1] : "";
  if (count == 3) step = step_of(words[2]);
  if (count > 3 || (count == 3 && step < 0) || (strcmp(edge, "begin") != 0 && strcmp(edge, "end") != 0))
    return is_restore ? "usage: goodput-mark restore begin|end [N]"
                      : "usage: goodput-mark checkpoint begin|end [N]";
  if (strcmp(edge, "begin") == 0) {
    (is_restore ? goodput_restore_begin : goodput_checkpoint_begin)(step);
  } else {
    (is_restore ? goodput_restore_end : goodput_checkpoint_end)(step);
  }
  return NULL;
}

int main(int argc, char** argv) {
  const char* words[MAX_WORDS + 1];
  const char* why;
  int count = 0, strict = 0, i;
  for (i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
      fputs(help, stdout);
      return 0;
    }
    if (strcmp(argv[i], "--strict") == 0) {
      strict = 1;
    } else if (!(count == 0 && i == 1 && strcmp(argv[i], "mark") == 0) && count <= MAX_WORDS) {
      words[count++] = argv[i];
    }
  }
  /* The caller decides which ranks call goodput-mark, so every call reports; as Slurm's task, unless ranks
   * do. */
  if (getenv("GOODPUT_RANKS") == NULL || strcmp(getenv("GOODPUT_RANKS"), "all") != 0) {
    unsetenv("RANK");
    unsetenv("OMPI_COMM_WORLD_RANK");
  }
  setenv("GOODPUT_RANKS", "all", 1);
  why = mark(words, count);
  if (why == NULL && goodput_env_number_("SLURM_JOB_ID") <= 0)
    why = "not in a Slurm job: SLURM_JOB_ID is not set";
  if (why != NULL) {
    fprintf(stderr, "goodput-mark: %s\n", why);
    return strict ? 2 : 0;
  }
  if (goodput_dropped() == 0 || !strict) return 0;
  fputs("goodput-mark: goodputd on this node did not accept the mark\n", stderr);
  return 1;
}
