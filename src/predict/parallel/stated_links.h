// What joins the GPUs of a published run, as far as its record says. A value.
#pragma once

#include "predict/records/record.h"

namespace gradwire {

struct StatedLinks {
  LinkSetting setting = LinkSetting::normal;
  NodeSpec node;              // with NVLink or peer access taken away where the setting says so
  int nodes = 1, domain = 0;  // domain: GPUs joined by NVLink beyond the node
};

StatedLinks stated_links(const Record&);  // of kind parallel

// Whether links that both runs use are stated and not alike: one GPU uses none of its node, one node none between nodes.
bool links_differ(const StatedLinks&, const StatedLinks&);

}  // namespace gradwire
