"""Megatron-LM with OpenTelemetry (d98e8a64: megatron/training/training.py) on nemo-lens' console exporter (e1cb901), and NVRx's
spans of asynchronous saves (pull request 394): beside Megatron's own lines, the last rank prints each span as a line of JSON.

As the exporter's BatchSpanProcessor does, it prints spans in the order of their ends, a while after that; a killed program's
last ones are never printed. $OTEL_SPAN_GROUPS is Megatron-LM's --otel-span-groups: per_step, or default without steps. With
$OTEL_EVERY_RANK, all ranks print their spans."""

import datetime
import json
import os
from typing import Any, Dict, List, Tuple

from . import megatron

NAME = "megatron-otel"
PER_STEP = ("megatron.train.iteration", "megatron.train.iteration_report", "megatron.checkpoint.load",
            "megatron.checkpoint.timers_log", "megatron.startup.model_init", "megatron.startup.dataloader")
# 5 s by default, which is longer than most of what a test does.
BATCH_S = int(os.environ.get("OTEL_BSP_SCHEDULE_DELAY", "1000")) / 1000


class Printer(megatron.Printer):
    def starts(self) -> None:
        self._waiting: List[str] = []
        self._last_batch = self.began
        self._ids = 0
        self._train = 0.0
        self._saving = 0.0
        self._save_seconds = 0.0
        self._evaluating = 0.0
        self._calls = 0
        self._running: Dict[int, int] = {}  # step: call
        self._written: List[Tuple[float, int]] = []
        self._first = True
        self._span("megatron.startup.imports", self.began, self.now())
        super().starts()

    def finds_none(self) -> None:
        self._initialized(self.now())
        super().finds_none()

    def loads(self, step: int) -> None:
        self._initialized(self.now())
        super().loads(step)

    def loaded(self, step: int, seconds: float) -> None:
        now = self.now()
        self._span("megatron.checkpoint.load", now - seconds, now)
        super().loaded(step, seconds)

    def trains(self, step: int) -> None:
        now = self.now()
        self._span("megatron.startup.model_init", self._setup, now)
        self._span("megatron.startup.dataloader", now, now)
        self._span("megatron.startup", self.began, now)
        super().trains(step)

    def step_done(self, step: int, seconds: float, loss: float) -> None:
        now = self.now()
        begin = now - seconds
        # At the top of the loop: what was written by then is finalized.
        done = [call for written, call in self._written if written <= begin]
        self._written = [(written, call) for written, call in self._written if call not in done]
        self._span("megatron.checkpoint.save.finalize", begin, begin, **({"nvrx.call_idx": done} if done else {}))
        facts = {"megatron.iteration": step - 1, "megatron.skipped": False}
        self._span("megatron.train.iteration", begin, now, **facts)
        if self._first:
            self._span("megatron.train.first_iteration", begin, now, **{"megatron.iteration": step - 1})
        self._first = False
        super().step_done(step, seconds, loss)
        self._span("megatron.train.iteration_report", now, self.now())

    def saving(self, step: int, is_async: bool) -> None:
        self._saving = self.now()
        super().saving(step, is_async)

    def scheduled(self, step: int, seconds: float) -> None:
        now = self.now()
        call = self._running[step] = self._calls
        self._calls += 1
        self._span("nvrx.checkpoint.save.request", self._saving, now, **{"nvrx.call_idx": call})
        self._saved(step, now)
        super().scheduled(step, seconds)

    def saved(self, step: int, seconds: float, is_async: bool) -> None:
        now = self.now()
        if is_async:
            self._written.append((now, self._running.get(step, -1)))
        else:
            self._saved(step, now)
        super().saved(step, seconds, is_async)

    def evaluating(self, step: int) -> None:
        self._evaluating = self.now()
        super().evaluating(step)

    def evaluated(self, step: int, seconds: float, loss: float) -> None:
        self._span("megatron.evaluate", self._evaluating, self.now())
        super().evaluated(step, seconds, loss)

    def stops(self, signo: int) -> None:
        super().stops(signo)
        self._exits()

    def completes(self) -> None:
        super().completes()
        self._exits()

    def _initialized(self, now: float) -> None:
        self._setup = now
        self._span("megatron.startup.initialize_megatron", self.began, now)

    def _saved(self, step: int, now: float) -> None:
        facts = {"megatron.iteration": step}
        self._span("megatron.checkpoint.save", self._saving, now, **facts)
        self._span("megatron.checkpoint.timers_log", now, now)
        self._span("megatron.checkpoint.exposed_save", self._saving, now, **facts)

    def _exits(self) -> None:
        now = self.now()
        calls = [call for _, call in self._written]
        self._span("megatron.checkpoint.exit_finalize", now, now, **({"nvrx.call_idx": calls} if calls else {}))
        self._print()

    def _span(self, name: str, begin: float, end: float, **attributes: Any) -> None:
        if self.run.rank != self.run.ranks - 1 and not os.environ.get("OTEL_EVERY_RANK"):
            return
        if name in PER_STEP and os.environ.get("OTEL_SPAN_GROUPS", "per_step") == "default":
            return

        def iso(at: float) -> str:
            return datetime.datetime.fromtimestamp(at, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        self._ids += 1
        resource = {"service.name": "megatron-lm", "service.instance.id": "run-rank%d" % self.run.rank, "dl.rank": self.run.rank,
                    "dl.world_size": self.run.ranks, "process.pid": os.getpid(), "slurm.job.id": str(self.run.job),
                    "slurm.restart_count": str(self.run.restart)}
        self._waiting.append(json.dumps({
            "name": name, "context": {"trace_id": "0x%032x" % 1, "span_id": "0x%016x" % self._ids, "trace_state": "[]"},
            "kind": "SpanKind.INTERNAL", "parent_id": None, "start_time": iso(begin), "end_time": iso(end),
            "status": {"status_code": "UNSET"}, "attributes": dict(attributes, is_goodput_span=True), "events": [], "links": [],
            "resource": {"attributes": resource, "schema_url": ""}}))
        if self.now() - self._last_batch >= BATCH_S:
            self._print()

    def _print(self) -> None:
        self._last_batch = self.now()
        waiting, self._waiting = self._waiting, []
        for line in waiting:
            self.out(line)
