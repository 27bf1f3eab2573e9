#!/usr/bin/python3
"""Every suite of tests/run: its requirements, its command, and how to count its tests.

The unit tests run first, with nothing beside: compiling them takes twice the processor time beside end-to-end tests. Then lanes run in
parallel: one at low priority for processor-bound suites (packages, linters), and WAITING for suites that mostly wait (end to end), of
which one later helps with the processor-bound suites. A suite's output goes to out/tests/NAME.log and is printed if it fails.

No test is repeated: one that fails only now and then is a fault of the test or of the product.
"""

import compileall
import os
import re
import shlex
import subprocess
import sys
import threading
import time
from typing import Callable, List, NamedTuple, Optional, Tuple

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.join(TOP, "build")
ASAN = os.path.join(TOP, "build-asan")
TSAN = os.path.join(TOP, "build-tsan")
FUZZ = os.path.join(TOP, "build-fuzz")
LOGS = os.path.join(TOP, "out", "tests")
PYTHON = "/usr/bin/python3"
# With just enough of -g for line numbers in backtraces. The plugin, which every slurmstepd loads, is optimized as it is installed.
CONFIGURE = "--enable-unity CXXFLAGS='-O2 -g1' CFLAGS='-O2 -g1'"
PLUGIN = "spank/spank_goodput.la spank/spank_goodput_faults.la"
# The rest compiles in half the time like this; the parameter makes g++ collect its garbage less often.
FLAGS = "-Og -g1 --param ggc-min-heapsize=500000"
# A suite that takes longer than this hangs.
LIMIT_S = 45 * 60
# These check the source, the packages or a sanitizer's build with tools that the roots of tests/matrix lack. --slurm runs all
# other suites.
SAME_WITH_EVERY_SLURM = {"sanitized", "daemon-tsan", "blueprints", "image", "packages", "format", "house", "includes", "unit-sanitized",
                         "rest-sanitized", "unit-plain", "fuzz", "tidy", "tidy-all", "distcheck"}


# These repeat scenarios, tests or compilations in another build, or search for long; only `tests/run --all` (make check-all) runs them.
ONCE_MORE = {"sanitized", "daemon-tsan", "unit", "rest-sanitized", "fuzz", "includes", "tidy-all"}
# These install what was built on a machine of their own. Without `--all` they run only if one of the last commits, or the work tree,
# changed what only they test; that each installed file is in a package, `distcheck` tests.
INSTALLS = {"packages": ["debian", "tests/packages", "tools/data"],
            "image": ["blueprints/modules/slurm-goodput/files", "tests/blueprints/test_install.py", "tools/build"]}
LAST_COMMITS = 15
# How many suites that wait run at a time: with the one at low priority they fill two processors. With five, the load average was 18
# there, and now and then a test of times failed.
WAITING = 4
# How many of the slowest tests are listed at the end.
MOST_SLOW = 10


class Counts(NamedTuple):
    passed: int
    failed: int
    skipped: int = 0


class Suite(NamedTuple):
    name: str
    command: List[str]
    count: Callable[[str, int], Counts]
    lane: str  # "first", "busy" or "waiting"
    cwd: str = TOP


def whole(_output: str, code: int) -> Counts:
    """The suite is one test."""
    return Counts(1, 0) if code == 0 else Counts(0, 1)


def unittests(output: str, code: int) -> Counts:
    ran = sum(int(n) for n in re.findall(r"^Ran (\d+) tests?", output, re.M))
    bad = sum(int(n) for n in re.findall(r"(?:failures|errors)=(\d+)", output))
    skipped = sum(int(n) for n in re.findall(r"skipped=(\d+)", output))
    if code != 0 and bad == 0:
        bad = 1
    # A test with failing subtests counts once.
    bad = min(bad, ran) if ran else max(bad, 1)
    return Counts(ran - bad - skipped if ran else 0, bad, skipped)


def googletests(output: str, code: int) -> Counts:
    passed = sum(int(n) for n in re.findall(r"^\[  PASSED  \] (\d+) tests?", output, re.M))
    failed = sum(int(n) for n in re.findall(r"^\[  FAILED  \] (\d+) tests?, listed", output, re.M))
    skipped = sum(int(n) for n in re.findall(r"^\[  SKIPPED \] (\d+) tests?, listed", output, re.M))
    shell = re.findall(r"^script (PASS|FAIL) ", output, re.M)
    passed += shell.count("PASS")
    failed += shell.count("FAIL")
    if code != 0 and failed == 0:
        failed = 1
    if code == 0 and passed == 0:
        failed = 1  # a test program that ran no test has failed
    return Counts(passed, failed, skipped)


def python_suite(name: str, *modules: str, lane: str = "waiting") -> Suite:
    return Suite(name, [PYTHON, "tests/timed.py", "-v"] + list(modules), unittests, lane)


