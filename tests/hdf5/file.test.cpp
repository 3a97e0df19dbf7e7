// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/hdf5/file.hpp"

#include <atomic>
#include <fstream>
#include <numeric>
#include <sstream>
#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "wsc/base/error.hpp"

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using wsc::hdf5::File;
using wsc::hdf5::Type;

namespace {

class Hdf5 : public testing::Test {
 protected:
  Hdf5() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    dir = fs::temp_directory_path() / ("wsc-hdf5-" + std::to_string(getpid()) + "-" + test->name());
    fs::create_directories(dir);
  }
  ~Hdf5() override { fs::remove_all(dir); }
  fs::path dir;
};

std::string bytes_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

template <class E, class F>
std::string message_of(F f) {
  try {
    f();
  } catch (const E& e) {
    return e.what();
  }
  return "(nothing was thrown)";
}

TEST_F(Hdf5, AttributesComeBack) {
  {
    File f = File::create(dir / "a.h5");
    f.write_int("step", -(std::int64_t{1} << 60));
    f.write_double("loss", 0.1);
    f.write_string("name", "größe");
    f.write_string("empty", "");
    f.write_ints("list", {3, 1, 2});
    f.write_doubles("none", {});
    f.write_int("twice", 1);
    f.write_int("twice", 2);
    f.create_group("run/inner");
    auto g = f.group("run/inner");
    g.write_int("n", 5);
  }
  const File f = File::open(dir / "a.h5");
  EXPECT_EQ(f.read_int("step"), -(std::int64_t{1} << 60));
  EXPECT_EQ(f.read_double("loss"), 0.1);
  EXPECT_EQ(f.read_string("name"), "größe");
  EXPECT_EQ(f.read_string("empty"), "");
  EXPECT_THAT(f.read_ints("list"), ElementsAre(3, 1, 2));
  EXPECT_THAT(f.read_doubles("none"), ElementsAre());
  EXPECT_EQ(f.read_int("twice"), 2);
  EXPECT_EQ(f.group("run/inner").read_int("n"), 5);
  EXPECT_TRUE(f.has_attribute("step"));
  EXPECT_FALSE(f.has_attribute("steps"));
  EXPECT_THAT(f.attributes(), ElementsAre("empty", "list", "loss", "name", "none", "step", "twice"));
  const auto missing = message_of<wsc::DataError>([&] { f.read_int("steps"); });
  EXPECT_THAT(missing, AllOf(HasSubstr("a.h5"), HasSubstr("steps"), HasSubstr("missing")));
  EXPECT_THROW(f.read_int("loss"), wsc::DataError);
  EXPECT_THROW(f.read_int("list"), wsc::DataError);
  EXPECT_THROW(f.read_string("step"), wsc::DataError);
  EXPECT_THROW(f.group("nowhere"), wsc::DataError);
}

TEST_F(Hdf5, RowsComeBack) {
  {
    File f = File::create(dir / "a.h5");
    std::vector<std::int32_t> values(5 * 2 * 3);
    std::iota(values.begin(), values.end(), 100);
    auto d = f.create_contiguous("deep/data", Type::i32, {5, 2, 3});
    d.write(values.data());
    const std::int32_t row[6] = {-1, -2, -3, -4, -5, -6};
    d.write_rows(2, 1, row);
    f.create_contiguous("scalar", Type::f32, {}).write(std::vector<float>{2.5f}.data());
    f.create_contiguous("nothing", Type::f32, {0, 4});
  }
  const File f = File::open(dir / "a.h5");
  const auto d = f.dataset("deep/data");
  EXPECT_THAT(d.shape(), ElementsAre(5, 2, 3));
  EXPECT_EQ(d.type(), Type::i32);
  EXPECT_EQ(d.row_elements(), 6);
  std::vector<std::int64_t> two_rows(12);
  d.read_rows(1, 2, two_rows.data());
  EXPECT_THAT(two_rows, ElementsAre(106, 107, 108, 109, 110, 111, -1, -2, -3, -4, -5, -6));
  EXPECT_THROW(d.read_rows(4, 2, two_rows.data()), wsc::DataError);
  EXPECT_THROW(d.read_rows(-1, 2, two_rows.data()), wsc::DataError);
  std::vector<float> floats(30);
  EXPECT_THAT(message_of<wsc::DataError>([&] { d.read(floats.data()); }), HasSubstr("int32"));
  float scalar = 0;
  f.dataset("scalar").read(&scalar);
  EXPECT_EQ(scalar, 2.5f);
  EXPECT_EQ(f.dataset("nothing").rows(), 0);
  EXPECT_EQ(f.dataset("nothing").offset_bytes(), -1);
  EXPECT_THAT(message_of<wsc::DataError>([&] { f.dataset("deep/date"); }), HasSubstr("deep/date"));
  EXPECT_THROW(f.dataset("deep"), wsc::DataError);
}

