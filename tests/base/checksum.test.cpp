// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/base/checksum.hpp"

#include <gtest/gtest.h>

namespace wsc {
namespace {

TEST(Checksum, KnownValueAndCombination) {
  Checksum whole;
  whole.add("123456789");
  EXPECT_EQ(whole.value(), 0xCBF43926u);  // the check value of CRC-32/ISO-HDLC

  Checksum tail, combined;
  tail.add("56789");
  combined.add("1234");
  combined.append(tail.value(), 5);
  EXPECT_EQ(combined.value(), whole.value());
}

TEST(Fingerprint, Fnv1a) { EXPECT_EQ(fingerprint("foobar"), "85944171f73967e8"); }

}  // namespace
}  // namespace wsc
