// FreeType's library and faces as things that clean up after themselves.
#pragma once

#include <ft2build.h>
#include FT_FREETYPE_H

#include <memory>

#include "base/error.h"
#include "train/data/glyphs.h"

namespace gradwire {

struct CloseLibrary {
  void operator()(FT_Library library) const { FT_Done_FreeType(library); }
};
struct CloseFace {
  void operator()(FT_Face face) const { FT_Done_Face(face); }
};
using FontLibrary = std::unique_ptr<FT_LibraryRec_, CloseLibrary>;
using OpenFace = std::unique_ptr<FT_FaceRec_, CloseFace>;  // must go before its library

inline FontLibrary open_fonts() {
  FT_Library library = nullptr;
  if (FT_Init_FreeType(&library) != 0) throw Error("FreeType does not start");
  return FontLibrary(library);
}

// None if it can't be read.
inline OpenFace open_face(const FontLibrary& library, const std::filesystem::path& file, int number) {
  FT_Face face = nullptr;
  return OpenFace(FT_New_Face(library.get(), file.c_str(), number, &face) == 0 ? face : nullptr);
}

}  // namespace gradwire
