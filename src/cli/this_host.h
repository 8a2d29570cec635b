// What this machine says of itself, as the files a user would have saved: its environment, nvidia-smi and lspci where
// they are.
#pragma once

#include "import/read_all.h"

namespace gradwire {

Gathered this_host();

}  // namespace gradwire
