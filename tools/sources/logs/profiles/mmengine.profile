# MMEngine: mmengine/runner/log_processor.py, hooks/checkpoint_hook.py and runner/runner.py (read at 2543429), and its
# predecessor's lines (mmcv 1.x: `mmdet - INFO - Epoch [1][50/500]`). Epochs are counted from 1.
profile mmengine
about   MMEngine and mmcv (OpenMMLab)
stamp   ^(?P<date>\d{4}[/-]\d\d[/-]\d\d \d\d:\d\d:\d\d(?:,\d+)?) - 
stamp   ^(?P<us_date>\d\d/\d\d \d\d:\d\d:\d\d) - 

rule    step_end
match   - INFO - Epoch(?:\(train\))? *\[ *(?P<epoch1>\d+)\]\[ *(?P<step>\d+)/(?P<of>\d+)\]\s+(?:base_)?lr: 
example 03/02 10:00:00 - mmengine - INFO - Epoch(train)   [3][ 50/500]  lr: 1.0000e-02  eta: 0:10:25  time: 0.5010  data_time: 0.0012  memory: 9811  loss: 1.5616
gives   step=1050 time=03-02T10:00:00
example 2026/03/02 10:00:00 - mmengine - INFO - Epoch(train)   [1][ 50/500]  base_lr: 1.0000e-02 lr: 1.0000e-02  eta: 0:10:25  time: 0.5010  data_time: 0.0012  loss: 1.5616
gives   step=50 time=2026-03-02T10:00:00
example 2026-03-02 10:00:00,123 - mmdet - INFO - Epoch [2][50/500]	lr: 0.01000, eta: 1:02:03, time: 0.593, data_time: 0.031, memory: 6836, loss: 1.7645
gives   step=550 time=2026-03-02T10:00:00.123

rule    step_end
match   - INFO - Iter(?:\(train\))? *\[ *(?P<step>\d+)/(?P<of>\d+)\]\s+(?:base_)?lr: 
example 03/02 10:00:00 - mmengine - INFO - Iter(train) [   50/40000]  lr: 1.0000e-02  eta: 6:10:25  time: 0.5010  data_time: 0.0012  memory: 9811  loss: 1.5616
gives   step=50 of=40000 time=03-02T10:00:00
example 2026-03-02 10:00:00,123 - mmseg - INFO - Iter [50/40000]	lr: 1.000e-02, eta: 6:10:25, time: 0.501, data_time: 0.001, memory: 9811, loss: 1.5616
gives   step=50 of=40000 time=2026-03-02T10:00:00.123

rule    save_begin
match   - INFO - Saving checkpoint at (?P<step>\d+) iterations
over_at next_step
example 03/02 10:10:00 - mmengine - INFO - Saving checkpoint at 4000 iterations
gives   step=4000 time=03-02T10:10:00

rule    save_begin
match   - INFO - Saving checkpoint at \d+ epochs
over_at next_step
example 03/02 10:10:00 - mmengine - INFO - Saving checkpoint at 3 epochs
gives   time=03-02T10:10:00

rule    restore_end
match   - INFO - resumed epoch: \d+, iter: (?P<step>\d+)
example 03/02 10:20:00 - mmengine - INFO - resumed epoch: 3, iter: 1500
gives   step=1500 time=03-02T10:20:00

unlike  03/02 10:12:00 - mmengine - INFO - Epoch(val)   [3][50/100]    eta: 0:00:10  time: 0.2010  data_time: 0.0012  memory: 9811
