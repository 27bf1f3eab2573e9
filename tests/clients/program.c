/* A small training program that says what it does with goodput.h, and writes down when: C99 and C++.
 *
 *   program LOG
 *
 * A line of LOG for each mark: what it was, and the real time in nanoseconds before and after the call. The
 * last line is how many marks were dropped.
 */
#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <time.h>

#include "goodput.h"

static FILE* log_file;

static long long Now(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void Pause(int milliseconds) {
  struct timespec left;
  left.tv_sec = 0;
  left.tv_nsec = milliseconds * 1000000L;
  nanosleep(&left, NULL);
}

#define MARKED(what, call)                                    \
  do {                                                        \
    const long long before = Now();                           \
    call;                                                     \
    fprintf(log_file, "%s %lld %lld\n", what, before, Now()); \
  } while (0)

int main(int count, char** words) {
  char what[64];
  int step;
  log_file = fopen(count == 2 ? words[1] : "", "w");
  if (log_file == NULL) return 2;
  MARKED("phase-begin-init", goodput_phase_begin("init"));
  Pause(200);
  MARKED("phase-end-init", goodput_phase_end("init"));
  MARKED("restore-begin", goodput_restore_begin(-1));
  Pause(100);
  MARKED("restore-end-5", goodput_restore_end(5));
  MARKED("world-begin-3-4", goodput_world(3, 4, -1, -1));
  for (step = 6; step <= 25; ++step) {
    snprintf(what, sizeof(what), "step-begin-%d", step);
    MARKED(what, goodput_step(step));
    Pause(50);
    if (step == 10) {
      MARKED("step-end-failed-10", goodput_step_failed(step));
      Pause(50);
    }
    if (step % 10 == 5) {
      snprintf(what, sizeof(what), "checkpoint-begin-%d", step);
      MARKED(what, goodput_checkpoint_begin(step));
      Pause(100);
      snprintf(what, sizeof(what), "checkpoint-end-%d", step);
      MARKED(what, goodput_checkpoint_end(step));
    }
    if (step == 15) {
      MARKED("phase-begin-evaluation", goodput_phase_begin("evaluation"));
      Pause(150);
      MARKED("phase-end-evaluation", goodput_phase_end("evaluation"));
    }
  }
  fprintf(log_file, "dropped %llu 0\n", goodput_dropped());
  return fclose(log_file) == 0 ? 0 : 1;
}
