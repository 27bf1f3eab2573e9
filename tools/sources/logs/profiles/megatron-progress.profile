# progress.txt, which Megatron-LM writes into the folder of its checkpoints with --log-progress:
# megatron/training/training.py and checkpointing.py (append_to_progress_log). Columns are separated by tabs.
profile megatron-progress
about   progress.txt beside Megatron-LM's checkpoints
stamp   ^(?P<date>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\t

rule    program_begin
match   ^(?P<date>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\tJob ID: \S*\t# GPUs: \d+\tStarting job
example 2026-02-05 17:00:00	Job ID: 4711	# GPUs: 896	Starting job
gives   time=2026-02-05T17:00:00

rule    save_begin
match   ^(?P<date>[-\d]+ [:\d]+)\t.*\tSaving async checkpoint\tIteration: (?P<step>\d+)
example 2026-02-05 17:13:37	Job ID: 4711	# GPUs: 896	Saving async checkpoint	Iteration: 100	Job throughput: 391.2 TFLOP/s/GPU
gives   step=100 time=2026-02-05T17:13:37

rule    save_end
match   ^(?P<date>[-\d]+ [:\d]+)\t.*\tSaved (?:async )?checkpoint\tIteration: (?P<step>\d+)
example 2026-02-05 17:13:37	Job ID: 4711	# GPUs: 896	Saved checkpoint	Iteration: 100	Job throughput: 391.2 TFLOP/s/GPU	Cumulative throughput: 390.1 TFLOP/s/GPU	Floating-point operations: 3.10e+20	Tokens (in billions): 0.63
gives   step=100 time=2026-02-05T17:13:37
example 2026-02-05 17:14:01	Job ID: 4711	# GPUs: 896	Saved async checkpoint	Iteration: 100
gives   step=100 time=2026-02-05T17:14:01
