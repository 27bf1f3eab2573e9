# timm: train.py and timm/utils/checkpoint_saver.py (read at aa4b585). Updates are counted from 0 within an epoch, which
# is counted from 0, too. The saver lists its checkpoints after each save, which training waits for.
profile timm
about   timm (PyTorch Image Models)

rule    step_end
match   ^Train: (?P<epoch>\d+) \[ *(?P<step>\d+)/(?P<of>\d+) +\( *\d+%\)\] 
add     1
example Train: 2 [  50/1251 (  4%)]  Loss: 6.94 (6.95)  Time: 0.351s, 2917.10/s  (0.402s, 2500.11/s)  LR: 1.000e-06  Data: 0.010 (0.030)
gives   step=2553

rule    save_end
match   ^Current checkpoints:$
example Current checkpoints:
gives   nothing

unlike  Test: [  10/97]  Time: 0.401 (0.501)  Loss:   1.2012 ( 1.3012)  Acc@1:  71.1 ( 70.1)  Acc@5:  90.1 ( 89.9)