def sanitized_suite(name: str, kind: str, folder: str) -> Suite:
    return Suite(name, ["tests/sanitize/run", kind, folder], unittests, "waiting")


def suites() -> List[Suite]:
    sh = "tests/checks/"
    return [
        # These mostly wait, for Slurm or a server. Longest first; the two with the most nodes, first-light and ways, begin apart.
        python_suite("defaults", "tests.e2e.test_defaults"),
        python_suite("faults", "tests.e2e.test_faults", "tests.e2e.test_full_disk"),
        python_suite("telemetry", "tests.e2e.test_telemetry"),
        python_suite("fleet-database", "tests.e2e.test_fleet_database"),
        python_suite("first-light", "tests.e2e.test_first_light"),
        python_suite("checkpoints", "tests.e2e.test_checkpoints", "tests.e2e.test_uninstrumented"),
        python_suite("reader", "tests.e2e.test_reader"),
        python_suite("plugin", "tests.e2e.test_plugin"),
        python_suite("fleet", "tests.e2e.test_fleet"),
        python_suite("gpu-use", "tests.e2e.test_gpu_use"),
        python_suite("otel", "tests.e2e.test_otel", "tests.e2e.test_otlp"),
        python_suite("clocks", "tests.e2e.test_clocks"),
        python_suite("signals", "tests.e2e.test_signals"),
        python_suite("ways", "tests.e2e.test_ways"),
        python_suite("cluster", "tests/cluster/test_cluster.py"),
        python_suite("events", "tests.e2e.test_events"),
        python_suite("output", "tests.e2e.test_output"),
        python_suite("now", "tests.e2e.test_now"),
        python_suite("frameworks", "tests.e2e.test_frameworks"),
        python_suite("bigquery", "tests.e2e.test_bigquery"),
        python_suite("attacks", "tests.e2e.test_attacks"),
        python_suite("identity", "tests.e2e.test_identity", "tests.e2e.test_resized"),
        python_suite("consumption", "tests.e2e.test_consumption"),
        python_suite("web", "tests.e2e.test_web"),
        python_suite("retention", "tests.e2e.test_retention"),
        python_suite("federation", "tests.e2e.test_federation"),
        python_suite("daemon", "tests.e2e.test_daemon"),
        python_suite("jobs", "tests.blueprints.test_jobs"),
        python_suite("cli", "tests.e2e.test_cli"),
        python_suite("truth-live", "tests/e2e/harness/test_live.py"),
        python_suite("ship", "tests.e2e.test_ship"),
        python_suite("hang", "tests.e2e.test_hang"),
        python_suite("host", "tests.e2e.test_host"),
        python_suite("elastic", "tests.e2e.test_elastic"),
        python_suite("page", "tests.e2e.test_page", "tests.e2e.test_fleet_page"),
        python_suite("clients", "tests.e2e.test_clients"),
        python_suite("google-cloud", "tests.e2e.test_google_cloud", "tests.e2e.test_cloud_monitoring", "tests.e2e.test_cloud_sync"),
        python_suite("takeover", "tests.e2e.test_takeover"),
        python_suite("recovery", "tests.e2e.test_recovery"),
        python_suite("preemption", "tests.e2e.test_preemption"),
        python_suite("upgrade", "tests.e2e.test_upgrade"),
        python_suite("import", "tests.e2e.test_import", "tests.e2e.test_large"),
        python_suite("kill", "tests.e2e.test_kill"),
        python_suite("trainer", "tests/trainer/test_trainer.py"),
        python_suite("profiles", "tests.e2e.test_profiles"),
        python_suite("manuals", "tests.e2e.test_manuals", "tests.e2e.test_guides"),
        python_suite("configless", "tests.e2e.test_configless"),
        python_suite("sql", "tests.e2e.test_sql", "tests.e2e.test_mcp"),
        python_suite("advise", "tests.e2e.test_advise", "tests.e2e.test_program", "tests.e2e.test_report", "tests.e2e.test_show",
                     "tests.e2e.test_signals_ledger"),
        python_suite("units", "tests.e2e.test_units"),
        python_suite("operating", "tests.e2e.test_operating"),
        python_suite("python-client", "tests/clients/test_python.py"),
        python_suite("options", "tests.e2e.test_options"),
        python_suite("schema", "tests.e2e.test_schema"),
        python_suite("truth", "tests/e2e/harness/test_truth.py", "tests.e2e.harness.test_uninstrumented_rules",
                     "tests.e2e.harness.test_stand_in_server"),
        python_suite("pytorch", "tests.e2e.test_pytorch"),
        sanitized_suite("sanitized", "asan", ASAN),
        sanitized_suite("daemon-tsan", "tsan", TSAN),
        # These run before all others.
        Suite("unit", [sh + "programs", BUILD], googletests, "first"),
        Suite("unit-plain", [sh + "programs", BUILD, "plain"], googletests, "first"),
        Suite("unit-sanitized", [sh + "sanitized", ASAN, "input"], googletests, "first"),
        Suite("rest-sanitized", [sh + "sanitized", ASAN, "rest"], googletests, "first"),
        # These use the processor.
        python_suite("packages", "tests.packages.test_packages", "tests.packages.test_rpm", lane="busy"),
        python_suite("image", "tests.blueprints.test_install", lane="busy"),
        python_suite("blueprints", "tests.blueprints.test_module", "tests.blueprints.test_cluster", lane="busy"),
        Suite("tidy", [sh + "tidy", BUILD, "recent"], whole, "busy"),
        Suite("tidy-all", [sh + "tidy", BUILD], whole, "busy"),
        # Without optimization, since compiling takes longer than two seconds of each target.
        Suite("fuzz", ["env", "OPTIMIZE=-O0", "tests/fuzz/run", FUZZ, "2"], googletests, "busy"),
        Suite("format", [sh + "format"], whole, "busy"),
        Suite("house", [sh + "house"], whole, "busy"),
        Suite("includes", [sh + "includes", BUILD], whole, "busy"),
        Suite("distcheck", [sh + "distcheck", BUILD], whole, "busy"),
    ]


