#!/usr/bin/python3
"""The truth and the comparison with it, on small jobs whose buckets are computed by hand."""

import copy
import os
import sys
import tempfile
import unittest
from typing import Dict, List, Optional
from unittest import mock

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import checks  # noqa: E402
from checks import assert_attempts, assert_buckets_close  # noqa: E402
from truth import GrowingLog, S, Truth, saved_while_another_trained_ns, side_by_side  # noqa: E402

T0 = 1_800_000_000


def row(state: str, submit: int, eligible: Optional[int], start: Optional[int], end: Optional[int],
        job: str = "7") -> Dict:
    """Seconds since the first submit."""
    at = [None if t is None else T0 + t for t in (submit, eligible, start, end)]
    return dict(zip(("JobID", "State", "Submit", "Eligible", "Start", "End"), [job, state] + at))


def log(*events: tuple, restart: int = 0) -> List[Dict]:
    """(seconds, event, step or code or signo)."""
    records = []
    for when, event, number in events:
        t = T0 * S + round(when * S)
        record = {"t": t, "event": event}
        if event == "start":
            record.update(exec_t=t, slurm_step="0", restart=restart)
        else:
            record["code" if event in ("exit", "crash") else "signo" if event == "signal" else "step"] = number
        records.append(record)
    return records


def steps(first: int, last: int, begin: float) -> list:
    """Steps of one second each, without gaps."""
    out = []
    for n in range(first, last + 1):
        out += [(begin + n - first, "step_begin", n), (begin + n - first + 1, "step_end", n)]
    return out


def seconds(truth: Truth) -> Dict[str, float]:
    return {bucket: ns / S for bucket, ns in truth.sums().items()}


REQUEUED = (
    [row("REQUEUED", 0, 0, 2, 12), row("COMPLETED", 14, 133, 140, 150)],
    log((3, "start", 0), *steps(1, 5, 4), (9, "save_begin", 5), (9.5, "save_end", 5), *steps(6, 6, 9.5),
        (10.5, "step_begin", 7)) +
    log((141, "start", 0), (141.5, "restore_begin", 5), (142, "restore_end", 5), *steps(6, 10, 143),
        (148.5, "exit", 0), restart=1))


