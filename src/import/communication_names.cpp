#include "import/communication_names.h"

#include <algorithm>
#include <cctype>
#include <string>

namespace gradwire {
namespace {

// Only letters and digits, small: "AllReduce", "all_reduce", "allreduce_" are one word.
std::string plain_word(std::string_view name) {
  std::string word;
  for (const char c : name.substr(0, 200))
    if (std::isalnum(static_cast<unsigned char>(c)))
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return word;
}

bool begins_like(std::string_view name, std::string_view start) {
  return name.size() >= start.size() &&
         std::equal(start.begin(), start.end(), name.begin(),
                    [](char a, char b) { return a == std::tolower(static_cast<unsigned char>(b)); });
}

// "multimem_all_reduce_kernel" of "void (anonymous namespace)::multimem_all_reduce_kernel<float>(int)": what a kernel is
// a template of, and what it takes, may hold anybody's words.
std::string_view own_name_of(std::string_view kernel) {
  constexpr std::string_view kNobodys = "(anonymous namespace)::";
  for (;;) {
    const auto end = kernel.find_first_of("<(");
    if (end == std::string_view::npos || !kernel.substr(end).starts_with(kNobodys))
      return kernel.substr(0, end);
    kernel.remove_prefix(end + kNobodys.size());
  }
}

std::string type_word(std::string_view name) {
  return plain_word(name.starts_with("c10::") ? name.substr(5) : name);
}

// In this order: the first that the word holds. _base and coalesced variants fall out of that.
constexpr std::pair<std::string_view, Collective> kCollectiveWords[] = {
    {"reducescatter", Collective::reduce_scatter},
    {"allgather", Collective::all_gather},
    {"allreduce", Collective::all_reduce},
    {"alltoall", Collective::all_to_all},
    {"broadcast", Collective::broadcast},
    {"sendrecv", Collective::exchange},
    {"crossdevicereduce", Collective::all_reduce},
    {"barrier", Collective::barrier},
    {"gather", Collective::gather},
    {"scatter", Collective::scatter},
    {"reduce", Collective::reduce},
    {"send", Collective::exchange},
    {"recv", Collective::exchange},
    {"dispatch", Collective::all_to_all},
    {"combine", Collective::all_to_all}};

}  // namespace

bool is_communication_kernel(std::string_view name) {
  if (name.starts_with("void ")) name.remove_prefix(5);
  if (begins_like(name, "nccl") || begins_like(name, "rccl") || begins_like(name, "mscclpp") ||
      begins_like(name, "msccl"))
    return true;
  if (name.starts_with("triton_")) return false;  // Inductor names kernels after all operators that they fuse
  constexpr std::string_view kParts[] = {"cross_device_reduce",
                                         "deep_ep::",
                                         "internode::dispatch",
                                         "internode::combine",
                                         "intranode::dispatch",
                                         "intranode::combine",
                                         "symm_mem::",
                                         "oneccl_",
                                         "nvshmem"};
  const auto head = name.substr(0, 120);
  if (std::any_of(std::begin(kParts), std::end(kParts),
                  [&](auto part) { return head.find(part) != std::string_view::npos; }))
    return true;
  // "multimem_all_reduce_kernel", "oneShotAllReduce", "allreduce_prototype_twoshot": by its own name.
  const auto own_name = own_name_of(name).substr(0, 120);
  if (own_name.find("ll") == std::string_view::npos && own_name.find("catter") == std::string_view::npos)
    return false;  // most kernels: this is asked of every event
  const std::string own = plain_word(own_name);
  constexpr std::string_view kWords[] = {"allreduce", "allgather", "reducescatter", "alltoall"};
  return std::any_of(std::begin(kWords), std::end(kWords),
                     [&](auto word) { return own.find(word) != std::string::npos; });
}

std::optional<Collective> collective_of(std::string_view name) {
  // Arguments and template parameters may hold anybody's words; "Sum" and types come after the collective.
  if (begins_like(name, "nccl") && name.find("Kernel") != std::string_view::npos)
    name = name.substr(0, name.find('('));
  const std::string word = plain_word(name);
  for (const auto& [known, collective] : kCollectiveWords)
    if (word.find(known) != std::string::npos) return collective;
  return std::nullopt;
}

SaidCollective::SaidCollective(Collective collective)
    : kind(collective), word(collective == Collective::exchange ? "send_recv" : name_of(collective)) {}

SaidCollective::SaidCollective(std::string_view said) : word(said) {
  if (const auto known = collective_of(said)) *this = SaidCollective(*known);
}

bool is_backend_span(std::string_view name) {
  constexpr std::string_view kBackends[] = {"nccl:", "gloo:", "mpi:", "ucc:", "xccl:", "hccl:"};
  return std::any_of(std::begin(kBackends), std::end(kBackends),
                     [&](auto start) { return name.starts_with(start); });
}

bool is_host_backend_span(std::string_view name) {
  return name.starts_with("gloo:") || name.starts_with("mpi:");
}

int bytes_of_type(std::string_view name) {
  const std::string word = type_word(name);
  constexpr std::pair<std::string_view, int> kTypes[] = {
      {"float", 4},      {"half", 2},         {"bfloat16", 2},     {"double", 8},     {"long", 8},
      {"longint", 8},    {"int64t", 8},       {"int", 4},          {"short", 2},      {"byte", 1},
      {"char", 1},       {"bool", 1},         {"unsignedchar", 1}, {"signedchar", 1}, {"float8e4m3fn", 1},
      {"float8e5m2", 1}, {"complexfloat", 8}, {"float32", 4},      {"float16", 2},    {"f32", 4},
      {"f16", 2}};
  for (const auto& [known, bytes] : kTypes)
    if (word == known) return bytes;
  return 0;
}

bool is_whole_type(std::string_view name) {
  const std::string word = type_word(name);
  constexpr std::string_view kWhole[] = {"long", "longint", "int64t", "int",          "short",
                                         "byte", "char",    "bool",   "unsignedchar", "signedchar"};
  return std::find(std::begin(kWhole), std::end(kWhole), word) != std::end(kWhole);
}

}  // namespace gradwire
