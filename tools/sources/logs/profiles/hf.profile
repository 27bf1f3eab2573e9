# Hugging Face Trainer: src/transformers/trainer.py, and its progress bar (trainer_callback.py, with tqdm). A line of
# metrics has no step, but the bar has. The end of a save is not printed; the loop waits for it.
profile hf
about   Hugging Face transformers.Trainer
stamp   (?P<date>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d+) >>

rule    training_begin
match   Total optimization steps = (?P<of>[\d,]+)
example   Total optimization steps = 1,690
gives   of=1690

rule    step_end
match   ^ *\d+%\|[^|]*\| (?P<step>\d+)/(?P<of>\d+) \[(?P<elapsed>[\d:]+)<[^\]]*(?:it/s|s/it)
example 100%|##########| 690/690 [31:31<00:00,  2.74s/it]
gives   step=690 of=690 elapsed=1891
example   0%|          | 0/690 [00:00<?, ?it/s]
gives   step=0 of=690 elapsed=0
example  43%|####3     | 300/690 [13:42<17:49,  2.74s/it]{'loss': 0.0024, 'grad_norm': 0.1177, 'learning_rate': 1.77e-06, 'epoch': 18.1}
gives   step=300 of=690 elapsed=822

rule    save_begin
match   Saving model checkpoint to .*checkpoint-(?P<step>\d+)
over_at next_step
example Saving model checkpoint to ./outputs/checkpoint-500
gives   step=500
example [INFO|trainer.py:3478] 2026-08-22 10:00:00,125 >> Saving model checkpoint to ./outputs/checkpoint-500
gives   step=500 time=2026-08-22T10:00:00.125

rule    phase_begin
match   \*\*\*\*\* Running [Ee]valuation \*\*\*\*\*
name    evaluation
over_at next_step
example ***** Running Evaluation *****
gives   name=evaluation

rule    restore_begin
match   (?:Loading model|Attempting to resume) from .*checkpoint-(?P<step>\d+)\b
example [INFO|trainer.py:2836] 2026-08-22 10:01:13,036 >> Loading model from /ckpt/run 7/checkpoint-20.
gives   step=20 time=2026-08-22T10:01:13.036
# Releases 4.6 to 4.23.
example Loading model from ./outputs/checkpoint-500).
gives   step=500
example Attempting to resume from ./outputs/checkpoint-500
gives   step=500

rule    restore_end
match   Continuing training from global step (?P<step>\d+)
example   Continuing training from global step 500
gives   step=500

rule    program_end
match   Training completed\. Do not forget to share your model
example Training completed. Do not forget to share your model on huggingface.co/models =)
gives   nothing

unlike  100%|##########| 25000/25000 [10:10<00:00, 41.11 examples/s]
unlike  Map: 100%|##########| 25000/25000 [00:10<00:00, 2401.11 examples/s]
unlike  Loading checkpoint shards: 100%|##########| 4/4 [00:10<00:00,  2.51s/it]
unlike  {'loss': 0.0024, 'grad_norm': 0.1177, 'learning_rate': 1.77e-06, 'epoch': 18.1}