def changed_lately(paths: List[str]) -> bool:
    """Also where git does not know."""
    command = ["git", "diff", "--quiet", "HEAD~%d" % LAST_COMMITS, "--"] + paths
    return subprocess.call(command, cwd=TOP, stderr=subprocess.DEVNULL) != 0


def by_default(suite: Suite) -> bool:
    """Whether `tests/run` without arguments runs it."""
    return suite.name not in ONCE_MORE and (suite.name not in INSTALLS or changed_lately(INSTALLS[suite.name]))


def say(line: str) -> None:
    print(line, flush=True)


def log_of(suite: Suite) -> str:
    return os.path.join(LOGS, suite.name + ".log")


def read_log(suite: Suite) -> str:
    with open(log_of(suite), errors="replace") as text:
        return text.read()


def wait(child: subprocess.Popen, limit_s: float) -> Tuple[int, float]:
    """Returns its exit status and its processor time in seconds, including children. Raises TimeoutExpired."""
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline:
        pid, status, usage = os.wait4(child.pid, os.WNOHANG)
        if pid:
            child.returncode = os.waitstatus_to_exitcode(status)
            return child.returncode, usage.ru_utime + usage.ru_stime
        time.sleep(0.2)
    raise subprocess.TimeoutExpired(child.args, limit_s)


def run(suite: Suite) -> Tuple[Counts, float, float]:
    """The counts of a suite, and its time: wall time and processor time."""
    started = time.monotonic()
    log = log_of(suite)
    command = (["nice", "-n", "15"] if suite.lane == "busy" else []) + suite.command
    env = dict(os.environ, GOODPUT_BUILD=BUILD)
    with open(log, "w") as output:
        child = subprocess.Popen(command, cwd=suite.cwd, env=env, stdin=subprocess.DEVNULL, stdout=output,
                                 stderr=subprocess.STDOUT, start_new_session=True)
        try:
            code, used_s = wait(child, LIMIT_S)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, 9)
            code, used_s = wait(child, 60)
            output.write("\nkilled: it took longer than %d s\n" % LIMIT_S)
    return suite.count(read_log(suite), code), time.monotonic() - started, used_s


def remember_compilations() -> None:
    """Uses ccache: some suites build the same sources in different folders, and each file is compiled once per set of flags."""
    os.environ["PATH"] = "/usr/lib/ccache:" + os.environ["PATH"]
    os.environ.setdefault("CCACHE_DIR", os.path.join(TOP, "out", "ccache"))
    # Relative paths make the results independent of the folder; debugging by path is not needed.
    os.environ.update(CCACHE_BASEDIR=TOP, CCACHE_NOHASHDIR="1", CCACHE_MAXSIZE="2G")
    # Most files are compiled once: a preprocessor run for each, to look for it, would cost more than it saves.
    os.environ["CCACHE_DEPEND"] = "1"
    # Without these it does not remember what is compiled with precompiled headers.
    os.environ["CCACHE_SLOPPINESS"] = "pch_defines,time_macros"


def compile_modules() -> None:
    """Compiles the tests' Python modules. Jobs that train start by the hundred, and those of ordinary users may not write here; nor may
    anybody where PYTHONDONTWRITEBYTECODE is set, as containers often do."""
    for folder in ("tests", "tools"):
        compileall.compile_dir(os.path.join(TOP, folder), quiet=2)


