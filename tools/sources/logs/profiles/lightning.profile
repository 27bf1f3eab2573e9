# PyTorch Lightning: its TQDM progress bar (src/lightning/pytorch/callbacks/progress/tqdm_progress.py) counts the
# completed batches of an epoch; signals: src/lightning/pytorch/trainer/connectors/signal_connector.py.
# With gradient accumulation, several batches form an optimizer step.
profile lightning
about   PyTorch Lightning

rule    step_end
match   ^Epoch (?P<epoch>\d+): +\d+%\|[^|]*\| (?P<step>\d+)/(?P<of>\d+) \[(?P<elapsed>[\d:]+)<
example Epoch 0:  43%|####3     | 300/690 [13:42<17:49,  2.74s/it, v_num=0]
gives   step=300 elapsed=822
example Epoch 2: 100%|##########| 690/690 [31:31<00:00,  2.74s/it, v_num=0, train_loss=0.12]
gives   step=2070 elapsed=1891

rule    step_end
match   ^Epoch 0: +\|[^|]*\| (?P<step>\d+)/\? \[(?P<elapsed>[\d:]+)<
example Epoch 0: |          | 12/? [00:12<00:00,  1.01it/s, v_num=0]
gives   step=12 elapsed=12

rule    restore_begin
match   Restoring states from the checkpoint path at (?:.*\bstep=(?P<step>\d+))?
example Restoring states from the checkpoint path at lightning_logs/version_0/checkpoints/epoch=0-step=500.ckpt
gives   step=500

rule    restore_end
match   Restored all states from the checkpoint (?:file )?at (?:.*\bstep=(?P<step>\d+))?
example Restored all states from the checkpoint at lightning_logs/version_0/checkpoints/epoch=0-step=500.ckpt
gives   step=500
# Releases before 1.9.
example Restored all states from the checkpoint file at lightning_logs/version_0/checkpoints/epoch=0-step=500.ckpt
gives   step=500

rule    stop
match   Handling auto-requeue signal: \d+
example Handling auto-requeue signal: 10
gives   nothing

rule    stop
match   \[rank: \d+\] Received SIGTERM: 15
example [rank: 0] Received SIGTERM: 15
gives   nothing

rule    phase_begin
match   ^(?:Validation|Sanity Checking)(?: DataLoader \d+)?: +0%\|
name    evaluation
over_at next_step
example Validation DataLoader 0:   0%|          | 0/8 [00:00<?, ?it/s]
gives   name=evaluation

rule    program_end
match   `Trainer\.fit` stopped: `max_(?:steps|epochs|time)=.*` reached\.
example `Trainer.fit` stopped: `max_steps=2000` reached.
gives   nothing
unlike  Validation DataLoader 0:  50%|#####     | 4/8 [00:01<00:01,  3.21it/s]
unlike  Sanity Checking DataLoader 0: 100%|##########| 2/2 [00:00<00:00,  5.01it/s]