class TruthTest(unittest.TestCase):
    def assert_seconds(self, truth: Truth, expected: Dict[str, float]) -> None:
        self.assertEqual({k: round(v, 3) for k, v in seconds(truth).items()}, expected)
        at = truth.begin_ns
        for interval in truth.timeline:
            self.assertEqual(interval.begin_ns, at)
            at = interval.end_ns
        self.assertEqual(at, truth.end_ns)

    def test_a_requeue_loses_what_came_after_the_checkpoint(self) -> None:
        rows, records = REQUEUED
        truth = Truth(records, rows)
        self.assert_seconds(truth, {
            "queue": 2 + 7, "launch": 1 + 1, "startup": 1 + 2, "productive": 5 + 5.5, "checkpoint_save": 0.5,
            "lost_work": 2.5, "requeue_backoff": 121, "teardown": 1.5})
        self.assertEqual([s.number for s in truth.lost], [6, 7])

    def test_waiting_before_eligible_is_hold_at_first_and_backoff_later(self) -> None:
        self.assert_seconds(Truth([], [row("CANCELLED by 0", 0, 30, None, 50)]), {"hold": 30, "queue": 20})

    def test_eligible_when_slurmctld_looked_was_never_on_hold(self) -> None:
        self.assert_seconds(Truth([], [row("CANCELLED by 0", 0, 2, None, 5)]), {"queue": 5})
        self.assert_seconds(Truth([], [row("CANCELLED by 0", 0, 3, None, 5)]), {"hold": 3, "queue": 2})

    def test_programs_that_drift_apart_leave_doubt_while_one_saves(self) -> None:
        ahead = log((1, "step_begin", 1), (2, "step_end", 1), (2, "save_begin", 1), (2.5, "save_end", 1), (2.5, "step_begin", 2))
        behind = log((1, "step_begin", 1), (2.3, "step_end", 1), (2.3, "save_begin", 1), (2.8, "save_end", 1), (2.8, "step_begin", 2))
        self.assertEqual(saved_while_another_trained_ns([ahead, behind]), 0.3 * S)
        self.assertEqual(saved_while_another_trained_ns([ahead, ahead]), 0)

    def test_a_job_never_eligible_was_on_hold(self) -> None:
        self.assert_seconds(Truth([], [row("CANCELLED", 0, None, None, 50)]), {"hold": 50})

    def test_term_saved_in_time_keeps_everything_and_drains(self) -> None:
        records = log((1, "start", 0), *steps(1, 2, 1), (3, "step_begin", 3), (3.5, "signal", 15), (4, "step_end", 3),
                      (4, "save_begin", 3), (5, "save_end", 3), (5.75, "exit", 0))
        self.assert_seconds(Truth(records, [row("COMPLETED", 0, 0, 0, 6)]), {
            "launch": 1, "productive": 3, "checkpoint_save": 1, "drain": 0.75, "teardown": 0.25})

    def test_a_script_that_goes_on_is_launch_until_its_row_ends(self) -> None:
        records = log((1, "start", 0), *steps(1, 2, 1), (3, "save_begin", 2), (3.5, "save_end", 2), (3.5, "exit", 0))
        rows = [row("COMPLETED", 0, 0, 0, 9), row("COMPLETED", 0, 0, 0, 8, job="7.batch")]
        self.assert_seconds(Truth(records, rows, script_goes_on=True),
                            {"launch": 1 + 4.5, "productive": 2, "checkpoint_save": 0.5, "teardown": 1})
        self.assert_seconds(Truth(records, rows), {"launch": 1, "productive": 2, "checkpoint_save": 0.5, "teardown": 5.5})

    def test_a_checkpoint_completed_within_the_last_rounded_second_counts(self) -> None:
        records = log((1, "start", 0), *steps(1, 3, 1), (4, "signal", 15), (4, "save_begin", 3), (4.5, "save_end", 3),
                      (4.6, "exit", 0))
        self.assert_seconds(Truth(records, [row("PREEMPTED", 0, 0, 0, 4)]), {"launch": 1, "productive": 3})

    def test_what_a_running_job_has_not_saved_is_at_risk(self) -> None:
        records = log((1, "start", 0), *steps(1, 4, 1), (5, "save_begin", 4), (6, "save_end", 4), *steps(5, 6, 6))
        truth = Truth(records, [row("RUNNING", 0, 0, 0, None)], now_ns=(T0 + 8) * S)
        self.assert_seconds(truth, {"launch": 1, "productive": 4, "checkpoint_save": 1, "at_risk": 2})

    def test_a_crash_without_a_checkpoint_loses_all(self) -> None:
        records = log((0, "start", 0), *steps(1, 3, 0), (3, "step_begin", 4), (3.5, "crash", 1))
        self.assert_seconds(Truth(records, [row("FAILED", 0, 0, 0, 4)]), {"lost_work": 3.5, "teardown": 0.5})

    def test_a_hang_is_a_stall_after_one_step_s_worth(self) -> None:
        records = log((0, "start", 0), *steps(1, 3, 0), (3, "step_begin", 4), (3, "hang", 4))
        self.assert_seconds(Truth(records, [row("TIMEOUT", 0, 0, 0, 60)]), {"lost_work": 4, "stall": 56})

    def test_memory_that_a_slow_machine_is_long_to_give_is_a_stall_too(self) -> None:
        records = log((0, "start", 0), *steps(1, 3, 0), (3, "step_begin", 4), (3, "eat", 4))
        self.assert_seconds(Truth(records, [row("OUT_OF_MEMORY", 0, 0, 0, 8)]), {"lost_work": 8})
        self.assert_seconds(Truth(records, [row("OUT_OF_MEMORY", 0, 0, 0, 9)]), {"lost_work": 4, "stall": 5})

    def test_evaluation_is_overhead_and_an_unfinished_save_keeps_nothing(self) -> None:
        records = log((0, "start", 0), *steps(1, 2, 0), (2, "evaluation_begin", 2), (4, "evaluation_end", 2),
                      *steps(3, 3, 4), (5, "save_begin", 3))
        self.assert_seconds(Truth(records, [row("NODE_FAIL", 0, 0, 0, 8)]),
                            {"lost_work": 3, "overhead": 2, "checkpoint_save": 3})

    def test_an_asynchronous_save_blocks_until_the_next_step(self) -> None:
        records = log((0, "start", 0), *steps(1, 1, 0), (1, "save_begin", 1), *steps(2, 3, 1.25), (3, "save_end", 1),
                      (3.25, "exit", 0))
        records = sorted(records, key=lambda r: r["t"])
        next(r for r in records if r["event"] == "save_begin")["mode"] = "async"
        self.assert_seconds(Truth(records, [row("COMPLETED", 0, 0, 0, 4)]),
                            {"productive": 3, "checkpoint_save": 0.25, "teardown": 0.75})

    def test_between_two_sruns_is_launch(self) -> None:
        records = log((0, "start", 0), *steps(1, 2, 0), (2, "save_begin", 2), (2.5, "save_end", 2), (2.5, "exit", 1))
        records += log((5, "start", 0), (5.5, "restore_begin", 2), (6, "restore_end", 2), *steps(3, 4, 6), (8, "exit", 0))
        self.assert_seconds(Truth(records, [row("COMPLETED", 0, 0, 0, 8)]),
                            {"productive": 4, "checkpoint_save": 0.5, "launch": 2.5, "startup": 1})


    def test_a_chain_of_two_jobs(self) -> None:
        rows = [row("COMPLETED", 0, 0, 0, 10, job="7"), row("COMPLETED", 1, 11, 11, 20, job="8")]
        rows[0]["JobIDRaw"], rows[1]["JobIDRaw"] = "7", "8"
        records = log((0, "start", 0), *steps(1, 9, 1), (10, "exit", 0)) + log(
            (10.5, "start", 0), *steps(10, 17, 12), (20, "exit", 0))
        records[0]["job"], [r for r in records if r["event"] == "start"][1]["job"] = 7, 8
        truth = Truth(records, rows, chained=True)
        # The second attempt's program is not the first one's, although it began in the second in which the first attempt ended.
        self.assertEqual([len(group) for group in truth.incarnations], [1, 1])
        self.assert_seconds(truth, {"startup": 1 + 1, "productive": 9 + 8, "queue": 1})
        rows[1]["Submit"] += 10 - 1 + 5
        rows[1]["Eligible"] = rows[1]["Start"] = rows[1]["Submit"]
        self.assertEqual(seconds(Truth(records[:1], rows))["resubmit_gap"], 5)

    def test_waiting_for_several_reasons(self) -> None:
        truth = Truth([], [row("COMPLETED", 0, 30, 32, 32)],
                      not_eligible=[("queue", (T0 + 10) * S), ("hold", (T0 + 40) * S)])
        self.assert_seconds(truth, {"queue": 10 + 2, "hold": 20})

    def test_nothing_happens_while_a_job_is_suspended(self) -> None:
        records = log((0, "start", 0), *steps(1, 2, 0), (2, "step_begin", 3), (13, "step_end", 3), (14, "exit", 0))
        truth = Truth(records, [row("COMPLETED", 0, 0, 0, 14)], suspended=[((T0 + 3) * S, (T0 + 12) * S)])
        self.assert_seconds(truth, {"productive": 2 + 1 + 2, "suspended": 9})

    def test_without_marks_only_the_program_s_life_is_known(self) -> None:
        rows, records = REQUEUED
        self.assert_seconds(Truth(records, rows).without_marks(), {
            "queue": 2 + 7, "launch": 1 + 1, "unobserved": 9 + 7.5, "requeue_backoff": 121, "teardown": 1.5})

    def test_while_nodes_boot_the_job_has_them(self) -> None:
        records = log((41, "start", 0), *steps(1, 9, 41), (50, "exit", 0))
        truth = Truth(records, [row("COMPLETED", 0, 0, 40, 50)], allocated_ns=(T0 + 2) * S)
        self.assert_seconds(truth, {"queue": 2, "launch": 38 + 1, "productive": 9})

    def test_a_resized_job_is_one_attempt(self) -> None:
        rows = [row("RESIZING", 0, 1, 2, 10), row("COMPLETED", 10, 10, 2, 20)]
        attempt, = Truth([], rows).attempts
        self.assertEqual([(t - T0 * S) / S for t in attempt[2:6]], [0, 1, 2, 20])
        self.assertEqual(attempt.state, "COMPLETED")

    def test_components_are_one_attempt_that_starts_with_the_last(self) -> None:
        rows = [row("COMPLETED", 0, 0, 2, 20, job="7+0"), row("COMPLETED", 0, 0, 2, 20, job="7+0.extern"),
                row("COMPLETED", 0, 0, 3, 19, job="7+1")]
        attempt, = Truth([], rows).attempts
        self.assertEqual([(t - T0 * S) / S for t in attempt[2:6]], [0, 0, 3, 20])
        self.assertEqual(len(attempt.steps), 1)

    def test_programs_side_by_side_are_read_as_ranks(self) -> None:
        left = log((0, "start", 0), *steps(1, 2, 1), (3, "save_begin", 2), (4, "save_end", 2), (5, "exit", 0))
        right = log((0.5, "start", 0), *steps(1, 2, 1.5), (3.5, "save_begin", 2), (4.25, "save_end", 2), (4.5, "exit", 0))
        truth = Truth(side_by_side([left, right]), [row("COMPLETED", 0, 0, 0, 5)])
        self.assertEqual([(s.begin_ns - T0 * S) / S for s in truth.kept], [1, 2])
        self.assert_seconds(truth, {"startup": 1, "productive": 1 + 1 + 0.75, "checkpoint_save": 1.25})


