// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <source_location>
#include <stdexcept>
#include <string>
#include <string_view>

namespace wsc {

/// What a process returns. A fatal error never exits with 0.
enum class ExitCode : int {
  ok = 0,
  settings = 2,   ///< a user error in options, deck or layout
  data = 3,       ///< a user error in data or files
  numerical = 4,  ///< the run diverged
  system = 5,     ///< operating system, MPI or I/O failed
  requeue = 75,   ///< stopped by a signal or a time limit after a good checkpoint
};

/// An error that ends the run with one sentence for the user: what is wrong, where, what to do.
class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

/// The user can mend it: settings.
struct SettingsError : Error {
  explicit SettingsError(const std::string& message) : Error(ExitCode::settings, message) {}
};
/// The user can mend it: data or files.
struct DataError : Error {
  explicit DataError(const std::string& message) : Error(ExitCode::data, message) {}
};
/// Loss or gradients stopped being finite for too long.
struct NumericalError : Error {
  explicit NumericalError(const std::string& message) : Error(ExitCode::numerical, message) {}
};
/// Operating system, MPI or I/O.
struct SystemError : Error {
  explicit SystemError(const std::string& message) : Error(ExitCode::system, message) {}
};

/// What to tell the user of any exception: an Error as it is, anything else as a SystemError.
Error to_error(const std::exception_ptr& failure);

/// "<what>: <strerror(errno)>", for SystemError messages.
std::string with_errno(std::string_view what);

/// A bug of ours: prints condition, file and line, and aborts.
[[noreturn]] void contract_violated(const char* kind, const char* condition, const std::source_location& where);

}  // namespace wsc

/// Contracts: preconditions (expect), inner claims (assert) and results (ensure). Always on: they cost little outside kernels.
#define WSC_CONTRACT(kind, condition)                                                              \
  do {                                                                                             \
    if (!(condition)) ::wsc::contract_violated(kind, #condition, std::source_location::current()); \
  } while (false)
#define WSC_EXPECT(condition) WSC_CONTRACT("precondition", condition)
#define WSC_ASSERT(condition) WSC_CONTRACT("assertion", condition)
#define WSC_ENSURE(condition) WSC_CONTRACT("postcondition", condition)
