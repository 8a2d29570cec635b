#include "train/loop/metrics.h"

#include <functional>
#include <vector>

namespace gradwire {

void Metrics::add(const std::string& name, double value, double weight) {
  Sum& sum = sums_[name];
  if (weight == 0) return;  // 0 times a NaN would be one
  sum.value += value * weight;
  sum.weight += weight;
}

std::map<std::string, double> Metrics::reduce(Communicator& communicator) {
  std::vector<double> numbers;
  std::string names;
  for (const auto& [name, sum] : sums_) {
    numbers.insert(numbers.end(), {sum.value, sum.weight});
    names += name + '\n';
  }
  Call call = all_reduce(bytes_of(numbers), DType::f64);
  call.tag = static_cast<std::uint32_t>(std::hash<std::string>{}(names));
  communicator.run(call);
  std::map<std::string, double> means;
  std::size_t i = 0;
  for (const auto& [name, sum] : sums_) {
    if (numbers[i + 1] != 0) means[name] = numbers[i] / numbers[i + 1];
    i += 2;
  }
  sums_.clear();
  return means;
}

}  // namespace gradwire
