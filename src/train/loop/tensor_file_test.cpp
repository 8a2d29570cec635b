#include "train/loop/tensor_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "base/error.h"
#include "base/files.h"
#include "support/error_of.h"

namespace gradwire {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

const std::vector<float> kMatrix = {1, 2, 3, 4, 5, 6};
const std::vector<std::int64_t> kStep = {17};

std::vector<StoredTensor> sample() {
  return {{"b.weight", "F32", {2, 3}, std::as_bytes(std::span(kMatrix))},
          {"a.step", "I64", {}, std::as_bytes(std::span(kStep))},
          {"empty", "U8", {0, 4}, {}}};
}

std::string content() {
  const TempDir directory;
  write_tensor_file(directory.path() / "t", sample(), {{"gradwire.step", "5"}});
  return read_file(directory.path() / "t");
}

std::string file_error(const std::string& bytes, Unchecked unchecked = Unchecked::refuse) {
  return error_of([&] { TensorFile(bytes, "t.ckpt", unchecked); });
}

// A file with that header and so many bytes behind it.
std::string made(const std::string& header, std::size_t body) {
  const std::uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), 8) + header + std::string(body, '\0');
}

TEST(TensorFile, is_read_as_it_was_written) {
  const TensorFile file(content(), "t");
  ASSERT_EQ(file.tensors().size(), 3u);
  EXPECT_EQ(file.notes().at("gradwire.step"), "5");
  for (const auto& tensor : file.tensors())
    for (const auto& expected : sample())
      if (tensor.name == expected.name) {
        EXPECT_EQ(tensor.dtype, expected.dtype);
        EXPECT_EQ(tensor.shape, expected.shape);
        ASSERT_EQ(tensor.bytes.size(), expected.bytes.size());
        EXPECT_TRUE(std::equal(tensor.bytes.begin(), tensor.bytes.end(), expected.bytes.begin()));
      }
}

TEST(TensorFile, cut_anywhere_is_a_clear_error) {
  const auto whole = content();
  for (std::size_t length = 0; length < whole.size(); ++length)
    EXPECT_THAT(file_error(whole.substr(0, length)),
                AnyOf(HasSubstr("cut short"), HasSubstr("not a checkpoint")))
        << length;
}

TEST(TensorFile, with_any_bit_of_any_byte_flipped_is_refused) {
  const auto whole = content();
  for (std::size_t i = 0; i < whole.size(); ++i)
    for (int bit = 0; bit < 8; ++bit) {
      auto damaged = whole;
      damaged[i] = static_cast<char>(damaged[i] ^ 1 << bit);
      EXPECT_NE(file_error(damaged), "") << "byte " << i << ", bit " << bit;
    }
  auto damaged = whole;
  damaged[damaged.size() - 3] = static_cast<char>(damaged[damaged.size() - 3] ^ 4);
  EXPECT_THAT(file_error(damaged), HasSubstr("do not match its checksum"));
}

TEST(TensorFile, without_a_checksum_of_ours_is_read_only_when_asked_for) {
  const auto foreign = made(R"({"x":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", 4);
  EXPECT_THAT(error_of([&] { TensorFile(foreign, "t.ckpt"); }), HasSubstr("no checksum of gradwire"));
  EXPECT_EQ(TensorFile(foreign, "t.ckpt", Unchecked::accept).tensors().size(), 1u);
  auto damaged = content();
  damaged.back() = static_cast<char>(damaged.back() ^ 1);
  EXPECT_THAT(error_of([&] { TensorFile(damaged, "t.ckpt", Unchecked::accept); }), HasSubstr("damaged"));
}

