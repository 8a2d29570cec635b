// Answers the questions of a page, one a line, before anything is rounded: what equal_digits.mjs compares with the same
// from WebAssembly.
#include <iostream>
#include <string>

#include "report/page/comparison.h"

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    nlohmann::json answer;
    try {
      answer["data"] = gradwire::answer_page(gradwire::parse_question(line)).report.data;
    } catch (const std::exception& error) {
      answer["error"] = error.what();
    }
    std::cout << answer.dump() << "\n";
  }
}
