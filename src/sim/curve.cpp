#include "sim/curve.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "base/error.h"

namespace gradwire {
namespace {

constexpr std::size_t kMostStretches = 4, kFewestSizes = 3;
constexpr std::size_t kMostSizes = 256;  // dividing them is cubic
// Timing is never better than this, relatively; errors below it are not worth another stretch.
constexpr double kNoise = 1e-3;

// One sample for each size, by size: the median.
std::vector<Sample> medians(std::span<const Sample> samples) {
  std::map<Bytes, std::vector<Seconds>> times;
  for (const Sample& sample : samples) {
    if (!(sample.time > 0) || !std::isfinite(sample.time))
      throw ConfigError(
          fmt::format("a measured time of {} s for {} bytes: it must be above 0", sample.time, sample.bytes));
    times[sample.bytes].push_back(sample.time);
  }
  std::vector<Sample> result;
  for (auto& [bytes, all] : times) {
    std::ranges::sort(all);
    result.push_back({bytes, (all[all.size() / 2] + all[(all.size() - 1) / 2]) / 2});
  }
  return result;
}

double squares(std::span<const Sample> samples, const Stretch& line) {
  double sum = 0;
  for (const Sample& sample : samples)
    sum += std::pow(line.at(static_cast<double>(sample.bytes)) / sample.time - 1, 2);
  return sum;
}

struct Division {
  std::vector<std::size_t> first;  // of each stretch, the first sample
  double squares = std::numeric_limits<double>::infinity();
};

// best[k][i]: samples up to i in k + 1 stretches. Every division is made of a shorter one and one more
// stretch.
std::vector<Division> divide(std::span<const Sample> samples) {
  const std::size_t n = samples.size(), most = std::clamp<std::size_t>(n / kFewestSizes, 1, kMostStretches);
  std::vector<std::vector<Division>> best(most, std::vector<Division>(n + 1));
  for (std::size_t begin = 0; begin < n; ++begin)
    for (std::size_t end = begin + 1; end <= n; ++end) {
      const bool all = begin == 0 && end == n;
      if (end - begin < kFewestSizes && !all) continue;
      const auto part = samples.subspan(begin, end - begin);
      const double sum = squares(part, fit_line(part));
      if (begin == 0) best[0][end] = {{0}, sum};
      for (std::size_t k = 1; begin > 0 && k < most; ++k) {
        const Division& before = best[k - 1][begin];
        if (before.squares + sum >= best[k][end].squares) continue;
        best[k][end] = {before.first, before.squares + sum};
        best[k][end].first.push_back(begin);
      }
    }
  std::vector<Division> result;
  for (const auto& row : best) result.push_back(row[n]);
  return result;
}

// Bayes' criterion: another stretch must earn its three numbers.
double criterion(const Division& division, std::size_t samples) {
  const double n = static_cast<double>(samples);
  const double mean = std::max(division.squares / n, kNoise * kNoise);
  return n * std::log(mean) + 3 * static_cast<double>(division.first.size()) * std::log(n);
}

// Where two lines cross, if that is between the sizes next to the border; else in their middle.
double border(const Stretch& left, const Stretch& right, double last, double first) {
  const double crossing = (right.alpha - left.alpha) / (left.seconds_per_byte - right.seconds_per_byte);
  return crossing > last && crossing < first ? crossing : std::sqrt(std::max(1.0, last) * first);
}

FitError error_of(std::span<const Sample> samples, const Curve& curve) {
  FitError error;
  for (const Sample& sample : samples) {
    const double apart = std::abs(curve.at(sample.bytes) / sample.time - 1);
    error.mean += apart / static_cast<double>(samples.size());
    error.worst = std::max(error.worst, apart);
  }
  return error;
}

}  // namespace

Curve::Curve(std::vector<Stretch> stretches, FitError error)
    : stretches_(std::move(stretches)), error_(error) {
  check(!stretches_.empty(), "a curve has at least one stretch");
}

Seconds Curve::at(Bytes bytes) const {
  const double x = static_cast<double>(bytes);
  const auto after =
      std::upper_bound(stretches_.begin() + 1, stretches_.end(), x,
                       [](double value, const Stretch& stretch) { return value < stretch.from; });
  return std::prev(after)->at(x);
}

// With u = 1 / t and v = x / t the error is alpha u + beta v - 1: two normal equations. Where one of the two
// comes out below 0 it is 0, and the other alone fits best.
Stretch fit_line(std::span<const Sample> samples) {
  double uu = 0, uv = 0, vv = 0, u1 = 0, v1 = 0;
  for (const Sample& sample : samples) {
    const double u = 1 / sample.time, v = static_cast<double>(sample.bytes) / sample.time;
    uu += u * u, uv += u * v, vv += v * v, u1 += u, v1 += v;
  }
  const double determinant = uu * vv - uv * uv;
  Stretch line;
  if (determinant > 1e-12 * uu * vv) {
    line.alpha = (u1 * vv - v1 * uv) / determinant;
    line.seconds_per_byte = (v1 * uu - u1 * uv) / determinant;
    if (line.alpha >= 0 && line.seconds_per_byte >= 0) return line;
  }
  const Stretch flat{0, uu > 0 ? u1 / uu : 0, 0}, steep{0, 0, vv > 0 ? v1 / vv : 0};
  return vv > 0 && squares(samples, steep) < squares(samples, flat) ? steep : flat;
}

Curve fit_curve(std::span<const Sample> measured) {
  const std::vector<Sample> samples = medians(measured);
  if (samples.empty()) throw ConfigError("nothing was measured, so nothing can be fitted");
  if (samples.size() > kMostSizes)
    throw ConfigError(
        fmt::format("a sweep of {} sizes: at most {} can be fitted", samples.size(), kMostSizes));
  const std::vector<Division> divisions = divide(samples);
  const Division& division = *std::ranges::min_element(
      divisions, {}, [&](const Division& d) { return criterion(d, samples.size()); });
  std::vector<Stretch> stretches;
  for (std::size_t k = 0; k < division.first.size(); ++k) {
    const std::size_t begin = division.first[k];
    const std::size_t end = k + 1 < division.first.size() ? division.first[k + 1] : samples.size();
    Stretch line = fit_line(std::span(samples).subspan(begin, end - begin));
    if (k > 0)
      line.from = border(stretches.back(), line, static_cast<double>(samples[begin - 1].bytes),
                         static_cast<double>(samples[begin].bytes));
    stretches.push_back(line);
  }
  const Curve curve(stretches, {});
  return {std::move(stretches), error_of(samples, curve)};
}

}  // namespace gradwire
