#!/usr/bin/env python3
# SPDX-FileCopyrightText: wsc authors
# SPDX-License-Identifier: Apache-2.0
"""Bytes on the wire are what they have to be: by wsc's counters, by the plan, by hand, and by Open MPI's own count.

Weights reach a node once, whatever runs on it: csx of one node share a weight window.

By hand: the block of a stage reaches each window once on the way forward and once on the way back; the embedding's backward needs none, and
the turn is one visit. Each of a stage's blocks sends one gradient per wave.
"""

import re

import cluster
from cluster import TINY, mpi

# Open MPI's monitoring of its point-to-point layer, which its collectives use: bytes per pair of ranks, written at MPI_Finalize. Of its
# algorithms for a reduction, the binomial tree sends each contribution once; the one it likes best for large messages sends more, sooner.
# Its monitoring of windows breaks MPI_Win_shared_query.
MONITOR = [("osc", "^monitoring"), ("pml_monitoring_enable", 2), ("pml_monitoring_enable_output", 3), ("coll_libnbc_ireduce_algorithm", 2)]


def block_bytes(workplace, deck):
    """fp32 bytes of every block, from the table of parameters. (Sizes are chosen so that no matrix needs padding.)"""
    blocks = {}
    for line in workplace.tool("plan", deck, "--params").splitlines()[1:]:
        found = re.match(r"(\S+)\s+\(([\d, ]+)\)\s+\S+\s+(?:yes|no)\s+(\S+)$", line)
        assert found, line
        elements = 1
        for extent in found.group(2).split(","):
            elements *= int(extent)
        blocks[found.group(3)] = blocks.get(found.group(3), 0) + 4 * elements
    return blocks


def by_hand(blocks, stages, waves, weight_size):
    """(weight bytes to a window, gradient bytes from a csx) per step. stages: blocks of every stage, in order of the forward
    pass. weight_size: bytes of a weight on the wire; blocks count them as 4."""
    forward = sum(blocks[b] for stage in stages for b in stage)
    backward = sum(blocks[b] for stage in stages[1:-1] for b in stage)
    return waves * (forward + backward) * weight_size // 4, waves * forward


def monitored(prefix, ranks):
    """Bytes sent by Open MPI from one rank to another, {(from, to): bytes}."""
    sent = {}
    for rank in range(ranks):
        path = prefix.with_name(f"{prefix.name}.{rank}.prof")
        for line in path.read_text().splitlines():
            found = re.match(r"[EI]\t(\d+)\t(\d+)\t(\d+) bytes", line)
            if found:
                a, b, count = map(int, found.groups())
                sent[a, b] = sent.get((a, b), 0) + count
    return sent


