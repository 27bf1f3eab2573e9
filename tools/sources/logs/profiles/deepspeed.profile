# DeepSpeed: deepspeed/runtime/engine.py (_report_progress), deepspeed/utils/timer.py (ThroughputTimer) and
# deepspeed/runtime/checkpoint_engine/torch_checkpoint_engine.py.
profile deepspeed
about   DeepSpeed
stamp   ^\[(?P<date>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d+)\]

rule    step_end
match   \bstep=(?P<step>\d+), skipped=\d+, lr=
example [2026-08-22 10:00:00,123] [INFO] [logging.py:107:log_dist] [Rank 0] step=10, skipped=0, lr=[1e-05], mom=[[0.9, 0.95]]
gives   step=10 time=2026-08-22T10:00:00.123

rule    step_end
match   \bepoch=\d+/micro_step=\d+/global_step=(?P<step>\d+), RunningAvgSamplesPerSec=
example [2023-07-24 13:21:33,260] [INFO] [timer.py:215:stop] epoch=0/micro_step=10/global_step=10, RunningAvgSamplesPerSec=199.08, CurrSamplesPerSec=216.75, MemAllocated=0.06GB, MaxMemAllocated=1.68GB
gives   step=10 time=2023-07-24T13:21:33.26

rule    save_begin
match   Checkpoint (?:global_step(?P<step>\d+)|\S+) is about to be saved!
example [2026-08-22 10:00:00,123] [INFO] [logging.py:107:log_dist] [Rank 0] [Torch] Checkpoint global_step100 is about to be saved!
gives   step=100 time=2026-08-22T10:00:00.123

rule    save_end
match   Checkpoint (?:global_step(?P<step>\d+)|\S+) is ready now!
example [2026-08-22 10:00:09,123] [INFO] [torch_checkpoint_engine.py:33:commit] [Torch] Checkpoint global_step100 is ready now!
gives   step=100 time=2026-08-22T10:00:09.123

# Releases that print no end of a save: the save is over at the next step.
rule    save_begin
match   Saving model checkpoint: .*global_step(?P<step>\d+)/
over_at next_step
example [2026-08-22 10:00:00,125] [INFO] [engine.py:3589:_save_checkpoint] Saving model checkpoint: out/global_step100/mp_rank_00_model_states.pt
gives   step=100 time=2026-08-22T10:00:00.125

rule    restore_begin
match   \[Torch\] (?:Loading|Begin Load) checkpoint from (?:\S*global_step(?P<step>\d+))?
example [2026-08-22 10:00:00,125] [INFO] [torch_checkpoint_engine.py:27:load] [Torch] Loading checkpoint from out/global_step100/mp_rank_00_model_states.pt...
gives   step=100 time=2026-08-22T10:00:00.125
example [2026-08-22 10:00:00,125] [INFO] [logging.py:107:log_dist] [Rank 0] [Torch] Begin Load checkpoint from out/global_step100/mp_rank_00_model_states.pt...
gives   step=100 time=2026-08-22T10:00:00.125

rule    restore_end
match   \[Torch\] (?:Loaded|End Load) checkpoint from (?:\S*global_step(?P<step>\d+))?
example [2026-08-22 10:00:05,125] [INFO] [torch_checkpoint_engine.py:29:load] [Torch] Loaded checkpoint from out/global_step100/mp_rank_00_model_states.pt.
gives   step=100 time=2026-08-22T10:00:05.125
example [2026-08-22 10:00:05,125] [INFO] [logging.py:107:log_dist] [Rank 0] [Torch] End Load checkpoint from out/global_step100/mp_rank_00_model_states.pt...
gives   step=100 time=2026-08-22T10:00:05.125
