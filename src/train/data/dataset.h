// What a model is trained on: samples by number, a batch of them as two tensors. Belongs to one thread.
//
// Real data: the digits 0 to 9 in the fonts of this system, painted when training starts; and text, byte by
// byte, from a file of the user's or the licences that every Debian system has in common-licenses. Generated
// data is noise made once: good for measuring, not for learning.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "train/catalog/catalog.h"
#include "train/data/glyphs.h"

namespace gradwire {

struct Batch {
  torch::Tensor input, target;  // target: int64 classes, -100 where there is nothing to learn
};

class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual std::int64_t size() const = 0;
  virtual Batch get(std::span<const std::int64_t> indices) = 0;
};

struct DataOptions {
  bool real = true;
  std::string text = {};   // a file; empty: the system's licences
  int sequence = 128;      // tokens in a sample of text
  int image = 224;         // pixels along each side of a generated image
  std::uint64_t seed = 0;  // of generated data
};

struct Data {
  std::unique_ptr<Dataset> train, test;  // test is none where data is generated
  std::string what;  // for people: "printed digits in 40 faces, tested on 12 it has not seen"
};

Data make_data(const TrainableModel& model, const DataOptions& options);  // throws ConfigError

// The parts it is made of.
// Digits in these faces: `count` at most, but at least once each; as many of each digit and face. `shape` is
// that of one sample: {1024}, {1, 28, 28}, {3, 64, 64}; images are painted in that size.
std::unique_ptr<Dataset> make_digits(std::span<const FontFace> faces, std::int64_t count,
                                     std::vector<std::int64_t> shape);

enum class Part { train, test };
// Samples of `sequence` bytes, one after another; the last twentieth of the text is the test. To predict is
// the next byte, or, masked, the 15 % of bytes that are hidden as BERT hides them.
struct TextOptions {
  int sequence = 128;
  bool masked = false;
  int vocabulary = 1024;  // above 256, so that there is a number for a hidden byte
};
std::unique_ptr<Dataset> make_text(const std::string& text, Part part, const TextOptions& options);

// Of a file, or of the licences in `directory`; at most 64 MiB.
std::string read_text(const std::filesystem::path& file);
std::string read_licences(const std::filesystem::path& directory = "/usr/share/common-licenses");

}  // namespace gradwire
