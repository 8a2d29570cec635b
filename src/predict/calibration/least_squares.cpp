#include "predict/calibration/least_squares.h"

#include <cmath>

#include "base/error.h"

namespace gradwire {

LeastSquares::LeastSquares(std::size_t unknowns)
    : size_(unknowns), matrix_(unknowns * unknowns), right_(unknowns) {}

void LeastSquares::pull(std::size_t column, double to, double strength) {
  at(column, column) += strength;
  right_[column] += strength * to;
}

void LeastSquares::add(std::span<const Term> terms, double target, double weight) {
  for (const Term& a : terms) {
    right_[a.column] += weight * a.factor * target;
    for (const Term& b : terms) at(a.column, b.column) += weight * a.factor * b.factor;
  }
}

std::vector<double> LeastSquares::factor() const {
  std::vector<double> lower = matrix_;
  const auto l = [&](std::size_t row, std::size_t column) -> double& { return lower[row * size_ + column]; };
  for (std::size_t j = 0; j < size_; ++j) {
    for (std::size_t k = 0; k < j; ++k) l(j, j) -= l(j, k) * l(j, k);
    check(l(j, j) > 0, "least squares: an unknown without a pull");
    l(j, j) = std::sqrt(l(j, j));
    for (std::size_t i = j + 1; i < size_; ++i) {
      for (std::size_t k = 0; k < j; ++k) l(i, j) -= l(i, k) * l(j, k);
      l(i, j) /= l(j, j);
    }
  }
  return lower;
}

std::vector<double> LeastSquares::substitute(const std::vector<double>& lower, std::vector<double> x) const {
  const auto l = [&](std::size_t row, std::size_t column) { return lower[row * size_ + column]; };
  for (std::size_t i = 0; i < size_; ++i) {
    for (std::size_t k = 0; k < i; ++k) x[i] -= l(i, k) * x[k];
    x[i] /= l(i, i);
  }
  for (std::size_t i = size_; i-- > 0;) {
    for (std::size_t k = i + 1; k < size_; ++k) x[i] -= l(k, i) * x[k];
    x[i] /= l(i, i);
  }
  return x;
}

std::vector<double> LeastSquares::solve() const { return substitute(factor(), right_); }

std::vector<double> LeastSquares::covariance(std::size_t unknowns) const {
  const auto lower = factor();
  std::vector<double> rows;
  for (std::size_t i = 0; i < unknowns; ++i) {
    std::vector<double> unit(size_);
    unit[i] = 1;
    const auto row = substitute(lower, std::move(unit));
    rows.insert(rows.end(), row.begin(), row.begin() + static_cast<std::ptrdiff_t>(unknowns));
  }
  return rows;
}

std::vector<double> LeastSquares::spreads() const {
  const auto together = covariance(size_);
  std::vector<double> spreads(size_);
  for (std::size_t i = 0; i < size_; ++i) spreads[i] = std::sqrt(together[i * size_ + i]);
  return spreads;
}

}  // namespace gradwire
