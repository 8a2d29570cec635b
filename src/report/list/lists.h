// What is built in, as Reports: the lists of presets/ and of models. Each one's data is an object with one key, the list's
// name.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "report/report.h"

namespace gradwire {

// What can be listed.
struct Listing {
  const char* name;
  const char* what;
  Report (*report)();
};
std::span<const Listing> listings();
Report contents_report();  // of these

Report gpus_report();
Report links_report();
Report networks_report();
Report machines_report();
Report models_report();

// Tables under each other and a sentence on how to read them.
Report listing(const std::string& name, nlohmann::json entries, const std::vector<Table>&, std::string note);

}  // namespace gradwire
