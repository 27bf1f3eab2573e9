# OLMo: olmo/train.py and scripts/train.py (read at 59a53e3). The step in brackets is printed when it is done, of the
# steps of the whole run; its metrics follow in lines of their own. A save is of the step printed before it.
profile olmo
about   OLMo
stamp   \b(?P<date>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[.,]\d+)

rule    step_end
match   \[step=(?P<step>\d+)/(?P<of>\d+),epoch=\d+\]
example 2026-03-04 10:29:10.590	node3:0	olmo.train:967	INFO	[step=150/40000,epoch=0]
gives   step=150 of=40000 time=2026-03-04T10:29:10.59

rule    save_begin
match   \bSaving (?:ephemeral |unsharded |final |final unsharded model )?checkpoint\.\.\.
over_at next_step
example 2026-03-04 10:29:11.183	node3:0	olmo.train:1259	INFO	Saving checkpoint...
gives   time=2026-03-04T10:29:11.183
example 2026-03-04 10:29:11.183	node3:0	olmo.train:1259	INFO	Saving final unsharded model checkpoint...
gives   time=2026-03-04T10:29:11.183

rule    save_end
match   \b(?:Unsharded c|C)heckpoint saved to 
example 2026-03-04 10:30:11.183	node3:0	olmo.train:1261	INFO	Checkpoint saved to /ckpt/run7/step150
gives   time=2026-03-04T10:30:11.183

rule    phase_begin
match   \bRunning evaluation for '
name    evaluation
over_at next_step
example 2026-03-04 10:31:11.183	node3:0	olmo.train:1018	INFO	Running evaluation for 'all-small-ppl-validation'...
gives   name=evaluation time=2026-03-04T10:31:11.183

rule    restore_begin
match   \bLoading checkpoint from \S*step(?P<step>\d+)
example 2026-03-04 10:00:11.183	node3:0	train:352	INFO	Loading checkpoint from /ckpt/run7/step100...
gives   step=100 time=2026-03-04T10:00:11.183

rule    restore_end
match   \bCheckpoint successfully loaded
example 2026-03-04 10:00:31.183	node3:0	train:359	INFO	Checkpoint successfully loaded
gives   time=2026-03-04T10:00:31.183

rule    training_begin
match   \bStarting training\.\.\.
example 2026-03-04 10:00:41.183	node3:0	train:375	INFO	Starting training...
gives   time=2026-03-04T10:00:41.183

rule    program_end
match   \bTraining complete$
example 2026-03-04 12:00:41.183	node3:0	train:377	INFO	Training complete
gives   time=2026-03-04T12:00:41.183

unlike  2026-03-04 10:31:12.183	node3:0	olmo.train:1042	INFO	[eval_step=10/100]
