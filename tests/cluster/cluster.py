# SPDX-FileCopyrightText: wsc authors
# SPDX-License-Identifier: Apache-2.0
"""What the tests of this folder share: a place to work in, data sets, decks, the real program under mpirun, and its results.

Each script takes the program as its argument and leaves nothing behind: folders, mounts and processes end with it. Processes are ended
by their number, and only those that the script started.
"""

import argparse
import collections
import csv
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

WORDS = "the wafer holds no weights they stream from memory to every core and gradients come back the same way summed".split()

# A GPT of two layers that trains in seconds. Values are settings of a deck, by section and key.
TINY = {
    "model": dict(hidden_size=32, num_hidden_layers=2, num_heads=4, vocab_size=257, max_position_embeddings=32),
    "optimizer": dict(optimizer_type="AdamW", learning_rate=1e-3, weight_decay_rate=0.1, max_gradient_norm=1.0),
    "train_input": dict(batch_size=8),
    "runconfig": dict(max_steps=20, log_steps=1, checkpoint_steps=0),
}


class Layout(collections.namedtuple("Layout", "memoryx csx fabric")):
    """M memoryx ranks and N csx ranks; fabric is mpi, null (one process) or loopback (one process, M + N threads)."""

    def __str__(self):
        return self.fabric if self.fabric == "null" else f"{'' if self.fabric == 'mpi' else self.fabric + ' '}{self.memoryx}x{self.csx}"

    @property
    def processes(self):
        return self.memoryx + self.csx if self.fabric == "mpi" else 1


NULL = Layout(1, 1, "null")


def mpi(memoryx, csx):
    return Layout(memoryx, csx, "mpi")


def loopback(memoryx, csx):
    return Layout(memoryx, csx, "loopback")


def merged(settings, changes):
    """A deck with some keys replaced: changes is like {"csx.waves": 2}."""
    result = {section: dict(keys) for section, keys in settings.items()}
    for name, value in changes.items():
        section, key = name.rsplit(".", 1)
        result.setdefault(section, {})[key] = value
    return result


def deck_text(settings):
    value = lambda v: str(v).lower() if isinstance(v, bool) else str(v)
    return "\n".join(f"[{s}]\n" + "".join(f"{k} = {value(v)}\n" for k, v in keys.items()) for s, keys in settings.items())


class Process:
    """A process by number and start time, so that a number used again is not taken for it."""

    def __init__(self, pid):
        self.pid, self.started = pid, self._stat(pid)[1]

    @staticmethod
    def _stat(pid):
        """State, start time and parent; (None, None, None) where there is none."""
        try:
            fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            return None, None, None
        return fields[0], fields[19], int(fields[1])

    def alive(self):
        state, started, _ = self._stat(self.pid)
        return state not in (None, "Z", "X") and started == self.started

    def send(self, number):
        if self.alive():
            try:
                os.kill(self.pid, number)
            except ProcessLookupError:
                pass

    def environment(self, name):
        try:
            for entry in pathlib.Path(f"/proc/{self.pid}/environ").read_bytes().split(b"\0"):
                if entry.startswith(name.encode() + b"="):
                    return entry.split(b"=", 1)[1].decode()
        except OSError:
            pass
        return None

    @classmethod
    def children(cls, pid):
        numbers = [int(p) for p in os.listdir("/proc") if p.isdigit()]
        return [cls(p) for p in numbers if cls._stat(p)[2] == pid]


Result = collections.namedtuple("Result", "code out err seconds")


class Run:
    """One start of the program, perhaps under mpirun."""

    def __init__(self, command, layout, folder, environment):
        self.layout, self.begun = layout, time.monotonic()
        self.out, self.err = (open(folder / f"{name}-{time.monotonic_ns()}", "w+") for name in ("out", "err"))
        self.popen = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.out, stderr=self.err, env=environment)
        self.processes = {}  # by rank, as seen so far

    def ranks(self):
        """The ranks that run now, by number."""
        if self.layout.fabric != "mpi":
            return {0: Process(self.popen.pid)}
        for child in Process.children(self.popen.pid):
            rank = child.environment("OMPI_COMM_WORLD_RANK")
            if rank is not None:
                self.processes[int(rank)] = child
        return {r: p for r, p in self.processes.items() if p.alive()}

    def wait_for(self, condition, seconds=600):
        """Polls until the condition holds (True) or the run is over (False)."""
        limit = time.monotonic() + seconds
        while not condition():
            if self.popen.poll() is not None:
                return False
            if time.monotonic() > limit:
                self.end()
                raise AssertionError(f"waited {seconds} s in vain.\n{self.text(self.out)}{self.text(self.err)}")
            self.ranks()
            time.sleep(0.002)
        return True

    def all_ranks_run(self):
        return self.wait_for(lambda: len(self.ranks()) == self.layout.processes)

    def wait(self, seconds=600):
        try:
            code = self.popen.wait(seconds)
        except subprocess.TimeoutExpired:
            where = self.text(self.out)[-2000:] + self.text(self.err)[-2000:]
            self.end()
            raise AssertionError(f"not over after {seconds} s:\n{where}") from None
        return Result(code, self.text(self.out), self.text(self.err), time.monotonic() - self.begun)

    @staticmethod
    def text(file):
        return pathlib.Path(file.name).read_text(errors="replace")

    def survivors(self, seconds=10):
        """Ranks that are still there after so many seconds."""
        limit = time.monotonic() + seconds
        while (left := {r: p for r, p in self.processes.items() if p.alive()}) and time.monotonic() < limit:
            time.sleep(0.02)
        return left

    def end(self):
        self.ranks()
        if self.popen.poll() is None:
            self.popen.kill()
            self.popen.wait()
        for process in self.processes.values():
            process.send(signal.SIGKILL)
        self.out.close()
        self.err.close()


