#!/usr/bin/env python3
# SPDX-FileCopyrightText: wsc authors
# SPDX-License-Identifier: Apache-2.0
"""Runs that are killed, stopped and started again end bitwise like one that nobody disturbed.

`kill -9` of any rank at any moment, half of them during a save; SIGTERM to one rank, SIGUSR1 to mpirun, during a save as well; another layout afterwards;
a finished run, a changed deck, two runs in one directory.
"""

import random
import shutil
import signal
import time

import cluster
from cluster import TINY, mpi

SQUARE = mpi(2, 2)
COLUMNS = ("step", "loss", "grad_norm", "learning_rate", "valid_tokens")
STEPS, SAVE_EVERY = 30, 4

# Long enough to be hit in the middle, with checkpoints large enough to be hit while they are written.
SETTINGS = cluster.merged(TINY, {
    "model.hidden_size": 64, "model.max_position_embeddings": 64, "model.dropout_rate": 0.1,
    "optimizer.learning_rate": 5e-4, "runconfig.max_steps": STEPS, "runconfig.checkpoint_steps": SAVE_EVERY, "runconfig.keep_checkpoints": 3,
})


def same_as_undisturbed(workplace, report, what, run_dir, reference):
    report.expect(cluster.same_text(cluster.rows(run_dir), cluster.rows(reference), COLUMNS), f"{what}: losses are not bitwise the same")
    equal, norm = workplace.difference(workplace.newest(run_dir), workplace.newest(reference))
    report.expect(equal, f"{what}: final states are not bitwise the same (weights {norm:.2g} in norm)")
    left = cluster.leftovers(run_dir)
    report.expect(not left, f"{what}: left behind: {left}")


def more_steps(run_dir, count=1):
    """A condition: so many more steps have been logged than now (or than the first rows that a new start keeps)."""
    file = run_dir / "metrics.csv"
    steps = lambda: {row["step"] for row in cluster.rows(run_dir) if row["loss"]} if file.exists() else set()
    before = steps()
    return lambda: len(steps() - before) >= count


def saving(run_dir, target, beside=False):
    """A condition: a checkpoint of step `target` or later is being written; `beside`: and a step after it has been logged."""
    def holds():
        steps = [int(path.name.removeprefix("checkpoint_").split(".")[0]) for path in (run_dir / "checkpoints").glob("*.partial")]
        late = [step for step in steps if step >= target]
        return bool(late) and (not beside or max((int(row["step"]) for row in cluster.rows(run_dir) if row["loss"]), default=0) > max(late))
    return holds


