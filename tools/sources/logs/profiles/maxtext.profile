# MaxText: src/maxtext/common/metric_logger.py, trainers/pre_train/train.py and common/checkpointing.py; Orbax:
# checkpoint_manager.py. Steps are counted from 0: "completed step: N" means that N + 1 are done, and a checkpoint of
# step N holds as many. The line is delayed until step N + 1 has been dispatched and step N's loss is available, that is
# when step N is done; if a save of step N + 1 comes first, the lines of both follow it. When training ends, or stops
# regularly, the delayed line is printed.
profile maxtext
about   MaxText
stamp   ^[IWEF](?P<glog>\d{4} \d\d:\d\d:\d\d\.\d+) 

rule    step_end
match   \bcompleted step: (?P<step>\d+), seconds: (?P<about_s>[\d.]+)
add     1
told_at next_step
example I0706 16:50:26.257925 140110937163584 metric_logger.py:214] completed step: 2, seconds: 0.570, TFLOP/s/device: 37.633, Tokens/s/device: 7185.042, total_weights: 5480, loss: 0.693
gives   step=3 about_s=0.57 time=07-06T16:50:26.257925
example completed step: 0, seconds: 21.003, total_weights: 5480, loss: 10.8
gives   step=1 about_s=21.003

rule    step_end
match   \bcompleted profiler activation/deactivation step: (?P<step>\d+)
add     1
told_at next_step
example I0706 16:50:26.257925 140110937163584 metric_logger.py:214] completed profiler activation/deactivation step: 5, total_weights: 5480, loss: 0.693
gives   step=6 time=07-06T16:50:26.257925

rule    save_begin
match   \[process=\d+\] Saving checkpoint at step (?P<step>\d+)$
add     1
example I0822 10:00:09.083201 140110937163584 checkpoint_manager.py:1527] [process=0] Saving checkpoint at step 0
gives   step=1 time=08-22T10:00:09.083201

rule    save_end
match   \[step=(?P<step>\d+)\] (?:Finished synchronous save|CheckpointManager Save Finalize is done on all hosts)\.
add     1
example I0822 10:00:10.584001 140110937163584 checkpoint_manager.py:1601] [process=0][thread=MainThread][step=0] Finished synchronous save.
gives   step=1 time=08-22T10:00:10.584001
example I0822 10:01:31.014809 140110937163584 checkpoint_manager.py:2185] [process=0][thread=save_finalize][step=30] CheckpointManager Save Finalize is done on all hosts.
gives   step=31 time=08-22T10:01:31.014809

# If Orbax does not log.
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

# Releases in which all saves are asynchronous: the save has only begun.
rule    save_begin
match   \bsaved a checkpoint at step (?P<step>\d+)
add     1
complete untold
example saved a checkpoint at step 100
gives   step=101

rule    restore_begin
match   restoring (?:state )?from this run's directory (?:latest )?step +(?P<step>\d+)
add     1
example restoring state from this run's directory latest step                 100
gives   step=101
example I0706 16:50:26.257925 140110937163584 checkpointing.py:300] restoring from this run's directory step 100
gives   step=101 time=07-06T16:50:26.257925

rule    phase_begin
match   \bStarting eval after train step \d+
name    evaluation
example I0822 10:00:20.917603 140110937163584 train.py:879] Starting eval after train step 14
gives   name=evaluation time=08-22T10:00:20.917603

rule    phase_end
match   \bCompleted eval after train step \d+
name    evaluation
example I0822 10:00:21.718404 140110937163584 metric_logger.py:250] Completed eval after train step 14, loss=0.438, perplexity=1.544, total_weights=5480.0
gives   name=evaluation time=08-22T10:00:21.718404
