// What NCCL and PyTorch print when a run dies, or warn of, and what it means. Constant data; what each was learnt from
// stands in docs/explain.md. Readers of logs keep the lines that are known here; explain/failure_rules.cpp judges by them.
#pragma once

#include <cstdint>
#include <string_view>

namespace gradwire {

enum class Told : std::uint8_t {
  cause,        // why it died
  usual_cause,  // what such words mean mostly
  symptom,      // of it, or of another rank's death: where ranks disagree the first that was said counts
  unexplained,  // that it died, and not why
  remark,       // it did not die of it
  aside,        // nor does it matter much
  hint,         // it need not be what holds this run up
  echo,         // a hint, of another rank's death or of the run's end: nothing where a failure is told
  noise         // healthy runs say it too
};

enum class Scope : std::uint8_t {
  nccl,     // where NCCL says it, or somebody repeats its last error
  nodes,    // the same, and of nothing but the network between nodes
  sockets,  // the same, where nodes then talk over TCP: another network may be found after it
  any       // wherever it stands
};

// What else follows from it.
enum class Effect : std::uint8_t {
  none,
  ranks_wait,     // for one that does not come, or for each other
  call_hangs,     // likewise, or what carries it failed: nobody says which
  peers_refused,  // GPUs of a node may not reach each other
  gpus_hidden,    // processes of a node do not reach each other's GPUs or memory
  rank_failed     // a launcher says that a rank ended; of what, the rank itself may have said
};

// What it is, and what to do about it; rules are numbered as in docs/explain.md.
struct Meaning {
  const char *rule = "", *what = "", *fix = "";
  Effect effect = Effect::none;
};

struct KnownFailure {
  std::string_view sign;  // in small letters; a star stands for anything
  Told told;
  Meaning meaning;
  Scope scope = Scope::nccl;
};

// Of what NCCL said. Null: nothing that is known; the first that fits.
const KnownFailure* find_known_failure(std::string_view text);

// A peer that was asked again and again.
const Meaning& silent_peer();

// Whether a line, or any line of a text, is known though NCCL did not log it.
bool tells_of_failure(std::string_view text);

// Where others waited for the rank that said it: a GPU that is full is a reason to die, and no hint.
const KnownFailure& as_cause(const KnownFailure&);

// Where a peer closed its connection: what failed for no reason that is said failed since another rank was gone.
const KnownFailure& as_echo(const KnownFailure&);

// What PyTorch puts before an error of NCCL that it repeats.
inline constexpr std::string_view kLastError = "Last error:";

// Python's word for what a program died of; the error itself stands below the calls that led to it.
inline constexpr std::string_view kTraceback = "Traceback (most recent call last)";

// Lines of PyTorch's that are about a run on several GPUs, whether it fails or not; the third and fourth are Lightning's, those
// behind the fifth of whoever starts ranks: torchrun and DeepSpeed.
inline constexpr std::string_view kWordsOfTorch[] = {"ProcessGroupNCCL",
                                                     "WorkNCCL",
                                                     "GLOBAL_RANK: ",
                                                     "All distributed processes registered",
                                                     "store based barrier ",
                                                     "torch.distributed.run:",
                                                     "torch/distributed/run.py:",
                                                     "torch.distributed.launcher.api:",
                                                     "torch.distributed.elastic.",
                                                     "[INFO] [launch.py:",
                                                     "[INFO] [runner.py:",
                                                     "init_distributed]"};

// False where neither a failure nor one of these words stands in a text; quick, and at times true where it should not be.
bool may_tell_of_failure(std::string_view text);

}  // namespace gradwire
