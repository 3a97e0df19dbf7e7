// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/hdf5/file.hpp"

#include <cstdlib>

#include "library.hpp"
#include <unistd.h>

namespace wsc::hdf5 {

namespace {

/// Chunks of this many bytes per dataset are kept decompressed; larger ones are decompressed at each read.
constexpr std::size_t chunk_cache_bytes = 4u << 20;

Handle file_access() {
  const std::string what = "HDF5: cannot set up file access";
  Handle access = own_properties(check(H5Pcreate(H5P_FILE_ACCESS), what));
  // Lustre, NFS and DVS mounts may refuse locks, even for reading (h5py/h5py #1082, HDFGroup/hdf5 #3311). The property came with HDF5
  // 1.10.7 and 1.12.1; older libraries look at an environment variable when a file is opened. The variable, where the user has set
  // it, keeps its say over the property.
#if H5_VERSION_GE(1, 12, 1) || (H5_VERS_MAJOR == 1 && H5_VERS_MINOR == 10 && H5_VERS_RELEASE >= 7)
  if (std::getenv("HDF5_USE_FILE_LOCKING") == nullptr) check(H5Pset_file_locking(access.id(), false, true), what);
#else
  setenv("HDF5_USE_FILE_LOCKING", "FALSE", 0);
#endif
  return access;
}

/// What can be said about a file better than the library does.
void check_readable(const std::filesystem::path& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) throw DataError(path.string() + ": no such file");
  if (std::filesystem::is_directory(status)) throw DataError(path.string() + ": is a folder, an HDF5 file is needed here");
  if (access(path.c_str(), R_OK) != 0) throw DataError(with_errno(path.string() + ": cannot be read"));
  if (std::filesystem::file_size(path, error) == 0 && !error)
    throw DataError(path.string() + ": is empty. It was not written to its end: make it again or restore a copy");
}

Handle open_file(const std::filesystem::path& path, unsigned flags) {
  check_readable(path);
  const Handle access = file_access();
  const hid_t id = H5Fopen(path.c_str(), flags, access.id());
  if (id >= 0) return own_file(id);
  const std::string why = reason();
  if (why.find("signature") != std::string::npos) throw DataError(path.string() + ": is not an HDF5 file");
  throw DataError(path.string() + ": cannot be opened as HDF5 (" + why +
                  "). It is damaged or was not written to its end: make it again or restore a copy");
}

/// Properties of a new object: no time stamps, and all attributes and links in the object's own header, however many they are. The library
/// would move many of them into a tree and a heap; 1.10.8 crashes when it lists one that is damaged, while damage to a header of the
/// checksummed format is an error like any other.
Handle creation_properties(hid_t property_class) {
  const std::string what = "HDF5: cannot set up creation properties";
  constexpr unsigned most = 65535;
  Handle properties = own_properties(check(H5Pcreate(property_class), what));
  check(H5Pset_obj_track_times(properties.id(), false), what);
  check(H5Pset_attr_phase_change(properties.id(), most, 0), what);
  if (check(H5Pisa_class(properties.id(), H5P_GROUP_CREATE), what) > 0) check(H5Pset_link_phase_change(properties.id(), most, 0), what);
  return properties;
}

Handle link_creation() {
  Handle properties = own_properties(check(H5Pcreate(H5P_LINK_CREATE), "HDF5: cannot set up link creation"));
  check(H5Pset_char_encoding(properties.id(), H5T_CSET_UTF8), "HDF5: cannot set up link creation");
  return properties;
}

/// Groups above a path. (The library's own way to create them would record time stamps.)
void create_parents(File& file, const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash != std::string::npos && slash > 0) file.create_group(path.substr(0, slash));
}

std::string quoted(const std::string& file, const std::string& path) { return file + ": '" + path + "'"; }