// A tensor or a note may have any name.
TEST(TensorFile, finds_its_checksum_whatever_stands_around_it) {
  const TempDir directory;
  const std::string key = R"("gradwire.checksum":"00000000000000000000000000000000")";
  write_tensor_file(directory.path() / "t", {{key, "U8", {0}, {}}, {"gradwire.checksum", "U8", {0}, {}}},
                    {{"a", key}, {key, "b"}});
  const TensorFile file(directory.path() / "t");
  EXPECT_EQ(file.notes().at("a"), key);
  EXPECT_EQ(file.checksum().size(), 32u);
}

TEST(TensorFile, of_another_kind_is_refused) {
  EXPECT_THAT(file_error("PK\x03\x04 a zip file of torch.save"), HasSubstr("not a checkpoint"));
  EXPECT_THAT(file_error(""), HasSubstr("not a checkpoint"));
  EXPECT_THAT(file_error(std::string(64, '\xff')), HasSubstr("not a checkpoint"));
}

// Nobody has the memory to read this first.
TEST(TensorFile, of_200_gigabytes_that_is_none_is_refused_by_its_beginning) {
  const TempDir directory;
  const auto path = directory.path() / "t.ckpt";
  const auto error = [&](const std::string& begin) {
    write_file(path, begin);
    std::filesystem::resize_file(path, 200'000'000'000);
    return error_of([&] { const TensorFile file(path); });
  };
  EXPECT_THAT(error(""), HasSubstr("t.ckpt: this is not a checkpoint"));
  EXPECT_THAT(error("PK\x03\x04 a zip file of torch.save"), HasSubstr("not a checkpoint"));
  EXPECT_THAT(error(content()), HasSubstr("bytes follow the last tensor"));
  EXPECT_THAT(error(made("{ nothing that ends", 0)), HasSubstr("its header is damaged"));
  EXPECT_THAT(
      error(made(R"({"x":{"dtype":"U8","shape":[999000000000],"data_offsets":[0,999000000000]}})", 0)),
      HasSubstr("it is cut short: its tensors need 999000000000 bytes"));
}

TEST(TensorFile, with_a_header_that_lies_is_refused) {
  const auto one = [](const char* dtype, const char* shape, const char* offsets) {
    return fmt::format(R"({{"x":{{"dtype":"{}","shape":{},"data_offsets":{}}}}})", dtype, shape, offsets);
  };
  EXPECT_EQ(file_error(made(one("F32", "[2]", "[0,8]"), 8), Unchecked::accept), "");
  EXPECT_THAT(file_error(made(one("F32", "[2]", "[0,8]"), 9)), HasSubstr("1 bytes follow"));
  EXPECT_THAT(file_error(made(one("F32", "[2]", "[0,9]"), 9)), HasSubstr("disagree"));
  EXPECT_THAT(file_error(made(one("F32", "[2]", "[8,0]"), 8)), HasSubstr("disagree"));
  EXPECT_THAT(file_error(made(one("F32", "[-2]", "[0,8]"), 8)), HasSubstr("whole number"));
  EXPECT_THAT(file_error(made(one("F32", "[4294967296,4294967296]", "[0,8]"), 8)),
              HasSubstr("more elements"));
  EXPECT_THAT(file_error(made(one("F32", "[9e9]", "[0,8]"), 8)), HasSubstr("whole number"));
  EXPECT_THAT(file_error(made(one("F8", "[2]", "[0,8]"), 8)), HasSubstr("'F8' is not a type"));
  EXPECT_THAT(file_error(made(one("F32", "2", "[0,8]"), 8)), HasSubstr("shape a list"));
  EXPECT_THAT(file_error(made(R"({"x":5})", 0)), HasSubstr("needs dtype"));
  EXPECT_THAT(file_error(made(R"({"__metadata__":{"a":1}})", 0)), HasSubstr("should be a text"));
  EXPECT_THAT(file_error(made(R"({"x":{)", 0)), HasSubstr("damaged"));
  EXPECT_THAT(file_error(made(R"({"x":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                              R"("y":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}})",
                              6)),
              HasSubstr("does not follow"));
}

}  // namespace
}  // namespace gradwire
