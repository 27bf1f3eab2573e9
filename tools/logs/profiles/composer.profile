# MosaicML Composer: composer/loggers/console_logger.py.
profile composer
about   MosaicML Composer and LLM Foundry
stamp   ^(?P<date>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d+):

rule    step_end
match   \[batch=(?P<step>\d+)/(?P<of>\d+)\]:
example [batch=10/1000]:
gives   step=10 of=1000
unlike  [Eval batch=10/100] Eval on eval data:
unlike  	 Train time/batch: 9
