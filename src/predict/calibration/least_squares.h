// Weighted linear least squares by normal equations and Cholesky's factorization: for a few hundred unknowns
// and rows that each touch a few of them. Every unknown needs a pull, which also makes the system solvable.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace gradwire {

class LeastSquares {
 public:
  struct Term {
    std::size_t column;
    double factor;
  };

  explicit LeastSquares(std::size_t unknowns);

  void pull(std::size_t column, double to, double strength);
  void add(std::span<const Term>, double target, double weight);  // sum(factor x unknown) should be target
  std::vector<double> solve() const;
  std::vector<double> spreads() const;  // standard deviation of each unknown, where weights are 1 / variance
  // How the first unknowns vary together, row by row.
  std::vector<double> covariance(std::size_t unknowns) const;

 private:
  std::vector<double> factor() const;
  std::vector<double> substitute(const std::vector<double>& lower, std::vector<double> right) const;
  double& at(std::size_t row, std::size_t column) { return matrix_[row * size_ + column]; }

  std::size_t size_;
  std::vector<double> matrix_, right_;
};

}  // namespace gradwire
