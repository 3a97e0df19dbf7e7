// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/base/error.hpp"

#include <new>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace wsc {
namespace {

template <class Exception>
Error told(const Exception& e) {
  return to_error(std::make_exception_ptr(e));
}

TEST(ToError, WhatTheUserIsTold) {
  EXPECT_EQ(told(DataError("a file")).code(), ExitCode::data);
  EXPECT_STREQ(told(DataError("a file")).what(), "a file");
  EXPECT_EQ(told(std::bad_alloc()).code(), ExitCode::system);
  EXPECT_THAT(told(std::bad_alloc()).what(), testing::StartsWith("out of memory. "));
  const Error allocation = told(std::runtime_error("Kokkos ERROR: Host memory space failed to allocate 5.141 TiB (label=\"x\")."));
  EXPECT_THAT(allocation.what(),
              testing::AllOf(testing::StartsWith("out of memory: failed to allocate 5.141 TiB. "), testing::HasSubstr("csx.memory")));
  EXPECT_THAT(told(std::logic_error("odd")).what(), testing::StrEq("unexpected failure: odd"));
}

}  // namespace
}  // namespace wsc
