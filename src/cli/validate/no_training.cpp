// Without the step model: says which records it can't predict.
#include <fmt/format.h>

#include "cli/validate/training.h"

namespace gradwire {

void add_training(std::span<const Record> records, std::span<const PreparedRecord>, Validation& validation) {
  for (const Record& record : records)
    if (record.training)
      validation.skipped.push_back(fmt::format("{}: built without the model of a training step", record.id));
}

}  // namespace gradwire