TEST_F(Hdf5, OthersWriteAtTheOffset) {
  const fs::path path = dir / "a.h5";
  std::vector<float> values(1000);
  std::iota(values.begin(), values.end(), 0.5f);
  std::int64_t offset = 0;
  {
    File f = File::create(path, {.checksummed_metadata = true, .alignment_bytes = 4096});
    f.create_contiguous("before", Type::f32, {3});
    offset = f.create_contiguous("model/weight", Type::f32, {10, 100}).offset_bytes();
    f.close();
  }
  ASSERT_GT(offset, 0);
  EXPECT_GE(fs::file_size(path), static_cast<std::uintmax_t>(offset) + 4000);
  const int fd = ::open(path.c_str(), O_WRONLY);
  ASSERT_EQ(pwrite(fd, values.data() + 500, 2000, offset + 2000), 2000);
  ASSERT_EQ(pwrite(fd, values.data(), 2000, offset), 2000);
  ::close(fd);
  {
    File f = File::open_writable(path);
    f.write_int("complete", 1);
    f.close();
  }
  const File f = File::open(path);
  std::vector<float> back(1000);
  f.dataset("model/weight").read(back.data());
  EXPECT_EQ(back, values);
  EXPECT_EQ(f.read_int("complete"), 1);
}

TEST_F(Hdf5, ChunkedGrowsAndIsSmaller) {
  {
    File f = File::create(dir / "a.h5");
    auto d = f.create_chunked("data", Type::i32, {0, 3, 1000}, {1, 3, 1000}, 4);
    for (std::int32_t i = 0; i < 50; ++i) {
      const std::vector<std::int32_t> sample(3000, i);
      d.resize(i + 1);
      d.write_rows(i, 1, sample.data());
    }
    EXPECT_THROW(d.offset_bytes(), wsc::DataError);
  }
  EXPECT_LT(fs::file_size(dir / "a.h5"), 100'000u);
  const File f = File::open(dir / "a.h5");
  std::vector<std::int32_t> sample(3000);
  f.dataset("data").read_rows(49, 1, sample.data());
  EXPECT_THAT(sample, testing::Each(49));
}

TEST_F(Hdf5, ListsAndFinds) {
  File f = File::create(dir / "a.h5");
  f.create_contiguous("model/layers/1/weight", Type::f32, {2});
  f.create_contiguous("model/layers/0/weight", Type::f32, {2});
  f.create_group("model/layers/0");
  f.create_contiguous("run", Type::f32, {2});
  std::vector<std::string> paths;
  for (const auto& e : f.list()) paths.push_back((e.is_group ? "g " : "d ") + e.path);
  EXPECT_THAT(paths, ElementsAre("g model", "g model/layers", "g model/layers/0", "d model/layers/0/weight", "g model/layers/1",
                                 "d model/layers/1/weight", "d run"));
  ASSERT_EQ(f.list("/model/layers/1").size(), 1u);
  EXPECT_EQ(f.list("/model/layers/1")[0].path, "model/layers/1/weight");
  EXPECT_TRUE(f.exists("model/layers"));
  EXPECT_TRUE(f.exists("/model/layers/0/weight"));
  EXPECT_FALSE(f.exists("model/layer/0/weight"));
  EXPECT_TRUE(f.exists("/"));
}

TEST_F(Hdf5, LongTexts) {
  std::string text(200'000, 'x');
  text += "ü\n";
  {
    File f = File::create(dir / "a.h5");
    f.write_text("meta/tokenizer", text);
    f.write_text("empty", "");
  }
  const File f = File::open(dir / "a.h5");
  EXPECT_EQ(f.read_text("meta/tokenizer"), text);
  EXPECT_EQ(f.read_text("empty"), "");
}

TEST_F(Hdf5, ReadsWhatH5pyWrites) {
  const File f = File::open(fs::path(WSC_SOURCE_DIR) / "tests/hdf5/golden/h5py_file.h5");
  EXPECT_EQ(f.read_int("count"), 7);
  EXPECT_EQ(f.read_int("small"), 200);
  EXPECT_EQ(f.read_double("rate"), 0.125);
  EXPECT_EQ(f.read_double("count"), 7.0);
  EXPECT_EQ(f.read_string("name"), "größe");
  EXPECT_EQ(f.read_string("bytes"), "fixed");
  EXPECT_THAT(f.read_ints("list"), ElementsAre(3, 1, 2));
  std::vector<std::int32_t> i(6);
  f.dataset("group/inner/i16").read_rows(1, 2, i.data());
  EXPECT_THAT(i, ElementsAre(-2, -1, 0, 1, 2, 3));
  std::vector<double> d(2);
  f.dataset("group/big_endian").read(d.data());
  EXPECT_THAT(d, ElementsAre(1.5, -2.25));
  std::vector<std::int32_t> z(4);
  f.dataset("zipped").read_rows(9, 1, z.data());
  EXPECT_THAT(z, ElementsAre(36, 37, 38, 39));
  EXPECT_EQ(f.read_text("text"), "a text\nof two lines");
  EXPECT_EQ(f.dataset("compound").type(), Type::other);
  EXPECT_THROW(f.dataset("compound").read(d.data()), wsc::DataError);
}

TEST_F(Hdf5, BadFilesAreExplained) {
  const auto open = [&](const fs::path& path) { return message_of<wsc::DataError>([&] { File::open(path); }); };
  EXPECT_THAT(open(dir / "none.h5"), AllOf(HasSubstr("none.h5"), HasSubstr("no such file")));
  EXPECT_THAT(open(dir), HasSubstr("folder"));
  std::ofstream(dir / "empty.h5").close();
  EXPECT_THAT(open(dir / "empty.h5"), HasSubstr("empty"));
  std::ofstream(dir / "text.h5") << std::string(10'000, 'a');
  EXPECT_THAT(open(dir / "text.h5"), HasSubstr("not an HDF5 file"));
  {
    File f = File::create(dir / "cut.h5");
    const std::vector<float> values(10'000, 1);
    f.create_contiguous("data", Type::f32, {10'000}).write(values.data());
  }
  fs::resize_file(dir / "cut.h5", 20'000);
  EXPECT_THAT(open(dir / "cut.h5"), AllOf(HasSubstr("cut.h5"), HasSubstr("truncated")));
  EXPECT_THROW(File::create(dir / "no" / "folder.h5"), wsc::SystemError);
}

TEST_F(Hdf5, FlippedByteInMetadataIsNoticed) {
  {
    File f = File::create(dir / "a.h5", {.checksummed_metadata = true});
    f.create_contiguous("weight", Type::f32, {4}).write_int("a", 1);
    f.close();
  }
  const std::string good = bytes_of(dir / "a.h5");
  const std::size_t header = good.find("OHDR");
  ASSERT_NE(header, std::string::npos);
  int noticed = 0;
  for (std::size_t i = header + 4; i < header + 20; ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x10);
    std::ofstream(dir / "b.h5", std::ios::binary) << bad;
    noticed += message_of<wsc::DataError>([&] { File::open(dir / "b.h5").dataset("weight").read_int("a"); }) != "(nothing was thrown)";
  }
  EXPECT_EQ(noticed, 16);
}

TEST_F(Hdf5, EqualContentGivesEqualBytes) {
  for (const char* name : {"a.h5", "b.h5"}) {
    File f = File::create(dir / name, {.checksummed_metadata = true});
    const std::vector<float> values(100, 1);
    f.create_contiguous("g/data", Type::f32, {100}).write(values.data());
    f.write_text("text", "same");
    f.write_string("s", "same");
    f.close();
    if (name[0] == 'a') sleep(1);  // a recorded time would differ now
  }
  EXPECT_TRUE(bytes_of(dir / "a.h5") == bytes_of(dir / "b.h5"));
}

TEST_F(Hdf5, FullDiskIsReported) {
  // A file size limit stands in for a full disk.
  rlimit old{};
  getrlimit(RLIMIT_FSIZE, &old);
  const rlimit small{100'000, old.rlim_max};
  auto* handler = signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  const std::vector<float> values(100'000, 1);
  const auto message = message_of<wsc::SystemError>([&] {
    File f = File::create(dir / "a.h5");
    f.create_contiguous("data", Type::f32, {100'000}).write(values.data());
    f.close();
  });
  setrlimit(RLIMIT_FSIZE, &old);
  signal(SIGXFSZ, handler);
  EXPECT_THAT(message, AllOf(HasSubstr("a.h5"), HasSubstr("failed: File too large"), HasSubstr("disk full")));
}

TEST_F(Hdf5, ManyThreads) {
  {
    File f = File::create(dir / "a.h5");
    auto d = f.create_chunked("data", Type::i32, {64, 100}, {1, 100}, 1);
    for (std::int32_t i = 0; i < 64; ++i) d.write_rows(i, 1, std::vector<std::int32_t>(100, i).data());
  }
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const File f = File::open(dir / "a.h5");
      const auto d = f.dataset("data");
      std::vector<std::int32_t> row(100);
      for (std::int32_t i = 0; i < 64; ++i) {
        d.read_rows((i + 16 * t) % 64, 1, row.data());
        wrong += row[50] != (i + 16 * t) % 64;
      }
      message_of<wsc::DataError>([&] { f.dataset("none"); });
    });
  }
  for (auto& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
