"""A job's true buckets, from its trainer's log and Slurm's accounting, independent of the product.

Inputs: the trainer's truth logs (tests/trainer) of rank 0 and the rows of `Cluster.sacct(job)` (attempts and steps), of
one job or of the jobs of one run in order.
Output: the timeline, intervals that partition [first submit, end]: (bucket, begin_ns, end_ns).

The rules are those of the design, in the same order, but the trainer *knows* what the product must infer: when a step
ended, whether it hung, which checkpoint was complete. What these sources cannot distinguish is one bucket here: the pending
reasons (`queue`), and within the time before the first task `provisioning` and `launch` (`launch`, see
`provisioning_limit_ns`).
"""

import copy
import json
import os
from typing import Dict, Iterable, List, NamedTuple, Optional, Sequence, Set, Tuple, Union

S = 1_000_000_000

QUEUE = ("queue_resources", "queue_priority", "queue_other")
BEFORE_TASKS = ("provisioning", "launch")
# slurmctld schedules a new job, or the first task of an array, up to this long after its submission, and only then makes it
# eligible, without any hold.
EVALUATION_NS = 2 * S
STOP_SIGNALS = {15, 10, 12}  # the default of --goodput-checkpoint-signal


class Interval(NamedTuple):
    bucket: str
    begin_ns: int
    end_ns: int


class Attempt(NamedTuple):
    job: str
    raw_job: str  # the number that its processes see; "" if the rows do not tell
    submit_ns: int
    eligible_ns: Optional[int]
    start_ns: Optional[int]
    end_ns: Optional[int]
    state: str
    steps: List[Dict]


class Step(NamedTuple):
    number: int
    begin_ns: int
    end_ns: int  # its own end, or the time when it was killed
    whole: bool


