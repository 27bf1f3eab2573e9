# LitGPT and lit-gpt: litgpt/pretrain.py and litgpt/finetune/*.py (read at 2685705). A step has several iterations if
# gradients are accumulated; its number in the line is that of the steps done.
profile litgpt
about   LitGPT

rule    step_end
match   ^(?:Epoch \d+ \| )?iter \d+ step (?P<step>\d+)(?::| \|) loss
example Epoch 1 | iter 8 step 2 | loss train: 3.412, val: n/a | iter time: 251.02 ms (step) remaining time: 1:02:03
gives   step=2
example Epoch 1 | iter 9 step 2 | loss train: 3.402, val: n/a | iter time: 249.52 ms
gives   step=2
# lit-gpt, until 2024.
example iter 12 step 3: loss 9.0120, iter time: 201.31ms (optimizer.step)
gives   step=3

rule    phase_begin
match   ^Validating \.\.\.
name    evaluation
over_at next_step
example Validating ...
gives   name=evaluation

rule    phase_end
match   ^(?:iter|step) \d+: val loss .*val time: (?P<took_ms>[\d.]+) ?ms
name    evaluation
example iter 2000: val loss 2.9012, val time: 8123.40 ms
gives   took_s=8.1234 name=evaluation

rule    save_begin
match   ^Saving checkpoint to .*step-(?P<step>\d+)
over_at next_step
example Saving checkpoint to 'out/pretrain/step-00001000/lit_model.pth'
gives   step=1000
example Saving checkpoint to 'out/finetune/full/step-000200'
gives   step=200

rule    restore_begin
match   ^Resuming training from .*step-(?P<step>\d+)
example Resuming training from out/pretrain/step-00001000/lit_model.pth
gives   step=1000
