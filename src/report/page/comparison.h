// What `compare` was asked, answered once for the terminal, for programs and for a page: the command and the predictor in
// a page call the same functions. Pure.
#pragma once

#include <string>
#include <vector>

#include "predict/compare/compare.h"
#include "report/page/page_data.h"
#include "report/page/question.h"
#include "report/report.h"

namespace gradwire {

struct Asked {
  Workload workload;
  StepOptions options;
  std::string premise;  // why links matter at least as much as is answered; empty: as much
  std::string warning;  // of what the workload rests on; empty: none
  std::vector<Machine> machines;
  std::string sweep;    // as --sweep takes it; empty: none
  bool verbose = true;  // also how sure that is, and why: a page has the room
};

struct Compared {
  Comparison comparison;
  Report report;
};

Compared compare_as_asked(const Asked&);  // throws ConfigError

// Without the question, the command and the verb, which whoever asked knows.
PageData comparison_page(Compared);

// A question from a page: built-in models and machines, and what was pasted. Throws ConfigError.
Asked asked_of(const PageQuestion&);
PageData answer_page(const PageQuestion&);

nlohmann::json
page_catalog();  // what a page lets choose: models, machines, GPUs, networks, precisions, compressions

}  // namespace gradwire
