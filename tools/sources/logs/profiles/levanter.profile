# Levanter: src/levanter/checkpoint.py, callbacks/_core.py and main/train_lm.py (read at 9263f81). The progress lines
# round the step to three digits ("1.20kit") and are not used: steps follow from the checkpoints. A checkpoint is named
# after the last step, counted from 0.
profile levanter
about   Levanter
stamp   ^(?P<date>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d) - 

rule    save_begin
match   :: Saving checkpoint to \S+ for step (?P<step>\d+)
add     1
example 2026-05-01T10:07:00 - 0 - levanter.checkpoint - checkpoint.py:376 - INFO :: Saving checkpoint to gs://b/run/step-599 for step 599
gives   step=600 time=2026-05-01T10:07:00

rule    save_end
match   :: Saved checkpoint to \S+ for step (?P<step>\d+)
add     1
example 2026-05-01T10:07:20 - 0 - levanter.checkpoint - checkpoint.py:384 - INFO :: Saved checkpoint to gs://b/run/step-599 for step 599
gives   step=600 time=2026-05-01T10:07:20

rule    restore_end
match   :: Resuming training from step (?P<step>\d+)
example 2026-05-01T10:00:00 - 0 - __main__ - train_lm.py:262 - INFO :: Resuming training from step 600
gives   step=600 time=2026-05-01T10:00:00

unlike  2026-05-01T10:06:00 - 0 - levanter.callbacks - tqdm_logging.py:139 - INFO :: Progress on:train 1.20kit/25.0kit rate:2.1it/s remaining:3:08:53 elapsed:09:31 postfix:loss=3.21
unlike  2026-05-01T10:07:00 - 0 - levanter.checkpoint - checkpoint.py:211 - INFO :: Saving checkpoint at step 599.
