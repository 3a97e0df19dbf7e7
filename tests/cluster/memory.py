#!/usr/bin/env python3
# SPDX-FileCopyrightText: wsc authors
# SPDX-License-Identifier: Apache-2.0
"""The memory of a csx does not grow with the model, that of a shard is 16 bytes per parameter, and the plan knows both.

8 and 32 layers of one width with recompute: equal weight windows, measured peaks as planned. Then a model whose weights and optimizer
state are ten times csx.memory trains.
"""

import re

import cluster
from cluster import TINY, mpi

MEGABYTE = 1e6
SLACK = 150 * MEGABYTE  # libraries, shared memory of MPI: what no plan of ours decides

WIDE = cluster.merged(TINY, {
    "model.hidden_size": 256, "model.num_heads": 4, "model.max_position_embeddings": 64, "csx.recompute": "on", "runconfig.max_steps": 2,
    "train_input.batch_size": 4,
})


def measured_peaks(run_dir):
    """Resident peaks in bytes: the largest csx, the largest memoryx."""
    last = cluster.rows(run_dir)[-1]
    return int(last["csx_peak_bytes"]), int(last["memoryx_peak_bytes"])


UNITS = {"B": 1, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}


def shard_table(text):
    """(weights, gradients, state) in bytes of every memoryx rank, from the table at the end of the log."""
    size = r"\s+([\d.]+) (\w+)"
    found = re.findall(r"^\d+\s+memoryx" + 5 * size, text, re.MULTILINE)
    return [tuple(float(row[i]) * UNITS[row[i + 1]] for i in (4, 6, 8)) for row in found]


def expect_as_planned(report, what, measured, planned):
    report.expect(abs(measured - planned) <= 0.1 * planned + SLACK, f"{what}: {measured / 1e6:.1f} MB measured, {planned / 1e6:.1f} MB planned")
    print(f"    {what}: {measured / 1e6:.1f} MB measured, {planned / 1e6:.1f} MB planned", flush=True)


def depths(workplace, report, layout, data):
    """Two depths of one width on a layout."""
    plans, peaks = {}, {}
    for layers in (8, 32):
        name = f"{layers} layers on {layout}"
        deck = workplace.deck(name, WIDE, train_input__data_dir=data, model__num_hidden_layers=layers)
        plan = plans[layers] = workplace.plan(layout, deck)
        result = workplace.complete(layout, deck)
        csx, memoryx = peaks[layers] = measured_peaks(workplace.run_dir(name))
        expect_as_planned(report, f"{name}, csx", csx, plan["csx"]["peak_bytes"]["total"])

        shard, sixteen = plan["memoryx"]["peak_bytes"]["total"], 16 * plan["parameters"] / layout.memoryx
        report.expect(abs(shard - sixteen) <= 0.02 * sixteen, f"{name}: a shard plans {shard} bytes, 16 per parameter are {sixteen}")
        expect_as_planned(report, f"{name}, memoryx", memoryx, shard)
        table = shard_table(result.out)
        report.expect(len(table) == layout.memoryx, f"{name}: no table of ranks in the log")
        for held in table:
            report.expect(abs(sum(held) - sixteen) <= 0.02 * sixteen, f"{name}: a shard holds {held}, 16 bytes per parameter are {sixteen}")

    few, many = (plans[n]["csx"]["peak_bytes"] for n in (8, 32))
    for purpose in ("weight_window", "gradient_buffers", "scratch", "fabric_buffers"):
        report.expect(few[purpose] == many[purpose], f"{layout}: {purpose} of a csx is {few[purpose]} with 8 layers, {many[purpose]} with 32")
    planned, grown = many["total"] - few["total"], peaks[32][0] - peaks[8][0]
    weights = 4 * (plans[32]["parameters"] - plans[8]["parameters"])
    report.expect(grown <= 1.1 * planned + 0.1 * weights,
                  f"{layout}: the csx grows by {grown / 1e6:.1f} MB from 8 to 32 layers, planned are {planned / 1e6:.1f} MB")
    print(f"    csx grows by {grown / 1e6:.1f} MB, planned {planned / 1e6:.1f} MB, weights {weights / 1e6:.1f} MB", flush=True)


def ten_times(workplace, report, data):
    """Weights and moments of ten times what a csx may use."""
    budget = 125 * MEGABYTE
    deck = workplace.deck("large", cluster.merged(WIDE, {
        "model.num_hidden_layers": 140, "model.max_position_embeddings": 32, "train_input.batch_size": 2, "train_input.data_dir": data,
        "runconfig.max_steps": 2, "csx.memory": int(budget), "cluster.chunk_bytes": 2**20, "cluster.messages_in_flight": 2,
    }))
    layout = mpi(1, 2)
    plan = workplace.plan(layout, deck)
    state = 12 * plan["parameters"]
    report.expect(plan["fits"], f"the plan needs {plan['csx']['peak_bytes']['total'] / 1e6:.1f} MB")
    report.expect(state >= 10 * budget, f"weights and state are {state / 1e6:.1f} MB, {10 * budget / 1e6:.1f} MB were wanted")
    result = workplace.complete(layout, deck, seconds=900)
    csx, memoryx = measured_peaks(workplace.run_dir("large"))
    expect_as_planned(report, "140 layers, csx", csx, plan["csx"]["peak_bytes"]["total"])
    expect_as_planned(report, "140 layers, memoryx", memoryx, plan["memoryx"]["peak_bytes"]["total"])
    report.expect(csx < 4 * plan["parameters"], "a csx held as much as all weights")
    losses = [float(row["loss"]) for row in cluster.rows(workplace.run_dir("large"))]
    report.expect(len(losses) == 2 and all(4 < loss < 8 for loss in losses), f"losses of the large model: {losses}")
    print(f"    weights and state {state / 1e6:.0f} MB, csx.memory {budget / 1e6:.0f} MB, {result.seconds:.1f} s", flush=True)


def body(workplace, report, arguments):
    data = workplace.data(tokens=64)
    for layout in [mpi(1, 2)] if arguments.quick else [mpi(1, 2), mpi(2, 1)]:
        report.section(f"8 and 32 layers on {layout}")
        depths(workplace, report, layout, data)
    report.section("ten times csx.memory")
    ten_times(workplace, report, workplace.data("short"))


if __name__ == "__main__":
    cluster.main("memory", __doc__, body, bytes_wanted=2_200_000_000)
