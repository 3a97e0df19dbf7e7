// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include <mpi.h>

#include "wsc/base/error.hpp"

namespace wsc::fabric {

inline void check(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "unknown error";
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw SystemError(std::string(call) + " failed: " + text +
                    "; the network or another rank is in trouble (wsc doctor shows what each rank sees)");
}

/// Owns a communicator whose errors come back as return codes.
class Communicator {
 public:
  Communicator() = default;
  explicit Communicator(MPI_Comm comm) : comm_(comm) {
    if (comm_ != MPI_COMM_NULL) check(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  }
  Communicator(Communicator&& other) noexcept : comm_(std::exchange(other.comm_, MPI_COMM_NULL)) {}
  Communicator& operator=(Communicator&& other) noexcept {
    std::swap(comm_, other.comm_);
    return *this;
  }
  ~Communicator() = default;  // freed by release(): after an abort no MPI call may be made

  void release() {
    if (comm_ != MPI_COMM_NULL) check(MPI_Comm_free(&comm_), "MPI_Comm_free");
  }
  MPI_Comm get() const {
    WSC_EXPECT(comm_ != MPI_COMM_NULL);
    return comm_;
  }
  MPI_Comm handle() const { return comm_; }  ///< MPI_COMM_NULL where this rank does not take part

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
};

}  // namespace wsc::fabric
