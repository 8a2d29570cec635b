// Processes that outlive the rank that started them. While a keeper lives, they become children of this
// process instead of the system's first, and sweep() ends those that belong to a job: they are in the process
// group of a rank or carry the job's mark in their environment, however far they went (to a session of their
// own, say). Children that this process started for other purposes are left alone. Belongs to one thread.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

namespace gradwire {

class OrphanKeeper {
 public:
  OrphanKeeper();
  ~OrphanKeeper();
  OrphanKeeper(const OrphanKeeper&) = delete;
  OrphanKeeper& operator=(const OrphanKeeper&) = delete;

  // To be put into the environment of the job's programs.
  const std::pair<std::string, std::string>& mark() const { return mark_; }

  // Kills and reaps them all. Call when the ranks themselves, which led `groups`, have ended.
  void sweep(const std::vector<pid_t>& groups);

 private:
  bool is_ours(pid_t child, pid_t group, const std::vector<pid_t>& groups) const;
  bool sweep_once(const std::vector<pid_t>& groups) const;

  const std::pair<std::string, std::string> mark_;
  int was_subreaper_ = 0;
};

}  // namespace gradwire
