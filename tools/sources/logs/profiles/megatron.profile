# Megatron-LM: megatron/training/training.py (training_log, print_datetime, checkpoint_and_decide_exit) and
# megatron/training/checkpointing.py (save_checkpoint, load_checkpoint). Iteration N is printed when N steps are
# done; its time per step excludes saves and evaluations.
profile megatron
about   Megatron-LM and what trains with its loop
stamp   \[(?P<date>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?)\]
stamp   datetime: (?P<date>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?)

rule    step_end
match   \biteration +(?P<step>\d+)/ *(?P<of>\d+) \| .*elapsed time per iteration \(ms\): (?P<step_ms>[\d.]+)
example  [2026-02-05 17:07:36.379347] iteration        1/  158945 | consumed samples:          768 | elapsed time per iteration (ms): 132563.1 | throughput per GPU (TFLOP/s/GPU): 138.5 | learning rate: 1.500000E-07 |
gives   step=1 of=158945 step_s=132.5631 time=2026-02-05T17:07:36.379347
example  iteration      200/     500 | consumed samples:        51200 | elapsed time per iteration (ms): 503.2 | learning rate: 1.0E-04 |
gives   step=200 of=500 step_s=0.5032
# Similar lines of validations.
unlike   validation loss at iteration 1000 | lm loss value: 2.345678E+00 | lm loss PPL: 1.043E+01 |

# The end of a save; the begin prints "saving".
rule    save_end
match   successfully saved (?:local )?checkpoint (?:from|at) iteration +(?P<step>\d+) to
example   [2026-02-05 17:09:36.379347] successfully saved checkpoint from iteration     100 to /mnt/ckpt [ t 1/8, p 1/4 ]
gives   step=100 time=2026-02-05T17:09:36.379347
example   successfully saved checkpoint from iteration     100 to /mnt/ckpt
gives   step=100
# Until May 2024, and in older forks.
example   successfully saved checkpoint at iteration     100 to /mnt/ckpt
gives   step=100

# Until 2020.
rule    save_end
match   successfully saved \S*iter_(?P<step>\d+)/
example   successfully saved /mnt/ckpt/iter_0000100/mp_rank_00/model_optim_rng.pt
gives   step=100

# An asynchronous save, which no longer blocks the loop.
rule    save_goes_on
match   scheduled an async checkpoint save at iteration +(?P<step>\d+) to
example   [2026-02-05 17:07:40.379347] scheduled an async checkpoint save at iteration     100 to /mnt/ckpt
gives   step=100 time=2026-02-05T17:07:40.379347
example   scheduled an async checkpoint save at iteration     100 to /mnt/ckpt
gives   step=100

rule    save_begin
match   \bsaving (?:local )?checkpoint at iteration +(?P<step>\d+) to
example [2026-02-05 17:07:36.379347] saving checkpoint at iteration     100 to /mnt/ckpt in torch_dist format
gives   step=100 time=2026-02-05T17:07:36.379347
example global rank 0 is saving checkpoint at iteration     100 to /mnt/ckpt/iter_0000100/mp_rank_00/model_optim_rng.pt
gives   step=100

rule    restore_end
match   successfully loaded checkpoint from .* at iteration (?P<step>\d+)
example   successfully loaded checkpoint from /ckpt [ t 1/8, p 1/4 ] at iteration 1000
gives   step=1000

rule    restore_end
match   successfully loaded \S*iter_(?P<step>\d+)/
example   successfully loaded /mnt/ckpt/iter_0001000/mp_rank_00/model_optim_rng.pt
gives   step=1000

rule    restore_begin
match   \bglobal rank \d+ is loading checkpoint \S*iter_(?P<step>\d+)/
example global rank 0 is loading checkpoint /mnt/ckpt/iter_0001000/mp_rank_00/model_optim_rng.pt
gives   step=1000

rule    restore_begin
match   \bloading (?:distributed )?checkpoint from .* at iteration (?P<step>\d+)
example  loading distributed checkpoint from /ckpt at iteration 1000
gives   step=1000

rule    training_begin
match   \[before the start of training step\] datetime: (?P<date>[-\d]+ [:.\d]+)
example [before the start of training step] datetime: 2026-02-05 16:01:40.326255
gives   time=2026-02-05T16:01:40.326255

rule    stop
match   \[exiting program after receiving SIGTERM\.\] datetime: (?P<date>[-\d]+ [:.\d]+)
example [exiting program after receiving SIGTERM.] datetime: 2026-02-05 18:01:40.326255
gives   time=2026-02-05T18:01:40.326255

rule    program_end
match   \[after training is done\] datetime: (?P<date>[-\d]+ [:.\d]+)
example [after training is done] datetime: 2026-02-05 19:01:40.326255
gives   time=2026-02-05T19:01:40.326255