def windows(layout, csx_per_window):
    """Weight windows of a layout on one machine."""
    return -(-layout.csx // csx_per_window) if csx_per_window else 1


def expect_counters(report, what, run_dir, layout, count, weights, gradients):
    for row in cluster.rows(run_dir):
        for column, times, each in (("weight_bytes", count, weights), ("gradient_bytes", layout.csx, gradients)):
            report.expect(int(row[column]) == times * each, f"{what}, step {row['step']}: {column} is {row[column]}, not {times} × {each}")


def expect_monitored(report, what, sent, layout, count, steps, weights, gradients):
    """Open MPI's count lies above ours by control messages only."""
    csx = range(layout.memoryx, layout.processes)
    total, payload = sum(sent.values()), steps * (count * weights + layout.csx * gradients)
    over = total - payload
    report.expect(0 <= over <= 0.005 * payload, f"{what}: Open MPI sent {total} bytes, weights and gradients are {payload}")
    if layout.csx == 1:  # with more of them, collectives also go from csx to csx
        down = sum(n for (a, b), n in sent.items() if b in csx)
        up = sum(n for (a, b), n in sent.items() if a in csx)
        for way, count, wanted in (("to the csx", down, steps * weights), ("from the csx", up, steps * gradients)):
            report.expect(0 <= count - wanted <= 0.005 * wanted, f"{what}: Open MPI sent {count} bytes {way}, counted were {wanted}")
    print(f"    {what}: {payload} bytes by our count, {total} by Open MPI's ({100 * over / payload:.2f} % more)", flush=True)


def one_node(workplace, report, settings):
    """What reaches a node in a step depends neither on the csx on it nor on tiles."""
    seen = {}
    for layout, change in [(mpi(1, 1), {}), (mpi(1, 2), {}), (mpi(1, 3), {}), (mpi(1, 2), {"train_input.micro_batch_size": 1})]:
        what = f"{layout}{''.join(f', {k}={v}' for k, v in change.items())}"
        name = f"node{len(seen)}"
        workplace.complete(layout, workplace.deck(name, cluster.merged(settings, {**change, "runconfig.max_steps": 2})))
        seen[what] = [int(row["weight_bytes"]) for row in cluster.rows(workplace.run_dir(name))]
    report.expect(len(set(map(tuple, seen.values()))) == 1, f"weight bytes that reach one node: {seen}")
    print(f"    {seen}", flush=True)


def rows_only(workplace, report, settings):
    """Of a large table the embedding moves the rows that the global batch uses, there and back, the same number on every layout. The plan
    counts as many as there are tokens; the text is made of bytes, so far fewer differ."""
    rows = {}
    for layout in (mpi(1, 1), mpi(2, 2), mpi(1, 3)):
        name = f"rows{len(rows)}"
        deck = workplace.deck(name, cluster.merged(settings, {"model.vocab_size": 20000, "runconfig.max_steps": 3}))
        plan = workplace.plan(layout, deck)
        report.expect(any(b.endswith("(rows)") for visit in plan["stream"] for b in visit["receives"]), f"{layout}: no rows in {plan['stream']}")
        most, row_bytes = plan["step"]["batch_size"] * plan["step"]["tokens_per_sample"], 4 * settings["model"]["hidden_size"]
        workplace.complete(layout, deck)
        rows[str(layout)] = []
        for row in cluster.rows(workplace.run_dir(name)):
            saved = [plan["wire_bytes_per_step"]["weights_to_each_window"] - int(row["weight_bytes"]), plan["wire_bytes_per_step"]["gradients_from_each_csx"] - int(row["gradient_bytes"]) / layout.csx]
            report.expect(saved[0] == saved[1] and saved[0] % row_bytes == 0, f"{layout}: the wire carried {saved} bytes less than planned")
            rows[str(layout)].append(most - saved[0] // row_bytes)
    report.expect(len(set(map(tuple, rows.values()))) == 1 and all(0 < n <= 257 for n in next(iter(rows.values()))), f"rows that travelled: {rows}")
    print(f"    rows that travelled, of {most} tokens: {rows}", flush=True)


def body(workplace, report, arguments):
    settings = cluster.merged(TINY, {"train_input.data_dir": workplace.data(), "model.hidden_size": 128, "runconfig.max_steps": 10})
    untied = {"model.share_embedding_weights": False}
    cases = [(mpi(1, 1), {}), (mpi(2, 2), {"csx.waves": 2}), (mpi(1, 2), {"cluster.csx_per_window": 1, **untied}), (mpi(2, 2), {"precision.wire_weights": "bf16"})]
    if not arguments.quick:
        cases += [(mpi(1, 3), {}), (mpi(1, 3), {"cluster.csx_per_window": 2}), (mpi(3, 1), {"csx.recompute": "on"}), (mpi(2, 3), {"csx.waves": 2, **untied}), (mpi(1, 2), {"train_input.batch_size": 1}), (mpi(1, 1), {"precision.wire_weights": "cb16"}), (mpi(1, 2), {"precision.wire_weights": "fp16", "csx.waves": 2, **untied})]
    for number, (layout, change) in enumerate(cases):
        what = f"{layout}{''.join(f', {k}={v}' for k, v in change.items())}"
        report.section(what)
        deck, run_dir = workplace.deck(f"run{number}", cluster.merged(settings, change)), workplace.run_dir(f"run{number}")
        count = windows(layout, change.get("cluster.csx_per_window", 0))
        plan = workplace.plan(layout, deck)
        wire = plan["wire_bytes_per_step"]
        weights, gradients = wire["weights_to_each_window"], wire["gradients_from_each_csx"]
        stages = [visit["receives"] for visit in plan["stream"] if visit["direction"] != "backward"]
        hand = by_hand(block_bytes(workplace, deck), stages, plan["waves"], 2 if "precision.wire_weights" in change else 4)
        report.expect((weights, gradients) == hand, f"{what}: the plan says {weights} and {gradients} bytes per window and csx, by hand they are {hand}")

        prefix = workplace.root / f"monitor{number}"
        workplace.complete(layout, deck, mca=[*MONITOR, ("pml_monitoring_filename", prefix)])
        expect_counters(report, what, run_dir, layout, count, weights, gradients)
        expect_monitored(report, what, monitored(prefix, layout.processes), layout, count, len(cluster.rows(run_dir)), weights, gradients)

    report.section("a node with more and more csx on it")
    one_node(workplace, report, settings)
    report.section("rows of the embedding")
    rows_only(workplace, report, settings)


if __name__ == "__main__":
    cluster.main("conservation", __doc__, body)
