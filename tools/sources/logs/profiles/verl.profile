# verl: verl/trainer/ppo/ray_trainer.py and verl/utils/logger/aggregate_logger.py (read at b178a3c). The metrics of
# step N are printed when it is done, after its save; those of a validation alone have no training/global_step.
profile verl
about   verl (PPO, GRPO)

rule    step_end
match   \bstep:\d+ - .*\btraining/global_step:(?P<step>\d+)
told_at next_step
example (TaskRunner pid=4711) step:7 - actor/pg_loss:-0.0121 - timing_s/step:61.5 - training/global_step:7 - training/epoch:0
gives   step=7

rule    save_begin
match   \blocal_global_step_folder: \S*global_step_(?P<step>\d+)
over_at next_step
example (TaskRunner pid=4711) local_global_step_folder: checkpoints/run7/global_step_20
gives   step=20

rule    restore_begin
match   \bResuming from \S*global_step_(?P<step>\d+)
example (TaskRunner pid=4711) Resuming from checkpoints/run7/global_step_20
gives   step=20

unlike  (TaskRunner pid=4711) step:0 - val-core/gsm8k/acc/mean@1:0.21
