// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "wsc/fabric/channel.hpp"

namespace wsc::fabric {

/// What the launcher (mpirun, srun with PMIx or PMI) says of this process, read from the environment: no MPI call is made.
struct Launch {
  int rank = 0;
  int ranks = 1;
  int local_ranks = 1;  ///< processes of the same job on this node
};
Launch launch_from_environment();

struct ChannelSettings {
  std::int64_t chunk_bytes = 0;
  int messages_in_flight = 0;
  int csx_per_window = 0;  ///< csx of a node that share a weight window; 0 = all of them
  bool ordered = false;    ///< reductions keep the order of reduction_tree.hpp, whatever the layout
};

/// Starts the fabric thread, which makes every MPI call of the process, MPI_Init_thread and MPI_Finalize (in the destructor) included,
/// and creates one communicator per shard and direction and one for control. Throws SettingsError where ranks ≠ M + N, SystemError
/// where MPI does not grant MPI_THREAD_FUNNELED; all ranks throw the same then, and MPI is finished already. Destroying the channel
/// carries out what was posted; while an exception passes through it aborts the run with exit code 5: use guarded().
std::unique_ptr<Channel> make_mpi_channel(const Layout& layout, const ChannelSettings& settings);

/// Runs `work`, a part of a rank's life in which peers may read or write its buffers. Where it throws, channel.fail() comes before those
/// buffers go: to be called where they still exist, inside their scope. AgreedStop and RunAborted pass through, as does everything
/// without a channel.
template <class Work>
void guarded(Channel* channel, const Work& work) {
  if (!channel) return work();
  try {
    work();
  } catch (const AgreedStop&) {
    throw;
  } catch (const RunAborted&) {
    throw;
  } catch (...) {
    channel->fail(to_error(std::current_exception()));
    throw;
  }
}

/// Runs `body` once per rank of the layout, each on a thread of its own of this process, over in-process collectives with real copies
/// and real fabric threads: for tests, also under sanitizers. The first exception of any rank aborts all and is rethrown here.
void run_loopback(const Layout& layout, const ChannelSettings& settings, const std::function<void(Channel&)>& body);

}  // namespace wsc::fabric
