#!/usr/bin/env python3
# SPDX-FileCopyrightText: wsc authors
# SPDX-License-Identifier: Apache-2.0
"""The order-keeping reduction: bitwise the same losses, norms and weights on every layout whose parts are whole subtrees of 8 leaves.

A small GPT with dropout on, loss masks of unequal length and a tied embedding, on memoryx x csx and in waves; with another number of
threads, and resumed on another layout. With 7 leaves the same deck is refused on two csx, with what would fit.
"""

import cluster
from cluster import NULL, TINY, loopback, mpi

DROPOUT = {"model.dropout_rate": 0.1, "model.embedding_dropout_rate": 0.1, "model.attention_dropout_rate": 0.1}
ORDERED = {"cluster.reduction": "ordered", "csx.leaves": 8, "train_input.batch_size": 16, "runconfig.max_steps": 6,
           "runconfig.eval_frequency": 3, **DROPOUT}
COLUMNS = ("step", "loss", "grad_norm", "learning_rate", "valid_tokens")


def compare_bits(workplace, report, what, run, reference):
    same = cluster.same_text(cluster.rows(run), cluster.rows(reference), COLUMNS)
    report.expect(same, f"{what}: losses and norms are not the same to the last digit")
    same = cluster.same_text(cluster.rows(run, "eval.csv"), cluster.rows(reference, "eval.csv"), ("step", "loss"))
    report.expect(same, f"{what}: validation losses are not the same to the last digit")
    equal, norm = workplace.difference(workplace.newest(run), workplace.newest(reference))
    report.expect(equal, f"{what}: final states are not bitwise the same (weights {norm:.2g} in norm)")
    print(f"    {what}: {'the same' if equal else 'other'} bits", flush=True)


def body(workplace, report, arguments):
    data = {"train_input.data_dir": workplace.data(), "eval_input.data_dir": workplace.data("validation", count=13, seed=2)}
    settings = cluster.merged(TINY, {**data, **ORDERED})

    def run(name, layout, changes=(), **more):
        deck = workplace.deck(name, cluster.merged(settings, dict(changes)))
        return workplace.complete(layout, deck, **more), workplace.run_dir(name)

    report.section("layouts, waves, threads against one process")
    result, reference = run("reference", NULL)
    report.expect("whole subtrees of 8 leaves" in result.out + result.err, "the log should say what is guaranteed")
    cases = [(mpi(1, 2), {"csx.waves": 2}), (mpi(2, 2), {}), (mpi(1, 4), {}), (mpi(3, 2), {"csx.waves": 4}), (NULL, {"csx.waves": 4})]
    if not arguments.quick:
        cases = [(layout, {"csx.waves": waves}) for waves in (1, 2, 4)
                 for layout in (NULL, mpi(1, 1), mpi(1, 2), mpi(2, 2), mpi(1, 4), mpi(3, 2), loopback(2, 2)) if waves * layout.csx <= 8]
    for number, (layout, changes) in enumerate(cases):
        what = f"{layout}, {changes.get('csx.waves', 1)} waves"
        compare_bits(workplace, report, what, run(f"case{number}", layout, changes)[1], reference)
    threads = run("threads", NULL, {"cluster.threads": 3}, environment={"OMP_NUM_THREADS": "3"})[1]
    compare_bits(workplace, report, "one process, three threads", threads, reference)

    report.section("stopped after 3 steps on 1x2, resumed on 2x2 in two waves")
    run("parts", mpi(1, 2), {"runconfig.max_steps": 3})
    compare_bits(workplace, report, "resumed", run("parts", mpi(2, 2), {"csx.waves": 2})[1], reference)

    report.section("leaves that cannot be divided")
    deck = workplace.deck("refused", cluster.merged(settings, {"csx.leaves": 7}))
    result = workplace.train(loopback(1, 2), deck)
    report.expect(result.code == 2 and "whole subtrees" in result.err and "1 × 1" in result.err, f"not refused: {result}")
    left = cluster.leftovers(workplace.root / "runs")
    report.expect(not left, f"left behind: {left}")


if __name__ == "__main__":
    cluster.main("ordered", __doc__, body)
