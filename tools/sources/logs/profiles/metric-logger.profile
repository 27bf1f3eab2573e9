# MetricLogger: torchvision's references/classification/utils.py (read at 041fe3b) and its many copies, such as those of DETR,
# DeiT, DINO, MAE (util/misc.py, read at 3c0121b) and DINOv2 (dinov2/logging/helpers.py, read at 05c66df). Iterations are counted
# from 0 within an epoch, which is counted from 0, too, and in DINOv2 from the first one. `time` is the average of the last 20.
# DINOv2's saves are those of fvcore's Checkpointer (read at 151e21e): within the iteration that is printed after them.
profile metric-logger
about   MetricLogger of torchvision (DETR, DeiT, DINO, MAE)

rule    step_end
match   \bEpoch: \[(?P<epoch>\d+)(?:/\d+)?\]\s+\[ *(?P<step>\d+)/(?P<of>\d+)\]\s+eta: .*\stime: (?P<about_s>[\d.]+)\s+data: 
add     1
example Epoch: [81]  [20/31]  eta: 0:00:02  lr: 0.000139  loss: 0.0046 (0.0101)  time: 0.1590  data: 0.0954  max mem: 5990
gives   step=2532 about_s=0.159
example Epoch: [0/100]  [2240/2502]  eta: 0:02:44  loss: 5.385776 (7.546279)  lr: 0.000089 (0.000045)  time: 0.618063  data: 0.000170  max mem: 13871
gives   step=2241 about_s=0.618063
example [14:03:01.123456] Epoch: [0]  [   0/1251]  eta: 1 day, 2:03:04  lr: 0.000000  loss: 1.1 (1.1)  time: 74.9710  data: 1.2000
gives   step=1 about_s=74.971

rule    step_end
match   \] Training\s+\[ *(?P<step>\d+)/(?P<of>\d+)\]\s+eta: .*\stime: (?P<about_s>[\d.]+)\s+data: 
add     1
told_at next_step
example I20240724 09:37:05 4020743 dinov2 helpers.py:102] Training  [  3490/125000]  eta: 14:39:00  lr: 0.0000 (0.0000)  total_loss: 0.0078 (2.4457)  time: 0.400124  data: 0.003072  max mem: 14504
gives   step=3491 of=125000 about_s=0.400124 time=2024-07-24T09:37:05

rule    training_begin
match   \] Starting training from iteration (?P<step>\d+)$
add     1
example I20240724 09:10:05 4020743 dinov2 train.py:205] Starting training from iteration 3000
gives   step=3001 time=2024-07-24T09:10:05

rule    save_begin
match   \bfvcore\.common\.checkpoint checkpoint\.py:\d+\] Saving checkpoint to \S*_(?P<step>\d{7})(?:\.rank_0)?\.pth$
add     1
over_at next_step
example I20240724 09:37:04 4020743 fvcore.common.checkpoint checkpoint.py:124] Saving checkpoint to /out/model_0003749.rank_0.pth
gives   step=3750 time=2024-07-24T09:37:04

rule    phase_begin
match   \bTest:\s+\[ *0/\d+\]\s+eta: 
name    evaluation
over_at next_step
example Test:  [  0/196]  eta: 0:10:22  loss: 0.6125 (0.6125)  acc1: 87.1094 (87.1094)  time: 3.1740  data: 2.9000  max mem: 5990
gives   name=evaluation

rule    phase_end
match   \bTest: Total time: 
name    evaluation
example Test: Total time: 0:00:42 (0.2157 s / it)
gives   name=evaluation

unlike  Test:  [ 10/196]  eta: 0:01:22  loss: 0.6125 (0.6125)  acc1: 87.1094 (87.1094)  time: 0.4340  data: 0.2000  max mem: 5990
unlike  Epoch: [81] Total time: 0:00:07 (0.2499 s / it)
unlike  Averaged stats: lr: 0.000152  loss: 0.0043 (0.0140)
