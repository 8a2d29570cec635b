// A signal that this thread's own calls may raise, SIGPIPE or SIGXFSZ say, held back while the object lives and forgotten
// when it goes: the call fails with an error instead of ending the process. Belongs to one thread.
#pragma once

namespace gradwire {

class HeldSignal {
 public:
  explicit HeldSignal(int number);
  ~HeldSignal();
  HeldSignal(const HeldSignal&) = delete;
  HeldSignal& operator=(const HeldSignal&) = delete;

 private:
  const int number_;
  bool held_here_ = false;  // somebody else may hold it already
};

}  // namespace gradwire
