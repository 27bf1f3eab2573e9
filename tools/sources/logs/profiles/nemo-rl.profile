# NeMo-RL: nemo_rl/algorithms (sft.py, dpo.py, rm.py, grpo.py, ppo.py, distillation.py; read at 7ea279a). The number of
# a step is printed when it begins, within its epoch; the algorithms without epochs count through. A save's number
# counts through, and training waits for it within the step. Lines of the workers ("saving checkpoint at iteration
# 0") do not tell the step.
profile nemo-rl
about   NeMo-RL

rule    epoch_begin
match   ^=+ Epoch (?P<epoch1>\d+)/\d+ =+$
example ========================= Epoch 2/3 =========================
gives   epoch=1

rule    step_begin
match   ^=+ Step (?P<step>\d+)/(?P<of>\d+) =+$
within  epoch_if_any
example ========================= Step 7/120 =========================
gives   step=7 of=120

rule    save_begin
match   ^Saving checkpoint for step (?P<step>\d+)\.\.\.
over_at next_step
example Saving checkpoint for step 40...
gives   step=40

rule    phase_begin
match   ^▶ Starting validation at step \d+
name    evaluation
example ▶ Starting validation at step 40 for `default` set..
gives   name=evaluation

rule    phase_end
match   ^📊 Validation Results
name    evaluation
example 📊 Validation Results for `default` set:
gives   name=evaluation

unlike  (MegatronPolicyWorker pid=4711) saving checkpoint at iteration       0 to /ckpt/tmp_step_40/policy/weights in torch_dist format
unlike    • Total step time: 31.20s