def stop_moment(run, source, run_dir):
    """Waits for a random moment of a random kind, whatever the speed of the machine; says which."""
    kind = source.choice(["start", "step", "save", "step beside a save"])
    if kind == "start":
        limit = run.begun + source.uniform(0.05, 1.5)
        run.wait_for(lambda: time.monotonic() > limit)
    elif kind == "step":
        more = source.randrange(1, 9)
        run.wait_for(more_steps(run_dir, more))
        time.sleep(source.uniform(0, 0.1))
    else:
        beside = kind != "save"
        target = source.randrange(1, STEPS // SAVE_EVERY + 1) * SAVE_EVERY
        run.wait_for(saving(run_dir, target, beside))
        time.sleep(0 if beside else source.uniform(0, 0.03))
    return kind


def kills(workplace, report, data, reference, count, source):
    """Kills a random rank until it has been done so often; each run that reaches its end is compared with the undisturbed one."""
    done, number = 0, 0
    while done < count:
        number += 1
        deck, run_dir = workplace.deck(f"killed{number}", SETTINGS, train_input__data_dir=data), workplace.run_dir(f"killed{number}")
        for _ in range(200):
            run = workplace.start(SQUARE, "train", deck)
            if done < count:
                moment = stop_moment(run, source, run_dir)
                ranks = run.ranks()
                if ranks and run.popen.poll() is None:
                    rank = source.choice(sorted(ranks))
                    ranks[rank].send(signal.SIGKILL)
                    done += 1
                    saved = list(workplace.checkpoints(run_dir))
                    print(f"    kill {done}: rank {rank} of {len(ranks)} in a {moment}, checkpoints {saved}", flush=True)
                    left = run.survivors(10)
                    report.expect(not left, f"kill {done}: ranks {sorted(left)} outlive it by more than 10 s")
                    report.expect(run.wait().code != 0, f"kill {done}: mpirun ends with exit code 0")
                    continue
            result = run.wait()
            if report.expect(result.code == 0, f"killed{number}: the last start ends with {result.code}: {result.err[-500:]}"):
                break
        same_as_undisturbed(workplace, report, f"killed{number}", run_dir, reference)


def signals(workplace, report, data, reference, source, quick):
    """A request to stop: exit code 75, a checkpoint of the step that was done, and the same run afterwards."""
    all_cases = {"SIGTERM to rank 0": (signal.SIGTERM, 0), "SIGTERM to rank 3": (signal.SIGTERM, 3), "SIGUSR1 to mpirun": (signal.SIGUSR1, None),
                     "SIGUSR1 twice": (signal.SIGUSR1, None), "SIGTERM to rank 1 during a save": (signal.SIGTERM, 1)}
    cases = {what: all_cases[what] for what in list(all_cases)[1:3] + list(all_cases)[-1:]} if quick else all_cases
    for number, (what, (sent, rank)) in enumerate(cases.items()):
        deck, run_dir = workplace.deck(f"signal{number}", SETTINGS, train_input__data_dir=data), workplace.run_dir(f"signal{number}")
        run = workplace.start(SQUARE, "train", deck)
        during_save = what.endswith("save")
        run.wait_for(saving(run_dir, SAVE_EVERY) if during_save else more_steps(run_dir))
        time.sleep(0 if during_save else source.uniform(0, 0.3))
        for _ in range(2 if what.endswith("twice") else 1):
            cluster.Process(run.popen.pid).send(sent) if rank is None else run.ranks()[rank].send(sent)
            time.sleep(0.02)
        result = run.wait()
        report.expect(result.code == 75, f"{what}: exit code {result.code} instead of 75: {result.err[-500:]}")
        report.expect("Stopped at step" in result.out, f"{what}: the log does not say so")
        done = int(cluster.rows(run_dir)[-1]["step"])
        report.expect(done in workplace.checkpoints(run_dir), f"{what}: no checkpoint of step {done}: {list(workplace.checkpoints(run_dir))}")
        report.expect(done < STEPS, f"{what}: it went on to the end")
        report.expect(not run.survivors(5), f"{what}: ranks are left")
        report.expect(not cluster.leftovers(run_dir), f"{what}: left behind: {cluster.leftovers(run_dir)}")
        workplace.complete(SQUARE, deck)
        same_as_undisturbed(workplace, report, what, run_dir, reference)


def other_layouts(workplace, report, data, layouts):
    """Ten steps on 2x2, the rest elsewhere: like the whole run on 2x2, to rounding."""
    reference_deck = workplace.deck("whole", TINY, train_input__data_dir=data, runconfig__model_dir=workplace.run_dir("whole"))
    workplace.complete(SQUARE, reference_deck)
    deck = workplace.deck("half", TINY, train_input__data_dir=data)
    workplace.complete(SQUARE, deck, "--runconfig.max_steps=11")
    for layout in layouts:
        run_dir = workplace.run_dir(f"half on {layout}")
        shutil.copytree(workplace.run_dir("half"), run_dir, symlinks=True)
        result = workplace.complete(layout, deck, f"--runconfig.model_dir={run_dir}")
        report.expect(f"2×2 → {layout.memoryx}×{layout.csx}" in result.out, f"{layout}: the log does not name old and new layout")
        whole = workplace.run_dir("whole")
        worst = cluster.largest_difference(cluster.rows(run_dir), cluster.rows(whole), ("loss", "grad_norm"))
        _, norm = workplace.difference(workplace.newest(run_dir), workplace.newest(whole))
        report.expect(worst <= 1e-5 and norm <= 1e-5, f"2x2 → {layout}: losses differ by {worst:.2g}, weights by {norm:.2g} in norm")
        print(f"    2x2 → {layout}: losses and norms {worst:.1e}, weights {norm:.1e}", flush=True)


def finished_and_changed(workplace, report, deck, run_dir):
    """What is done stays done; another deck is another run."""
    before = {path: path.stat().st_mtime_ns for path in (run_dir / "checkpoints").glob("*.h5")}
    result = workplace.train(SQUARE, deck)
    report.expect(result.code == 0 and "This run is finished" in result.out, f"a finished run started again: {result.code}, {result.out[-300:]}")
    change = ("--optimizer.learning_rate=0.001", f"--runconfig.max_steps={STEPS + 2}")
    result = workplace.train(SQUARE, deck, *change)
    report.expect(result.code == 2, f"a changed deck: exit code {result.code} instead of 2")
    report.expect("optimizer.learning_rate: 5e-4 → 0.001" in result.err, f"a changed deck: no table of differences: {result.err[-500:]}")
    now = {path: path.stat().st_mtime_ns for path in (run_dir / "checkpoints").glob("*.h5")}
    report.expect(before == now, "a finished run, or a refused one, touched the checkpoints")
    result = workplace.train(SQUARE, deck, *change, "--runconfig.allow_changes=true")
    report.expect(result.code == 0 and max(workplace.checkpoints(run_dir)) == STEPS + 2, f"allow_changes: exit code {result.code}: {result.err[-500:]}")


def two_runs(workplace, report, data, reference):
    deck, run_dir = workplace.deck("shared", SETTINGS, train_input__data_dir=data), workplace.run_dir("shared")
    first = workplace.start(SQUARE, "train", deck)
    first.wait_for(more_steps(run_dir))
    second = workplace.train(mpi(1, 1), deck)
    report.expect(second.code == 3, f"a second run in the same directory: exit code {second.code} instead of 3")
    report.expect("another run uses this directory" in second.err, f"a second run: {second.err[-500:]}")
    result = first.wait()
    report.expect(result.code == 0, f"the first of two runs: exit code {result.code}")
    same_as_undisturbed(workplace, report, "the first of two runs", run_dir, reference)


def body(workplace, report, arguments):
    source = random.Random(arguments.seed)
    print(f"seed {arguments.seed}")
    data = workplace.data(tokens=64)
    report.section("an undisturbed run on 2x2")
    deck, reference = workplace.deck("reference", SETTINGS, train_input__data_dir=data), workplace.run_dir("reference")
    workplace.complete(SQUARE, deck)
    report.section("kill -9 of a random rank")
    kills(workplace, report, data, reference, 4 if arguments.quick else 20, source)
    report.section("signals")
    signals(workplace, report, data, reference, source, arguments.quick)
    report.section("another layout")
    other_layouts(workplace, report, workplace.data("short"), [mpi(1, 2)] if arguments.quick else [mpi(1, 1), mpi(1, 2), mpi(3, 1), mpi(4, 4)])
    report.section("two runs in one directory")
    two_runs(workplace, report, data, reference)
    report.section("a finished run, a changed deck")
    finished_and_changed(workplace, report, deck, reference)


if __name__ == "__main__":
    cluster.main("resume", __doc__, body)
