# Detectron2: detectron2/utils/events.py, engine/train_loop.py and evaluation/evaluator.py (read at 0a86ad4), and the
# Checkpointer of fvcore (read at 151e21e). Iterations are counted from 0. Hooks run in order: a save comes before the
# line of the iteration after which it was made, and training waits for it.
profile detectron2
about   Detectron2
stamp   ^\[(?P<us_date>\d\d/\d\d \d\d:\d\d:\d\d)[\] ]

rule    step_end
match   d2\.utils\.events(?:\]:| INFO:)  ?(?:eta: [^:]*(?::\d\d)*  )?iter: (?P<step>\d+)  
add     1
told_at next_step
example [11/01 11:27:04 d2.utils.events]:  eta: 8:05:12  iter: 1259  total_loss: 1.012  loss_cls: 0.714  time: 0.3322  data_time: 0.0334  lr: 0.010000  max_mem: 3961M
gives   step=1260 time=11-01T11:27:04
example [04/14 09:05:02] d2.utils.events INFO:  eta: 1 day, 0:11:54  iter: 119  total_loss: 9.214  time: 0.8153  data_time: 0.0220  lr: 0.001199  max_mem: 28515M
gives   step=120 time=04-14T09:05:02
example [05/01 07:04:51 d2.utils.events]:  eta: N/A  iter: 197900  total_loss: 0.035  loss_cls: 0.017      lr: 0.002500  max_mem: 5937M
gives   step=197901 time=05-01T07:04:51
example [05/01 07:04:51 d2.utils.events]:  iter: 19  total_loss: 0.035  lr: 0.0025  max_mem: 5937M
gives   step=20 time=05-01T07:04:51

rule    save_begin
match   fvcore\.common\.checkpoint(?:\]:| INFO:) Saving checkpoint to \S*_(?P<step>\d{7})\.pth$
add     1
over_at next_step
example [11/01 11:27:17 fvcore.common.checkpoint]: Saving checkpoint to ./output/model_0001299.pth
gives   step=1300 time=11-01T11:27:17

rule    save_begin
match   fvcore\.common\.checkpoint(?:\]:| INFO:) Saving checkpoint to \S*\.pth$
over_at next_step
example [11/01 18:27:17] fvcore.common.checkpoint INFO: Saving checkpoint to ./output/model_final.pth
gives   time=11-01T18:27:17

rule    training_begin
match   (?:\]:| INFO:) Starting training from iteration (?P<step>\d+)
add     1
example [11/01 11:20:00 d2.engine.train_loop]: Starting training from iteration 1300
gives   step=1301 time=11-01T11:20:00

rule    phase_begin
match   \bStart inference on \d+ (?:batches|images)
name    evaluation
over_at next_step
example [11/01 11:40:00 d2.evaluation.evaluator]: Start inference on 5000 batches
gives   name=evaluation time=11-01T11:40:00

unlike  [11/01 11:41:00 d2.evaluation.evaluator]: Inference done 111/5000. Dataloading: 0.0012 s/iter. Inference: 0.0541 s/iter. Eval: 0.0002 s/iter. Total: 0.0555 s/iter. ETA=0:04:31
unlike  [11/01 11:19:00 fvcore.common.checkpoint]: [Checkpointer] Loading from detectron2://ImageNetPretrained/MSRA/R-50.pkl ...
