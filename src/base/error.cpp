// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/base/error.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

namespace wsc {

std::string with_errno(std::string_view what) { return std::string(what) + ": " + std::strerror(errno); }

Error to_error(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return SystemError(
        "out of memory. Use more memoryx ranks, lower train_input.micro_batch_size or set csx.memory (`wsc plan` shows what "
        "each role needs).");
  } catch (const std::exception& error) {
    return SystemError(std::string("unexpected failure: ") + error.what());
  }
}

void contract_violated(const char* kind, const char* condition, const std::source_location& where) {
  std::fprintf(stderr, "wsc: bug: %s failed: %s (%s:%u, %s). Please report this with the command you ran.\n", kind, condition,
               where.file_name(), static_cast<unsigned>(where.line()), where.function_name());
  std::fflush(stderr);
  std::abort();
}

}  // namespace wsc
