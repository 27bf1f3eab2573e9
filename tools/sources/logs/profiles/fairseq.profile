# fairseq: fairseq/logging/progress_bar.py (formats simple and json), fairseq_cli/train.py, fairseq/checkpoint_utils.py
# and fairseq/trainer.py (read at 3d262bb). An update is a step.
profile fairseq
about   fairseq and metaseq
stamp   (?P<date>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) \| 

rule    step_end
match   \| train(?:_inner)? \| .*\b(?:train_)?num_updates"?[:= ]+"?(?P<step>\d+)
example 2026-03-04 21:10:23 | INFO | train_inner | {"epoch": 1, "update": 0.01, "loss": "14.2", "num_updates": "100", "lr": "2e-05"}
gives   step=100 time=2026-03-04T21:10:23
example 2026-03-04 21:10:23 | INFO | train | {"epoch": 1, "train_loss": "11.2", "train_num_updates": "4300"}
gives   step=4300 time=2026-03-04T21:10:23
example 2026-03-04 21:10:23 | INFO | train_inner | epoch 001:    100 / 4300 loss=14.2, ppl=18820, wps=3120.1, num_updates=100, lr=2e-05, wall=31
gives   step=100 time=2026-03-04T21:10:23
example 2026-03-04 21:10:23 | INFO | train | epoch 001 | loss 11.2 | ppl 2352 | num_updates 4300 | lr 0.0004 | wall 640
gives   step=4300 time=2026-03-04T21:10:23

rule    save_begin
match   Preparing to save checkpoint for epoch \d+ @ (?P<step>\d+) updates
example 2026-03-04 21:10:23 | INFO | fairseq.checkpoint_utils | Preparing to save checkpoint for epoch 7 @ 4300 updates
gives   step=4300 time=2026-03-04T21:10:23

rule    save_end
match   Saved checkpoint .* \(epoch \d+ @ (?P<step>\d+) updates, .*\(writing took (?P<took_s>[\d.]+) seconds\)
example 2026-03-04 23:31:24 | INFO | fairseq.checkpoint_utils | Saved checkpoint ckpt/checkpoint7.pt (epoch 7 @ 4300 updates, score 5.1) (writing took 61.25 seconds)
gives   step=4300 took_s=61.25 time=2026-03-04T23:31:24

rule    restore_end
match   Loaded checkpoint .* \(epoch \d+ @ (?P<step>\d+) updates\)
example 2026-03-04 23:20:24 | INFO | fairseq.trainer | Loaded checkpoint ckpt/checkpoint_last.pt (epoch 8 @ 4300 updates)
gives   step=4300 time=2026-03-04T23:20:24

rule    phase_begin
match   begin validation on "
name    evaluation
over_at next_step
example 2026-03-04 23:29:24 | INFO | fairseq_cli.train | begin validation on "valid" subset
gives   name=evaluation time=2026-03-04T23:29:24

rule    program_end
match   \| done training in [\d.]+ seconds
example 2026-03-04 23:59:24 | INFO | fairseq_cli.train | done training in 1802.5 seconds
gives   time=2026-03-04T23:59:24

unlike  2026-03-04 23:29:44 | INFO | valid | epoch 007 | valid on 'valid' subset | loss 5.1 | num_updates 4300 | best_loss 5.1
