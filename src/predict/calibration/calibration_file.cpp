// presets/calibration.yaml in and out.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <yaml-cpp/yaml.h>

#include <cmath>

#include "base/error.h"
#include "predict/calibration/calibration.h"
#include "predict/presets.h"

namespace gradwire {
namespace {

constexpr double kLargest = 6;  // of a logarithm: a factor of 400

double finite(const YAML::Node& node, std::string_view where) {
  double value = 0;
  if (!YAML::convert<double>::decode(node, value) || !(std::abs(value) <= kLargest))
    throw ConfigError(fmt::format("{} line {}: '{}' must be a number from -{} to {}", where,
                                  node.Mark().line + 1, node.IsScalar() ? node.Scalar() : "", kLargest,
                                  kLargest));
  return value;
}

void read_class(const YAML::Node& node, std::string_view where, Calibration& calibration) {
  const auto wrong = [&](const std::string& what) {
    return ConfigError(fmt::format("{} line {}: {}", where, node.Mark().line + 1, what));
  };
  if (!node.IsMap() || !node["class"] || !node["class"].IsScalar()) throw wrong("a class needs a name");
  const std::string name = node["class"].Scalar();
  if (node["latency"]) calibration.latency[name] = finite(node["latency"], where);
  if (node["transfer"]) calibration.transfer[name] = finite(node["transfer"], where);
  if (const YAML::Node ramp = node["ramp"]) {
    if (!ramp.IsSequence() || ramp.size() != kRampKnots.size())
      throw wrong(fmt::format("`ramp` of {} must be {} numbers", name, kRampKnots.size()));
    for (std::size_t i = 0; i < kRampKnots.size(); ++i) calibration.ramp[name][i] = finite(ramp[i], where);
  }
  if (node["expected_error"])
    calibration.errors[name] = {finite(node["expected_error"]["below_1mb"], where),
                                finite(node["expected_error"]["from_1mb"], where)};
  for (const auto& group : node["fitted_on"]) calibration.fitted_on[name].push_back(group.as<std::string>());
}

}  // namespace

Calibration parse_calibration(std::string_view yaml, std::string_view where) {
  try {
    const YAML::Node file = YAML::Load(std::string(yaml));
    if (!file.IsMap() || !file["classes"] || !file["classes"].IsSequence())
      throw ConfigError(fmt::format("{}: a calibration has a list `classes`", where));
    Calibration calibration;
    for (const auto& node : file["classes"]) read_class(node, where, calibration);
    return calibration;
  } catch (const YAML::Exception& error) {
    throw ConfigError(fmt::format("{} line {}: {}", where, error.mark.line + 1, error.msg));
  }
}

std::string calibration_yaml(const Calibration& calibration) {
  std::string text = "classes:\n";
  std::map<std::string, bool> names;
  for (const auto& [name, value] : calibration.latency) names[name];
  for (const auto& [name, value] : calibration.transfer) names[name];
  for (const auto& [name, value] : calibration.ramp) names[name];
  for (const auto& [name, value] : calibration.errors) names[name];
  for (const auto& [name, unused] : names) {
    text += fmt::format("  - class: \"{}\"\n", name);
    if (const auto at = calibration.latency.find(name); at != calibration.latency.end())
      text += fmt::format("    latency: {:.4f}\n", at->second);
    if (const auto at = calibration.transfer.find(name); at != calibration.transfer.end())
      text += fmt::format("    transfer: {:.4f}\n", at->second);
    if (const auto at = calibration.ramp.find(name); at != calibration.ramp.end())
      text += fmt::format("    ramp: [{:.4f}]\n", fmt::join(at->second, ", "));
    if (const auto at = calibration.errors.find(name); at != calibration.errors.end())
      text += fmt::format("    expected_error: {{below_1mb: {:.3f}, from_1mb: {:.3f}}}\n",
                          at->second.below_1mb, at->second.from_1mb);
    if (const auto at = calibration.fitted_on.find(name); at != calibration.fitted_on.end())
      text += fmt::format("    fitted_on: [{}]\n", fmt::join(at->second, ", "));
  }
  return text;
}

const Calibration& default_calibration() {
  static const Calibration calibration =
      parse_calibration(predict_preset_text("calibration.yaml"), "calibration.yaml");
  return calibration;
}

}  // namespace gradwire
