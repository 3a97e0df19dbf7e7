#!/usr/bin/env python3
# SPDX-FileCopyrightText: wsc authors
# SPDX-License-Identifier: Apache-2.0
"""The timeline of a run (runconfig.trace): JSON in the Chrome trace event format, whose events are possible.

The events of a thread nest. Weights that a csx has got were on their way from memoryx before, gradients that memoryx has got from every
csx, within the errors of the clocks: bytes of a shard and direction are carried out in one order, so byte k is the same on both sides.
"""

import json

import cluster
from cluster import NULL, TINY, loopback, mpi

SLACK = 1.0  # microseconds: numbers in the file are rounded


class Timeline:
    def __init__(self, path):
        self.events = json.loads(path.read_text())["traceEvents"]
        self.spans = [e for e in self.events if e["ph"] == "X"]
        metadata = lambda name: {(e["pid"], e.get("tid")): e["args"] for e in self.events if e["ph"] == "M" and e["name"] == name}
        self.ranks = {pid: args for (pid, _), args in metadata("process_name").items()}
        self.threads = metadata("thread_name")

    def of_rank(self, rank):
        return [e for e in self.spans if e["pid"] == rank]

    def transfers(self, rank, name):
        """[(first byte, bytes, begin, end)] of one shard and direction."""
        mine = [e for e in self.events if e["ph"] in "be" and e["pid"] == rank and e["name"] == name]
        ends = {e["id"]: e["ts"] for e in mine if e["ph"] == "e"}
        begun = [e for e in mine if e["ph"] == "b"]
        assert len(begun) == len(ends) == len({e["id"] for e in begun})
        return sorted((e["args"]["first_byte"], e["args"]["bytes"], e["ts"], ends[e["id"]]) for e in begun)


def nests(spans):
    """Do the events of one thread lie within each other or apart?"""
    open_until = []
    for e in sorted(spans, key=lambda e: (e["ts"], -e["dur"])):
        while open_until and open_until[-1] <= e["ts"] + SLACK:
            open_until.pop()
        if open_until and e["ts"] + e["dur"] > open_until[-1] + SLACK:
            return False
        open_until.append(e["ts"] + e["dur"])
    return True


def causes_come_first(senders, receivers, error):
    """No byte has arrived before it was sent. Returns how many pairs of transfers share bytes."""
    pairs = 0
    for first, count, begin, _ in senders:
        for other, size, _, end in receivers:
            if first < other + size and other < first + count:
                pairs += 1
                assert begin <= end + error + SLACK, f"bytes {first}…: sent at {begin}, arrived at {end} (error {error})"
    return pairs


def check(report, timeline, layout, steps):
    ranks = layout.memoryx + layout.csx if layout.fabric != "null" else 1
    expect = report.expect
    expect(sorted(timeline.ranks) == list(range(ranks)), f"{layout}: processes {timeline.ranks}")
    for rank in range(ranks):
        spans = timeline.of_rank(rank)
        seen = [e["args"]["number"] for e in spans if e["name"] == "step"]
        expect(sorted(seen) == list(range(steps)), f"{layout}: rank {rank} shows steps {seen} instead of {steps}")
        expect(min(e["dur"] for e in spans) >= 0, f"{layout}: rank {rank} has events of negative length")
        for (pid, tid), args in timeline.threads.items():
            if pid == rank:
                expect(nests([e for e in spans if e["tid"] == tid]), f"{layout}: events of rank {rank}, {args} do not nest")
                expect(args["dropped_events"] == 0, f"{layout}: rank {rank} dropped events")
        roles = timeline.ranks[rank]["name"]
        names = {e["cat"] for e in spans}
        if "csx" in roles:
            expect({"forward", "turn", "backward"} <= names, f"{layout}: {roles} computes {names}")
        if "memoryx" in roles:
            expect({"update", "norm"} <= names, f"{layout}: {roles} does {names}")
    if layout.fabric == "null":
        return
    for shard in range(layout.memoryx):
        for csx in range(layout.memoryx, ranks):
            error = timeline.ranks[csx]["clock_error_us"] + timeline.ranks[shard]["clock_error_us"]
            weights = causes_come_first(timeline.transfers(shard, f"weights of shard {shard}"),
                                        timeline.transfers(csx, f"weights of shard {shard}"), error)
            gradients = causes_come_first(timeline.transfers(csx, f"gradients of shard {shard}"),
                                          timeline.transfers(shard, f"gradients of shard {shard}"), error)
            expect(weights > steps and gradients > steps, f"{layout}: shard {shard}, rank {csx}: {weights} and {gradients} transfers")


def body(workplace, report, arguments):
    data = workplace.data()
    layouts = [NULL, mpi(1, 2), mpi(2, 1), loopback(2, 2)]
    for layout in layouts if not arguments.quick else layouts[:2]:
        report.section(str(layout))
        deck = workplace.deck(str(layout).replace(" ", "-"), TINY, train_input__data_dir=data, runconfig__max_steps=6)
        path = workplace.root / f"{str(layout).replace(' ', '-')}.json"
        workplace.complete(layout, deck, f"--runconfig.trace={path}", "--runconfig.trace_steps=4")
        check(report, Timeline(path), layout, 4)
        print(f"    {path.stat().st_size} bytes", flush=True)
    report.section("more steps than the run has; a folder that is not there")
    path = workplace.root / "all.json"
    deck = workplace.deck("short", TINY, train_input__data_dir=data, runconfig__max_steps=2)
    workplace.complete(mpi(1, 1), deck, f"--runconfig.trace={path}")
    check(report, Timeline(path), mpi(1, 1), 2)
    result = workplace.train(mpi(1, 1), deck, "--runconfig.trace=nowhere/trace.json", "--runconfig.max_steps=3")
    report.expect(result.code == 5 and "runconfig.trace" in result.err, f"an absent folder: exit code {result.code}: {result.err[-400:]}")


if __name__ == "__main__":
    cluster.main("trace", __doc__, body)
