#include "sim/cost.h"

#include "base/error.h"

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

}  // namespace gradwire
