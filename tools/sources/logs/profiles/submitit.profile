# submitit: submitit/core/job_environment.py (SignalHandler). It does not print steps.
profile submitit
about   submitit's signal handling
stamp   ^submitit [A-Z]+ \((?P<date>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d+)\)

rule    stop
match   Caught signal \w+ on \S+: this job is (?:preempted|timed-out)
example submitit WARNING (2022-07-12 04:18:45,881) - Caught signal SIGHUP on host: this job is preempted.
gives   time=2022-07-12T04:18:45.881
example submitit WARNING (2022-07-12 04:18:45,881) - Caught signal USR2 on host-12: this job is timed-out.
gives   time=2022-07-12T04:18:45.881

rule    program_begin
match   submitit INFO \([^)]*\) - Starting with JobEnvironment\(
example submitit INFO (2022-07-12 04:00:45,881) - Starting with JobEnvironment(job_id=12, hostname=host, local_rank=0(1), node=0(1), global_rank=0(1))
gives   time=2022-07-12T04:00:45.881

rule    program_end
match   submitit INFO \([^)]*\) - Job completed successfully
example submitit INFO (2022-07-12 05:00:45,881) - Job completed successfully
gives   time=2022-07-12T05:00:45.881
