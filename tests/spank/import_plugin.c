/* Takes its time where pyxis does (0.8 and newer): imports, creates and starts a container in task_init,
 * which is the task's own process, as the user, behind task_post_fork and before it executes the program; and
 * removes the container in task_exit. As with pyxis commands do both, which the plugin executes; where one of
 * the import fails, so does the task. $IMPORT_SECONDS and $REMOVE_SECONDS say how long. */
#include <slurm/spank.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

SPANK_PLUGIN(import, 1)

static int wait_for(spank_t spank, const char* name) {
  char text[16] = "";
  int status = 0;
  pid_t command;

  if (spank_getenv(spank, name, text, sizeof(text)) != ESPANK_SUCCESS) return 0;
  command = fork();
  if (command == 0) {
    execl("/bin/sleep", "sleep", text, (char*)NULL);
    _exit(127);
  }
  return command > 0 && waitpid(command, &status, 0) == command && status == 0 ? 0 : -1;
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
