# T5X: t5x/train.py and t5x/checkpoints.py (read at cc342d4), and what writes metrics with CLU (clu/metric_writers/
# logging_writer.py, read at 04ad2f9): Flax' examples and others.
profile t5x
about   T5X, and JAX programs with CLU's metric writer
stamp   ^[IWEF](?P<glog>\d{4} \d\d:\d\d:\d\d\.\d+)

rule    training_begin
match   \] Starting main loop over steps (?P<step>\d+)-(?P<of>\d+)
add     1
example I0512 12:00:00.123456 140001 train.py:607] Starting main loop over steps 2000-10000
gives   step=2001 of=10000 time=05-12T12:00:00.123456

rule    step_end
match   logging_writer\.py:\d+\] \[(?P<step>\d+)\] (?:collection=train )?(?:[^ =]+=[^ ]+, )*(?:[^ =]*loss[^ =]*|steps_per_sec[a-z]*|timing/steps[^ =]*)=
example I0512 12:00:00.123456 140001 logging_writer.py:48] [1900] grad_norm=1.3026, loss=0.82102
gives   step=1900 time=05-12T12:00:00.123456
example I0512 12:00:00.123456 140001 logging_writer.py:48] [1900] collection=train accuracy=0.31, cross_ent_loss=2.91
gives   step=1900 time=05-12T12:00:00.123456

rule    save_begin
match   \] Saving checkpoint for step (?P<step>\d+) to 
example I0512 12:10:00.123456 140001 checkpoints.py:782] Saving checkpoint for step 2000 to gs://b/tmp
gives   step=2000 time=05-12T12:10:00.123456

rule    save_end
match   \] Saved checkpoint for step (?P<step>\d+) to 
example I0512 12:10:30.123456 140001 checkpoints.py:832] Saved checkpoint for step 2000 to gs://b/checkpoint_2000
gives   step=2000 time=05-12T12:10:30.123456

rule    restore_begin
match   \] Restoring from checkpoint: \S*checkpoint_(?P<step>\d+)
example I0512 11:59:00.123456 140001 checkpoints.py:1067] Restoring from checkpoint: gs://b/checkpoint_2000
gives   step=2000 time=05-12T11:59:00.123456

unlike  I0512 12:00:00.123456 140001 logging_writer.py:48] [1900] collection=training_eval/c4 loss=2.1
unlike  I0512 12:00:00.123456 140001 logging_writer.py:48] [1900] eval/accuracy=0.31