class ChecksTest(unittest.TestCase):
    def setUp(self) -> None:
        # Tests the rule itself, independently of the machine's load.
        idle = mock.patch.object(checks, "lateness", lambda: 1.0)
        idle.start()
        self.addCleanup(idle.stop)
        rows, records = REQUEUED
        self.truth = Truth(records, rows)
        sums = self.truth.sums()
        queue = sums.pop("queue")
        sums.update(queue_resources=queue - S, queue_priority=S)
        self.show = {"jobs": [{
            "wall_ns": self.truth.wall_ns,
            "buckets": [{"name": k, "ns": v, "seconds": v / S} for k, v in sums.items()],
            "attempts": [{"start_ns": (T0 + b) * S, "end_ns": (T0 + e) * S} for b, e in ((2, 12), (140, 150))]}]}

    def move(self, source: str, target: str, ns: int) -> Dict:
        show = copy.deepcopy(self.show)
        buckets = {b["name"]: b for b in show["jobs"][0]["buckets"]}
        for name, change in ((source, -ns), (target, ns)):
            if name not in buckets:
                buckets[name] = {"name": name, "ns": 0}
                show["jobs"][0]["buckets"].append(buckets[name])
            buckets[name]["ns"] += change
            buckets[name]["seconds"] = buckets[name]["ns"] / S
        return show

    def test_the_truth_itself_passes(self) -> None:
        assert_buckets_close(self, self.show, self.truth)
        assert_attempts(self, self.show, self.truth)

    def test_a_second_where_accounting_rounds_passes(self) -> None:
        assert_buckets_close(self, self.move("queue_resources", "launch", S), self.truth)

    def test_half_a_second_between_what_the_trainer_timed_fails(self) -> None:
        with self.assertRaises(AssertionError):
            assert_buckets_close(self, self.move("productive", "checkpoint_save", S // 2), self.truth)

    def test_a_nanosecond_missing_fails(self) -> None:
        self.show["jobs"][0]["wall_ns"] += 1
        with self.assertRaises(AssertionError):
            assert_buckets_close(self, self.show, self.truth)

    def test_more_than_a_percent_unobserved_fails(self) -> None:
        with self.assertRaises(AssertionError):
            assert_buckets_close(self, self.move("requeue_backoff", "unobserved", 2 * S), self.truth)

    def test_provisioning_is_compared_with_launch_and_ends_where_slurm_s_first_step_starts(self) -> None:
        rows, records = REQUEUED
        extern = [row("COMPLETED", 0, 0, at, at + 10, job="7.extern") for at in (2, 140)]
        truth = Truth(records, [rows[0], extern[0], rows[1], extern[1]])
        assert_buckets_close(self, self.move("launch", "provisioning", S // 2), truth)
        with self.assertRaises(AssertionError):
            assert_buckets_close(self, self.move("productive", "provisioning", S), truth)
        self.assertEqual(truth.provisioning_limit_ns(), 2 * int(1.1 * S))

    def test_a_missing_attempt_fails(self) -> None:
        self.show["jobs"][0]["attempts"].pop()
        with self.assertRaises(AssertionError):
            assert_attempts(self, self.show, self.truth)


class GrowingLogTest(unittest.TestCase):
    def test_each_record_is_read_once_when_its_line_is_whole(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            growing = GrowingLog(folder)
            self.assertEqual(growing.records(), [])
            with open(os.path.join(folder, "truth.0.jsonl"), "w") as file:
                for text, seen in (('{"t": 1}\n{"t"', [1]), (': 2}', [1]), ("\n", [1, 2]), ("", [1, 2])):
                    file.write(text)
                    file.flush()
                    self.assertEqual([record["t"] for record in growing.records()], seen)


if __name__ == "__main__":
    unittest.main(verbosity=2)
