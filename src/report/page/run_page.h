// The page of a run that was read: what was found in it, its timelines, its machine. Pure.
#pragma once

#include "explain/case_file.h"
#include "report/page/page_data.h"

namespace gradwire {

// `page` has the verb, the title and the report.
PageData run_page(const CaseFile&, PageData page);

}  // namespace gradwire
