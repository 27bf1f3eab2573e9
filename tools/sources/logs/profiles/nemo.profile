# NeMo 2: nemo/lightning/pytorch/callbacks/progress_printer.py, nemo/lightning/io and Megatron's asynchronous
# writer; NeMo 1: its DLLogger. Both count iterations from 0: the line of iteration N is printed when N + 1 steps
# are done. The printed time per step is a running mean or excludes data loading, so it is not used.
profile nemo
about   NeMo 1 and 2
stamp   \[NeMo [A-Z] (?P<date>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)
stamp   "timestamp": ?"(?P<unix>\d+\.\d+)"

rule    step_end
match   Training epoch \d+, iteration \d+/\d+ \| .*\bglobal_step: (?P<step>\d+)\b(?:.*\btrain_step_timing in s: (?P<about_s>[\d.]+))?
add     1
example Training epoch 4, iteration 0/999 | lr: 1.805e-05 | global_batch_size: 32 | global_step: 200 | reduced_train_loss: 1.043e+01 | train_step_timing in s: 1.365 | TFLOPS_per_GPU: 1.128e+03 | consumed_samples: 6432
gives   step=201 about_s=1.365
example Training epoch 0, iteration 0/999 | lr: 1.805e-05 | global_step: 0 | consumed_samples: 32
gives   step=1
# Older printers print no global step, so steps are counted within one epoch.
unlike  Validation: iteration 3/8

rule    step_end
match   DLLL \{"timestamp": ?"(?P<unix>[\d.]+)".*"type": ?"LOG", ?"step": ?(?P<step>\d+), ?"data": ?\{.*"train_step_timing in s"
add     1
example DLLL {"timestamp":"1727463426.984522","datetime":"2024-09-27 18:57:06.984522","elapsedtime":"1645.119157","type":"LOG","step":47,"data":{"reduced_train_loss":7.89,"global_step":47,"consumed_samples":98304,"train_step_timing in s":25.1155,"epoch":0}}
gives   step=48 time=2024-09-27T18:57:06.984522Z

# Printed when the loop continues; the save is over then, unless it is asynchronous.
rule    save_begin
match   Global Checkpoint Save : Rank: \d+ :(?: Iteration: (?P<step>\d+) :)? Start time: (?P<began_unix>[\d.]+)s : Save duration: (?P<took_s>[\d.]+)s
add     1
over_at next_step
example [NeMo I 2026-02-13 22:35:35 nemo_logging:393] Global Checkpoint Save : Rank: 0 : Iteration: 199 : Start time: 1771022134.925s : Save duration: 0.309s
gives   step=200 took_s=0.309 began=2026-02-13T22:35:34.925Z time=2026-02-13T22:35:35
example [NeMo I 2026-02-13 22:35:35 dist_ckpt_io:421] Global Checkpoint Save : Rank: 0 : Start time: 1771022134.925s : Save duration: 0.309s
gives   took_s=0.309 began=2026-02-13T22:35:34.925Z time=2026-02-13T22:35:35

# NeMo 1 and the first releases of NeMo 2.
rule    save_begin
match   Checkpoint save for step (?P<step>\d+) started at (?P<unix>[\d.]+\d)
over_at next_step
example [NeMo I 2024-09-27 18:57:06 nemo_model_checkpoint:550] Checkpoint save for step 200 started at 1727463426.984522.
gives   step=200 time=2024-09-27T18:57:06.984522Z

rule    save_goes_on
match   Scheduled async checkpoint save for
example [NeMo I 2026-08-22 10:01:26 nemo_logging:393] Scheduled async checkpoint save for /ckpt/model--step=29.ckpt
gives   time=2026-08-22T10:01:26

rule    save_end
match   Successfully saved checkpoint from iteration +(?P<step>\d+) to
add     1
example [NeMo I 2026-02-13 22:35:45 nemo_logging:393] Successfully saved checkpoint from iteration     199 to /ckpt/step=199.ckpt
gives   step=200 time=2026-02-13T22:35:45

rule    save_end
match   Async checkpoint save for step (?P<step>\d+) \(.*\) finalized successfully
example [NeMo I 2026-02-13 22:35:46 nemo_logging:393] Async checkpoint save for step 200 (/ckpt/step=199.ckpt) finalized successfully.
gives   step=200 time=2026-02-13T22:35:46

# Between begin and end: Global Checkpoint Load : Rank : 0 : Start time : 1787392874.991s : Time spent in load_checkpoint: 2.400s
rule    restore_begin
match   Restoring states from the checkpoint path at (?:.*\bstep=(?P<step>\d+))?
add     1
example Restoring states from the checkpoint path at /exp/checkpoints/model--val_loss=2.10-step=199-consumed_samples=6400.0-last/weights
gives   step=200
example Restoring states from the checkpoint path at /exp/checkpoints/last
gives   nothing

rule    restore_end
match   Restored all states from the checkpoint (?:file )?at (?:.*\bstep=(?P<step>\d+))?
add     1
example Restored all states from the checkpoint at /exp/checkpoints/model--step=199-last/weights
gives   step=200

rule    program_end
match   `Trainer\.fit` stopped: `max_(?:steps|epochs|time)=.*` reached\.
example `Trainer.fit` stopped: `max_steps=50` reached.
gives   nothing

rule    stop
match   Received signal \d+, initiating graceful stop
example [NeMo I 2026-02-13 22:40:00 nemo_logging:393] Received signal 15, initiating graceful stop
gives   time=2026-02-13T22:40:00

rule    stop
match   Preemption detected, saving checkpoint and exiting
example [NeMo I 2026-02-13 22:40:01 nemo_logging:393] Preemption detected, saving checkpoint and exiting
gives   time=2026-02-13T22:40:01
