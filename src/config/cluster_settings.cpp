// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/base/error.hpp"
#include "wsc/config/registry.hpp"

namespace wsc::config {

void declare(Registry& registry, ClusterSettings& s) {
  Section o = registry.section("cluster", "Ranks, threads and messages", SettingKind::free);
  o.add("fabric", s.fabric, "auto", one_of({"auto", "null", "mpi", "loopback"}),
        "What carries the stream: null (one process, no copies), loopback (one process with copies, for tests), mpi; auto = by rank count");
  o.add("memoryx", s.memoryx, 0, at_least(1), "Ranks that hold weights and optimizer state; auto = one per node")
      .in("ranks")
      .with_word("auto", 0);
  o.add("num_csx", s.num_csx, 0, at_least(1), "Ranks that compute; auto = all others").in("ranks").with_word("auto", 0);
  o.add("threads", s.threads, 0, between(1, 512), "Threads of a csx; auto = cores of the node / its csx")
      .in("threads")
      .with_word("auto", 0);
  o.add("csx_per_window", s.csx_per_window, 0, at_least(1),
        "Csx of a node that share one weight window, which the stream reaches once; 1 = each has its own; auto = all of the node")
      .in("csx")
      .with_word("auto", 0);
  o.add("chunk_bytes", s.chunk_bytes, std::int64_t{4} << 20, between(64, 1 << 30), "Largest message of the stream").bytes();
  o.add("messages_in_flight", s.messages_in_flight, 4, between(1, 1024), "Messages under way at once, per shard and direction")
      .in("messages");
  o.add("gflops_per_thread", s.gflops_per_thread, 80.0, positive,
        "Matrix products of one thread of a csx: the plan chooses by predictions from these rates (wsc bench kernels measures it)")
      .in("GFLOP/s");
  o.add("memory_gbytes_per_s", s.memory_gbytes_per_s, 8.0, positive, "Memory bandwidth of a rank, for predictions").in("GB/s");
  o.add("link_gbytes_per_s", s.link_gbytes_per_s, 2.0, positive,
        "Bandwidth of the fabric into or out of a rank, for predictions (wsc bench stream measures it)")
      .in("GB/s");
  o.add("reduction", s.reduction, "library", one_of({"library", "ordered"}),
        "Order of gradient sums: library (fixed for a layout) or ordered: along one tree over csx.leaves, bitwise the same on every layout "
        "whose parts are whole subtrees");
}

namespace {

struct Preset {
  const char* name;
  std::int64_t memory;  // bytes; 0 = no limit
};
constexpr Preset presets[] = {{"host", 0}, {"cs2", 40'000'000'000}, {"cs3", 44'000'000'000}};

}  // namespace

std::int64_t preset_memory(const std::string& name) {
  for (const Preset& preset : presets) {
    if (name == preset.name) return preset.memory;
  }
  throw SettingsError("unknown csx.preset " + name + ".");
}

void declare(Registry& registry, CsxSettings& s) {
  std::vector<std::string> names;
  for (const Preset& preset : presets) names.push_back(preset.name);
  Section o = registry.section("csx", "Memory of a csx and how its plan may use it", SettingKind::free);
  o.add("preset", s.preset, "host", one_of(names), "Kind of system: host (no limit), cs2 (40 GB), cs3 (44 GB)");
  o.add("memory", s.memory, 0, at_least(1), "Hard budget over all memory of a csx, such as 40GB or 512MiB; auto = that of the preset")
      .bytes()
      .with_word("auto", 0);
  o.add("prefetch", s.prefetch, -1, non_negative, "Stages whose weights are on their way ahead of the running one")
      .in("stages")
      .with_word("auto", -1);
  o.add("waves", s.waves, 0, at_least(1), "Parts of the batch that go through the network one after another; auto = the fewest that fit")
      .with_word("auto", 0);
  o.add("leaves", s.leaves, 0, at_least(1), "Parts of the batch at the ends of the gradient sum; auto = one per csx and wave")
      .with_word("auto", 0);
  o.add("recompute", s.recompute, "auto", one_of({"auto", "on", "off"}),
        "Compute activations again in the backward pass instead of keeping them");
}

}  // namespace wsc::config
