#include "import/nvlink_traffic.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace gradwire {
namespace {

std::uint64_t counted_since(std::uint64_t before, std::uint64_t after) {
  return after > before ? after - before : 0;
}

// A number beyond all counts would be converted to any.
Bytes count_in(const nlohmann::json& gpu, const char* name) {
  const auto& value = gpu.at(name);
  if (!value.is_number_unsigned()) throw ConfigError("no count");
  return value.get<Bytes>();
}

}  // namespace

Bytes NvlinkTraffic::most() const {
  Bytes most = 0;
  for (const Gpu& gpu : gpus) most = std::max({most, gpu.sent, gpu.received});
  return most;
}

NvlinkTraffic traffic_between(const std::vector<NvmlTraffic>& before, const std::vector<NvmlTraffic>& after) {
  NvlinkTraffic traffic;
  for (const NvmlTraffic& now : after)
    for (const NvmlTraffic& then : before)
      if (then.address == now.address)
        traffic.gpus.push_back({now.name, now.address, static_cast<Bytes>(counted_since(then.sent, now.sent)),
                                static_cast<Bytes>(counted_since(then.received, now.received))});
  return traffic;
}

std::string nvlink_traffic_json(const NvlinkTraffic& traffic) {
  nlohmann::json gpus = nlohmann::json::array();
  for (const auto& gpu : traffic.gpus)
    gpus.push_back(
        {{"name", gpu.name}, {"address", gpu.address}, {"sent", gpu.sent}, {"received", gpu.received}});
  return nlohmann::json{{"gradwire_nvlink_traffic", 1}, {"gpus", gpus}}.dump(
             2, ' ', false, nlohmann::json::error_handler_t::replace) +
         "\n";
}

NvlinkTraffic parse_nvlink_traffic(std::string_view json, const std::string& name) {
  try {
    const auto document = nlohmann::json::parse(json);
    NvlinkTraffic traffic;
    traffic.file = name;
    for (const auto& gpu : document.at("gpus"))
      traffic.gpus.push_back({gpu.at("name").get<std::string>(), gpu.at("address").get<std::string>(),
                              count_in(gpu, "sent"), count_in(gpu, "received")});
    return traffic;
  } catch (const std::exception&) {
    throw ConfigError(fmt::format("{}: counters of NVLink that are cut off or changed", name));
  }
}

}  // namespace gradwire
