// What NCCL and PyTorch print when a run dies, and what it means. Constant data; what each was learnt from stands in
// docs/explain.md. For failure_rules.cpp alone.
#pragma once

#include <string>
#include <string_view>

namespace gradwire {

enum class Told {
  cause,        // why it died
  usual_cause,  // what such words mean mostly
  symptom,      // of it, or of another rank's death: where ranks disagree the first that was said counts
  unexplained,  // that it died, and not why
  remark,       // it did not die of it
  aside         // nor does it matter much
};

struct KnownFailure {
  std::string_view sign;  // in small letters; a star stands for anything
  Told told;
  const char *rule, *what, *fix;
};

const KnownFailure* find_known_failure(
    const std::string& text);  // null: nothing that is known; the first that fits

// A peer that was asked again and again.
const KnownFailure& silent_peer();

}  // namespace gradwire
