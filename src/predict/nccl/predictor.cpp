#include "predict/nccl/predictor.h"

#include <algorithm>
#include <cmath>

namespace gradwire {
namespace {

constexpr Bytes kLargeRow = 1000 * 1000;  // where what is left open changes from small to large
constexpr double kNudge = 0.02;           // of a logarithm, for slopes

bool same_choice(const NcclChoice& a, const NcclChoice& b) {
  return a.algorithm == b.algorithm && a.protocol == b.protocol;
}

constexpr Bytes kSmallest = 64, kLargest = Bytes{1} << 36;  // beyond, nothing changes

}  // namespace

double NcclDoubt::total() const {
  double sum = rest * rest;
  for (const double one : by_constant) sum += one * one;
  return std::sqrt(sum);
}

double NcclDoubt::width() const { return std::exp(kEightOfTen * total()); }

NcclPredictor::NcclPredictor(const NcclFabric& fabric, const Calibration& calibration, Collective kind)
    : fabric_(fabric), calibration_(calibration), kind_(kind), price_(fabric, calibration.values, kind) {
  if (fabric.ranks > 1) find_segments();
}

void NcclPredictor::find_segments() {
  segments_ = {{0, nccl_choice(fabric_, kSmallest, kind_), 0}};
  for (Bytes low = kSmallest; low < kLargest; low *= 2) {
    const NcclChoice next = nccl_choice(fabric_, 2 * low, kind_), before = segments_.back().choice;
    if (same_choice(next, before)) continue;
    Bytes first = low,
          last = 2 * low;  // the change lies between: first takes the old choice, last the new one
    while (last - first > last / 1024 + 1) {
      const Bytes middle = first + (last - first) / 2;
      (same_choice(nccl_choice(fabric_, middle, kind_), next) ? last : first) = middle;
    }
    const Seconds least = std::max(segments_.back().least, price_.time(before, last));
    segments_.push_back({last, next, least});
  }
}

const NcclPredictor::Segment& NcclPredictor::segment(Bytes bytes) const {
  auto found = segments_.begin();
  while (found + 1 != segments_.end() && (found + 1)->from <= bytes) ++found;
  return *found;
}

Seconds NcclPredictor::time(Bytes bytes) const {
  if (fabric_.ranks == 1 || bytes == 0) return 0;
  const Segment& here = segment(bytes);
  return std::max(here.least, price_.time(here.choice, bytes));
}

bool NcclPredictor::as_smaller(Bytes bytes) const {
  if (fabric_.ranks == 1 || bytes == 0) return false;
  const Segment& here = segment(bytes);
  return here.least > price_.time(here.choice, bytes);
}

NcclChoice NcclPredictor::choice(Bytes bytes) const {
  NcclChoice choice = segment(bytes).choice;
  choice.channels = nccl_channels(fabric_, choice, bytes);
  return choice;
}

NcclDoubt NcclPredictor::doubt(Bytes bytes) const {
  NcclDoubt doubt;
  if (fabric_.ranks == 1 || bytes == 0) return doubt;
  const NcclChoice choice = segment(bytes).choice;
  const double here = price_.time(choice, bytes);
  const Unexplained open = calibration_.unexplained_of(class_of(fabric_));
  NcclConstants slopes{};
  for (std::size_t i = 0; i < kNcclConstants; ++i) {
    slopes[i] = std::log(price_.with(i, std::exp(kNudge)).time(choice, bytes) / here) / kNudge;
    doubt.by_constant[i] = slopes[i] * calibration_.spreads[i];
  }
  doubt.rest = bytes < kLargeRow ? open.below_1mb : open.from_1mb;
  if (calibration_.own.together.empty()) return doubt;
  return {{}, std::min(doubt.total(), calibration_.own.of(slopes))};  // this machine's, shared with no other
}

}  // namespace gradwire
