#include <algorithm>
#include <fstream>
#include <random>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "train/data/dataset.h"

namespace gradwire {
namespace {

constexpr std::size_t kMostText = std::size_t{64} << 20;
constexpr std::int64_t kHidden = 256;  // the number that stands for a hidden byte
constexpr std::int64_t kNothingToLearn = -100;

class Text : public Dataset {
 public:
  Text(std::string_view text, const TextOptions& options) : options_(options), bytes_(text) {}

  // The byte after the last of a sample is needed as its target.
  std::int64_t size() const override {
    return (static_cast<std::int64_t>(bytes_.size()) - 1) / options_.sequence;
  }

  Batch get(std::span<const std::int64_t> indices) override {
    std::vector<std::int64_t> input, target;
    for (const auto index : indices) {
      const auto* first = reinterpret_cast<const unsigned char*>(bytes_.data()) + index * options_.sequence;
      input.insert(input.end(), first, first + options_.sequence);
      if (options_.masked)
        hide(index, std::span(input).last(static_cast<std::size_t>(options_.sequence)), target);
      else
        target.insert(target.end(), first + 1, first + 1 + options_.sequence);
    }
    const auto count = static_cast<std::int64_t>(indices.size());
    return {torch::tensor(input).view({count, options_.sequence}),
            torch::tensor(target).view({count, options_.sequence})};
  }

 private:
  // As Devlin et al. 2018, section 3.1: of 15 % chosen, 80 % are hidden, 10 % replaced, 10 % left as they
  // are.
  static void hide(std::int64_t index, std::span<std::int64_t> sample, std::vector<std::int64_t>& target) {
    std::mt19937_64 random(static_cast<std::uint64_t>(index));
    const auto always = random() % sample.size();  // a loss needs a byte to ask for
    for (std::size_t i = 0; i < sample.size(); ++i) {
      auto& byte = sample[i];
      const auto draw = i == always ? 0 : random() % 1000;
      target.push_back(draw < 150 ? byte : kNothingToLearn);
      if (draw < 120)
        byte = kHidden;
      else if (draw < 135)
        byte = static_cast<std::int64_t>(random() % 256);
    }
  }

  const TextOptions options_;
  const std::string bytes_;
};

}  // namespace

std::unique_ptr<Dataset> make_text(const std::string& text, Part part, const TextOptions& options) {
  const auto cut = text.size() - text.size() / 20;
  const auto piece =
      part == Part::train ? std::string_view(text).substr(0, cut) : std::string_view(text).substr(cut);
  auto made = std::make_unique<Text>(piece, options);
  if (options.sequence < 1 || made->size() < 1)
    throw ConfigError(
        fmt::format("a text of {} bytes is too short for samples of {}: there must be 20 times as much",
                    text.size(), options.sequence));
  if (options.vocabulary <= kHidden)
    throw ConfigError("text by the byte needs a vocabulary of more than 256");
  return made;
}

std::string read_text(const std::filesystem::path& file) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error))
    throw ConfigError(fmt::format("can't read the text {}: it is no file", file.string()));
  std::ifstream in(file, std::ios::binary);
  const auto size = std::min<std::uintmax_t>(std::filesystem::file_size(file, error), kMostText);
  std::string text(static_cast<std::size_t>(size), '\0');
  if (!in.read(text.data(), static_cast<std::streamsize>(text.size())))
    throw ConfigError(fmt::format("can't read the text {}", file.string()));
  return text;
}

std::string read_licences(const std::filesystem::path& directory) {
  std::vector<std::filesystem::path> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error))
    if (entry.is_regular_file() && !entry.is_symlink()) files.push_back(entry.path());
  if (files.empty())
    throw ConfigError(fmt::format("there is no text in {}: name one with --text FILE", directory.string()));
  std::sort(files.begin(), files.end());
  std::string text;
  for (const auto& file : files) text += read_text(file);
  return text;
}

}  // namespace gradwire
