/* Takes its time where pyxis does (0.8 and newer): imports, creates and starts a container in task_init,
 * which is the task's own process, as the user, behind task_post_fork and before it executes the program; and
 * removes the container in task_exit. $IMPORT_SECONDS and $REMOVE_SECONDS say how long. */
#include <slurm/spank.h>
#include <stdlib.h>
#include <time.h>

SPANK_PLUGIN(import, 1)

static int wait_for(spank_t spank, const char* name) {
  char text[16] = "";
  double seconds = 0;
  struct timespec wait;

  if (spank_getenv(spank, name, text, sizeof(text)) == ESPANK_SUCCESS) seconds = atof(text);
  wait.tv_sec = (time_t)seconds;
  wait.tv_nsec = (long)((seconds - (double)wait.tv_sec) * 1e9);
  nanosleep(&wait, NULL);
  return 0;
}

int slurm_spank_task_init(spank_t spank, int ac, char* av[]) {
  (void)ac;
  (void)av;
  return wait_for(spank, "IMPORT_SECONDS");
}

int slurm_spank_task_exit(spank_t spank, int ac, char* av[]) {
  (void)ac;
  (void)av;
  return wait_for(spank, "REMOVE_SECONDS");
}
