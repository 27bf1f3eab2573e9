# nnU-Net 2: nnunetv2/training/nnUNetTrainer/nnUNetTrainer.py (read at 959729c). It prints epochs, which are of the same number of
# iterations (250 unless changed), and no saves: name the folder of its checkpoints (--goodput-checkpoint-dir). The time of an epoch
# includes its validation.
profile nnunet
about   nnU-Net 2; its steps are epochs

rule    step_begin
match   ^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+: Epoch (?P<step>\d+) *$
add     1
example 2024-04-26 09:41:40.307418: Epoch 1 
gives   step=2 time=2024-04-26T09:41:40.307418

rule    step_end
match   ^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+: train_loss -?[\d.naif]+ *$
example 2024-04-26 09:43:54.932336: train_loss 0.4043 
gives   time=2024-04-26T09:43:54.932336

rule    program_end
match   ^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+: Training done\. *$
example 2024-04-26 19:43:54.932336: Training done. 
gives   time=2024-04-26T19:43:54.932336

unlike  2024-04-26 09:39:10.914042: Current learning rate: 0.01 
unlike  2024-04-26 09:43:54.947495: Epoch time: 134.63 s 
unlike  2024-04-26 09:43:54.939337: val_loss 0.3847 
