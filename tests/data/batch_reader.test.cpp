// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/data/batch_reader.hpp"

#include "tests/data/temporary_folder.hpp"
#include <gmock/gmock.h>

#include "wsc/base/error.hpp"

namespace wsc::data {
namespace {

/// 23 one-dimensional windows of 4 tokens; token i is i. Sample s starts with token 4 s.
class BatchReaderTest : public TemporaryFolder {
 protected:
  BatchReaderTest() {
    std::vector<std::int32_t> tokens(4 * 23 + 1);
    for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<std::int32_t>(i);
    hdf5::File f = hdf5::File::create(dir / "a.h5");
    f.create_contiguous("data", hdf5::Type::i32, {93}).write(tokens.data());
  }

  /// Samples of global batches of 6, of which this rank takes its contiguous part.
  static BatchReader::Source part(std::int64_t rank, std::int64_t ranks) {
    return [=](std::int64_t step) { return BatchPart::range(6 * step, rank * 6 / ranks, (rank + 1) * 6 / ranks - rank * 6 / ranks); };
  }
};

TEST_F(BatchReaderTest, SameBatchesWhateverThePrefetch) {
  const Dataset d(dir / "a.h5", {.sequence_length = 4});
  const Sampler sampler(23, true, 5);
  for (std::int64_t prefetch : {0, 1, 3, 8}) {
    BatchReader reader(d, sampler, part(0, 1), 0, prefetch);
    for (std::int64_t step = 0; step < 20; ++step) {
      const Batch b = reader.next().value();
      ASSERT_EQ(b.step, step);
      ASSERT_EQ(b.first_position, 6 * step);
      ASSERT_EQ(b.samples, 6);
      for (std::int64_t i = 0; i < 6; ++i) {
        ASSERT_EQ(b.global_index[i], i);
        const std::int64_t begin = 4 * sampler.sample(6 * step + i) + sampler.window_shift(6 * step + i, 4);
        ASSERT_EQ(b.input_ids[4 * i], begin);
        if (begin + 4 < 93) {
          ASSERT_EQ(b.labels[4 * i + 3], begin + 4);
        }
      }
    }
  }
}

TEST_F(BatchReaderTest, RanksTogetherReadTheGlobalBatchAndGoOnAnywhere) {
  const Dataset d(dir / "a.h5", {.sequence_length = 4});
  const Sampler sampler(23, true, 5);
  for (std::int64_t ranks : {1, 2, 3, 4, 7}) {
    for (std::int64_t first_step : {0, 3, 11}) {
      std::vector<std::int32_t> seen(6, -1);
      for (std::int64_t rank = 0; rank < ranks; ++rank) {
        BatchReader reader(d, sampler, part(rank, ranks), first_step, 2);
        reader.next();
        const Batch b = reader.next().value();
        for (std::int64_t i = 0; i < b.samples; ++i) seen[b.global_index[i]] = b.input_ids[4 * i];
      }
      for (std::int64_t i = 0; i < 6; ++i)
        EXPECT_EQ(seen[i], 4 * sampler.sample(6 * (first_step + 1) + i) + sampler.window_shift(6 * (first_step + 1) + i, 4));
    }
  }
}

TEST_F(BatchReaderTest, EndsWithAShortBatch) {
  const Dataset d(dir / "a.h5", {.sequence_length = 4});
  const auto plain = [](std::int64_t step) -> std::optional<BatchPart> {
    if (6 * step >= 23) return std::nullopt;
    return BatchPart::range(6 * step, 0, std::min<std::int64_t>(6, 23 - 6 * step));
  };
  for (std::int64_t prefetch : {0, 2}) {
    BatchReader reader(d, Sampler(23, false, 0), plain, 0, prefetch);
    std::vector<std::int64_t> sizes;
    while (const auto b = reader.next()) sizes.push_back(b->samples);
    EXPECT_THAT(sizes, testing::ElementsAre(6, 6, 6, 5));
    EXPECT_FALSE(reader.next());
  }
}

TEST_F(BatchReaderTest, ErrorsSurfaceAtTheirStep) {
  const Dataset d(dir / "a.h5", {.sequence_length = 4, .vocab_size = 80});  // sample 19 ends with label 80
  for (std::int64_t prefetch : {0, 1, 8}) {
    BatchReader reader(d, Sampler(23, false, 0), part(0, 1), 0, prefetch);
    for (int step = 0; step < 3; ++step) EXPECT_EQ(reader.next().value().step, step);
    EXPECT_THAT(message_of<DataError>([&] { reader.next(); }), testing::HasSubstr("window 19 has token 80"));
    EXPECT_THAT(message_of<DataError>([&] { reader.next(); }), testing::HasSubstr("window 19 has token 80"));
  }
}

TEST_F(BatchReaderTest, MayBeDroppedAtAnyTime) {
  const Dataset d(dir / "a.h5", {.sequence_length = 4});
  for (int used = 0; used < 20; ++used) {
    BatchReader reader(d, Sampler(23, true, 0), part(0, 1), 0, 3);
    for (int i = 0; i < used % 4; ++i) reader.next();
  }
}

}  // namespace
}  // namespace wsc::data
