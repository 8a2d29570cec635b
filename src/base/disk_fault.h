// Which errors of system calls are the disk's: nobody who named a file is to blame for them.
#pragma once

#include <cerrno>

namespace gradwire {

inline bool is_fault_of_disk(int error) {
  return error == ENOSPC || error == EDQUOT || error == EIO || error == EFBIG;
}

}  // namespace gradwire
