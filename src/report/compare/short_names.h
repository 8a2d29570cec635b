// What --on names, short enough for tables. Pure.
#pragma once

#include <string>
#include <vector>

namespace gradwire {

// "2*boxes/a.txt:rtx3090@10gbe" is "2*a.txt:rtx3090@10gbe"; names that would then be equal keep as many folders
// as tell them apart.
std::vector<std::string> without_folders(const std::vector<std::string>& on);

}  // namespace gradwire
