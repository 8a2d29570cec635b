#include "predict/calibration/constants.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "predict/presets.h"
#include "topo/yaml.h"

namespace gradwire {
namespace {

constexpr Range kValue = {1e-6, 1e6}, kSpread = {0, 5};
constexpr std::string_view kFile = "presets/nccl.yaml";

// By place in the list: the enumeration has the same order, which a test checks by name.
std::array<NcclPrior, kNcclConstants> read_priors(const YamlMap& file) {
  std::array<NcclPrior, kNcclConstants> priors;
  std::size_t i = 0;
  for (const auto& entry : file.maps("constants")) {
    if (i == kNcclConstants) entry.fail("name", fmt::format("the last of {} constants", kNcclConstants));
    priors[i++] = {entry.text("name"), entry.text("unit"), entry.text("source"),
                   entry.number("prior", kValue), entry.number("spread", kSpread)};
  }
  if (i < kNcclConstants)
    throw ConfigError(fmt::format("{} has {} constants instead of {}", kFile, i, kNcclConstants));
  return priors;
}

std::size_t index_of(const YamlMap& entry) {
  const auto name = entry.text("name");
  const auto& priors = nccl_priors();
  for (std::size_t i = 0; i < kNcclConstants; ++i)
    if (priors[i].name == name) return i;
  entry.fail("name", "the name of a constant of presets/nccl.yaml");
}

const YamlMap& built_in_file() { return parse_built_in(predict_preset_text("nccl.yaml"), kFile); }

Calibration read_calibration(const YamlMap& file) {
  Calibration calibration;
  for (std::size_t i = 0; i < kNcclConstants; ++i) {
    calibration.values[i] = nccl_priors()[i].value;
    calibration.spreads[i] = nccl_priors()[i].spread;
  }
  for (const auto& entry : file.maps("constants")) {
    entry.only({"name", "unit", "prior", "spread", "value", "after", "source"});
    const auto i = index_of(entry);
    calibration.values[i] = entry.number("value", kValue);
    calibration.spreads[i] = entry.number("after", kSpread);
  }
  for (const auto& entry : file.maps("unexplained")) {
    entry.only({"class", "below_1mb", "from_1mb"});
    const auto of = find_enumerator<MachineClass>(entry.text("class"));
    if (!of) entry.fail("class", "a class of machines of presets/nccl.yaml");
    calibration.unexplained[*of] = {entry.number("below_1mb", kSpread), entry.number("from_1mb", kSpread)};
  }
  return calibration;
}

}  // namespace

const std::array<NcclPrior, kNcclConstants>& nccl_priors() {
  static const auto priors = read_priors(built_in_file());
  return priors;
}

double OwnSpread::of(const NcclConstants& slopes) const {
  double variance = scatter * scatter;
  for (std::size_t i = 0; i < kNcclConstants; ++i)
    for (std::size_t j = 0; j < kNcclConstants && slopes[i] != 0; ++j)
      variance += slopes[i] * slopes[j] * together[i * kNcclConstants + j];
  return std::sqrt(variance);
}

Unexplained Calibration::unexplained_of(MachineClass wanted) const {
  for (const MachineClass one : {wanted, MachineClass::all})
    if (const auto found = unexplained.find(one); found != unexplained.end()) return found->second;
  return {};
}

Calibration parse_calibration(std::string_view yaml, std::string_view where) {
  return read_calibration(parse_yaml(yaml, where));
}

std::string calibration_yaml(const Calibration& calibration) {
  const std::string_view file = predict_preset_text("nccl.yaml");
  std::string text(file.substr(0, file.find("constants:")));
  text += "constants:\n";
  for (std::size_t i = 0; i < kNcclConstants; ++i) {
    const NcclPrior& prior = nccl_priors()[i];
    text += fmt::format(
        "  - {{name: {}, unit: \"{}\", prior: {:g}, spread: {:g}, value: {:.4g}, after: {:.3f}, source: "
        "\"{}\"}}\n",
        prior.name, prior.unit, prior.value, prior.spread, calibration.values[i], calibration.spreads[i],
        prior.source);
  }
  text +=
      "# What the constants leave open: standard deviation of log(measured / predicted) over machines never "
      "seen,\n# each counting once, those of presets/measured/collectives_later.jsonl among them.\n"
      "unexplained:\n";
  for (const auto& [machines, open] : calibration.unexplained)
    text += fmt::format("  - {{class: {}, below_1mb: {:.3f}, from_1mb: {:.3f}}}\n", name_of(machines),
                        open.below_1mb, open.from_1mb);
  return text;
}

const Calibration& default_calibration() {
  static const Calibration calibration = read_calibration(built_in_file());
  return calibration;
}

}  // namespace gradwire
