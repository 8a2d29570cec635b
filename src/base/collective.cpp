#include "base/collective.h"

#include <array>
#include <span>

#include "base/error.h"
#include "base/similar.h"
#include "base/text.h"

namespace gradwire {
namespace {

constexpr std::array<std::string_view, kCollectives> kCollectiveNames = {
    "all_reduce", "reduce_scatter", "all_gather", "broadcast", "reduce", "all_to_all",
    "barrier",    "gather",         "scatter",    "send",      "recv",   "exchange"};
constexpr std::array<std::string_view, kDTypes> kDTypeNames = {"f32", "f64", "f16", "bf16",
                                                               "i8",  "u8",  "i32", "i64"};
constexpr std::array<std::string_view, kReductions> kReductionNames = {"sum", "avg", "min", "max", "product"};

template <typename E>
std::string_view name_in(std::span<const std::string_view> names, E value) {
  const auto index = static_cast<std::size_t>(value);
  return index < names.size() ? names[index] : "unknown";
}

template <typename E>
E parse_in(std::span<const std::string_view> names, std::string_view text, const char* meaning) {
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == text) return static_cast<E>(i);
  const std::vector<std::string> known(names.begin(), names.end());
  throw ConfigError(fmt::format("'{:.60}' is not a {}: there are {}{}", text, meaning, join(known, ", "),
                                did_you_mean(text, known)));
}

bool has_root(Collective kind) {
  return kind == Collective::broadcast || kind == Collective::reduce || kind == Collective::gather ||
         kind == Collective::scatter;
}

}  // namespace

double bus_factor(Collective kind, int ranks) {
  const double share = (ranks - 1.0) / ranks;
  switch (kind) {
    case Collective::all_reduce:
      return 2 * share;
    case Collective::reduce_scatter:
    case Collective::all_gather:
    case Collective::all_to_all:
    case Collective::gather:
    case Collective::scatter:
      return share;
    case Collective::broadcast:
    case Collective::reduce:
    case Collective::barrier:
    case Collective::send:
    case Collective::recv:
    case Collective::exchange:
      return 1;
  }
  return 1;
}

std::string_view name_of(Collective value) { return name_in(kCollectiveNames, value); }
std::string_view name_of(DType value) { return name_in(kDTypeNames, value); }
std::string_view name_of(Reduction value) { return name_in(kReductionNames, value); }

Collective parse_collective(std::string_view text) {
  return parse_in<Collective>(kCollectiveNames, text, "collective");
}
DType parse_dtype(std::string_view text) { return parse_in<DType>(kDTypeNames, text, "type"); }
Reduction parse_reduction(std::string_view text) {
  return parse_in<Reduction>(kReductionNames, text, "reduction");
}

std::string describe(const Signature& call) {
  const std::string tag = call.tag != 0 ? fmt::format(", tag {}", call.tag) : "";
  if (call.kind == Collective::send) return fmt::format("a message of {} bytes{}", call.bytes, tag);
  std::string text = fmt::format("call {}: {}", call.sequence, name_of(call.kind));
  if (call.kind == Collective::barrier) return text;
  text += fmt::format(" of {} bytes, {}", call.bytes, name_of(call.dtype()));
  const bool reduces = call.kind == Collective::all_reduce || call.kind == Collective::reduce_scatter ||
                       call.kind == Collective::reduce;
  if (reduces) text += fmt::format(", {}", name_of(call.reduction()));
  if (has_root(call.kind)) text += fmt::format(", root {}", call.root);
  return text + tag;
}

std::string describe_mismatch(Rank mine, const Signature& my_call, Rank theirs, const Signature& their_call) {
  return fmt::format("ranks disagree: rank {} is in {}, but rank {} is in {}", mine, describe(my_call),
                     theirs, describe(their_call));
}

}  // namespace gradwire
