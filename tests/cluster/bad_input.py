#!/usr/bin/env python3
# SPDX-FileCopyrightText: wsc authors
# SPDX-License-Identifier: Apache-2.0
"""Wrong settings, wrong data, damaged files, a full disk, a lost rank: one clear sentence, the right exit code, nothing lost or left behind."""

import hashlib
import pathlib
import random
import re
import signal
import struct

import cluster
from cluster import NULL, TINY, mpi

SETTINGS, DATA, SYSTEM = 2, 3, 5  # exit codes
NOISE = ("terminate called", "HDF5-DIAG", "Segmentation fault", "*** Process received signal", "what():", "Aborted", "assertion", "precondition")


def contents(folder):
    """{path: hash} of all files below, except the log, which tells of every start."""
    files = [p for p in pathlib.Path(folder).rglob("*") if p.is_file() and not p.is_symlink() and p.name != "run.log"]
    return {p: hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


class Refusals:
    """Starts that have to fail, and what they may say and leave."""

    def __init__(self, workplace, report, deck, run_dir):
        self.workplace, self.report, self.deck, self.run_dir = workplace, report, deck, run_dir

    def judge(self, what, result, code, *says):
        """One message of wsc on stderr, with these pieces, and this exit code."""
        expect = self.report.expect
        expect(result.code == code, f"{what}: exit code {result.code} instead of {code}: {result.err[-600:]}")
        messages = re.findall(r"^wsc: .*", result.err, re.MULTILINE)
        expect(len(messages) == 1, f"{what}: {len(messages)} messages instead of one: {result.err[-900:]}")
        for piece in says:
            expect(piece in result.err, f"{what}: the message lacks '{piece}': {result.err[-600:]}")
        for piece in NOISE:
            expect(piece not in result.err + result.out, f"{what}: '{piece}' in the output: {(result.err + result.out)[-900:]}")
        print(f"    {what}: {messages[0] if messages else '(no message)'}", flush=True)

    def refused(self, what, code, *says, overrides=(), deck=None, layouts=(NULL, mpi(1, 2)), run_dir=None, may_change=()):
        """The start fails on each layout and changes nothing in the run directory."""
        run_dir = run_dir or self.run_dir
        for layout in layouts:
            before = contents(run_dir)
            result = self.workplace.train(layout, deck or self.deck, *overrides)
            self.judge(f"{what} ({layout})", result, code, *says)
            after = contents(run_dir)
            changed = {str(p) for p in set(before) | set(after) if before.get(p) != after.get(p) and p.name not in may_change}
            self.report.expect(not changed, f"{what} ({layout}): changed or left behind: {changed}")


def wrong_settings(workplace, report, refusals):
    refused = refusals.refused
    cases = [
        ("an unknown key", "--model.num_head=4", "model.num_heads"),
        ("an unknown section", "--modle.num_heads=4", "model.num_heads"),
        ("a key in the wrong section", "--optimizer.batch_size=4", "train_input.batch_size"),
        ("a value out of range", "--model.dropout_rate=1.5", "dropout_rate", "1.5", "less than 1"),
        ("a negative number", "--train_input.batch_size=-8", "batch_size", "-8", "at least 1"),
        ("not a number", "--optimizer.learning_rate=3e-4x", "learning_rate", "3e-4x", "number"),
        ("a fraction for a whole number", "--runconfig.max_steps=1e3", "max_steps", "1e3", "whole number"),
        ("an empty value", "--optimizer.learning_rate=", "learning_rate"),
        ("a word that is not in the list", "--optimizer.optimizer_type=Adamw2", "optimizer_type", "AdamW"),
        ("a fixed choice", "--csx.recompute=maybe", "recompute", "auto"),
        ("heads that do not divide the width", "--model.num_heads=5", "num_heads", "hidden_size", "4 or 8"),
        ("two kinds of clipping", "--optimizer.max_gradient_value=1", "max_gradient_norm", "max_gradient_value"),
        ("evaluation without data", "--runconfig.eval_frequency=5", "eval_input.data_dir"),
    ]
    for what, override, *says in cases:
        refused(what, SETTINGS, *says, overrides=[override], layouts=(NULL,))
    refused("an unknown key under mpirun", SETTINGS, "model.num_heads", overrides=["--model.num_head=4"], layouts=(mpi(1, 2),))
    refused("too long sequences", SETTINGS, "max_position_embeddings", overrides=["--model.max_position_embeddings=16"])
    result = workplace.train(NULL, workplace.root / "absent.cfg")
    refusals.judge("a missing deck", result, DATA if result.code == DATA else SETTINGS, "absent.cfg")

    result = workplace.start(mpi(2, 2), "train", refusals.deck, processes=3).wait()
    refusals.judge("more roles than ranks", result, SETTINGS, "3 ranks", "2 memoryx + 2 csx", "mpirun -np 4")
    result = workplace.plain("train", refusals.deck, "--cluster.memoryx=3", "--cluster.num_csx=4")
    refusals.judge("seven roles in one process", result, SETTINGS, "3 memoryx + 4 csx", "mpirun -np 7")


def wrong_data(workplace, report, refusals, settings):
    refused, root = refusals.refused, workplace.root
    with_data = lambda path: [f"--train_input.data_dir={path}"]
    refused("a missing data folder", DATA, "nowhere", overrides=with_data(root / "nowhere"))
    (root / "empty").mkdir()
    refused("an empty data folder", DATA, "empty", ".h5", overrides=with_data(root / "empty"))

    whole = next((root / "data/train").glob("*.h5"))
    bytes_of = whole.read_bytes()
    def variant(name, content):
        path = root / name
        path.mkdir()
        (path / "part.h5").write_bytes(content)
        return path
    refused("a truncated data file", DATA, "part.h5", overrides=with_data(variant("truncated", bytes_of[:len(bytes_of) // 2])))
    refused("a file of a few bytes", DATA, "part.h5", overrides=with_data(variant("short", bytes_of[:10])))
    refused("a file that is not HDF5", DATA, "part.h5", overrides=with_data(variant("text", b"once upon a time\n" * 100)))
    shape = re.search(re.escape(struct.pack("<Q", 3) + struct.pack("<Q", 32)), bytes_of)
    if report.expect(shape, "the shape (n, 3, 32) is not found in the data file, so a wrong one cannot be made"):
        wrong = bytes_of.replace(struct.pack("<2Q", 3, 32), struct.pack("<2Q", 4, 24))
        refused("data of the wrong shape", DATA, "part.h5", overrides=with_data(variant("shape", wrong)))
    refused("a checkpoint for data", DATA, overrides=with_data(workplace.newest(workplace.run_dir("other"))))
    refused("token ids beyond the vocabulary", DATA, whole.name, "sample", "model.vocab_size is 100", overrides=["--model.vocab_size=100"],
            may_change=("config.cfg", "metrics.csv", "eval.csv"))  # found when the sample is read

    characters = workplace.data("characters", arguments=("--no-pack", "--tokenizer", "character", "--character-eos"))
    refused("evaluation data of another tokenizer", DATA, "tokenizer", overrides=[f"--eval_input.data_dir={characters}", "--runconfig.eval_frequency=5"])
    start = [f"--runconfig.checkpoint_path={workplace.newest(workplace.run_dir('other'))}", "--runconfig.load_checkpoint_states=model"]
    refused("a checkpoint of another tokenizer", DATA, "tokenizer", overrides=[*with_data(characters), *start])


def wrong_checkpoints(workplace, report, refusals, source):
    refused = refusals.refused
    other = workplace.newest(workplace.run_dir("other"))
    start = [f"--runconfig.checkpoint_path={other}", "--runconfig.load_checkpoint_states=model"]
    refused("a checkpoint of a narrower model", DATA, "another model", "parameter", overrides=[*start, "--model.hidden_size=64"])
    refused("a checkpoint of a shallower model", DATA, "another model", "layers/2", overrides=[*start, "--model.num_hidden_layers=3"])
    refused("a missing checkpoint", DATA, "absent.h5", overrides=["--runconfig.checkpoint_path=absent.h5"])

    damaged = workplace.deck("damaged", TINY, train_input__data_dir=workplace.root / "data/train", runconfig__checkpoint_steps=5)
    run_dir = workplace.run_dir("damaged")
    workplace.complete(mpi(1, 2), damaged, "--runconfig.max_steps=15")
    newest, older = workplace.checkpoints(run_dir)[15], workplace.checkpoints(run_dir)[10]
    good = newest.read_bytes()
    for number in range(3 if refusals.quick else 12):
        bad, at = bytearray(good), source.randrange(len(good) // 4, len(good))
        bad[at] ^= 1 << source.randrange(8)
        newest.write_bytes(bad)
        if workplace.plain("checkpoint", "verify", newest).code == 0:
            print(f"    byte {at} holds nothing that is read", flush=True)
            continue
        refused(f"byte {at} of {len(good)} flipped", DATA, newest.name, older.name, deck=damaged, run_dir=run_dir, layouts=(mpi(2, 1),),
                may_change=("config.cfg",))
    newest.write_bytes(good[:len(good) // 2])
    refused("half a checkpoint", DATA, newest.name, older.name, deck=damaged, run_dir=run_dir, layouts=(mpi(1, 2),))
    result = workplace.train(mpi(1, 2), damaged, f"--runconfig.checkpoint_path={older}")
    report.expect(result.code == 0, f"going on from the older checkpoint, as advised: exit code {result.code}: {result.err[-600:]}")


def full_disk(workplace, report, refusals, settings):
    disk = workplace.mount("small disk", "1200k")
    if not disk:
        print("    skipped: mounting is not permitted here", flush=True)
        return
    run_dir = disk / "run"
    deck = workplace.deck("full", settings, runconfig__model_dir=run_dir, runconfig__checkpoint_steps=5)
    for layout in (NULL, mpi(1, 2)):
        result = workplace.train(layout, deck)
        refusals.judge(f"a full disk ({layout})", result, SYSTEM, "needed", "available", "intact")
        report.expect(not cluster.leftovers(run_dir), f"a full disk: left behind {cluster.leftovers(run_dir)}")
        saved = workplace.checkpoints(run_dir)
        report.expect(bool(saved), "a full disk: no checkpoint was saved before it was full")
        for path in saved.values():
            report.expect(workplace.plain("checkpoint", "verify", path).code == 0, f"a full disk: {path} is damaged")
    workplace.remount(disk, "size=50m")
    workplace.complete(mpi(1, 2), deck)
    undisturbed = workplace.newest(workplace.run_dir("other"))
    equal, norm = workplace.difference(workplace.newest(run_dir), undisturbed)
    report.expect(norm <= 1e-5, f"after the disk was made larger: weights differ by {norm:.2g}")


def read_only(workplace, report, refusals, settings):
    disk = workplace.mount("read-only disk", "20m")
    if not disk:
        print("    skipped: mounting is not permitted here", flush=True)
        return
    run_dir = disk / "run"
    deck = workplace.deck("readonly", settings, runconfig__model_dir=run_dir)
    workplace.complete(mpi(1, 2), deck, "--runconfig.max_steps=5")
    workplace.remount(disk, "ro")
    refusals.refused("a read-only run directory", DATA, str(run_dir), "cannot be written", deck=deck, run_dir=run_dir)
    result = workplace.train(NULL, deck, f"--runconfig.model_dir={disk / 'new'}")
    refusals.judge("a run directory that cannot be made", result, DATA, "cannot be written")
    workplace.remount(disk, "rw")
    workplace.complete(mpi(1, 2), deck)


def budget(workplace, refusals):
    refusals.refused("csx.memory too small for anything", SETTINGS, "the plan needs", "csx.memory is 50.0 MB", "at least", overrides=["--csx.memory=50MB"],
                     layouts=(mpi(1, 2),))
    wide = ["--model.hidden_size=256", "--train_input.batch_size=512", "--csx.waves=1", "--csx.recompute=off", "--csx.memory=150MB"]
    refusals.refused("csx.memory too small for the waves asked for", SETTINGS, "it fits in", "waves", overrides=wide, layouts=(mpi(1, 2),))


def lost_rank(workplace, report, settings, source):
    layout = mpi(2, 2)
    deck = workplace.deck("lost", settings, runconfig__max_steps=100000)
    run = workplace.start(layout, "train", deck)
    run.wait_for(lambda: (workplace.run_dir("lost") / "metrics.csv").exists() and len(cluster.rows(workplace.run_dir("lost"))) > 2)
    rank = source.choice(sorted(run.ranks()))
    run.ranks()[rank].send(signal.SIGKILL)
    left = run.survivors(10)
    report.expect(not left, f"rank {rank} killed: ranks {sorted(left)} outlive it by more than 10 s")
    result = run.wait()
    report.expect(result.code != 0, f"rank {rank} killed: exit code 0")
    report.expect("signal 9" in result.err + result.out, f"rank {rank} killed: nobody says so: {result.err[-600:]}")


def body(workplace, report, arguments):
    source = random.Random(arguments.seed)
    print(f"seed {arguments.seed}")
    settings = cluster.merged(TINY, {"train_input.data_dir": workplace.data()})
    workplace.complete(mpi(1, 2), workplace.deck("other", settings))
    refusals = Refusals(workplace, report, workplace.deck("deck", settings), workplace.run_dir("deck"))
    refusals.quick = arguments.quick
    report.section("wrong settings")
    wrong_settings(workplace, report, refusals)
    report.section("wrong data")
    wrong_data(workplace, report, refusals, settings)
    report.section("wrong checkpoints")
    wrong_checkpoints(workplace, report, refusals, source)
    report.section("a full disk")
    full_disk(workplace, report, refusals, settings)
    report.section("a read-only run directory")
    read_only(workplace, report, refusals, settings)
    report.section("csx.memory")
    budget(workplace, refusals)
    report.section("a rank is lost")
    lost_rank(workplace, report, settings, source)


if __name__ == "__main__":
    cluster.main("bad-input", __doc__, body)