def build() -> None:
    """Builds what all suites share: the programs and the helpers of end-to-end tests. A failure ends the run."""
    say("building (log: out/tests/build.log) ...")
    started = time.monotonic()
    log = os.path.join(LOGS, "build.log")
    command = ["tools/build", BUILD, "--enable-werror"] + shlex.split(os.environ.get("GOODPUT_CONFIGURE", CONFIGURE))
    quick = {} if "GOODPUT_CONFIGURE" in os.environ else {"FLAGS": FLAGS}
    with open(log, "w") as output:
        for how in ({"TARGETS": PLUGIN}, quick, dict(quick, TARGETS="test-helpers")):
            code = subprocess.call(command, cwd=TOP, env=dict(os.environ, **how), stdin=subprocess.DEVNULL, stdout=output,
                                   stderr=subprocess.STDOUT)
            if code != 0:
                break
    if code != 0:
        with open(log, errors="replace") as text:
            sys.stdout.write(text.read()[-6000:])
        say("the build failed")
        say("0 passed, 1 failed")
        sys.exit(1)
    say("built in %.0f s" % (time.monotonic() - started))


def slowest(suite: Suite) -> List[Tuple[float, str]]:
    """The slowest tests of the suite, from its output: in seconds."""
    log = read_log(suite)
    took = [(float(s), name) for s, name in re.findall(r"^took ([\d.]+) s (.*)$", log, re.M)]
    took += [(int(ms) / 1000, name) for name, ms in re.findall(r"^\[       OK \] (\S+) \((\d+) ms\)$", log, re.M)]
    return took or [(0.0, suite.name)]


def without_passed(log: str) -> str:
    """The log of a suite without the lines of tests that passed."""
    google = r"^\[ RUN      \] (\S+)\n(?:(?!\[ ).*\n)?\[       OK \] \1 .*\n|^\[[-=]{10}\].*\n|^Running main.*\n|^\n"
    python = r"^(?:test_\w+ \(\S+\)\n)?.*\.\.\. ok\n|^took .*\n"
    return re.sub(google + "|" + python, "", log, flags=re.M)


def show(suite: Suite, counts: Counts, seconds: float, used_s: float) -> None:
    say("%-16s %4d passed %3d failed%s  %5.0f s, %4.0f s of a processor" % (
        suite.name, counts.passed, counts.failed, ", %d skipped" % counts.skipped if counts.skipped else "", seconds, used_s))
    if counts.failed:
        sys.stdout.write("".join("    | " + line + "\n" for line in without_passed(read_log(suite))[-8000:].splitlines()))


def main(names: List[str]) -> int:
    every = suites()
    if names == ["--list"]:
        print("\n".join(suite.name for suite in every))
        return 0
    if names in (["--all"], ["--slurm"]):
        os.environ["GOODPUT_EVERY_VARIANT"] = "1"
    if names == ["--all"]:
        names = [suite.name for suite in every]
    if not names:
        names = [suite.name for suite in every if by_default(suite)]
    if names == ["--slurm"]:
        names = [suite.name for suite in every if suite.name not in SAME_WITH_EVERY_SLURM]
    unknown = [name for name in names if name not in [suite.name for suite in every]]
    if unknown:
        print("tests/run: there is no suite %s; tests/run --list names them" % " ".join(unknown), file=sys.stderr)
        return 2
    started = time.monotonic()
    chosen = [suite for suite in every if suite.name in names]
    os.makedirs(LOGS, exist_ok=True)
    remember_compilations()
    build()
    compile_modules()
    lock = threading.Lock()
    results = {}

    def lane(*kinds: str) -> None:
        while True:
            with lock:
                suite: Optional[Suite] = next((s for kind in kinds for s in chosen if s.lane == kind), None)
                if suite is None:
                    return
                chosen.remove(suite)
            counts, seconds, used_s = run(suite)
            with lock:
                results[suite.name] = counts
                show(suite, counts, seconds, used_s)

    lane("first")
    lanes = [threading.Thread(target=lane, args=kinds) for kinds in [("busy",)] + [("waiting",)] * (WAITING - 1) + [("waiting", "busy")]]
    for thread in lanes:
        thread.start()
    for thread in lanes:
        thread.join()
    times = sorted((t for suite in every if suite.name in results for t in slowest(suite)), reverse=True)[:MOST_SLOW]
    say("slowest: " + "\n         ".join("%5.1f s %s" % t for t in times))
    say("%.0f s in all" % (time.monotonic() - started))
    skipped = sum(counts.skipped for counts in results.values())
    if skipped:
        say("%d skipped" % skipped)
    failed = sum(counts.failed for counts in results.values())
    say("%d passed, %d failed" % (sum(counts.passed for counts in results.values()), failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
