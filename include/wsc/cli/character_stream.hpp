// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace wsc::cli {

/// Text that arrives in pieces which may cut UTF-8 characters: passes bytes on as soon as they are whole characters. Bytes that cannot
/// become one pass as they are, so that nothing is lost or changed.
class CharacterStream {
 public:
  /// What can be shown now that `bytes` have arrived.
  std::string take(std::string_view bytes);
  /// At the end: what has been waiting for the rest of a character.
  std::string rest();

 private:
  std::string waiting_;
};

}  // namespace wsc::cli