class Workplace:
    """A temporary folder with all that a test makes, and the ways to make it."""

    def __init__(self, arguments, name, bytes_wanted=0):
        self.wsc = pathlib.Path(arguments.wsc).resolve()
        self.root = pathlib.Path(tempfile.mkdtemp(prefix=f"wsc-{name}-", dir=self.fast_folder(bytes_wanted)))
        self.keep = arguments.keep
        self.runs, self.mounts = [], []

    @staticmethod
    def fast_folder(bytes_wanted):
        """Where so many bytes are written without waiting for a disk; None (the usual place) where there is no such room."""
        shared = pathlib.Path("/dev/shm")
        fits = bytes_wanted and os.access(shared, os.W_OK) and shutil.disk_usage(shared).free > 2 * bytes_wanted
        return shared if fits else None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for run in self.runs:
            run.end()
        for mount in reversed(self.mounts):
            subprocess.run(["umount", "-l", mount], check=False)
        if self.keep:
            print("kept:", self.root)
        else:
            shutil.rmtree(self.root, ignore_errors=True)

    # ---- what runs need

    def documents(self, name, count, longest, seed=1, letters=None):
        """A .jsonl of so many documents of 1 to `longest` bytes."""
        source, path = random.Random(seed), self.root / f"{name}.jsonl"
        with open(path, "w") as file:
            for _ in range(count):
                length = source.randint(1, longest)
                text = "".join(source.choices(letters, k=length)) if letters else " ".join(source.choices(WORDS, k=length))[:length]
                file.write(json.dumps({"text": text}) + "\n")
        return path

    def data(self, name="data", count=60, tokens=32, arguments=("--no-pack",), **documents):
        """Samples of `tokens` bytes, one document each: their loss masks are of unequal length."""
        text = self.documents(name, count, documents.pop("longest", tokens - 1), **documents)
        self.tool("data", "build", text, "--out", self.root / name, "--max-sequence-length", tokens, *arguments)
        return self.root / name / "train"

    def deck(self, name, settings, **changes):
        """Writes a deck with a run directory of its own; returns its path. Keyword: section__key=value."""
        changes = {k.replace("__", "."): v for k, v in changes.items()}
        changes.setdefault("runconfig.model_dir", self.run_dir(name))
        path = self.root / f"{name}.cfg"
        path.write_text(deck_text(merged(settings, changes)))
        return path

    def run_dir(self, name):
        return self.root / "runs" / name

    def mount(self, name, size):
        """A small file system in memory, or None where that is not permitted."""
        path = self.root / name
        path.mkdir()
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", path], capture_output=True, text=True)
        if done.returncode != 0:
            return None
        self.mounts.append(path)
        return path

    def remount(self, path, options):
        subprocess.run(["mount", "-o", f"remount,{options}", path], check=True)

    # ---- the program

    def environment(self, extra=None):
        fixed = dict(OMP_NUM_THREADS="1", OMP_PROC_BIND="false", OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        return {**os.environ, **fixed, **(extra or {})}

    def start(self, layout, *arguments, mca=(), environment=None, processes=None):
        """Starts `wsc arguments` on a layout, with as many processes as it needs or with another number."""
        command = [self.wsc, *arguments, f"--cluster.fabric={layout.fabric}"]
        if layout.fabric != "null":
            command += [f"--cluster.memoryx={layout.memoryx}", f"--cluster.num_csx={layout.csx}"]
        if layout.fabric == "mpi":
            options = [word for name, value in mca for word in ("--mca", name, value)]
            command = ["mpirun", "--oversubscribe", "--bind-to", "none", "-np", str(processes or layout.processes), *options, *command]
        self.runs.append(Run([str(c) for c in command], layout, self.root, self.environment(environment)))
        return self.runs[-1]

    def train(self, layout, deck, *overrides, seconds=600, **more):
        """Trains to the end, whatever that is."""
        return self.start(layout, "train", deck, *overrides, **more).wait(seconds)

    def complete(self, layout, deck, *overrides, **more):
        """Trains and insists that it ends well."""
        result = self.train(layout, deck, *overrides, **more)
        assert result.code == 0, f"{layout}, {deck}: exit code {result.code}\n{result.out[-3000:]}{result.err[-3000:]}"
        return result

    def plain(self, *arguments, seconds=300):
        """A command that needs no launcher; returns its Result."""
        begun = time.monotonic()
        done = subprocess.run([str(a) for a in (self.wsc, *arguments)], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              errors="replace", timeout=seconds, env=self.environment())
        return Result(done.returncode, done.stdout, done.stderr, time.monotonic() - begun)

    def tool(self, *arguments):
        result = self.plain(*arguments)
        assert result.code == 0, f"wsc {' '.join(map(str, arguments))}: exit code {result.code}\n{result.out}{result.err}"
        return result.out

    def plan(self, layout, deck, *overrides):
        """The dry run of a streamed layout."""
        assert layout.fabric == "mpi"
        return json.loads(self.tool("plan", deck, "--json", f"--cluster.memoryx={layout.memoryx}", f"--cluster.num_csx={layout.csx}",
                                    "--cluster.threads=1", *overrides))

    # ---- what runs leave

    def checkpoints(self, run_dir):
        """Complete checkpoints by step."""
        files = (pathlib.Path(run_dir) / "checkpoints").glob("checkpoint_*.h5")
        return dict(sorted((int(f.stem.removeprefix("checkpoint_")), f) for f in files))

    def newest(self, run_dir):
        return list(self.checkpoints(run_dir).values())[-1]

    def difference(self, a, b):
        """(bitwise equal, relative norm of the difference of the weights) of two checkpoints."""
        result = self.plain("checkpoint", "diff", a, b)
        assert result.code in (0, 1), f"{a} {b}: exit code {result.code}\n{result.out}{result.err}"
        norm = re.search(r"Weights as one vector: norm\(a-b\)/norm\(b\) = (\S+)", result.out)
        assert result.code == 0 or norm or "The weights are the same." in result.out, result.out
        return result.code == 0, float(norm.group(1)) if norm else 0.0


def rows(run_dir, file="metrics.csv"):
    """Rows of metrics.csv or eval.csv as dictionaries of text."""
    with open(pathlib.Path(run_dir) / file, newline="") as f:
        return list(csv.DictReader(f))


def same_text(a, b, columns):
    """Do two lists of rows agree to the last digit in these columns?"""
    pick = lambda table: [[row[c] for c in columns] for row in table]
    return pick(a) == pick(b)


def largest_difference(a, b, columns):
    """Largest relative difference in these columns, infinite where the steps are not the same."""
    if [r["step"] for r in a] != [r["step"] for r in b] or not a:
        return float("inf")
    pairs = [(float(x[c]), float(y[c])) for x, y in zip(a, b) for c in columns]
    return max(abs(x - y) / max(abs(y), 1e-30) if x == x and y == y else float("inf") for x, y in pairs)


def leftovers(run_dir):
    """Files that a run in good order has no business to leave."""
    names = [p for p in pathlib.Path(run_dir).rglob("*")]
    return [str(p) for p in names if p.suffix in (".partial", ".new") or p.name.startswith("lock")]


class Report:
    """Counts what was expected and prints what failed."""

    def __init__(self):
        self.failed, self.passed, self.begun = [], 0, time.monotonic()

    def section(self, title):
        print(f"[{time.monotonic() - self.begun:6.1f} s] {title}", flush=True)

    def expect(self, holds, what):
        if holds:
            self.passed += 1
        else:
            self.failed.append(what)
            print(f"    FAILED: {what}", flush=True)
        return bool(holds)

    def finish(self):
        print(f"[{time.monotonic() - self.begun:6.1f} s] {self.passed} expectations hold, {len(self.failed)} do not.", flush=True)
        for what in self.failed:
            print("  failed:", what)
        return 1 if self.failed else 0


def main(name, description, body, bytes_wanted=0):
    """Runs body(workplace, report, arguments) in a place of its own; exits with 1 where an expectation fails.

    bytes_wanted: what it writes at most, where that is much: then it is kept in memory if there is room.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("wsc", help="the program, such as build/release/wsc")
    parser.add_argument("--quick", action="store_true", help="a part that is enough for every build")
    parser.add_argument("--seed", type=int, default=None, help="of what is random in the test; printed where it is drawn")
    parser.add_argument("--keep", action="store_true", help="keep the temporary folder")
    arguments = parser.parse_args()
    if arguments.seed is None:
        arguments.seed = random.SystemRandom().randrange(1_000_000)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # a time limit cleans up too
    report = Report()
    with Workplace(arguments, name, bytes_wanted) as workplace:
        body(workplace, report, arguments)
    sys.exit(report.finish())
