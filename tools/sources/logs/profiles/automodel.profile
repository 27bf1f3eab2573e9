# NeMo Automodel: nemo_automodel/recipes (llm, vlm, multimodal, retrieval), base_recipe.py and
# components/training/step_scheduler.py (read at 36044ad). Steps count from 0, in checkpoints, too.
profile automodel
about   NeMo Automodel
stamp   (?P<date>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d+)?)

rule    step_end
match   (?:^|\| |: )step (?P<step>\d+) \| epoch \d+ \| .*\| grad_norm 
add     1
example 2026-09-01 10:20:30 | INFO | root | step 41 | epoch 0 | loss 1.2345 | grad_norm 0.8121 | lr 1.00e-05 | mem 31.07 GiB | tps 20480.00(2560.00/gpu) | num_label_tokens 16384
gives   step=42 time=2026-09-01T10:20:30

rule    save_begin
match   Saving checkpoint to \S*epoch_\d+_step_(?P<step>\d+)
add     1
over_at next_step
example 2026-09-01 10:22:30 | INFO | nemo_automodel.recipes.base_recipe | Saving checkpoint to checkpoints/epoch_0_step_99
gives   step=100 time=2026-09-01T10:22:30

rule    restore_begin
match   Loading checkpoint from \S*epoch_\d+_step_(?P<step>\d+)
add     1
example Loading checkpoint from checkpoints/epoch_0_step_99
gives   step=100

unlike  2026-09-01 10:20:30 | INFO | root | [val] name "default" | step 41 | epoch 0 | loss 1.2345 | lr 1.00e-05 | num_label_tokens 1638
unlike  2026-09-01 10:20:30 | INFO | root | step 41 | epoch 0 | val_loss 1.2345 | val_acc1 0.5000 | val_mrr 0.6000
