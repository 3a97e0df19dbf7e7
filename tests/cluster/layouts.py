#!/usr/bin/env python3
# SPDX-FileCopyrightText: wsc authors
# SPDX-License-Identifier: Apache-2.0
"""One deck, many layouts: the same training on one process and on any cluster, to rounding; on the same layout to the last bit.

20 steps of a small GPT, global batch 8, loss masks of unequal length, validation on a set that is no multiple of the batch. Losses,
gradient norms and validation losses agree with the null fabric to 1e-5, the final weights as one vector to 1e-5 in norm.
"""

import cluster
from cluster import NULL, TINY, loopback, mpi

TOLERANCE = 1e-5
COLUMNS = ("loss", "grad_norm")
DROPOUT = {"model.dropout_rate": 0.1, "model.embedding_dropout_rate": 0.1, "model.attention_dropout_rate": 0.1}


class Decks:
    """Runs the deck with changes on layouts and remembers each result."""

    def __init__(self, workplace, settings):
        self.workplace, self.settings, self.count = workplace, settings, 0

    def run(self, layout, changes):
        self.count += 1
        deck = self.workplace.deck(f"run{self.count}", cluster.merged(self.settings, changes))
        self.workplace.complete(layout, deck)
        return self.workplace.run_dir(f"run{self.count}")


def compare(workplace, report, what, run, reference):
    """To rounding."""
    worst = cluster.largest_difference(cluster.rows(run), cluster.rows(reference), COLUMNS)
    report.expect(worst <= TOLERANCE, f"{what}: losses and gradient norms differ by {worst:.2g}")
    worst_eval = cluster.largest_difference(cluster.rows(run, "eval.csv"), cluster.rows(reference, "eval.csv"), ("loss",))
    report.expect(worst_eval <= TOLERANCE, f"{what}: validation losses differ by {worst_eval:.2g}")
    _, norm = workplace.difference(workplace.newest(run), workplace.newest(reference))
    report.expect(norm <= TOLERANCE, f"{what}: final weights differ by {norm:.2g} in norm")
    print(f"    {what}: losses and norms {worst:.1e}, validation {worst_eval:.1e}, weights {norm:.1e}", flush=True)


def compare_bits(workplace, report, what, run, reference):
    same = cluster.same_text(cluster.rows(run), cluster.rows(reference), ("step", *COLUMNS, "learning_rate", "valid_tokens"))
    report.expect(same, f"{what}: losses are not the same to the last digit")
    same = cluster.same_text(cluster.rows(run, "eval.csv"), cluster.rows(reference, "eval.csv"), ("step", "loss"))
    report.expect(same, f"{what}: validation losses are not the same to the last digit")
    equal, norm = workplace.difference(workplace.newest(run), workplace.newest(reference))
    report.expect(equal, f"{what}: final states are not bitwise the same (weights {norm:.2g} in norm)")


def check_masks(report, reference):
    valid = [int(row["valid_tokens"]) for row in cluster.rows(reference)]
    report.expect(len(valid) == 20 and len(set(valid)) > 10, f"masks of unequal length were wanted, valid tokens are {valid}")
    losses = [float(row["loss"]) for row in cluster.rows(reference)]
    report.expect(losses[-1] < losses[0] - 0.3, f"the loss should fall: {losses[0]} to {losses[-1]}")


def body(workplace, report, arguments):
    quick = arguments.quick
    data = {"train_input.data_dir": workplace.data(), "eval_input.data_dir": workplace.data("validation", count=13, seed=2),
            "runconfig.eval_frequency": 10}
    decks = Decks(workplace, cluster.merged(TINY, data))
    run = decks.run

    report.section("layouts with default settings against the null fabric")
    reference = run(NULL, {})
    check_masks(report, reference)
    layouts = [loopback(2, 2), mpi(1, 2), mpi(2, 3)] if quick else \
        [loopback(1, 1), loopback(2, 2), mpi(1, 1), mpi(1, 2), mpi(2, 2), mpi(1, 3), mpi(3, 1), mpi(2, 3)]
    for layout in layouts:
        first = run(layout, {})
        compare(workplace, report, str(layout), first, reference)
        if quick and layout != mpi(2, 3):
            continue
        compare_bits(workplace, report, f"{layout} twice", run(layout, {}), first)
    if not quick:
        compare_bits(workplace, report, "null twice", run(NULL, {}), reference)

    report.section("2x2: tiles, waves, prefetch, recompute")
    square, changes = mpi(2, 2), [{"csx.waves": 2}, {"csx.waves": 4, "train_input.micro_batch_size": 1, "csx.prefetch": 0}] if quick else \
        [{"train_input.micro_batch_size": n} for n in (1, 2, 4)] + [{"csx.waves": n} for n in (1, 2, 4)]
    for change in changes:
        what = f"2x2, {' '.join(f'{k}={v}' for k, v in change.items())}"
        compare(workplace, report, what, run(square, change), reference)
    # These change when things happen, not what is computed: bitwise the same among themselves.
    changes = [{"csx.prefetch": n} for n in (0, 1, 3)] + [{"csx.recompute": word} for word in ("on", "off")]
    first = None
    for change in changes[2:4] if quick else changes:
        what = f"2x2, {' '.join(f'{k}={v}' for k, v in change.items())}"
        result = run(square, change)
        compare(workplace, report, what, result, reference)
        if first:
            compare_bits(workplace, report, f"{what} and the one before", result, first)
        first = first or result

    report.section("dropout, batches smaller than the cluster, a batch schedule")
    schedule = {"train_input.batch_schedule.1.batch_size": 4, "train_input.batch_schedule.1.until_step": 7}
    cases = [("dropout", DROPOUT, [mpi(2, 3)]), ("batch 2", {"train_input.batch_size": 2}, [mpi(1, 3)])]
    if not quick:
        cases += [("batch schedule", schedule, [mpi(2, 2)]), ("dropout, recompute", {**DROPOUT, "csx.recompute": "on"}, [mpi(1, 2)]),
                  ("batch 10", {"train_input.batch_size": 10}, [mpi(1, 4)])]
    for name, change, where in cases:
        alone = run(NULL, {k: v for k, v in change.items() if k != "csx.recompute"})
        for layout in where:
            result = run(layout, change)
            compare(workplace, report, f"{layout}, {name}", result, alone)
            if not quick:
                compare_bits(workplace, report, f"{layout}, {name}, twice", run(layout, change), result)
    left = cluster.leftovers(workplace.root / "runs")
    report.expect(not left, f"left behind: {left}")


if __name__ == "__main__":
    cluster.main("layouts", __doc__, body)
