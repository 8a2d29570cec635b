// Processes that outlive the rank that started them. While a keeper lives, they become children of this
// process instead of the system's first, and sweep() ends those that belong to a job: they are in the process
// group of a rank or carry the job's mark in their environment, however far they went (to a session of their
// own, say). Children that this process started for other purposes are left alone. Should this process be killed before,
// a guard ends those that carry the mark. Belongs to one thread.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "launch/job_guard.h"
#include "net/rendezvous/environment.h"

namespace gradwire {

class OrphanKeeper {
 public:
  OrphanKeeper();
  ~OrphanKeeper();
  OrphanKeeper(const OrphanKeeper&) = delete;
  OrphanKeeper& operator=(const OrphanKeeper&) = delete;

  // For the environment of the job's programs. They keep the marks of the jobs that this one is a part of.
  void mark(Environment& environment) const;

  // Kills and reaps them all. Call once, when the ranks themselves, which led `groups`, have ended.
  void sweep(const std::vector<pid_t>& groups);

 private:
  enum class Swept { clean, unsure, killed };  // unsure: a child that does not show whose it is
  Swept sweep_once(const std::vector<pid_t>& groups) const;

  const std::string mark_;
  std::optional<JobGuard> guard_;
  int was_subreaper_ = 0;
};

}  // namespace gradwire
