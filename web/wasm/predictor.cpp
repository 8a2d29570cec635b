// The predictor in a page: questions and answers are JSON in C strings. A page calls one function at a time; what one
// returns stays until the next call.
#include <emscripten.h>

#include <string>

#include "base/error.h"
#include "report/page/comparison.h"
#include "report/page/page_data.h"

namespace gradwire {
namespace {

const char* kept(const nlohmann::json& value) {
  static std::string text;
  text = value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  return text.c_str();
}

template <typename Answer>
const char* answered(const char* question, Answer answer) {
  try {
    return kept(answer(parse_question(question)));
  } catch (const std::exception& error) {
    return kept({{"error", error.what()}});
  }
}

}  // namespace
}  // namespace gradwire

extern "C" {

EMSCRIPTEN_KEEPALIVE const char* gradwire_catalog() { return gradwire::kept(gradwire::page_catalog()); }

// {"page": PageData}, or {"error": "one clear line"}.
EMSCRIPTEN_KEEPALIVE const char* gradwire_answer(const char* question) {
  return gradwire::answered(question, [](const gradwire::PageQuestion& asked) {
    return nlohmann::json{{"page", gradwire::page_json(gradwire::answer_page(asked))}};
  });
}

// The same data before anything is rounded, for the test that compares programs.
EMSCRIPTEN_KEEPALIVE const char* gradwire_exact(const char* question) {
  return gradwire::answered(question, [](const gradwire::PageQuestion& asked) {
    return nlohmann::json{{"data", gradwire::answer_page(asked).report.data}};
  });
}
}
