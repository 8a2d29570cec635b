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

  void pull(std::size_t column, double strength);                           // to 0
  void pull_together(std::size_t one, std::size_t other, double strength);  // to each other
  void add(std::span<const Term>, double target, double weight);  // sum(factor x unknown) should be target
  std::vector<double> solve() const;

 private:
  double& at(std::size_t row, std::size_t column) { return matrix_[row * size_ + column]; }

  std::size_t size_;
  std::vector<double> matrix_, right_;
};

}  // namespace gradwire
