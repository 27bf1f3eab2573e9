/* A SPANK plugin of somebody else, to stand beside ours: has every hook and an option, and does nothing. */
#include <slurm/spank.h>
#include <stddef.h>

SPANK_PLUGIN(other, 1)

static int take(int val, const char* optarg, int remote) {
  (void)val;
  (void)optarg;
  (void)remote;
  return 0;
}

int slurm_spank_init(spank_t spank, int ac, char* av[]) {
  static char name[] = "other", arginfo[] = "WORD", usage[] = "an option of another plugin";
  struct spank_option option = {name, arginfo, usage, 1, 0, take};

  (void)ac;
  (void)av;
  return spank_option_register(spank, &option) == ESPANK_SUCCESS ? 0 : -1;
}

#define NOTHING(hook)                           \
  int hook(spank_t spank, int ac, char* av[]) { \
    (void)spank;                                \
    (void)ac;                                   \
    (void)av;                                   \
    return 0;                                   \
  }

NOTHING(slurm_spank_job_prolog)
NOTHING(slurm_spank_init_post_opt)
NOTHING(slurm_spank_local_user_init)
NOTHING(slurm_spank_user_init)
NOTHING(slurm_spank_task_init_privileged)
NOTHING(slurm_spank_task_init)
NOTHING(slurm_spank_task_post_fork)
NOTHING(slurm_spank_task_exit)
NOTHING(slurm_spank_job_epilog)
NOTHING(slurm_spank_slurmd_exit)
NOTHING(slurm_spank_exit)
