/* Takes as long as $IMPORT_SECONDS says where pyxis imports a container's image: in user_init, before there
 * is a task. */
#include <slurm/spank.h>
#include <stdlib.h>
#include <time.h>

SPANK_PLUGIN(import, 1)

int slurm_spank_user_init(spank_t spank, int ac, char* av[]) {
  char text[16] = "";
  struct timespec wait = {0, 0};

  (void)ac;
  (void)av;
  if (spank_getenv(spank, "IMPORT_SECONDS", text, sizeof(text)) == ESPANK_SUCCESS) wait.tv_sec = atoi(text);
  nanosleep(&wait, NULL);
  return 0;
}
