# Ultralytics: ultralytics/engine/trainer.py, engine/validator.py and utils/tqdm.py (read at 002363f), with the bar of tqdm in
# releases before 8.3.200. It prints no saves: name the folder of its weights (--goodput-checkpoint-dir).
profile ultralytics
about   Ultralytics YOLO

rule    step_end
match   ^ *(?P<epoch1>\d+)/\d+ +[\d.]+[GM] .*: +\d+%(?:\|[^|]*\|| \S+) (?P<step>\d+)/(?P<of>\d+)(?: |$)
example       70/1000      6.73G      1.081     0.4706      1.084         10        640: 100%|██████████| 16/16 [00:05<00:00,  2.78it/s]
gives   step=1120
example       1/100      2.31G      1.081     0.4706      1.084         10        640: 38% ━━━━╸─────── 6/16 2.8it/s 2.1s<3.6s
gives   step=6

rule    phase_begin
match   ^ +Class +Images +Instances +.*: +0%(?:\|[^|]*\|| \S+) 0/\d+(?: |$)
name    evaluation
over_at next_step
example                  Class     Images  Instances      Box(P          R      mAP50  mAP50-95):   0%|          | 0/8 [00:00<?, ?it/s]
gives   name=evaluation

rule    program_end
match   ^\d+ epochs completed in [\d.]+ hours\.
example 100 epochs completed in 1.234 hours.
gives   nothing

unlike                   Class     Images  Instances      Box(P          R      mAP50  mAP50-95): 100%|██████████| 8/8 [00:03<00:00,  2.17it/s]
unlike                     all        722       1444      0.989       0.99      0.993      0.681
unlike        Epoch    GPU_mem   box_loss   cls_loss   dfl_loss  Instances       Size
unlike  train: Scanning /data/labels/train... 1441 images, 0 backgrounds, 0 corrupt: 100%|██████████| 1441/1441 [00:03<00:00, 425.13it/s]