void list_below(hid_t group, const std::string& prefix, const std::string& file, std::vector<File::Entry>& entries) {
  const std::string what = file + ": cannot list '" + prefix + "'";
  H5G_info_t info;
  check(H5Gget_info(group, &info), what);
  for (hsize_t i = 0; i < info.nlinks; ++i) {
    const ssize_t length = check(H5Lget_name_by_idx(group, ".", H5_INDEX_NAME, H5_ITER_INC, i, nullptr, 0, H5P_DEFAULT), what);
    std::string name(length + 1, '\0');
    check(H5Lget_name_by_idx(group, ".", H5_INDEX_NAME, H5_ITER_INC, i, name.data(), name.size(), H5P_DEFAULT), what);
    name.pop_back();
    const std::string path = prefix.empty() ? name : prefix + "/" + name;
    const Handle object(check(H5Oopen(group, name.c_str(), H5P_DEFAULT), file + ": cannot open '" + path + "'"),
                        [](std::int64_t id) { H5Oclose(id); });  // only used under the caller's lock
    const bool is_group = H5Iget_type(object.id()) == H5I_GROUP;
    entries.push_back({path, is_group});
    if (is_group) list_below(object.id(), path, file, entries);
  }
}

}  // namespace

File File::open(const std::filesystem::path& path) {
  const Lock lock;
  return File(open_file(path, H5F_ACC_RDONLY), path.string());
}

File File::open_writable(const std::filesystem::path& path) {
  const Lock lock;
  return File(open_file(path, H5F_ACC_RDWR), path.string());
}

File File::create(const std::filesystem::path& path, const CreateOptions& options) {
  const Lock lock;
  const std::string what = path.string() + ": cannot be created";
  const Handle access = file_access(), creation = creation_properties(H5P_FILE_CREATE);
  if (options.checksummed_metadata) check(H5Pset_libver_bounds(access.id(), H5F_LIBVER_V110, H5F_LIBVER_V110), what);
  if (options.alignment_bytes > 1) check(H5Pset_alignment(access.id(), 4096, static_cast<hsize_t>(options.alignment_bytes)), what);
  return File(own_file(check_write(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation.id(), access.id()), what)), path.string());
}

bool File::exists(const std::string& path) const {
  const Lock lock;
  // Every link on the way has to be there: the library treats a missing group above as an error.
  for (std::size_t end = 0; end != std::string::npos;) {
    end = path.find('/', end + 1);
    const std::string part = path.substr(0, end);
    if (part.empty() || part == "/") continue;
    if (check(H5Lexists(id(), part.c_str(), H5P_DEFAULT), quoted(file_name_, path)) == 0) return false;
  }
  return true;
}

std::vector<File::Entry> File::list(const std::string& group) const {
  const Lock lock;
  std::vector<Entry> entries;
  const std::string prefix = group.substr(group.starts_with('/') ? 1 : 0);
  const Group top = this->group(group);
  list_below(top.id(), prefix, file_name_, entries);
  return entries;
}

void File::create_group(const std::string& path) {
  const Lock lock;
  if (exists(path)) return;
  create_parents(*this, path);
  const Handle links = link_creation(), creation = creation_properties(H5P_GROUP_CREATE);
  own_group(check_write(H5Gcreate2(id(), path.c_str(), links.id(), creation.id(), H5P_DEFAULT),
                        file_name_ + ": cannot create group '" + path + "'"));
}

Group File::group(const std::string& path) const {
  const Lock lock;
  if (!exists(path)) throw DataError(file_name_ + ": has no group '" + path + "'");
  Handle group = own_group(check(H5Gopen2(id(), path.c_str(), H5P_DEFAULT), quoted(file_name_, path) + " cannot be opened as a group"));
  return Group(std::move(group), file_name_, path);
}

Dataset File::dataset(const std::string& path) const {
  const Lock lock;
  if (!exists(path)) throw DataError(file_name_ + ": has no dataset '" + path + "'");
  const std::string what = quoted(file_name_, path) + " cannot be opened as a dataset";
  const Handle access = own_properties(check(H5Pcreate(H5P_DATASET_ACCESS), what));
  check(H5Pset_chunk_cache(access.id(), H5D_CHUNK_CACHE_NSLOTS_DEFAULT, chunk_cache_bytes, H5D_CHUNK_CACHE_W0_DEFAULT), what);
  return Dataset(own_dataset(check(H5Dopen2(id(), path.c_str(), access.id()), what)), file_name_, path);
}

