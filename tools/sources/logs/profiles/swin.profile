# Swin Transformer: main.py (read at 00f2800), utils.py (read at 055c506), and its many descendants. Iterations are counted from 0
# within an epoch, which is counted from 0, too. Every rank logs to a file of its own, and rank 0 to the output. A save has the number
# of its epoch, which is over when it begins.
profile swin
about   Swin Transformer and its descendants

rule    step_end
match   INFO Train: \[(?P<epoch>\d+)/\d+\]\[(?P<step>\d+)/(?P<of>\d+)\]\s+eta .*\btime [\d.]+ \((?P<about_s>[\d.]+)\)
add     1
example [2022-03-14 09:05:16 swin_v1_tiny_patch4] (main.py 226): INFO Train: [14/300][250/1251]	eta 0:10:52 lr 0.000710	time 0.6408 (0.6516)	loss 6.5584 (6.3074)	grad_norm 6.5613 (10.6225)	mem 14764MB
gives   step=17765 about_s=0.6516 time=2022-03-14T09:05:16
example [2024-03-14 09:05:16 vmamba_tiny] (main.py 226): INFO Train: [0/300][0/1251]	eta 2:10:52 lr 0.000001	 wd 0.0500	time 6.2408 (6.2408)	loss 6.9584 (6.9584)	grad_norm 1.5613 (1.5613)	loss_scale 65536.0000 (65536.0000)	mem 14764MB
gives   step=1 about_s=6.2408 time=2024-03-14T09:05:16

rule    save_begin
match   INFO \S+ckpt_epoch_\d+\.pth saving\.+$
example [2022-03-14 09:18:27 swin_v1_tiny_patch4] (utils.py 145): INFO output/swin_v1/default/ckpt_epoch_14.pth saving......
gives   time=2022-03-14T09:18:27

rule    save_end
match   INFO \S+ckpt_epoch_\d+\.pth saved !!!$
example [2022-03-14 09:18:29 swin_v1_tiny_patch4] (utils.py 147): INFO output/swin_v1/default/ckpt_epoch_14.pth saved !!!
gives   time=2022-03-14T09:18:29

rule    phase_begin
match   INFO Test: \[0/\d+\]
name    evaluation
example [2022-03-14 09:18:35 swin_v1_tiny_patch4] (main.py 282): INFO Test: [0/98]	Time 5.401 (5.401)	Loss 1.2012 (1.2012)	Acc@1 71.1 (71.1)	Acc@5 90.1 (90.1)	Mem 14764MB
gives   name=evaluation time=2022-03-14T09:18:35

rule    phase_end
match   INFO  \* Acc@1 
name    evaluation
example [2022-03-14 09:19:02 swin_v1_tiny_patch4] (main.py 289): INFO  * Acc@1 71.120 Acc@5 90.130
gives   name=evaluation time=2022-03-14T09:19:02

unlike  [2022-03-14 09:18:25 swin_v1_tiny_patch4] (main.py 234): INFO EPOCH 14 training takes 0:13:30
unlike  [2022-03-14 09:18:37 swin_v1_tiny_patch4] (main.py 282): INFO Test: [10/98]	Time 0.401 (0.851)	Loss 1.2012 (1.2012)	Acc@1 71.1 (71.1)	Acc@5 90.1 (90.1)	Mem 14764MB
unlike  Train: 2 [  50/1251 (  4%)]  Loss: 6.94 (6.95)  Time: 0.351s, 2917.10/s  (0.402s, 2500.11/s)  LR: 1.000e-06  Data: 0.010 (0.030)
