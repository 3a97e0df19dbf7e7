// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace wsc::cli {

/// Kokkos, from construction to destruction, with this many threads. Views must be gone before it.
class KokkosScope {
 public:
  explicit KokkosScope(int threads);
  ~KokkosScope();
  KokkosScope(const KokkosScope&) = delete;
  KokkosScope& operator=(const KokkosScope&) = delete;
};

int cores_of_node();
/// Cores that the launcher lets this process use.
int cores_allowed();

}  // namespace wsc::cli
