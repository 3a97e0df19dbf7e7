// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace wsc::data {

/// The output folder of a build. Data appear in train/ and val/ at once, by rename; before that they lie in train.partial/ and
/// val.partial/, and a file INCOMPLETE says that the output is not finished.
class BuildOutput {
 public:
  /// Makes the folders; clears what a killed build has left. SettingsError where data lie there already and `overwrite` is not set.
  BuildOutput(const std::filesystem::path& output_dir, bool overwrite);

  /// Where to write "train" or "val" for now.
  std::filesystem::path folder(const std::string& split) const;

  /// Puts the data in place, with data_params.json. Without `with_val` there is no val/.
  void commit(const std::string& data_params, bool with_val);

  /// Removes what was written and leaves the reason in INCOMPLETE.
  void abandon(const std::string& reason) noexcept;

 private:
  void check_replaceable(const std::filesystem::path& folder, bool overwrite) const;

  std::filesystem::path output_dir_;
};

}  // namespace wsc::data
