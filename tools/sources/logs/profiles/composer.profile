# MosaicML Composer: composer/loggers/console_logger.py.
profile composer
about   MosaicML Composer and LLM Foundry
stamp   ^(?P<date>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d+):

rule    step_end
match   \[batch=(?P<step>\d+)/(?P<of>\d+)\]:
example [batch=10/1000]:
gives   step=10 of=1000

rule    restore_begin
match   Loading checkpoint from 
example 2026-08-22 10:01:13,036: rank0[800][MainThread]: INFO: composer.trainer.trainer: Loading checkpoint from /ckpt/run 7/latest-rank0.pt
gives   time=2026-08-22T10:01:13.036

rule    restore_end
match   Trainer checkpoint loaded from 
example 2026-08-22 10:01:15,437: rank0[800][MainThread]: INFO: composer.utils.checkpoint: Trainer checkpoint loaded from /ckpt/run 7/latest-rank0.pt
gives   time=2026-08-22T10:01:15.437

unlike  [Eval batch=10/100] Eval on eval data:
unlike  	 Train time/batch: 9
