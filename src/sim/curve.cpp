#include "sim/curve.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "base/error.h"

namespace gradwire {
namespace {

constexpr std::size_t kMostStretches = 4, kFewestSizes = 2;
constexpr double kTooFar = 0.2;          // a stretch that misses a size by more is no description of it
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

double squares_of_line(std::span<const Sample> samples, const Stretch& line) {
  double sum = 0;
  for (const Sample& sample : samples)
    sum += std::pow(std::log(line.at(static_cast<double>(sample.bytes)) / sample.time), 2);
  return sum;
}

// With u = 1 / f, v = x / f and y = 1 + log(t / f): least squares_of_line of alpha u + beta v - y, two normal
// equations. Where one of the two comes out below 0 it is 0, and the other alone fits best.
Stretch solve_near(std::span<const Sample> samples, std::span<const double> near) {
  double uu = 0, uv = 0, vv = 0, uy = 0, vy = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const double u = 1 / near[i], v = static_cast<double>(samples[i].bytes) / near[i];
    const double y = 1 + std::log(samples[i].time / near[i]);
    uu += u * u, uv += u * v, vv += v * v, uy += u * y, vy += v * y;
  }
  const double determinant = uu * vv - uv * uv;
  if (determinant > 1e-12 * uu * vv) {
    const Stretch line{0, (uy * vv - vy * uv) / determinant, (vy * uu - uy * uv) / determinant};
    if (line.alpha >= 0 && line.seconds_per_byte >= 0) return line;
  }
  const Stretch flat{0, std::max(0.0, uy / uu), 0}, steep{0, 0, vv > 0 ? std::max(0.0, vy / vv) : 0};
  return vv > 0 && squares_of_line(samples, steep) < squares_of_line(samples, flat) ? steep : flat;
}

struct Division {
  std::vector<std::size_t> first;  // of each stretch, the first sample
  double squares_of_line = std::numeric_limits<double>::infinity();
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
      const double sum = squares_of_line(part, fit_line(part));
      if (begin == 0) best[0][end] = {{0}, sum};
      for (std::size_t k = 1; begin > 0 && k < most; ++k) {
        const Division& before = best[k - 1][begin];
        if (before.squares_of_line + sum >= best[k][end].squares_of_line) continue;
        best[k][end] = {before.first, before.squares_of_line + sum};
        best[k][end].first.push_back(begin);
      }
    }
  std::vector<Division> result;
  for (const auto& row : best) result.push_back(row[n]);
  return result;
}

// Bayes' criterion: another stretch must earn its two numbers, and a border that was picked among all.
double criterion(const Division& division, std::size_t samples) {
  const double n = static_cast<double>(samples), stretches = static_cast<double>(division.first.size());
  const double free = std::max(n - 2 * stretches, 1.0);  // what two numbers for each line leave to chance
  const double mean = std::max(division.squares_of_line / free, kNoise * kNoise);
  return n * std::log(mean) + 4 * stretches * std::log(n);
}

// Where two lines cross, if that is between the sizes next to the border; else in their middle.
double border(const Stretch& left, const Stretch& right, double last, double first) {
  const double crossing = (right.alpha - left.alpha) / (left.seconds_per_byte - right.seconds_per_byte);
  return crossing > last && crossing < first ? crossing : std::sqrt(std::max(1.0, last) * first);
}

std::vector<Stretch> stretches_of(std::span<const Sample> samples, const Division& division) {
  std::vector<Stretch> stretches;
  for (std::size_t k = 0; k < division.first.size(); ++k) {
    const std::size_t begin = division.first[k];
    const std::size_t end = k + 1 < division.first.size() ? division.first[k + 1] : samples.size();
    Stretch line = fit_line(samples.subspan(begin, end - begin));
    if (k > 0)
      line.from = border(stretches.back(), line, static_cast<double>(samples[begin - 1].bytes),
                         static_cast<double>(samples[begin].bytes));
    stretches.push_back(line);
  }
  return stretches;
}

Stretch through(const Sample& left, const Sample& right) {
  const double slope = (right.time - left.time) / static_cast<double>(right.bytes - left.bytes);
  return {static_cast<double>(left.bytes), left.time - slope * static_cast<double>(left.bytes), slope};
}

// From size to size. Below the first the time is the first's; above the last the rate is the last's.
Curve through_all(std::span<const Sample> samples) {
  std::vector<Stretch> stretches = {{0, samples.front().time, 0}};
  FitError error;
  for (std::size_t i = 1; i < samples.size(); ++i) {
    stretches.push_back(through(samples[i - 1], samples[i]));
    if (i + 1 == samples.size()) continue;
    const double between = through(samples[i - 1], samples[i + 1]).at(static_cast<double>(samples[i].bytes));
    const double apart = std::abs(between / samples[i].time - 1);
    error.mean += apart / static_cast<double>(samples.size() - 2);
    error.worst = std::max(error.worst, apart);
  }
  const double last = static_cast<double>(samples.back().bytes);
  stretches.push_back({last, 0, samples.back().time / last});
  return {std::move(stretches), error};
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

// As few lines as the criterion allows; where they miss a size by too much, those nearest on average.
Curve few_lines(std::span<const Sample> samples) {
  std::optional<Curve> best, nearest;
  double lowest = 0;
  for (const Division& division : divide(samples)) {
    std::vector<Stretch> stretches = stretches_of(samples, division);
    const FitError error = error_of(samples, {stretches, {}});
    const Curve curve(std::move(stretches), error);
    const double worth = criterion(division, samples.size());
    if (!best || worth < lowest) best = curve, lowest = worth;
    if (!nearest || error.mean < nearest->error().mean) nearest = curve;
  }
  return best->error().worst <= kTooFar ? *best : *nearest;
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

// Near a first line f, log(line / t) is (line - f) / f - log(t / f): linear in alpha and beta. So a few
// linear solutions, each begun with the last one's line, find the best; the first is begun with the times
// themselves.
Stretch fit_line(std::span<const Sample> samples) {
  std::vector<double> near;
  for (const Sample& sample : samples) near.push_back(sample.time);
  Stretch best = solve_near(samples, near);
  for (int round = 0; round < 50; ++round) {
    for (std::size_t i = 0; i < near.size(); ++i)
      near[i] = std::max(best.at(static_cast<double>(samples[i].bytes)), samples[i].time * 1e-3);
    const Stretch next = solve_near(samples, near);
    if (squares_of_line(samples, next) >= squares_of_line(samples, best) * (1 - 1e-12)) break;
    best = next;
  }
  return best;
}

Curve fit_curve(std::span<const Sample> measured) {
  const std::vector<Sample> samples = medians(measured);
  if (samples.empty()) throw ConfigError("nothing was measured, so nothing can be fitted");
  if (samples.size() > kMostSizes)
    throw ConfigError(
        fmt::format("a sweep of {} sizes: at most {} can be fitted", samples.size(), kMostSizes));
  Curve few = few_lines(samples);
  if (few.error().worst <= kTooFar || samples.size() < 3) return few;
  Curve through = through_all(samples);
  return through.error().mean < few.error().mean ? through : few;
}

}  // namespace gradwire
