#include "report/breakdown_json.h"

namespace gradwire {

nlohmann::json breakdown_json(const Breakdown& parts) {
  return {{"data", parts.data * 1e3},
          {"forward", parts.forward * 1e3},
          {"backward", parts.backward * 1e3},
          {"comm_overlapped", parts.comm_overlapped * 1e3},
          {"comm_exposed", parts.comm_exposed * 1e3},
          {"optimizer", parts.optimizer * 1e3},
          {"other", parts.other * 1e3}};
}

}  // namespace gradwire
