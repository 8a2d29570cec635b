// A communicator whose start() does not come back before the call is done, in the caller's own thread. For
// those who have nothing else to do meanwhile.
#pragma once

#include "comm/communicator.h"

namespace gradwire {

class InlineCommunicator final : public Communicator {
 public:
  explicit InlineCommunicator(Communicator& communicator) : communicator_(communicator) {}
  Rank rank() const override { return communicator_.rank(); }
  int size() const override { return communicator_.size(); }
  std::string name() const override { return communicator_.name(); }
  Carrier carrier() const override { return communicator_.carrier(); }
  std::unique_ptr<Work> start(const Call& call) override;
  void run(const Call& call) override { communicator_.run(call); }
  Memory allocate(std::size_t bytes) override { return communicator_.allocate(bytes); }
  void abort() override { communicator_.abort(); }

 private:
  Communicator& communicator_;
};

}  // namespace gradwire
