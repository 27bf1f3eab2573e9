# nanotron: src/nanotron/trainer.py and src/nanotron/logging/base.py (LoggerWriter; read at 2411b02). The duration is
# printed in rounded form (11.5K) and not used.
profile nanotron
about   nanotron
stamp   ^(?P<us_date>\d\d/\d\d(?:/\d{4})? \d\d:\d\d:\d\d) \[

rule    step_end
match   \biteration: (?P<step>\d+) / (?P<of>\d+) \| consumed_tokens: 
example 03/04 12:31:56 [INFO|DP=0|PP=0|TP=0]: iteration: 2000 / 200000 | consumed_tokens: 8.58G | time_per_iteration_ms: 9.8K | tokens_per_sec: 26.1K | lm_loss: 2.51 | lr: 1e-05
gives   step=2000 of=200000 time=03-04T12:31:56
example 03/04/2026 12:31:56 [INFO|DP=0|PP=0|TP=0]: iteration: 2000 / 200000 | consumed_tokens: 8.58G | time_per_iteration_ms: 9.8K | tokens_per_sec: 26.1K | lm_loss: 2.51 | lr: 1e-05
gives   step=2000 of=200000 time=2026-03-04T12:31:56
