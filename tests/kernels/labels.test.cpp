// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include "tests/kernels/op_checks.hpp"
#include <gmock/gmock.h>

#include "wsc/kernels/elementwise.hpp"

namespace wsc::kernels {
namespace {

std::vector<std::string> labels;
std::vector<std::string> allocations;

void record(const char* name, std::uint32_t, std::uint64_t*) { labels.emplace_back(name); }
void record_allocation(Kokkos::Tools::SpaceHandle, const char* name, const void*, std::uint64_t) { allocations.emplace_back(name); }

/// Listens to Kokkos for its lifetime.
class Listener {
 public:
  Listener() {
    labels.clear();
    allocations.clear();
    Kokkos::Tools::Experimental::set_begin_parallel_for_callback(record);
    Kokkos::Tools::Experimental::set_begin_parallel_reduce_callback(record);
    Kokkos::Tools::Experimental::set_begin_parallel_scan_callback(record);
    Kokkos::Tools::Experimental::set_allocate_data_callback(record_allocation);
  }
  ~Listener() {
    Kokkos::Tools::Experimental::set_begin_parallel_for_callback(nullptr);
    Kokkos::Tools::Experimental::set_begin_parallel_reduce_callback(nullptr);
    Kokkos::Tools::Experimental::set_begin_parallel_scan_callback(nullptr);
    Kokkos::Tools::Experimental::set_allocate_data_callback(nullptr);
  }
};

template <class Real>
void run_every_op() {
  OpFixture<Real> f(2, 70);
  const auto tensor = [&](std::int64_t width = 32) { return f.tensor(width); };
  const WeightId vector = f.weight(32, 1), matrix = f.weight(32, 32), table = f.weight(70, 32);
  const std::vector<Op> ops = {
      Embedding{tensor(), table, 32},
      Positions{tensor(), tensor(), table, 32},
      Positions{tensor(), tensor(), {}, 32},
      Dropout{tensor(), tensor(), 0.1, 32, "dropout"},
      Dropout{tensor(), tensor(), 0, 32, "identity"},
      LayerNorm{tensor(), tensor(), tensor(1), tensor(1), vector, vector, 32},
      Linear{tensor(), tensor(), matrix, vector, 32, 32, tensor()},
      Attention{tensor(96), tensor(), tensor(4), 32, 4, 0.1, "attention"},
      Activation{tensor(), tensor(), vector, Nonlinearity::gelu, 32},
      Add{tensor(), tensor(), tensor(), 32},
      CrossEntropy{tensor(), tensor(70), table, 32, 70},
  };
  for (const Op& op : ops) {
    for (const bool accumulate : {false, true}) {
      std::visit([&](const auto& o) { f.randomise(o, accumulate); }, op);
      forward(op, f);
      backward(op, f);
    }
  }
}

TEST(Labels, EveryKernelOfEveryOpIsLabelledAndNothingIsAllocated) {
  const Listener listener;
  run_every_op<float>();
  run_every_op<double>();
  run_every_op<bfloat16>();
  EXPECT_THAT(labels, testing::Each(testing::StartsWith("wsc::kernels::")));
  EXPECT_THAT(labels, testing::IsSupersetOf({"wsc::kernels::attention_forward", "wsc::kernels::layer_norm_backward"}));
  EXPECT_THAT(allocations, testing::IsEmpty());
}

}  // namespace
}  // namespace wsc::kernels
