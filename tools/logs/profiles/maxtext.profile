# MaxText: src/MaxText/metric_logger.py and checkpointing.py (print_save_message), Orbax beneath. Steps count from
# 0: "completed step: N" comes when N + 1 are done, and a checkpoint of step N holds that many.
profile maxtext
about   MaxText
stamp   ^[IWEF](?P<glog>\d{4} \d\d:\d\d:\d\d\.\d+) 

rule    step_end
match   \bcompleted step: (?P<step>\d+), seconds: 
add     1
example I0706 16:50:26.257925 140110937163584 metric_logger.py:214] completed step: 2, seconds: 0.570, TFLOP/s/device: 37.633, Tokens/s/device: 7185.042, total_weights: 5480, loss: 0.693
gives   step=3 time=07-06T16:50:26.257925
example completed step: 0, seconds: 21.003, total_weights: 5480, loss: 10.8
gives   step=1

rule    save_begin
match   Started an asynchronous checkpoint save for step (?P<step>\d+)
add     1
complete untold
example I0706 16:50:26.257925 140110937163584 checkpointing.py:600] Started an asynchronous checkpoint save for step 100
gives   step=101 time=07-06T16:50:26.257925

rule    save_end
match   Saved a checkpoint at step (?P<step>\d+)\.
add     1
example I0706 16:50:26.257925 140110937163584 checkpointing.py:602] Saved a checkpoint at step 100.
gives   step=101 time=07-06T16:50:26.257925

rule    restore_begin
match   restoring from this run's directory step (?P<step>\d+)
add     1
example I0706 16:50:26.257925 140110937163584 checkpointing.py:300] restoring from this run's directory step 100
gives   step=101 time=07-06T16:50:26.257925

rule    phase_begin
match   \bevaluating\.\.\.
name    evaluation
over_at next_step
example I0706 16:50:26.257925 140110937163584 train.py:500] evaluating...
gives   name=evaluation time=07-06T16:50:26.257925
