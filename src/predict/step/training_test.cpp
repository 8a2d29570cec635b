#include "predict/step/training.h"

#include <gmock/gmock.h>

namespace gradwire {
namespace {

TEST(Training, Placeholder) {}

}  // namespace
}  // namespace gradwire
