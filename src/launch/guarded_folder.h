// A folder for what a job's programs leave lying about, which is removed with everything in it when its owner goes,
// also when the owner is killed: a process of its own waits for that. In memory (/dev/shm) where there is such a
// place, else where temporary files go. Belongs to one thread; make it before the process has others.
#pragma once

#include <sys/types.h>

#include <filesystem>

#include "base/fd.h"

namespace gradwire {

class GuardedFolder {
 public:
  GuardedFolder();
  ~GuardedFolder();  // it is gone when this returns
  GuardedFolder(const GuardedFolder&) = delete;
  GuardedFolder& operator=(const GuardedFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  Fd alive_;  // which the guard sees closing
  pid_t guard_ = -1;
};

}  // namespace gradwire
