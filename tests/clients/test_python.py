#!/usr/bin/python3
"""goodput.py in programs of every kind, with a daemon that runs, is absent, hangs or is restarted.

    python3 tests/clients/test_python.py

Each program runs in its own interpreter with warnings as errors and must print nothing on stderr.
"""

import ast
import inspect
import json
import os
import socket
import subprocess
import sys
import threading
import time
import unittest
from typing import Any, Dict, List, Optional, Tuple

HERE = os.path.dirname(os.path.abspath(__file__))
CLIENTS = os.path.join(os.path.dirname(os.path.dirname(HERE)), "tools", "clients")
JOB = {"SLURM_JOB_ID": "4711", "SLURM_PROCID": "0", "SLURM_STEP_ID": "3", "SLURMD_NODENAME": "n1"}


def _peer(connection: socket.socket) -> int:
    return int.from_bytes(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)[:4], sys.byteorder)


class Daemon:
    """Listens, and reads in a separate thread."""

    count = 0

    def __init__(self) -> None:
        Daemon.count += 1
        self.name = "@goodput-py-%d-%d" % (os.getpid(), Daemon.count)
        self.said: List[Tuple[int, Dict]] = []  # the connection's process, the message
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.bind("\0" + self.name[1:])
        self._socket.listen(64)
        self._readers: List[threading.Thread] = []
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def _accept(self) -> None:
        while True:
            connection, _ = self._socket.accept()
            if _peer(connection) == os.getpid():  # stop() connects last
                connection.close()
                return
            self._readers.append(threading.Thread(target=self._read, args=(connection,), daemon=True))
            self._readers[-1].start()

    def _read(self, connection: socket.socket) -> None:
        with connection:
            pid = _peer(connection)
            while True:
                message = connection.recv(8192)
                if not message:
                    return
                self.said.append((pid, json.loads(message.decode("utf-8"))))

    def stop(self) -> None:
        """Reads everything that was sent, and stops."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as last:
            last.connect("\0" + self.name[1:])
            self._thread.join()
        for reader in self._readers:
            reader.join()
        self._socket.close()


class Programs(unittest.TestCase):
    def run_program(self, program: str, env: Optional[Dict[str, str]] = None, daemon: bool = True,
                    path: str = CLIENTS) -> Tuple[str, List[Dict]]:
        """The program's output, and the messages that the daemon received."""
        full = dict(JOB if env is None else env, PATH="/usr/bin:/bin", PYTHONPATH=path, PYTHONDONTWRITEBYTECODE="1")
        listens = Daemon() if daemon else None
        if listens:
            full["GOODPUT_SOCKET"] = listens.name
        full.setdefault("GOODPUT_SOCKET", "@goodput-nobody-%d" % os.getpid())
        ran = subprocess.run([sys.executable, "-X", "dev", "-W", "error", "-c", "import goodput\n" + program], env=full, check=False,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
        if listens:
            listens.stop()
            self.pids = [pid for pid, _ in listens.said]
        self.assertEqual((ran.returncode, ran.stderr.decode()), (0, ""), program)
        return ran.stdout.decode(), [message for _, message in listens.said] if listens else []

    @staticmethod
    def words(said: List[Dict]) -> List[str]:
        return [" ".join(str(word) for word in (one["mark"], one["edge"], one.get("name"), one.get("train_step")) if word is not None)
                for one in said]


class PythonClientTest(Programs):
    def test_each_mark_is_whose_it_is_and_when_it_was(self) -> None:
        begin = time.monotonic_ns()
        printed, said = self.run_program(
            "with goodput.restore() as restored: restored.step = 41\n"
            "goodput.step(42)\n"
            "with goodput.checkpoint(42): pass\n"
            "try:\n"
            "    with goodput.checkpoint(43): raise OSError\n"
            "except OSError: print('raised')\n"
            "with goodput.phase('evaluation'): pass\n"
            "goodput.restore_begin(1); goodput.restore_end(1); goodput.checkpoint_begin(); goodput.checkpoint_end()\n"
            "goodput.phase_begin('x'); goodput.phase_end('x'); goodput.step_failed(42); print(goodput.dropped())")
        self.assertEqual(printed, "raised\n0\n")
        self.assertEqual(self.words(said), [
            "restore begin", "restore end 41", "step begin 42", "checkpoint begin 42", "checkpoint end 42", "checkpoint begin 43",
            "phase begin evaluation", "phase end evaluation", "restore begin 1", "restore end 1", "checkpoint begin", "checkpoint end",
            "phase begin x", "phase end x", "step end failed 42"])
        for one in said:
            self.assertEqual({key: one[key] for key in ("v", "job", "slurm_step", "task", "node")},
                             {"v": 1, "job": 4711, "slurm_step": "3", "task": 0, "node": "n1"})
        times = [one["m"] for one in said]
        self.assertEqual(times, sorted(times))
        self.assertTrue(begin < times[0] and times[-1] < time.monotonic_ns())

    def test_it_says_how_many_gpus_train(self) -> None:
        printed, said = self.run_program(
            "goodput.world(48); goodput.world(48, 64); goodput.world(48, of=64, spares=0, tokens=2 ** 53)\n"
            "for wrong in ((0,), (-1,), (2 ** 24 + 1,), (9, 8), (8, 2 ** 24 + 1), (8, 8, -1), (8, 8, 0, 0), (None,), (8, 'x'), ('x', 8)):\n"
            "    goodput.world(*wrong)\n"
            "print(goodput.dropped())")
        self.assertEqual(printed, "10\n")
        keys = ("mark", "edge", "world", "wanted", "spares", "tokens")
        self.assertEqual([{key: one[key] for key in keys if key in one} for one in said], [
            {"mark": "world", "edge": "begin", "world": 48},
            {"mark": "world", "edge": "begin", "world": 48, "wanted": 64},
            {"mark": "world", "edge": "begin", "world": 48, "wanted": 64, "spares": 0, "tokens": 1 << 53}])

    def test_it_says_nothing_where_it_has_nothing_to_say(self) -> None:
        program = "goodput.step(1); goodput.step(-1); goodput.step(None); goodput.phase_begin(None); print(goodput.dropped())"
        for more in ({"SLURM_JOB_ID": ""}, {"SLURM_JOB_ID": "0"}, {"SLURM_JOB_ID": "x"}, {"GOODPUT": "off"}, {"SLURM_PROCID": "1"},
                     {"RANK": "7"}, {"OMPI_COMM_WORLD_RANK": "1"}):
            self.assertEqual(self.run_program(program, dict(JOB, **more)), ("0\n", []), more)
        for more in ({"SLURM_PROCID": "1", "GOODPUT_RANKS": "all"}, {"SLURM_PROCID": "", "RANK": "0"}, {"GOODPUT": "on"}):
            self.assertEqual(self.words(self.run_program(program, dict(JOB, **more))[1]), ["step begin 1"], more)
        for more, task in (({"RANK": "9"}, 9), ({"OMPI_COMM_WORLD_RANK": "8"}, 8), ({"RANK": "x"}, 0), ({}, 0)):
            said = self.run_program("goodput.step(1)", dict(JOB, GOODPUT_RANKS="all", **more))[1]
            self.assertEqual([mark["task"] for mark in said], [task], more)
        for step in ("", "4294967291", "-5", "x"):
            self.assertEqual(self.run_program("goodput.step(1)", dict(JOB, SLURM_STEP_ID=step))[1][0]["slurm_step"], "batch")

    def test_nothing_that_is_passed_raises(self) -> None:
        program = r"""
class Evil:
    def __int__(self): raise RuntimeError("int")
    def __str__(self): raise RuntimeError("str")
    def __bool__(self): raise RuntimeError("bool")
    def __float__(self): raise RuntimeError("float")
    __index__ = __int__
values = [None, "", "x", -1, 2 ** 53 + 1, 10 ** 400, float("nan"), float("inf"), object(), Evil(), [], {}, b"x", 1 + 2j, goodput]
for value in values:
    for call in (goodput.step, goodput.checkpoint_begin, goodput.restore_end, goodput.phase_begin, goodput.phase_end):
        call(value)
    for span in (goodput.checkpoint(value), goodput.restore(value), goodput.phase(value)):
        with span: pass
    for enabled in (True, value):
        recorder = goodput.GoodputRecorder(value, value, enabled, value, newer=value)
        for name in dir(recorder):
            if name == "flush": recorder.flush()
            elif name.startswith("record_checkpoint"): recorder.record_checkpoint_progress(value, value)
            elif name.startswith("record_step"): recorder.record_step_start_time(value, value), recorder.record_step_start_time(1, value)
            elif name.startswith("record_custom"): getattr(recorder, name)(value, value), getattr(recorder, name)(None, value)
            elif name.startswith("record_"): getattr(recorder, name)(value)
    hooks = goodput.GoodputCallback()
    for name in dir(hooks):
        if name == "setup" or name.startswith("on_"): getattr(hooks, name)(value), getattr(hooks, name)(value, value), getattr(hooks, name)()
print(goodput.dropped() > 100)
"""
        printed, said = self.run_program(program)
        self.assertEqual(printed, "True\n")
        for one in said:
            self.assertTrue(0 <= one.get("train_step", 0) <= 2 ** 53)
            self.assertTrue("name" not in one or 0 < len(one["name"].encode()) <= 128)

    def test_names_arrive_cut_between_characters(self) -> None:
        printed, said = self.run_program(
            r"""for name in ("\u00e9", '"\\\n\x00\x7f', "\udcff\ud800", "x" * 10000, "x" * 127 + "\u00e9", "\U0001f600"): goodput.phase_begin(name)""",
            dict(JOB, SLURMD_NODENAME='"' * 300))
        self.assertEqual([one["name"] for one in said], ["\u00e9", '"\\\n\x7f', "??", "x" * 128, "x" * 127, "\U0001f600"])
        self.assertEqual(said[0]["node"], '"' * 128)

    def test_threads_say_each_thing_once(self) -> None:
        printed, said = self.run_program(
            "import threading, time\n"
            "def mark(first):\n"
            "    for i in range(300):\n"
            "        goodput.step(first + i)\n"
            "        if i % 16 == 0: time.sleep(0.005)\n"
            "threads = [threading.Thread(target=mark, args=(1000 * n,)) for n in range(8)]\n"
            "for thread in threads: thread.start()\n"
            "for thread in threads: thread.join()\n"
            "print(goodput.dropped())")
        steps = [one["train_step"] for one in said]
        self.assertEqual(len(set(steps)), len(steps))
        self.assertLessEqual(set(steps), {1000 * n + i for n in range(8) for i in range(300)})
        self.assertEqual(len(steps) + int(printed), 2400)
        self.assertEqual(len(set(self.pids)), 1)

    def test_processes_that_are_forked_or_spawned_have_connections_of_their_own(self) -> None:
        for method in ("fork", "spawn"):
            printed, said = self.run_program(
                "import multiprocessing\n"
                "goodput.step(1)\n"
                "context = multiprocessing.get_context(%r)\n"
                "worker = context.Process(target=goodput.step, args=(2,))\n"
                "worker.start(); worker.join()\n"
                "goodput.step(3); print(goodput.dropped(), worker.exitcode)" % method)
            self.assertEqual(printed, "0 0\n")
            by_step = {one["train_step"]: pid for one, pid in zip(said, self.pids)}
            self.assertEqual((len(said), sorted(by_step)), (3, [1, 2, 3]))
            self.assertTrue(by_step[1] == by_step[3] != by_step[2])

    def test_a_handler_may_mark_whatever_it_interrupted(self) -> None:
        printed, said = self.run_program(
            "import os, signal, threading, time\n"
            "hits = []\n"
            "def handler(*_):\n"
            "    goodput.checkpoint_begin(len(hits)); hits.append(1)\n"
            "signal.signal(signal.SIGUSR1, handler)\n"
            "done = []\n"
            "def shoot():\n"
            "    while len(hits) < 200: os.kill(os.getpid(), signal.SIGUSR1); time.sleep(0.0005)\n"
            "    done.append(1)\n"
            "threading.Thread(target=shoot).start()\n"
            "steps = 0\n"
            "while not done:\n"
            "    goodput.step(steps); steps += 1\n"
            "    if steps % 64 == 0: time.sleep(0.002)\n"
            "print(steps + len(hits) - goodput.dropped())")
        self.assertEqual(int(printed), len(said), "what was not dropped arrived")
        self.assertGreaterEqual(sum(one["mark"] == "checkpoint" for one in said), 190)

    def test_where_nobody_listens_it_asks_once_a_second(self) -> None:
        self.assertEqual(self.run_program(
            "import socket\n"
            "asked = []\n"
            "connect = socket.socket.connect\n"
            "goodput._Socket.connect = lambda self, address: (asked.append(address), connect(self, address))\n"
            "for i in range(100): goodput.step(i)\n"
            "goodput._marks._retry_ns = 0\n"  # a second later
            "goodput.step(100)\n"
            "print(goodput.dropped(), len(asked), asked[1])", daemon=False)[0], "101 4 /run/slurm-goodput/mark.sock\n")

    def test_a_daemon_that_never_reads_loses_what_its_buffer_cannot_hold(self) -> None:
        self.assertEqual(self.run_program(
            "import os, socket\n"
            "listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
            "listener.bind('\\0' + os.environ['GOODPUT_SOCKET'][1:]); listener.listen(5)\n"
            "waits = 0\n"
            "for i in range(3000):\n"
            "    before = goodput._marks._wait_ns; goodput.step(i); waits += goodput._marks._wait_ns != before\n"
            "dropped = goodput.dropped()\n"
            "connection, _ = listener.accept()\n"
            "connection.setblocking(False)\n"
            "got = 0\n"
            "try:\n"
            "    while connection.recv(9000): got += 1\n"
            "except BlockingIOError: pass\n"
            "goodput.step(1); got += bool(connection.recv(9000))\n"
            "print(got + dropped, dropped > 1000, 0 < waits * 20 < dropped)\n"
            "connection.close(); listener.close()", daemon=False)[0], "3001 True True\n")

    def test_a_daemon_that_came_back_is_found(self) -> None:
        self.assertEqual(self.run_program(
            "import os, socket\n"
            "def listen():\n"
            "    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
            "    listener.bind('\\0' + os.environ['GOODPUT_SOCKET'][1:]); listener.listen(5)\n"
            "    return listener\n"
            "for i in range(3):\n"
            "    with listen() as listener:\n"
            "        goodput._marks._retry_ns = 0\n"
            "        goodput.step(i)\n"
            "        with listener.accept()[0] as connection: print(connection.recv(9000).count(b'\"train_step\":%d' % i))\n"
            "print(goodput.dropped())", daemon=False)[0], "1\n1\n1\n0\n")

    def test_a_closed_descriptor_is_not_written_to(self) -> None:
        printed, said = self.run_program(
            "import os, socket\n"
            "goodput.step(1)\n"
            "number = goodput._marks._socket.fileno()\n"
            "os.close(number)\n"
            "ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
            "assert ours.fileno() == number\n"
            "goodput._marks._retry_ns = 0\n"
            "goodput.step(2)\n"
            "os.fstat(number)\n"
            "theirs.setblocking(False)\n"
            "try: theirs.recv(9000); print('written to')\n"
            "except BlockingIOError: print('untouched', goodput.dropped())\n"
            "ours.close(); theirs.close()\n"
            "os.close(goodput._marks._socket.fileno())\n"
            "goodput.step(3); print(goodput.dropped())")
        self.assertEqual(printed, "untouched 0\n1\n")
        # There are two connections, and the reader may read the second one first.
        self.assertEqual(sorted(self.words(said)), ["step begin 1", "step begin 2"])

    def test_an_interpreter_that_ends_may_still_mark(self) -> None:
        _, said = self.run_program(
            "import atexit, sys, threading, time\n"
            "class Last:\n"
            "    def __del__(self): goodput.phase_end('last')\n"
            "sys.last = Last()\n"
            "sys.modules['kept'] = Last()\n"
            "atexit.register(goodput.phase_end, 'exit')\n"
            "def forever():\n"
            "    while True: goodput.phase_begin('thread'); time.sleep(0.001)\n"
            "threading.Thread(target=forever, daemon=True).start()\n"
            "goodput.step(1)")
        self.assertIn("phase end exit", self.words(said))

    def test_nothing_of_it_is_inherited_by_other_programs(self) -> None:
        self.run_program("import os\ngoodput.step(1)\nassert not os.get_inheritable(goodput._marks._socket.fileno())")


class GoogleTest(Programs):
    """The signatures of GoodputRecorder in ml-goodput-measurement 0.2.3, ml_goodput_measurement/src/goodput.py."""

    START, END = ("start_time", None), ("end_time", None)
    REAL: Dict[str, List[Tuple[str, Any]]] = {
        "__init__": [("job_name", inspect.Parameter.empty), ("logger_name", inspect.Parameter.empty), ("logging_enabled", False),
                     ("cloud_logger", None), ("background_grace_period_s", 5.0), ("background_batch_size", 100),
                     ("background_max_latency_s", 2.0)],
        "flush": [],
        "record_step_start_time": [("step", inspect.Parameter.empty), START],
        "record_checkpoint_progress": [("step", inspect.Parameter.empty), ("checkpoint_start_time", inspect.Parameter.empty)],
        "record_job_start_time": [START], "record_job_end_time": [END],
        "record_tpu_init_start_time": [START], "record_tpu_init_end_time": [END],
        "record_training_preparation_start_time": [START], "record_training_preparation_end_time": [END],
        "record_data_loading_start_time": [START], "record_data_loading_end_time": [END],
        "record_custom_badput_event_start_time": [START, ("custom_badput_event_type", "unknown")],
        "record_custom_badput_event_end_time": [END, ("custom_badput_event_type", "unknown")],
    }

    def test_the_recorder_has_the_real_ones_signatures(self) -> None:
        sys.path.insert(0, CLIENTS)
        self.addCleanup(sys.path.remove, CLIENTS)
        import goodput
        for name, parameters in self.REAL.items():
            ours = [parameter for parameter in inspect.signature(getattr(goodput.GoodputRecorder, name)).parameters.values()
                    if parameter.name != "self" and parameter.kind != parameter.VAR_KEYWORD]
            self.assertEqual([(parameter.name, parameter.default) for parameter in ours], parameters, name)
            keyword_only = {parameter.name for parameter in ours if parameter.kind == parameter.KEYWORD_ONLY}
            self.assertEqual(keyword_only, {word for word, _ in parameters if word.startswith("background_")})
        public = {name for name in vars(goodput.GoodputRecorder) if not name.startswith("_")}
        self.assertEqual(public, set(self.REAL) - {"__init__"})

    def test_it_records_what_the_program_says(self) -> None:
        printed, said = self.run_program(
            "import datetime\n"
            "recorder = goodput.GoodputRecorder('run', 'log', logging_enabled=True)\n"
            "recorder.record_job_start_time()\n"
            "recorder.record_tpu_init_start_time(); recorder.record_tpu_init_end_time()\n"
            "recorder.record_training_preparation_start_time(); recorder.record_training_preparation_end_time()\n"
            "recorder.record_data_loading_start_time(); recorder.record_data_loading_end_time()\n"
            "recorder.record_step_start_time(0)\n"
            "recorder.record_custom_badput_event_start_time(custom_badput_event_type='eval_step')\n"
            "recorder.record_custom_badput_event_end_time(custom_badput_event_type='eval_step')\n"
            "recorder.record_step_start_time(step=1); recorder.record_checkpoint_progress(1, None)\n"
            "recorder.record_job_end_time(); recorder.flush()\n"
            "silent = goodput.GoodputRecorder('run', 'log'); silent.record_step_start_time(7)\n"
            "print(recorder.job_name, goodput.dropped())")
        self.assertEqual(printed, "run 0\n")
        self.assertEqual(self.words(said), [
            "phase begin init", "phase end init", "phase begin training_prep", "phase end training_prep", "phase begin data_loading",
            "phase end data_loading", "step begin 0", "phase begin eval_step", "phase end eval_step", "step begin 1"])

    def test_a_time_that_is_given_counts(self) -> None:
        printed, said = self.run_program(
            "import datetime, time\n"
            "recorder = goodput.GoodputRecorder('run', 'log', True)\n"
            "zones = [None, datetime.timezone.utc, datetime.timezone(datetime.timedelta(hours=-8))]\n"
            "now, mono = time.time(), time.monotonic_ns()\n"
            "utc = datetime.datetime.fromtimestamp(now - 60, datetime.timezone.utc)\n"
            "for when in (utc.replace(tzinfo=None), utc, utc.astimezone(zones[2]), now - 60): recorder.record_step_start_time(1, when)\n"
            "recorder.record_step_start_time(2, utc - datetime.timedelta(hours=2))\n"
            "recorder.record_step_start_time(3, utc + datetime.timedelta(hours=2))\n"
            "print(mono, goodput.dropped())", dict(JOB, TZ="Asia/Tokyo"))
        mono, dropped = map(int, printed.split())
        self.assertEqual([one["train_step"] for one in said], [1, 1, 1, 1, 3])
        for one in said[:4]:
            self.assertAlmostEqual((mono - one["m"]) / 1e9, 60, delta=0.5)
        self.assertGreaterEqual(said[4]["m"], mono, "no mark is of the future")
        self.assertEqual(dropped, 1, "older than what goodputd believes")


class LightningTest(Programs):
    """A stand-in for Lightning calls the hooks in its order."""

    def fit(self, trainer: str, path: str = HERE + ":" + CLIENTS, fit: str = "4") -> Tuple[str, List[str]]:
        printed, said = self.run_program(
            "from lightning.pytorch import Trainer\n"
            "class AsyncCheckpointIO: pass\n"
            "class Megatron:\n"
            "    async_save = False\n"
            "trainer = Trainer(callbacks=[goodput.GoodputCallback()], %s)\n"
            "try: trainer.fit(%s)\n"
            "except OSError as error: print(error)\n"
            "print(goodput.dropped(), trainer.saved)" % (trainer, fit), path=path)
        return printed, self.words(said)

    def test_steps_saves_and_evaluation(self) -> None:
        for plugin in ("None", "Megatron()"):
            printed, said = self.fit("checkpoint_io=%s, validate_every=2, save_every=2" % plugin)
            self.assertEqual(printed, "0 [2, 4]\n")
            self.assertEqual(said, [
                "phase begin init", "phase end init", "phase begin sanity_check", "phase end sanity_check", "step begin 1", "step begin 2",
                "phase begin evaluation", "phase end evaluation", "checkpoint begin 2", "checkpoint end 2", "step begin 3", "step begin 4",
                "phase begin evaluation", "phase end evaluation", "checkpoint begin 4", "checkpoint end 4"])

    def test_several_batches_a_step_are_one_step(self) -> None:
        self.assertEqual(self.fit("accumulate=3", fit="6")[1][2:], ["step begin 1", "step begin 2"])

    def test_a_run_that_is_resumed(self) -> None:
        self.assertEqual(self.fit("", fit="2, ckpt_path='40'")[1], [
            "phase begin init", "phase end init", "restore begin", "restore end 40", "step begin 41", "step begin 42"])

    def test_a_save_that_goes_on_or_fails_is_not_complete(self) -> None:
        for plugin in ("checkpoint_io=AsyncCheckpointIO()", "async_save=True"):
            said = self.fit(plugin + ", save_every=2", fit="3")[1]
            self.assertEqual(said[2:], ["step begin 1", "step begin 2", "checkpoint begin 2", "step begin 3"])
        printed, said = self.fit("save_every=2, fails_to_save=True")
        self.assertEqual(printed, "no space left on device: step=2.ckpt\n0 []\n")
        self.assertEqual(said[-1], "checkpoint begin 2")

    def test_it_is_a_callback_of_the_lightning_that_is_there_and_can_be_pickled(self) -> None:
        printed, _ = self.run_program(
            "import sys\n"
            "before = 'lightning' in sys.modules\n"
            "import pickle\n"
            "callback = goodput.GoodputCallback()\n"
            "from lightning.pytorch import Trainer\n"
            "trainer = Trainer(callbacks=[callback]); trainer.fit(1)\n"
            "again = pickle.loads(pickle.dumps(trainer))\n"
            "again.save_checkpoint('x'); trainer.save_checkpoint('y', True)\n"
            "print(before, [kind.__module__ for kind in type(callback).__mro__][1], again.saved, trainer.saved)", path=HERE + ":" + CLIENTS)
        self.assertEqual(printed, "False lightning.pytorch.callbacks [1] [1]\n")
        self.assertEqual(self.run_program("print(goodput.GoodputCallback.__mro__[1])")[0], "<class 'object'>\n")


class InProcessRestartTest(Programs):
    """A stand-in for NVRx's Wrapper starts a function several times in one process."""

    def start(self, states: str, env: Optional[Dict[str, str]] = None) -> List[str]:
        """states: (active_rank, active_world_size, world_size) of each start."""
        printed, said = self.run_program(
            "from nvidia_resiliency_ext import inprocess\n"
            "wrapper = inprocess.Wrapper(initialize=goodput.GoodputInitialize())\n"
            "states = [inprocess.FrozenState(rank, size, rank, active, i) for i, (rank, active, size) in enumerate(%s)]\n"
            "wrapper.start(states, lambda: goodput.step(7))\n"
            "print(goodput.dropped())" % states, path=HERE + ":" + CLIENTS, env=env)
        self.assertEqual(printed, "0\n")
        # Each start has a connection of its own, which are read side by side.
        said.sort(key=lambda one: one["m"])
        return [" ".join([words] + ["%s=%s" % (key, one[key]) for key in ("world", "wanted", "spares", "task") if key in one])
                for words, one in zip(self.words(said), said)]

    def test_each_start_says_who_trains(self) -> None:
        self.assertEqual(self.start("[(0, 4, 5), (0, 4, 4), (0, 3, 3)]"), [
            "world begin world=4 wanted=4 spares=1 task=0", "step begin 7 task=0",
            "world begin world=4 wanted=4 spares=0 task=0", "phase begin elastic_reinit task=0", "step begin 7 task=0",
            "world begin world=3 wanted=4 spares=0 task=0", "phase begin elastic_reinit task=0", "step begin 7 task=0"])

    def test_the_process_that_becomes_rank_0_reports(self) -> None:
        self.assertEqual(self.start("[(1, 4, 4), (0, 3, 3)]", dict(JOB, SLURM_PROCID="1")), [
            "world begin world=3 wanted=4 spares=0 task=0", "phase begin elastic_reinit task=0", "step begin 7 task=0"])
        self.assertEqual(self.start("[(0, 4, 4), (1, 3, 3), (None, 3, 4)]")[2:], [])

    def test_without_nvrx_it_is_an_ordinary_class(self) -> None:
        self.assertEqual(self.run_program("print(goodput.GoodputInitialize.__mro__[1])")[0], "<class 'object'>\n")
        printed, said = self.run_program("print(goodput.GoodputInitialize()(5), goodput.dropped())")
        self.assertEqual((printed, said), ("5 0\n", []))


class TorchftTest(Programs):
    def train(self, steps: int, manager: str) -> Tuple[List[str], List[Dict]]:
        printed, said = self.run_program(
            "import time, torchft\n"
            "manager = goodput.watch_torchft(torchft.Manager(%s))\n"
            "try:\n"
            "    while manager.current_step() < %d:\n"
            "        manager.start_quorum(allow_heal=True); time.sleep(0.05); manager.should_commit(timeout=1.0)\n"
            "except RuntimeError as error: print(error)\n"
            "print(goodput.dropped())" % (manager, steps), path=HERE + ":" + CLIENTS)
        self.assertEqual(printed.splitlines()[-1], "0")
        return self.words(said), said

    def test_a_step_that_is_refused_has_failed(self) -> None:
        words, said = self.train(4, "refuses=[1, 1]")
        self.assertEqual(words, ["step begin 1", "step begin 2", "step end failed 2", "step end failed 2", "step begin 3", "step begin 4"])
        begins = [one["m"] / 1e9 for one in said if one["edge"] == "begin"]
        self.assertGreaterEqual(begins[1] - begins[0], 0.05, "the first was marked when it ended")
        self.assertGreaterEqual(begins[2] - begins[1], 0.15)

    def test_a_replica_that_joins_initializes_until_it_takes_part(self) -> None:
        self.assertEqual(self.train(10, "joins_at=7")[0], ["step begin 9", "step begin 10"])
        self.assertEqual(self.train(9, "joins_at=7, refuses=[8]")[0], ["step begin 9", "step end failed 9"])
        self.assertEqual(self.train(9, "joins_at=7, refuses=[7]")[0], ["step begin 8", "step begin 9"])

    def test_what_it_raises_passes(self) -> None:
        self.assertEqual(self.train(4, "refuses=[1, 1, 1], max_retries=1")[0],
                         ["step begin 1", "step begin 2", "step end failed 2", "step end failed 2"])


class SourceTest(unittest.TestCase):
    def test_python_3_8_reads_it_and_it_needs_nothing_else(self) -> None:
        with open(os.path.join(CLIENTS, "goodput.py")) as file:
            tree = ast.parse(file.read(), feature_version=(3, 8))
        imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        imported |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        self.assertLessEqual(imported, {"datetime", "functools", "itertools", "json", "os", "select", "socket", "sys", "time", "typing"})
        # Python 3.8 parses list[int] and int | None, but cannot evaluate them.
        for node in ast.walk(tree):
            if isinstance(node, ast.arg) and node.annotation is not None:
                for part in ast.walk(node.annotation):
                    self.assertFalse(isinstance(part, ast.BinOp), ast.dump(node))
                    self.assertFalse(isinstance(part, ast.Subscript) and isinstance(part.value, ast.Name) and
                                     part.value.id in ("list", "dict", "tuple", "type"), ast.dump(node))


if __name__ == "__main__":
    unittest.main()
