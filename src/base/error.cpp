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

namespace {

Error out_of_memory(const std::string& detail) {
  return SystemError(
      "out of memory" + detail +
      ". Use more ranks, lower the batch size or train_input.micro_batch_size, or set csx.memory (`wsc plan` shows what each "
      "role needs).");
}

}  // namespace

Error to_error(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return out_of_memory("");
  } catch (const std::exception& error) {
    // Some versions of Kokkos report it as a plain runtime_error: "Kokkos ERROR: Host memory space failed to allocate 5.1 TiB (label=…)."
    const std::string text = error.what();
    if (const auto at = text.find("failed to allocate"); at != std::string::npos)
      return out_of_memory(": " + text.substr(at, text.find(" (", at) - at));
    return SystemError("unexpected failure: " + text);
  }
}

void contract_violated(const char* kind, const char* condition, const std::source_location& where) {
  std::fprintf(stderr, "wsc: bug: %s failed: %s (%s:%u, %s). Please report this with the command you ran.\n", kind, condition,
               where.file_name(), static_cast<unsigned>(where.line()), where.function_name());
  std::fflush(stderr);
  std::abort();
}

}  // namespace wsc
