# Messages of slurmstepd in a job's output when Slurm ends the job: src/slurmd/slurmstepd/req.c
# (_handle_signal_container and others). Used in addition to any other profile when a log is imported.
profile slurm
about   how Slurm ends a job, in its own words
stamp   \bAT (?P<date>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\b

rule    job_end
match   error: \*\*\* (?:JOB|STEP) \S+ ON \S+ CANCELLED AT \S+ DUE TO PREEMPTION
name    PREEMPTED
example slurmstepd: error: *** JOB 4711 ON n1 CANCELLED AT 2026-11-21T10:00:00 DUE TO PREEMPTION ***
gives   name=PREEMPTED time=2026-11-21T10:00:00

rule    job_end
match   error: \*\*\* (?:JOB|STEP) \S+ ON \S+ CANCELLED AT \S+ DUE TO TIME LIMIT
name    TIMEOUT
example slurmstepd: error: *** JOB 4711 ON n1 CANCELLED AT 2026-11-21T10:00:00 DUE TO TIME LIMIT ***
gives   name=TIMEOUT time=2026-11-21T10:00:00

rule    job_end
match   error: \*\*\* (?:JOB|STEP) \S+ ON \S+ CANCELLED AT \S+ DUE TO NODE FAILURE
name    NODE_FAIL
example slurmstepd: error: *** STEP 4711.0 ON n1 CANCELLED AT 2026-11-21T10:00:00 DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***
gives   name=NODE_FAIL time=2026-11-21T10:00:00

rule    job_end
match   error: \*\*\* (?:JOB|STEP) \S+ ON \S+ CANCELLED AT \S+ DUE TO JOB REQUEUE
name    REQUEUED
example slurmstepd: error: *** JOB 4711 ON n1 CANCELLED AT 2026-11-21T10:00:00 DUE TO JOB REQUEUE ***
gives   name=REQUEUED time=2026-11-21T10:00:00

rule    job_end
match   error: \*\*\* JOB \S+ ON \S+ CANCELLED AT \S+ \*\*\*
name    CANCELLED
example slurmstepd: error: *** JOB 4711 ON n1 CANCELLED AT 2026-11-21T10:00:00 ***
gives   name=CANCELLED time=2026-11-21T10:00:00
