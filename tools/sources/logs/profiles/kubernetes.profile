# Pods of a log from Cloud Logging: tools/sources/import_export/cloud_log.h writes these lines, from labels of entries and
# from Kubernetes' events (reasons as in pkg/scheduler and pkg/kubelet/events of Kubernetes).
profile kubernetes
about   pods of a GKE log: generations, queue, preemption

rule    program_begin
match   ^kubernetes: generation \d+$
example kubernetes: generation 2
gives   nothing

rule    phase_begin
match   ^kubernetes: FailedScheduling pod/
name    queued
example kubernetes: FailedScheduling pod/train-0-0-x7k2p
gives   name=queued

rule    phase_end
match   ^kubernetes: Scheduled pod/
name    queued
example kubernetes: Scheduled pod/train-0-0-x7k2p
gives   name=queued

rule    phase_begin
match   ^kubernetes: Launching pod/
name    launch
example kubernetes: Launching pod/train-0-0-x7k2p
gives   name=launch

rule    phase_end
match   ^kubernetes: Started pod/
name    launch
example kubernetes: Started pod/train-0-0-x7k2p
gives   name=launch

rule    job_end
match   ^kubernetes: Preempted pod/
name    PREEMPTED
example kubernetes: Preempted pod/train-0-0-x7k2p
gives   name=PREEMPTED

rule    job_end
match   ^kubernetes: (?:NodeNotReady|TaintManagerEviction) pod/
name    NODE_FAIL
example kubernetes: TaintManagerEviction pod/train-0-0-x7k2p
gives   name=NODE_FAIL
