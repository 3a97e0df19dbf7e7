// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <Kokkos_Core.hpp>

/// Views with shapes. The letters: B samples of a batch, T tokens of a sample, rows = tokens of a tile or wave, C width, H heads,
/// D = C / H head size, F filter size, V vocabulary, L layers. All row-major; memory belongs to an arena, window or shard.
namespace wsc {

using Exec = Kokkos::DefaultExecutionSpace;
using Memory = Exec::memory_space;

template <class Real>
using Matrix = Kokkos::View<Real**, Kokkos::LayoutRight, Memory, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
template <class Real>
using Vector = Kokkos::View<Real*, Kokkos::LayoutRight, Memory, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
using TokenIds = Vector<const std::int32_t>;  // (rows)

/// Memory that owns: 64-byte aligned, uninitialised on request (debug builds fill it with NaN).
template <class Real>
using Buffer = Kokkos::View<Real*, Kokkos::LayoutRight, Memory>;

}  // namespace wsc
