# PaddleOCR: tools/program.py (read at 006d84b) and ppocr/utils/save_load.py, and OpenOCR. Each epoch ends with a line of its last
# step, and then saves; training waits for it. The best model is saved, too, but training does not resume from it.
profile paddleocr
about   PaddleOCR and OpenOCR
stamp   ^\[(?P<date>\d{4}/\d\d/\d\d \d\d:\d\d:\d\d)\]

rule    step_end
match   \w+ INFO: epoch: \[\d+/\d+\], global_step: (?P<step>\d+), .*\bavg_batch_cost: (?P<about_s>[\d.]+) s,
example [2023/03/09 08:38:37] ppocr INFO: epoch: [69/500], global_step: 69, lr: 0.000972, acc: 0.070312, loss: 5.383162, avg_reader_cost: 1.38188 s, avg_batch_cost: 1.40153 s, avg_samples: 6.4, ips: 4.56643 samples/s, eta: 1:34:55
gives   step=69 about_s=1.40153 time=2023-03-09T08:38:37
example [2024/08/06 18:03:31] openrec INFO: epoch: [1/2], global_step: 100, lr: 0.000005, loss: 69.376022, avg_reader_cost: 0.00971 s, avg_batch_cost: 0.18023 s, avg_samples: 64.0, ips: 355.10891 samples/s, eta: 0:32:33
gives   step=100 about_s=0.18023 time=2024-08-06T18:03:31

# Releases before 2.4 count from 0.
rule    step_end
match   \w+ INFO: epoch: \[\d+/\d+\], iter: (?P<step>\d+), .*\bbatch_cost: (?P<about_s>[\d.]+) s,
add     1
example [2020/11/16 11:11:26] root INFO: epoch: [0/100], iter: 10, lr: 0.001000, acc: 0.507812, loss: 0.698222, reader_cost: 6.01444 s, batch_cost: 6.29982 s, samples: 5632, ips: 89.39943
gives   step=11 about_s=6.29982 time=2020-11-16T11:11:26

rule    save_end
match   \w+ INFO: save model in \S+$
example [2023/03/09 08:38:38] ppocr INFO: save model in ./output/rec_en_number_lite/latest
gives   time=2023-03-09T08:38:38

rule    phase_begin
match   ^eval model:: +0%\|
name    evaluation
example eval model::   0%|          | 0/205 [00:00<?, ?it/s]
gives   name=evaluation

rule    phase_end
match   \w+ INFO: cur metric, 
name    evaluation
example [2024/11/05 03:45:16] ppocr INFO: cur metric, precision: 0.8491379310344828, recall: 0.9516908212560387
gives   name=evaluation time=2024-11-05T03:45:16

unlike  [2020/11/16 11:11:18] root INFO: During the training process, after the 0th iteration, an evaluation is run every 1171 iterations
unlike  [2025/09/24 12:21:24] ppocr INFO: save best model is to ./output/rec/best_accuracy
