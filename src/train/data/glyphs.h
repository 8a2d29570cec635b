// The fonts of this system as a source of images: which faces there are, and the ten digits of one painted
// with FreeType. Values only; each call is for one thread, and what it gives depends on the fonts and its
// arguments.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace gradwire {

struct FontFace {
  std::string family, style;  // "DejaVu Sans", "Bold Oblique"
  std::filesystem::path file;
  int number = 0;  // within a collection (.ttc)
  bool operator==(const FontFace&) const = default;
};

// The TrueType and OpenType faces under `directory` that have outlines of Latin letters and of ten different
// digits, each once, by family and style. Files that FreeType can't read and symbol fonts are passed over.
std::vector<FontFace> find_faces(const std::filesystem::path& directory = "/usr/share/fonts");

// Every fifth family is kept for the test, so that a face is tested on which not even a bolder sister was
// learnt.
struct FaceSplit {
  std::vector<FontFace> train, test;
};
FaceSplit split_families(std::span<const FontFace> faces);  // ConfigError if there is only one family

// `copies` of each digit, each of another size, turn, slant, weight and place: 0 to 255 for paper to ink,
// side x side pixels an image, row by row from the top; first the ten digits, then the next copy of them. A
// face that can't be painted after all gives ConfigError.
struct Painting {
  int side = 28, copies = 1;
  std::uint64_t seed = 0;
};
std::vector<std::uint8_t> paint_digits(const FontFace& face, const Painting& painting);

}  // namespace gradwire
