# PaddleNLP and PaddleFormers: paddlenlp/trainer/trainer.py (read at 01f7436), which prints as Hugging Face's does but for
# the line of metrics. A save's end is not printed; the loop waits for it.
profile paddlenlp
about   PaddleNLP's Trainer
stamp   ^\[(?P<date>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d+)\]

rule    step_end
match   \] - loss: \S+, learning_rate: \S+, global_step: (?P<step>\d+),
example [2026-05-01 10:00:03,123] [    INFO] - loss: 8.1212, learning_rate: 1.2e-07, global_step: 40, current_memory_allocated: 12.3, interval_runtime: 2.0, interval_steps_per_second: 0.5, progress_or_epoch: 0.0008
gives   step=40 time=2026-05-01T10:00:03.123

rule    save_begin
match   \] - Saving model checkpoint to \S*checkpoint-(?P<step>\d+)
over_at next_step
example [2026-05-01 10:00:09,123] [    INFO] - Saving model checkpoint to ./ckpts/checkpoint-40
gives   step=40 time=2026-05-01T10:00:09.123

rule    phase_begin
match   \] - \*\*\*\*\* Running [Ee]valuation \*\*\*\*\*
name    evaluation
over_at next_step
example [2026-05-01 10:00:12,123] [    INFO] - ***** Running Evaluation *****
gives   name=evaluation time=2026-05-01T10:00:12.123

rule    restore_end
match   \] -   Continuing training from global step (?P<step>\d+)
example [2026-05-01 10:00:00,123] [    INFO] -   Continuing training from global step 40
gives   step=40 time=2026-05-01T10:00:00.123