class Incarnation:
    """One start of the program: rank 0's records between two `start` records."""

    def __init__(self, records: List[Dict], limit_ns: int) -> None:
        """limit_ns: the end of its allocation, a whole second in accounting.

        What the program wrote later is still true of it: a checkpoint completed in the rounded second, or while the job
        was COMPLETING, is a checkpoint. Only its time is not the attempt's; the timeline is clipped there.
        """
        self.start = records[0]
        self.records = records
        self.begin_ns = self.start["exec_t"]
        last = records[-1]
        # A killed program leaves no record of its end: it lived until the end of its step, or of the allocation.
        self.ended = last["event"] in ("exit", "crash")
        self.exit_code: Optional[int] = last["code"] if self.ended else None
        self.end_ns = min(last["t"] if self.ended else limit_ns, limit_ns)
        self.saves = self._spans("save")
        self.evaluations = self._spans("evaluation")
        self.signals = [r["t"] for r in self.records if r["event"] == "signal" and r["signo"] in STOP_SIGNALS]

    def hangs(self) -> bool:
        """Whether its last step took so much longer than the others that the rest of it is a stall: because the trainer logged
        one, or because the machine was slow to provide the memory for which it was killed."""
        if any(r["event"] == "hang" for r in self.records):
            return True
        if not any(r["event"] == "eat" for r in self.records):
            return False
        last = self.steps()[-1]
        return not last.whole and last.end_ns - last.begin_ns > max(5 * self.typical_step_ns(), S)

    def end_by(self, end_ns: int) -> None:
        if not self.ended:
            self.end_ns = min(self.end_ns, max(end_ns, self.records[-1]["t"]))

    def _spans(self, what: str) -> List[Tuple[int, int, int, bool]]:
        """(train step, begin, end, whole) of every save or evaluation; the last one may have been interrupted."""
        spans: List[Tuple[int, int, int, bool]] = []
        open_at: Dict[int, Dict] = {}
        for r in self.records:
            if r["event"] == what + "_begin":
                open_at[r["step"]] = r
            elif r["event"] == what + "_end" and r["step"] in open_at:
                begin = open_at.pop(r["step"])
                spans.append((r["step"], begin["t"], self._blocked_until(begin, r["t"]), True))
        for step, begin in open_at.items():
            spans.append((step, begin["t"], self._blocked_until(begin, self.end_ns), False))
        return sorted(spans, key=lambda span: span[1])

    def _blocked_until(self, begin: Dict, end_ns: int) -> int:
        """An asynchronous save blocks the loop only until the next step begins."""
        if begin.get("mode") != "async":
            return end_ns
        return min([end_ns] + [r["t"] for r in self.records if r["event"] == "step_begin" and r["t"] >= begin["t"]][:1])

    def checkpoints(self) -> List[Tuple[int, int, int]]:
        """(step, begin, complete) of the completed saves."""
        begins = {r["step"]: r["t"] for r in self.records if r["event"] == "save_begin"}
        return [(r["step"], begins[r["step"]], r["t"]) for r in self.records
                if r["event"] == "save_end" and r["step"] in begins]

    def steps(self) -> List[Step]:
        ends = {r["step"]: r["t"] for r in self.records if r["event"] == "step_end"}
        found = []
        for r in self.records:
            if r["event"] == "step_begin":
                whole = r["step"] in ends
                found.append(Step(r["step"], r["t"], ends.get(r["step"], self.end_ns), whole))
        return found

    def typical_step_ns(self) -> int:
        lengths = sorted(s.end_ns - s.begin_ns for s in self.steps() if s.whole)
        return lengths[len(lengths) // 2] if lengths else 0


class GrowingLog:
    """The log of one rank, of which each look reads only what is new: a dozen scenarios may look 20 times a second."""

    def __init__(self, folder: str, rank: int = 0) -> None:
        self._path = os.path.join(folder, "truth.%d.jsonl" % rank)
        self._records: List[Dict] = []
        self._read_bytes = 0

    def records(self) -> List[Dict]:
        """Without a last line truncated by a kill."""
        try:
            with open(self._path, "rb") as file:
                file.seek(self._read_bytes)
                lines = file.read().split(b"\n")[:-1]
        except FileNotFoundError:
            return self._records
        self._records += [json.loads(line) for line in lines]
        self._read_bytes += sum(len(line) + 1 for line in lines)
        return self._records


def read_log(folder: str, rank: int = 0) -> List[Dict]:
    return GrowingLog(folder, rank).records()


def attempts(rows: Iterable[Dict]) -> List[Attempt]:
    """The attempts of one run, in order, each with its steps' rows.

    Two kinds of rows are not attempts of their own: a job that gave nodes back has a RESIZING row and a next one, whose
    submit is the moment of the resize; a heterogeneous job has a row a component, and has started when the last has.
    """
    found: List[Attempt] = []
    for row in rows:
        if "." in row["JobID"]:
            if found:
                found[-1].steps.append(row)
            continue

        def ns(field: str, row: Dict = row) -> Optional[int]:
            return None if row[field] is None else row[field] * S
        # For a job cancelled before it started, sacct reports the end as its start.
        start = None if row.get("NodeList") == "None assigned" else ns("Start")
        one = Attempt(row["JobID"].split("+")[0], row.get("JobIDRaw", ""), ns("Submit") or 0, ns("Eligible"), start, ns("End"),
                      row["State"].split()[0], [])
        before = found[-1] if found and found[-1].job == one.job else None
        if before and before.state == "RESIZING":
            found[-1] = before._replace(end_ns=one.end_ns, state=one.state)
        elif before and "+" in row["JobID"] and before.submit_ns == one.submit_ns:
            found[-1] = before._replace(start_ns=max(before.start_ns or 0, one.start_ns or 0) or None,
                                        end_ns=max(before.end_ns or 0, one.end_ns or 0) or None)
        else:
            found.append(one)
    return found


def side_by_side(logs: Iterable[List[Dict]]) -> List[Dict]:
    """One log of several programs that train the same steps at the same time, as ranks would: a step, or a save, begins
    with the first of them and ends with the last, at the latest where the first of them begins what comes next; the whole
    is over when all are."""
    firsts, lasts = {}, {}  # type: Dict[Tuple, Dict], Dict[Tuple, Dict]
    for records in logs:
        for r in records:
            key = (r["event"], r.get("step"))
            if key not in firsts or r["t"] < firsts[key]["t"]:
                firsts[key] = r
            if key not in lasts or r["t"] > lasts[key]["t"]:
                lasts[key] = r
    for (event, step), end in lasts.items():
        if event not in ("step_end", "save_end"):
            continue
        following = [firsts.get(("step_begin", step + 1))] + ([firsts.get(("save_begin", step))] if event == "step_end" else [])
        lasts[event, step] = dict(end, t=min([end["t"]] + [r["t"] for r in following if r]))
    closing = ("_end", "exit", "crash")
    return sorted((lasts[key] if key[0].endswith(closing) else first for key, first in firsts.items()),
                  key=lambda r: (r["t"], not r["event"].endswith("_end")))


def saved_while_another_trained_ns(logs: Iterable[List[Dict]]) -> int:
    """For concurrent programs, the time during which all their saves continued after the first of them began its next step: it is
    not known whether they save or train then."""
    over = 0
    begins: Dict[int, int] = {}
    ends: Dict[int, int] = {}
    for records in logs:
        for r in records:
            if r["event"] == "step_begin":
                begins[r["step"]] = min(begins.get(r["step"], r["t"]), r["t"])
            elif r["event"] == "save_end":
                ends[r["step"]] = max(ends.get(r["step"], 0), r["t"])
    for step, end in ends.items():
        over += max(0, end - begins.get(step + 1, end))
    return over


class Truth:
    """The expected timeline of one run.

    now_ns: the moment of asking, if the run has not ended. not_eligible: what the time before a job became eligible was,
    which depends on why: a bucket, or several with the moments they end at; a requeue's own back-off is told from rows. suspended: from when to when, as the
    controller had it (accounting knows only how long in all). allocated_ns: when the first attempt got its nodes, if they
    had to boot: accounting's start is when they had. chained: every job but the first waits for those before it.
    script_goes_on: the batch script does something else after its program, until its row in accounting ends.
    """

    def __init__(self, logs: Iterable[Dict], rows: Iterable[Dict], now_ns: int = 0,
                 not_eligible: Union[str, Sequence[Tuple[str, int]]] = "",
                 suspended: Sequence[Tuple[int, int]] = (), allocated_ns: Optional[int] = None,
                 chained: bool = False, script_goes_on: bool = False) -> None:
        self.attempts = attempts(rows)
        self._not_eligible, self._suspended, self._allocated_ns = not_eligible, list(suspended), allocated_ns
        self._chained, self._script_goes_on = chained, script_goes_on
        if not self.attempts:
            raise ValueError("accounting has no attempt of the job")
        last = self.attempts[-1]
        self.running = last.end_ns is None
        self.begin_ns = self.attempts[0].submit_ns
        self.end_ns = now_ns if self.running else (last.end_ns or 0)
        self.accounting_times: Set[int] = {self.begin_ns, self.end_ns}
        self.incarnations = self._incarnations(list(logs))
        # By bucket, the time that may also belong to another bucket.
        self.doubt_ns: Dict[str, int] = {}
        self.kept: List[Step] = []
        self.lost: List[Step] = []
        self.open: List[Step] = []
        self.timeline = self._merge(self._suspend(self._build()))

    @property
    def wall_ns(self) -> int:
        return self.end_ns - self.begin_ns

    def without_marks(self) -> "Truth":
        """The expected result without marks: the time from the program's start to its end is unobserved."""
        hidden = copy.copy(self)
        said = ("hold", "requeue_backoff", "resubmit_gap", "queue", "suspended", "launch", "teardown")
        hidden.timeline = self._merge([one if one.bucket in said else one._replace(bucket="unobserved")
                                       for one in self.timeline])
        return hidden

    def sums(self) -> Dict[str, int]:
        """Nanoseconds of each bucket."""
        total: Dict[str, int] = {}
        for bucket, begin, end in self.timeline:
            total[bucket] = total.get(bucket, 0) + end - begin
        return total

    def start_doubt_ns(self) -> int:
        """The time from fork to the first log line, over all starts of the program."""
        return sum(i.start["t"] - i.begin_ns for group in self.incarnations for i in group)

    def boundaries(self, bucket: str) -> Tuple[int, int]:
        """How many ends of the bucket's intervals come from accounting (whole seconds), and how many do not.

        The two ends of the whole timeline are given to both sides alike and count as neither.
        """
        coarse = fine = 0
        for interval in self.timeline:
            if interval.bucket == bucket:
                for end in (interval.begin_ns, interval.end_ns):
                    if end in (self.begin_ns, self.end_ns):
                        continue
                    if end in self.accounting_times:
                        coarse += 1
                    else:
                        fine += 1
        return coarse, fine

    # --- building

    def _limits(self, attempt: Attempt) -> Tuple[int, int]:
        start = attempt.start_ns or 0
        return start, self.end_ns if attempt.end_ns is None else attempt.end_ns

    def _incarnations(self, logs: List[Dict]) -> List[List[Incarnation]]:
        """For each attempt, the program's starts within its allocation (+-1 s, because accounting rounds)."""
        runs: List[List[Dict]] = []
        for record in logs:
            if self.running and record["t"] > self.end_ns:
                break
            if record["event"] == "start":
                runs.append([])
            if runs:
                runs[-1].append(record)
        placed: List[List[Incarnation]] = [[] for _ in self.attempts]
        for run in runs:
            # If an attempt ends in the second in which the next one begins, the job id decides; otherwise it is the later one.
            fitting = [index for index, attempt in enumerate(self.attempts) if self._may_be_of(run[0], attempt)]
            if fitting:
                incarnation = Incarnation(run, self._limits(self.attempts[fitting[-1]])[1])
                self._bound_by_step_row(incarnation, self.attempts[fitting[-1]])
                placed[fitting[-1]].append(incarnation)
        return placed

    def _may_be_of(self, start: Dict, attempt: Attempt) -> bool:
        begin, end = self._limits(attempt)
        same_job = attempt.raw_job in ("", str(start.get("job", "")))
        return attempt.start_ns is not None and same_job and begin - S <= start["t"] <= end + S

    def _bound_by_step_row(self, incarnation: Incarnation, attempt: Attempt) -> None:
        """A killed program ended at the latest when its step ended in Slurm's records."""
        for row in attempt.steps:
            name = row["JobID"].split(".", 1)[1]
            if name == incarnation.start["slurm_step"] and row["End"] is not None and not incarnation.ended:
                if row["End"] * S < incarnation.end_ns:
                    incarnation.end_by(row["End"] * S)
                    self.accounting_times.add(incarnation.end_ns)

    def _build(self) -> List[Interval]:
        self._judge_steps()
        out: List[Interval] = []
        at = self.begin_ns
        seen: Set[str] = set()
        for attempt, incarnations in zip(self.attempts, self.incarnations):
            requeued = attempt.job in seen
            seen.add(attempt.job)
            if not requeued and attempt.submit_ns > at:
                out.append(Interval("resubmit_gap", at, attempt.submit_ns))
                at = attempt.submit_ns
            # Waiting for a begin time: after a requeue it is Slurm's back-off, before the first start the user's request.
            eligible = attempt.eligible_ns
            start = attempt.start_ns if attempt.start_ns is not None else self.end_ns
            if self._allocated_ns is not None and attempt is self.attempts[0]:
                start = self._allocated_ns
            if eligible is None or eligible > start:
                eligible = start
            if eligible > at:
                looked_at = eligible - attempt.submit_ns <= EVALUATION_NS
                usual = ("requeue_backoff" if requeued else
                         "queue" if looked_at or self._chained and len(seen) > 1 else "hold")
                out += self._before_eligible(at, eligible, usual)
                at = eligible
            if start > at:
                out.append(Interval("queue", at, start))
                at = start
            self.accounting_times |= {eligible, start, attempt.submit_ns}
            if attempt.start_ns is None:
                continue
            _, end = self._limits(attempt)
            self.accounting_times.add(end)
            out += self._allocated(attempt, incarnations, at, end)
            at = end
        return out

    def _before_eligible(self, at: int, eligible: int, usual: str) -> List[Interval]:
        if isinstance(self._not_eligible, str):
            return [Interval(self._not_eligible or usual, at, eligible)]
        out = []
        for bucket, until in self._not_eligible:
            out.append(Interval(bucket, at, min(until, eligible)))
            at = min(until, eligible)
            self.accounting_times.add(at)
        return out

    def _suspend(self, intervals: List[Interval]) -> List[Interval]:
        """Removes the time in which the job was suspended from everything else."""
        for begin, end in self._suspended:
            self.accounting_times |= {begin, end}
            kept = []
            for one in intervals:
                kept += [one._replace(end_ns=min(one.end_ns, begin)), one._replace(begin_ns=max(one.begin_ns, end))]
            kept = [one for one in kept if one.end_ns > one.begin_ns] + [Interval("suspended", begin, end)]
            intervals = sorted(kept, key=lambda one: one.begin_ns)
        return intervals

    def _judge_steps(self) -> None:
        """Kept, lost or open, by the rules of the design, in their order."""
        every = [i for group in self.incarnations for i in group]
        checkpoints = [c for i in every for c in i.checkpoints()]
        first_of_later: Optional[int] = None
        for incarnation in reversed(every):
            steps = incarnation.steps()
            for step in steps:
                if first_of_later is not None:
                    (self.kept if step.number < first_of_later else self.lost).append(step)
                elif incarnation.exit_code == 0 and not incarnation.signals:
                    self.kept.append(step)
                elif step.whole and any(number >= step.number and begin >= step.end_ns
                                        for number, begin, _ in checkpoints):
                    self.kept.append(step)
                elif self.running:
                    self.open.append(step)
                else:
                    self.lost.append(step)
            numbers = [s.number for s in steps]
            if numbers:
                first_of_later = min(numbers + ([first_of_later] if first_of_later is not None else []))

    def _bucket_of(self, step: Step) -> str:
        return "productive" if step in self.kept else "lost_work" if step in self.lost else "at_risk"

    def _allocated(self, attempt: Attempt, incarnations: List[Incarnation], start: int, end: int) -> List[Interval]:
        out: List[Interval] = []
        at = start

        def upto(bucket: str, moment: int) -> None:
            nonlocal at
            moment = min(max(moment, at), end)
            if moment > at:
                out.append(Interval(bucket, at, moment))
                at = moment

        for incarnation in incarnations:
            upto("launch", incarnation.begin_ns)
            steps = incarnation.steps()
            cuts = ([("checkpoint_save", b, e) for _, b, e, _ in incarnation.saves] +
                    [("overhead", b, e) for _, b, e, _ in incarnation.evaluations])
            spans = cuts + [(self._bucket_of(s), s.begin_ns, s.end_ns) for s in steps]
            hangs = incarnation.hangs() and bool(steps)
            if hangs:
                hung = steps[-1]
                spans[-1] = (self._bucket_of(hung), hung.begin_ns, hung.begin_ns + incarnation.typical_step_ns())
            for bucket, begin, finish in sorted(spans, key=lambda span: span[1]):
                upto(self._between(incarnation, steps, at), begin)
                upto(bucket, min(finish, incarnation.end_ns))
            stop = [t for t in incarnation.signals if steps and t >= steps[-1].begin_ns]
            if hangs:
                upto("stall", stop[0] if stop else incarnation.end_ns)
            upto("drain" if stop else self._between(incarnation, steps, at), incarnation.end_ns)
        if incarnations and self._script_goes_on:
            upto("launch", self._script_end(attempt, end))
        if incarnations and not (self.running and end == self.end_ns):
            upto("teardown", end)
        upto("launch", end)
        return out

    def _script_end(self, attempt: Attempt, end: int) -> int:
        found = [row["End"] for row in attempt.steps if row["JobID"].endswith(".batch") and row["End"] is not None]
        at = min(found[0] * S, end) if found else end
        self.accounting_times.add(at)
        return at

    def _between(self, incarnation: Incarnation, steps: List[Step], at: int) -> str:
        """The bucket of the time between two records of the trainer."""
        if not steps or at <= steps[0].begin_ns:
            return "startup"
        if any(s.end_ns <= at for s in steps):
            return self._bucket_of([s for s in steps if s.begin_ns <= at][-1])
        return "overhead"

    def provisioning_limit_ns(self, tolerance_s: float = 1.1) -> int:
        """The most that can be `provisioning`: until Slurm's extern step, else its first, started, in all attempts.

        slurmctld writes that start down when it asks for the step; on a busy machine the step itself, and the program
        after it, come later.
        """
        limit = 0
        for attempt, incarnations in zip(self.attempts, self.incarnations):
            if attempt.start_ns is None:
                continue
            starts = {row["JobID"].split(".", 1)[1]: row["Start"] for row in attempt.steps if row["Start"] is not None}
            up = starts.get("extern", min(starts.values(), default=None))
            start, end = self._limits(attempt)
            if self._allocated_ns is not None and attempt is self.attempts[0]:
                start = self._allocated_ns
            ready = (end if up is None else up * S) + int(tolerance_s * S)
            limit += max([0, ready - start] + [i.begin_ns - start for i in incarnations[:1]])
        return limit

    @staticmethod
    def _merge(intervals: List[Interval]) -> List[Interval]:
        merged: List[Interval] = []
        for interval in intervals:
            if interval.end_ns <= interval.begin_ns:
                continue
            if merged and merged[-1].bucket == interval.bucket and merged[-1].end_ns == interval.begin_ns:
                merged[-1] = Interval(interval.bucket, merged[-1].begin_ns, interval.end_ns)
            else:
                merged.append(interval)
        return merged


def of_job(cluster: object, job: int, folder: str, now_ns: int = 0, **more: object) -> Truth:
    """The truth about a job of a test cluster whose trainer logged into `folder`."""
    return Truth(read_log(folder), cluster.wait_sacct(job, bool), now_ns, **more)  # type: ignore
