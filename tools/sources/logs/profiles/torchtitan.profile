# torchtitan: torchtitan/components/metrics.py (MetricsProcessor.log), torchtitan/components/checkpoint.py and
# torchtitan/train.py. An asynchronous save prints its staging, but not its completion.
profile torchtitan
about   torchtitan
stamp   (?P<date>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d+) - 

rule    step_end
match   INFO - step: +(?P<step>\d+)(?:/(?P<of>\d+) = [\d.]+%)? +loss: 
example [titan] 2026-08-21 10:00:00,123 - root - INFO - step: 10  loss:  7.12345  grad_norm:  1.2345  memory: 30.00GiB(38.00%)  tps: 7,123  tflops: 412.52  mfu: 41.71%
gives   step=10 time=2026-08-21T10:00:00.123
example [rank0]:2025-04-01 00:25:47,084 - root - INFO - step: 640/644 = 99.3789%  loss:  6.2116  memory: 87.04GiB(93.48%)  tps: 52,142  mfu: N/A
gives   step=640 of=644 time=2025-04-01T00:25:47.084

rule    save_begin
match   Saving (?:the|a (?:full|model only|model weights only)) checkpoint\b(?:.* step (?P<step>\d+))?
example [titan] 2026-08-21 10:00:00,123 - root - INFO - Saving the checkpoint.
gives   time=2026-08-21T10:00:00.123
example [rank0]:2025-04-01 00:25:54,090 - root - INFO - Saving a full checkpoint at last step, step 644.
gives   step=644 time=2025-04-01T00:25:54.09

rule    save_begin
match   Staging the checkpoint\.
complete untold
example [titan] 2026-08-21 10:00:00,123 - root - INFO - Staging the checkpoint.
gives   time=2026-08-21T10:00:00.123

rule    save_end
match   Finished (?:saving|staging) the checkpoint (?:\(or staging if async is enabled\) ?)?in (?P<took_s>[\d.]+) seconds
example [titan] 2026-08-21 10:00:09,243 - root - INFO - Finished saving the checkpoint in 9.12 seconds.
gives   took_s=9.12 time=2026-08-21T10:00:09.243
example [titan] 2026-08-22 10:01:26,927 - root - INFO - Finished staging the checkpoint in 0.20 seconds.
gives   took_s=0.2 time=2026-08-22T10:01:26.927
example [rank0]:2025-04-01 00:25:59,616 - root - INFO - Finished saving the checkpoint (or staging if async is enabled)in 5.53 seconds.
gives   took_s=5.53 time=2025-04-01T00:25:59.616

rule    save_end
match   Last step checkpoint completed in (?P<took_s>[\d.]+)s
example [titan] 2026-08-22 10:02:32,479 - root - INFO - Last step checkpoint completed in 1.50s
gives   took_s=1.5 time=2026-08-22T10:02:32.479

rule    restore_begin
match   Loading the checkpoint (?:from (?:.*step-)?|at step )(?P<step>\d+)?
example [titan] 2026-08-22 10:01:13,036 - root - INFO - Loading the checkpoint from /ckpt/run 7/checkpoint/step-20.
gives   step=20 time=2026-08-22T10:01:13.036
example [rank0]:2024-09-08 10:58:15,493 - root - INFO - Loading the checkpoint at step 45.
gives   step=45 time=2024-09-08T10:58:15.493
example [titan] 2026-08-22 10:01:13,036 - root - INFO - Loading the checkpoint from /models/base.
gives   time=2026-08-22T10:01:13.036

rule    restore_end
match   Finished loading the checkpoint in (?P<took_s>[\d.]+) seconds
example [titan] 2026-08-21 10:00:00,123 - root - INFO - Finished loading the checkpoint in 3.10 seconds.
gives   took_s=3.1 time=2026-08-21T10:00:00.123

rule    training_begin
match   Training starts at step (?P<step>\d+)
example [titan] 2026-08-21 10:00:00,123 - root - INFO - Training starts at step 501
gives   step=501 time=2026-08-21T10:00:00.123

rule    program_end
match   - INFO - Training completed
example [titan] 2026-08-21 11:00:00,123 - root - INFO - Training completed
gives   time=2026-08-21T11:00:00.123
unlike  [titan] 2026-08-21 10:00:00,123 - root - INFO - validate step: 10  loss:  7.12345  memory: 30.00GiB(38.00%)  tps: 7,123
