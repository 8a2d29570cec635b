// Why a transport broke: an error as a value, so that a rank can keep it, tell it to its peers, and throw it
// again. It remembers who found it, so that a report that travels over several ranks still names the cause.
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"

namespace gradwire {

struct Fault {
  enum class Kind : std::uint8_t { error, mismatch, timeout, peer_lost, cancelled };

  Kind kind = Kind::error;
  Rank origin = 0;  // who found it
  Rank peer = -1;   // who is lost, when somebody is
  std::string text;
  std::vector<Rank> awaited = {};  // of a timeout: by the rank that has this value; not told to others

  static Fault of(const std::exception& error, Rank origin);
  // Throws it as rank `here` sees it: the same kind of error, except that a peer which cancelled is lost to
  // others.
  [[noreturn]] void raise(Rank here) const;

  // As a rank sees it that waits itself, for `theirs`: whoever lost patience first may have waited for this one, and this one
  // knows for whom; `waits` says it in words.
  Fault seen_by(Rank here, std::vector<Rank> theirs, const std::string& waits) const;

  std::string encode() const;                  // at most kLongest bytes; a long text is cut
  static Fault decode(std::string_view text);  // of bytes from anywhere

  static constexpr std::size_t kLongest = 3000;
};

}  // namespace gradwire
