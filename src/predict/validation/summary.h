// How far predictions are off: one line of figures for any set of points.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "predict/validation/collectives.h"

namespace gradwire {

struct ErrorSummary {
  int count = 0;
  double mean_abs_error = 0, median_abs_error = 0, p90_abs_error = 0;
  double bias = 0;              // mean of signed errors: above 0 means predicted too slow
  double inside = 0;            // share of measurements within their range
  double alpha_beta_error = 0;  // mean absolute error of bytes / link rate on the same points
};

ErrorSummary summarize(std::span<const ValidationPoint>);

// Points that pass a test, as a copy.
template <typename Test>
std::vector<ValidationPoint> points_where(std::span<const ValidationPoint> points, Test test) {
  std::vector<ValidationPoint> chosen;
  for (const ValidationPoint& point : points)
    if (test(point)) chosen.push_back(point);
  return chosen;
}

bool counts(const ValidationPoint&);    // of quality ok
bool is_large(const ValidationPoint&);  // from 1 MB on

// Takes out the points that no figure came out for (not finite, or not above 0) and notes them in `skipped`.
void drop_unpredicted(std::vector<ValidationPoint>&, std::vector<Skipped>& skipped);

std::vector<ValidationPoint> worst_first(std::vector<ValidationPoint>);

// Why a measured record does not count, as presets/measured/remarks.yaml has it.
std::optional<std::string> find_remark(std::string_view record_id);

// More than linear scaling: what n GPUs did, as a share of n times what one did.
struct AboveLinear {
  int gpus = 0;
  double share = 0;
};

// What speaks against a record: its own note; of an odd one also what is known of it and what arithmetic shows.
struct Doubt {
  Quality quality = Quality::odd;
  std::string note = {};  // empty: the record has none
  std::optional<std::string> remark = {};
  std::optional<AboveLinear> above_linear = {};
  std::optional<ValidationPoint> far_off = {};  // the point furthest from its prediction
};

// `points` may hold those of other records too. Nothing for a record that counts.
std::optional<Doubt> find_doubt(const Record&, std::span<const ValidationPoint> points);

}  // namespace gradwire
