#include "comm/mpi/session.h"

#include <atomic>
#include <cstdlib>

#include "base/error.h"
#include "comm/kernels/kernels.h"
#include "comm/mpi/watchdog.h"

namespace gradwire {
namespace {

// Of the process, as MPI is.
Seconds finish_within = 300;
std::atomic<int> communicators = 0;  // that live

// MPI_Finalize waits for all ranks, of which a process that has failed has no need, nor they of it: mpirun ends them when
// it sees this one's code.
void finish_mpi(int status, void*) {
  int finalised = 0;
  MPI_Finalized(&finalised);
  if (finalised || status != 0) return;
  guard_exit(status, finish_within);
  MPI_Finalize();
}

// What MPI calls to combine two blocks. It tells us neither type nor reduction, so there is one for each.
template <DType kType, Reduction kReduction>
void combine_blocks(void* in, void* in_out, int* length, MPI_Datatype*) {
  static const Isa isa = best_isa();  // asking the processor takes microseconds on a virtual machine
  const std::byte* const sources[] = {static_cast<const std::byte*>(in),
                                      static_cast<const std::byte*>(in_out)};
  std::byte* const destination = static_cast<std::byte*>(in_out);
  combine(isa, kType, kReduction, sources, {&destination, 1},
          static_cast<std::size_t>(*length) * size_of(kType));
}

void start_mpi(Seconds timeout) {
  int initialised = 0;
  MPI_Initialized(&initialised);
  if (initialised) return;
  int provided = 0;
  check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided), "MPI_Init_thread");
  finish_within = timeout;
  ::on_exit(finish_mpi, nullptr);
}

// Throws where threads that MPI does not allow for would call it.
void check_threads(bool is_only_one) {
  int level = MPI_THREAD_SINGLE;
  MPI_Query_thread(&level);
  if (level == MPI_THREAD_MULTIPLE || (level == MPI_THREAD_SERIALIZED && is_only_one)) return;
  throw ConfigError(fmt::format(
      "MPI allows for {}, and {}: where the program starts MPI itself, call MPI_Init_thread with "
      "MPI_THREAD_MULTIPLE; else take an MPI that was built with it, or --backend gloo or tcp",
      level == MPI_THREAD_SERIALIZED ? "calls of one thread at a time" : "calls of one thread alone",
      is_only_one ? "a communicator has one of its own" : "several communicators call it at once"));
}

MPI_Op own_operation(Reduction reduction) {
  switch (reduction) {
    case Reduction::sum:
    case Reduction::avg:
      return MPI_SUM;
    case Reduction::min:
      return MPI_MIN;
    case Reduction::max:
      return MPI_MAX;
    case Reduction::product:
      return MPI_PROD;
  }
  return MPI_OP_NULL;
}

}  // namespace

void check_mpi(int code, const char* operation) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw TransportError(fmt::format("{}: {}", operation, std::string(text, static_cast<std::size_t>(length))));
}

MpiSession::MpiSession(Seconds timeout) {
  start_mpi(timeout);
  check_threads(communicators == 0);
  ++communicators;
}

MpiSession::~MpiSession() { --communicators; }

MPI_Datatype mpi_type(DType type) {
  switch (type) {
    case DType::f32:
      return MPI_FLOAT;
    case DType::f64:
      return MPI_DOUBLE;
    case DType::f16:
    case DType::bf16:
      return MPI_UINT16_T;
    case DType::i8:
      return MPI_INT8_T;
    case DType::u8:
      return MPI_UINT8_T;
    case DType::i32:
      return MPI_INT32_T;
    case DType::i64:
      return MPI_INT64_T;
  }
  return MPI_DATATYPE_NULL;
}

MpiOperations::MpiOperations() {
  for (int type = 0; type < kDTypes; ++type)
    for (int reduction = 0; reduction < kReductions; ++reduction)
      operations_[type][reduction] = own_operation(static_cast<Reduction>(reduction));
  const auto make = [this](DType type, Reduction reduction, MPI_User_function* function) {
    MPI_Op& operation = operations_[static_cast<int>(type)][static_cast<int>(reduction)];
    check_mpi(MPI_Op_create(function, 1, &operation), "MPI_Op_create");
    made_.push_back(operation);
  };
  const auto make_extremes = [&]<DType kType>() {
    make(kType, Reduction::min, combine_blocks<kType, Reduction::min>);
    make(kType, Reduction::max, combine_blocks<kType, Reduction::max>);
  };
  const auto make_all = [&]<DType kType>() {
    make_extremes.template operator()<kType>();
    make(kType, Reduction::sum, combine_blocks<kType, Reduction::sum>);
    make(kType, Reduction::avg, combine_blocks<kType, Reduction::sum>);
    make(kType, Reduction::product, combine_blocks<kType, Reduction::product>);
  };
  make_extremes.template operator()<DType::f32>();
  make_extremes.template operator()<DType::f64>();
  make_all.template operator()<DType::f16>();
  make_all.template operator()<DType::bf16>();
  make_all.template operator()<DType::i8>();
  make_all.template operator()<DType::u8>();
}

MpiOperations::~MpiOperations() {
  int finalised = 0;
  MPI_Finalized(&finalised);
  for (MPI_Op& operation : made_)
    if (!finalised) MPI_Op_free(&operation);
}

MPI_Op MpiOperations::find(DType type, Reduction reduction) const {
  return operations_[static_cast<int>(type)][static_cast<int>(reduction)];
}

}  // namespace gradwire
