# nanoGPT: train.py (read at 3adf61e), and programs made from it. "iter N" is printed when step N, counted from 0, is
# done; the time is of that step alone, with an evaluation and a save before it. A save is of the steps done before
# that line.
profile nanogpt
about   nanoGPT

rule    step_end
match   ^iter (?P<step>\d+): loss [-\d.naif]+, time (?P<step_ms>[\d.]+)ms
add     1
example iter 0: loss 10.9895, time 41020.51ms, mfu -100.00%
gives   step=1 step_s=41.02051
example iter 5120: loss 3.0021, time 250.12ms, mfu 41.05%
gives   step=5121 step_s=0.25012

rule    save_begin
match   ^saving checkpoint to 
over_at next_step
example saving checkpoint to out-gpt2
gives   nothing

rule    restore_begin
match   ^Resuming training from 
example Resuming training from out-gpt2
gives   nothing

unlike  step 5000: train loss 3.1021, val loss 3.1190
