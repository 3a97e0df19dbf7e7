// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "build_output.hpp"

#include <cerrno>
#include <fstream>
#include <utility>

#include "wsc/base/error.hpp"
#include "wsc/data/token_writer.hpp"

namespace fs = std::filesystem;

namespace wsc::data {

namespace {

/// Runs a file system operation; what fails is the system's.
template <class Operation>
void attempt(const std::string& what, Operation operation) {
  try {
    operation();
  } catch (const fs::filesystem_error& e) {
    throw SystemError(what + ": " + e.code().message());
  }
}

void write_file(const fs::path& path, const std::string& text) {
  errno = 0;
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << text;
  out.close();
  if (!out) throw SystemError(with_errno(path.string() + ": cannot be written"));
  sync_path(path);
}

}  // namespace

BuildOutput::BuildOutput(const fs::path& output_dir, bool overwrite) : output_dir_(output_dir) {
  std::error_code error;
  if (fs::exists(output_dir, error) && !fs::is_directory(output_dir, error))
    throw SettingsError(output_dir.string() + ": is in the way, it is not a folder. Choose another output folder");
  for (const char* split : {"train", "val"}) check_replaceable(output_dir / split, overwrite);
  attempt(output_dir.string() + ": cannot be made ready", [&] {
    for (const char* split : {"train", "val"}) {
      fs::remove_all(folder(split));
      fs::create_directories(folder(split));
    }
  });
  write_file(output_dir / "INCOMPLETE",
             "A build of this data set is under way, or was killed: train.partial and val.partial are unfinished.\n");
}

void BuildOutput::check_replaceable(const fs::path& folder, bool overwrite) const {
  std::error_code error;
  if (!fs::exists(folder, error)) return;
  if (!fs::is_directory(folder, error))
    throw SettingsError(folder.string() + ": is in the way, it is not a folder. Choose another output folder");
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (!name.starts_with("examples_") || !name.ends_with(".h5")) {
      throw SettingsError(it->path().string() + ": is no output of `wsc data build`, so " + folder.string() +
                          " is not replaced. Choose another output folder");
    }
    if (!overwrite) throw SettingsError(folder.string() + ": holds data already. Choose another output folder, or allow to overwrite it");
  }
  if (error) throw SystemError(folder.string() + ": cannot be listed: " + error.message());
}

fs::path BuildOutput::folder(const std::string& split) const { return output_dir_ / (split + ".partial"); }

void BuildOutput::commit(const std::string& data_params, bool with_val) {
  attempt(output_dir_.string() + ": the finished data cannot be put in place", [&] {
    for (const std::string split : {"train", "val"}) {
      const bool wanted = split == "train" || with_val;
      if (wanted) sync_path(folder(split));
      fs::remove_all(output_dir_ / split);
      if (wanted) {
        fs::rename(folder(split), output_dir_ / split);
      } else {
        fs::remove_all(folder(split));
      }
    }
  });
  write_file(output_dir_ / "data_params.json", data_params);
  attempt(output_dir_.string() + ": cannot remove INCOMPLETE", [&] { fs::remove(output_dir_ / "INCOMPLETE"); });
  sync_path(output_dir_);
}

void BuildOutput::abandon(const std::string& reason) noexcept {
  std::error_code ignored;
  for (const char* split : {"train", "val"}) fs::remove_all(folder(split), ignored);  // first: it makes room for the line below
  std::ofstream(output_dir_ / "INCOMPLETE", std::ios::trunc) << "The build of this data set failed: " << reason << "\n";
}

}  // namespace wsc::data
