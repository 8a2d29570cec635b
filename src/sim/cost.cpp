#include "sim/cost.h"

#include <algorithm>

#include "base/error.h"
#include "sched/layout.h"

namespace gradwire {
namespace {

void must(bool right, const char* what, double value, const char* rule) {
  if (!right) throw ConfigError(fmt::format("cost model: {} is {}, which must be {}", what, value, rule));
}

bool is_time(Seconds time) { return time >= 0 && time < std::numeric_limits<double>::infinity(); }

}  // namespace

void check_cost(const CostModel& cost) {
  must(is_time(cost.per_step), "per_step", cost.per_step, "0 or more");
  must(is_time(cost.per_message), "per_message", cost.per_message, "0 or more");
  must(cost.reduce_bytes_per_s > 0, "reduce_bytes_per_s", cost.reduce_bytes_per_s, "above 0");
  must(cost.copy_bytes_per_s > 0, "copy_bytes_per_s", cost.copy_bytes_per_s, "above 0");
  must(cost.efficiency > 0 && cost.efficiency < std::numeric_limits<double>::infinity(), "efficiency",
       cost.efficiency, "above 0");
}

Chunks::Chunks(const std::vector<Bytes>& sizes) : begin_{0} {
  for (const Bytes size : sizes) begin_.push_back(begin_.back() + size);
}

Chunks divide_evenly(const Shape& shape, Bytes bytes) {
  const std::size_t element = bytes % 4 == 0 ? 4 : 1;
  const Layout layout(shape, bytes / element, element);
  std::vector<Bytes> sizes;
  for (int chunk = 0; chunk < std::max({shape.chunks[kOut], shape.chunks[kIn], 1}); ++chunk)
    sizes.push_back(layout.bytes(out(chunk)));
  return Chunks(sizes);
}

Chunks equal_chunks(int count, Bytes each) {
  return Chunks(std::vector<Bytes>(static_cast<std::size_t>(count), each));
}

}  // namespace gradwire
