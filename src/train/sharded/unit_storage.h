// The memory behind a sharded unit's parameters, which comes and goes while the parameters, and the views of them
// that autograd keeps, stay the same tensors; and that of a rank's share of them.
//
// Every operator of torch that is given such a tensor, in forward or in backward, inside the model or outside, first
// comes here: the unit's owner is told which units are about to be used and makes them complete, or that shares are about to
// be written, then the operator runs. So no module needs wrapping, none can compute with memory that was freed or with
// what has been out of date since an optimizer ran: where the owner is gone, the
// operator throws a ConfigError that names the unit. It works by a dispatch key on the tensors, DeferredInit, which
// libtorch keeps for libraries outside of it; an operator costs about 2 us more. What takes data_ptr() by itself is
// not seen, and may find a null pointer.
#pragma once

#include <memory>
#include <span>
#include <string>

#include <torch/torch.h>

#include "comm/memory.h"

namespace gradwire {

// Who sees to it that units can be used, and shares changed.
class UnitOwner {
 public:
  virtual ~UnitOwner() = default;
  // Called in the thread of the operator. When it returns, the units hold their values until the next call.
  virtual void use(std::span<const int> units) = 0;
  // Called likewise. When it returns, shares may be written.
  virtual void change() = 0;
};

struct UnitIdentity {
  std::weak_ptr<UnitOwner> owner;
  int unit = 0;
  std::string name;
  bool is_share = false;  // what an optimizer changes, not what a model uses
};

class UnitStorage final : public c10::StorageImpl {
 public:
  UnitStorage(UnitIdentity identity, torch::Device device);

  const UnitIdentity& identity() const { return identity_; }
  bool complete() const { return complete_; }

  // The parameters' memory is `bytes`, a part of `memory`, from now on; complete: with the values of all ranks.
  void hold(std::shared_ptr<Memory> memory, std::span<std::byte> bytes, bool complete);
  void set_complete(bool complete) { complete_ = complete; }
  void release();

 private:
  const UnitIdentity identity_;
  std::shared_ptr<Memory> memory_;
  bool complete_ = false;
};

using UnitStoragePointer = c10::intrusive_ptr<UnitStorage>;

// Makes `parameter` a contiguous tensor of `type` that begins `offset` elements into the storage. The tensor object
// stays the one that the model holds.
void place_parameter(const torch::Tensor& parameter, const UnitStoragePointer& storage, std::int64_t offset,
                     torch::ScalarType type);

}  // namespace gradwire
