// What one rank of a run did, cut into pieces to draw: the activities of a GPU stream by stream, or without one the phases of
// the loop and its collectives. Values.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "import/profile.h"
#include "report/page/page_data.h"

namespace gradwire {

enum class PieceKind { data, forward, backward, optimizer, other, communication, copies };
inline constexpr const char* kPieceKinds[] = {"data",  "forward",       "backward", "optimizer",
                                              "other", "communication", "copies"};

struct DrawnPiece {
  int lane = 0;
  PieceKind kind = PieceKind::other;
  int step = 0, name = 0;
  Nanoseconds begin = 0, end = 0;
  double bytes = -1;
};

// Names of kernels are as long as their templates are deep.
class NameList {
 public:
  int add(std::string_view name);
  const std::vector<std::string>& all() const { return names_; }

 private:
  std::map<std::string, std::size_t> index_;
  std::vector<std::string> names_;
};

// On the rank's own clock.
struct RankPieces {
  std::vector<DrawnPiece> pieces;
  std::vector<Nanoseconds> ends;  // of its collectives, in their order
};

// Adds to `lanes` and `names` what its pieces have and these lack.
RankPieces rank_pieces(const Profile&, int rank, std::vector<DrawnTimeline::Lane>& lanes, NameList& names);

}  // namespace gradwire
