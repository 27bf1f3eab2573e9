# OpenCLIP: src/open_clip_train/train.py (releases since 2), and programs made from it, such as CLAP and NegCLIP. It prints samples,
# which are counted within an epoch. It prints no saves: name the folder of its checkpoints (--goodput-checkpoint-dir).
profile openclip
about   OpenCLIP; its steps are samples

rule    step_end
match   \| INFO \| Train Epoch: (?P<epoch>\d+) \[ *(?P<step>\d+)/(?P<of>\d+) \(\d+%\)\] 
example 2023-06-29,15:45:36 | INFO | Train Epoch: 0 [  6464/109468 (3%)] Loss: 0.97884 (1.023) Data (t): 0.158 Batch (t): 0.559, 36.0876/s LR: 0.000001 Logit Scale: 99.995 - V4
gives   step=6464 time=2023-06-29T15:45:36
example 2024-05-01,10:00:00 | INFO | Train Epoch: 2 [    4096/10009600 (0%)] Data (t): 3.210 Batch (t): 5.510, 743.2/s, 92.9/s/gpu LR: 0.000001 Logit Scale: 14.286 Contrastive_loss: 8.3178 (8.3178) Loss: 8.3178 (8.3178)
gives   step=20023296 time=2024-05-01T10:00:00

unlike  2024-05-01,10:00:00 | INFO | Start epoch 0
unlike  2024-05-01,12:00:00 | INFO | Eval Epoch: 1 [4096 / 50000]	Clip Loss: 0.123456	