Dataset File::create_contiguous(const std::string& path, Type type, const Shape& shape) {
  return create_dataset(path, type, shape, nullptr, 0);
}

Dataset File::create_chunked(const std::string& path, Type type, const Shape& shape, const Shape& chunk, int gzip) {
  WSC_EXPECT(!shape.empty() && shape.size() == chunk.size());
  return create_dataset(path, type, shape, &chunk, gzip);
}

Dataset File::create_dataset(const std::string& path, Type type, const Shape& shape, const Shape* chunk, int gzip) {
  const Lock lock;
  const std::string what = file_name_ + ": cannot create dataset '" + path + "'";
  create_parents(*this, path);
  const Handle links = link_creation(), creation = creation_properties(H5P_DATASET_CREATE);
  const std::vector<hsize_t> dims(shape.begin(), shape.end());
  std::vector<hsize_t> limits = dims;
  if (chunk) {
    const std::vector<hsize_t> extent(chunk->begin(), chunk->end());
    check(H5Pset_chunk(creation.id(), static_cast<int>(extent.size()), extent.data()), what);
    if (gzip > 0) check(H5Pset_deflate(creation.id(), static_cast<unsigned>(gzip)), what);
    limits[0] = H5S_UNLIMITED;
  } else {
    check(H5Pset_layout(creation.id(), H5D_CONTIGUOUS), what);
    check(H5Pset_alloc_time(creation.id(), H5D_ALLOC_TIME_EARLY), what);
    check(H5Pset_fill_time(creation.id(), H5D_FILL_TIME_NEVER), what);
  }
  const Handle space = own_space(
      check(shape.empty() ? H5Screate(H5S_SCALAR) : H5Screate_simple(static_cast<int>(dims.size()), dims.data(), limits.data()), what));
  Handle dataset =
      own_dataset(check_write(H5Dcreate2(id(), path.c_str(), memory_type(type), space.id(), links.id(), creation.id(), H5P_DEFAULT), what));
  return Dataset(std::move(dataset), file_name_, path);
}

void File::write_text(const std::string& path, std::string_view text) {
  const Lock lock;
  const std::string what = quoted(file_name_, path) + " cannot be written", value = text.empty() ? std::string(1, '\0') : std::string(text);
  create_parents(*this, path);
  const Handle links = link_creation(), creation = creation_properties(H5P_DATASET_CREATE), type = string_type(value.size());
  const Handle space = own_space(check(H5Screate(H5S_SCALAR), what));
  const Handle dataset =
      own_dataset(check_write(H5Dcreate2(id(), path.c_str(), type.id(), space.id(), links.id(), creation.id(), H5P_DEFAULT), what));
  check_write(H5Dwrite(dataset.id(), type.id(), H5S_ALL, H5S_ALL, H5P_DEFAULT, value.data()), what);
}

std::string File::read_text(const std::string& path) const {
  const Lock lock;
  const Dataset text = dataset(path);
  const std::string what = quoted(file_name_, path);
  if (text.type() != Type::string || elements(text.shape()) != 1) throw DataError(what + " should hold one string");
  const Handle type = own_type(check(H5Dget_type(text.id()), what));
  return read_string_value(type.id(), what + " cannot be read",
                           [&](hid_t memory, void* buffer) { return H5Dread(text.id(), memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, buffer); });
}

void File::flush() {
  const Lock lock;
  check_write(H5Fflush(id(), H5F_SCOPE_GLOBAL), file_name_ + ": cannot be written");
}

void File::close() {
  const Lock lock;
  if (!handle_) return;
  const auto open = H5Fget_obj_count(id(), H5F_OBJ_DATASET | H5F_OBJ_GROUP | H5F_OBJ_ATTR | H5F_OBJ_LOCAL);
  WSC_EXPECT(open == 0);  // an open dataset would keep the file open behind our back
  flush();
  check_write(H5Fclose(handle_.release()), file_name_ + ": cannot be closed");
}

}  // namespace wsc::hdf5
