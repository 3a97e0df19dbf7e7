// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "wsc/base/error.hpp"
#include "wsc/checkpoint/pieces.hpp"
#include "wsc/checkpoint/run_state.hpp"
#include "wsc/hdf5/file.hpp"

/// The layout of a file: names, attributes, run state. All numbers of /run are attributes and all texts datasets with a checksum, because
/// the library protects attributes of fixed size by checksums of its own, but not the heap where texts of variable length lie.
namespace wsc::checkpoint::format {

inline constexpr const char* model_group = "model";
inline constexpr const char* optimizer_group = "optimizer";
inline constexpr const char* run_group = "run";
inline constexpr const char* partial_suffix = ".partial";

/// A DataError about a file that is not damaged: no other checkpoint is proposed.
struct Refusal : DataError {
  using DataError::DataError;
};

/// The groups of the arrays in their order: "model", "optimizer/<state>", ...
std::vector<std::string> array_groups(const std::vector<std::string>& state_names);
inline std::string dataset_name(const std::string& group, const std::string& parameter) { return group + "/" + parameter; }
/// (rows, columns), or (rows) for a vector.
hdf5::Shape shape_of(const Param& parameter);
std::string text_of(const hdf5::Shape& shape);  ///< "(257, 32)"

void write_state(hdf5::File& file, const RunState& state, std::int64_t parameters);
RunState read_state(const hdf5::File& file);

void write_crc(hdf5::Object& object, std::uint32_t crc);
/// Throws DataError "file: dataset '…' is damaged" where the stored checksum is another one.
void check_crc(const hdf5::Object& dataset, std::uint32_t found);
[[noreturn]] void refuse_crc(const std::string& file, const std::string& dataset, std::int64_t stored, std::uint32_t found);

void write_marker(hdf5::File& file, bool complete);
bool has_marker(const hdf5::File& file);

/// Opens for reading. Refusal: newer format, not a checkpoint. DataError: incomplete, damaged.
hdf5::File open_complete(const std::filesystem::path& path);
/// Refusal where the file is of a newer format or not a checkpoint.
void check_version(const hdf5::File& file);

/// A parameter as the file has it.
struct StoredParameter {
  std::string name;
  hdf5::Shape shape;
  auto operator<=>(const StoredParameter&) const = default;
};
/// What lies below an array group, by name; only fp32 arrays are allowed there.
std::vector<StoredParameter> stored_parameters(const hdf5::File& file, const std::string& group);

/// CRC-32 of every array, [array · parameters + parameter], from those of its pieces. The pieces of an array must cover it exactly
/// (contract) or be absent altogether; `covered` says which are there.
struct Combined {
  std::vector<std::uint32_t> crc;
  std::vector<bool> covered;
};
Combined combine(const Graph& graph, std::size_t arrays, std::span<const PieceChecksum> pieces);

/// Goes through all elements of an fp32 array in order, some MiB at a time: f(std::span<const float>).
template <class F>
void scan(const hdf5::Dataset& array, F f) {
  const std::int64_t row = std::max<std::int64_t>(1, array.row_elements()), rows_at_once = std::max<std::int64_t>(1, (1 << 20) / row);
  std::vector<float> buffer(static_cast<std::size_t>(std::min(rows_at_once, array.rows()) * row));
  for (std::int64_t first = 0; first < array.rows(); first += rows_at_once) {
    const std::int64_t count = std::min(rows_at_once, array.rows() - first);
    array.read_rows(first, count, buffer.data());
    f(std::span<const float>(buffer.data(), static_cast<std::size_t>(count * row)));
  }
}

/// Is every value finite? By bits: right under any compiler flags.
bool all_finite(std::span<const float> values);

}  // namespace wsc::checkpoint::format
