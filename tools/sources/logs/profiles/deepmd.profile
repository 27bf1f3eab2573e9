# DeePMD-kit: deepmd/loggers/training.py (read at 15eb655), the trainers for PyTorch and Paddle (deepmd/pt/train/training.py and
# deepmd/pd/train/training.py; their saves), and releases 2 (TensorFlow). The duration is that of all batches since the line before.
profile deepmd
about   DeePMD-kit
stamp   ^\[(?P<date>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d+)\] DEEPMD

rule    step_end
match   \bDEEPMD INFO +[Bb]atch +(?P<step>\d+):? (?:training time [\d.]+ s|total wall time = [\d.]+ s)
example DEEPMD INFO    batch 7800000 training time 1580.50 s, testing time 0.00 s
gives   step=7800000
example [2025-10-26 17:01:53,061] DEEPMD INFO    Batch    1000: total wall time = 15.39 s, eta = 0:41:02 at 2025-10-26 17:42
gives   step=1000 time=2025-10-26T17:01:53.061

rule    save_end
match   \bDEEPMD INFO +Saved model to \S+-(?P<step>\d+)\.p[td]$
example [2025-10-26 17:01:54,100] DEEPMD INFO    Saved model to model.ckpt-1000.pt
gives   step=1000 time=2025-10-26T17:01:54.1

rule    save_end
match   \bDEEPMD INFO +saved checkpoint \S+$
example DEEPMD INFO    saved checkpoint model.ckpt
gives   nothing

unlike  [2025-10-26 17:01:53,061] DEEPMD INFO    Batch    1000: trn: rmse = 2.77e+01, rmse_e = 6.40e-01, rmse_f = 8.74e-01, lr = 1.00e-03
unlike  DEEPMD INFO    wall time: 188106.747 s
