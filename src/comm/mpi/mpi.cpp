#include "comm/mpi/mpi.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <vector>

#include "base/error.h"
#include "comm/kernels/kernels.h"
#include "comm/mpi/post.h"
#include "comm/mpi/session.h"
#include "comm/mpi/watchdog.h"

namespace gradwire {
namespace {

// Bytes in one call of MPI. It counts elements with an int, and some of its algorithms do so for all ranks'
// parts together, or for bytes.
constexpr std::size_t kLongest = 1 << 30;

// Calls function(first element, elements) for pieces that MPI can count. Once also for nothing.
void in_pieces(std::size_t count, DType type, const std::function<void(std::size_t, int)>& function) {
  std::size_t first = 0;
  do {
    const std::size_t piece = std::min(kLongest / size_of(type), count - first);
    function(first, static_cast<int>(piece));
    first += piece;
  } while (first < count);
}

class Mpi final : public Collectives {
 public:
  Mpi(const World& world, const MpiOptions& options)
      : world_(world), options_(options), watchdog_(world), session_(start(watchdog_, world.timeout)) {
    const auto watched = watchdog_.during("MPI_Comm_dup");
    make_group();
    int rank = -1, size = 0;
    MPI_Comm_rank(group_, &rank);
    MPI_Comm_size(group_, &size);
    if (rank != world.rank || size != world.size)
      throw ConfigError(
          fmt::format("MPI says this is rank {} of {}, but the environment says rank {} of {}: start the "
                      "program with mpirun and leave RANK and WORLD_SIZE unset",
                      rank, size, world.rank, world.size));
  }

  Rank rank() const override { return world_.rank; }
  int size() const override { return world_.size; }
  std::string name() const override { return "mpi"; }
  Carrier carrier() const override { return Carrier::network; }
  Memory allocate(std::size_t bytes) override { return allocate_private(bytes); }
  // Ends messages; MPI has no such thing for its collectives.
  void cancel() noexcept override { cancelled_ = true; }
  void give_up(const std::exception& why) noexcept override { tell_everybody(world_, group_, why); }

  void exchange(std::span<const Message> messages, const Signature& call, Seconds timeout) override {
    MpiPost post(world_, group_, watchdog_, options_.check);
    try {
      post.exchange(messages, {call, timeout > 0 ? timeout : world_.timeout, cancelled_});
    } catch (const Error& error) {
      tell_everybody(world_, group_, error);
      throw;
    }
  }

  void run(const Call& call, const Signature& signature) override {
    const auto watched = watchdog_.during(name_of(call.kind).data(), call.timeout);  // a literal
    if (options_.check) compare(signature);
    switch (call.kind) {
      case Collective::all_reduce:
        all_reduce(call);
        break;
      case Collective::reduce:
        reduce(call);
        break;
      case Collective::reduce_scatter:
        reduce_scatter(call);
        break;
      case Collective::all_gather:
        all_gather(call);
        break;
      case Collective::broadcast:
        broadcast(call.out, call.dtype, call.root);
        break;
      case Collective::all_to_all:
        all_to_all(call);
        break;
      default:
        check_mpi(MPI_Barrier(group_), "MPI_Barrier");
    }
    const bool has_result = call.kind != Collective::reduce || call.root == rank();
    if (call.reduction == Reduction::avg && reduces(call.kind) && has_result)
      divide(isa_, call.dtype, size(), call.out);
  }

 private:
  static MpiSession start(MpiWatchdog& watchdog, Seconds timeout) {
    const auto watched = watchdog.during("MPI_Init");
    return MpiSession(timeout);
  }

  static bool reduces(Collective kind) {
    return kind == Collective::all_reduce || kind == Collective::reduce || kind == Collective::reduce_scatter;
  }

  // MPI ends the process when a group names a rank that it has not.
  void check_members() const {
    int started = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &started);
    for (const Rank member : world_.members)
      if (member >= started)
        throw ConfigError(
            fmt::format("MPI has {} rank{}, but the job has a rank {}: start the program with mpirun",
                        started, started == 1 ? "" : "s", member));
  }

  void make_group() {
    if (world_.members.empty()) {
      check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &group_), "MPI_Comm_dup");
    } else {
      check_members();
      MPI_Group all, some;
      MPI_Comm_group(MPI_COMM_WORLD, &all);
      MPI_Group_incl(all, world_.size, world_.members.data(), &some);
      const int tag = static_cast<int>(std::hash<std::string>()(world_.name) % 32'000);
      check_mpi(MPI_Comm_create_group(MPI_COMM_WORLD, some, tag, &group_), "MPI_Comm_create_group");
      MPI_Group_free(&some);
      MPI_Group_free(&all);
    }
    MPI_Comm_set_errhandler(group_, MPI_ERRORS_RETURN);
  }

  void compare(const Signature& mine) {
    std::vector<Signature> all(size());
    check_mpi(MPI_Allgather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, group_),
              "MPI_Allgather");
    for (Rank peer = 0; peer < size(); ++peer)
      if (all[peer] != mine)
        throw Mismatch(describe_mismatch(world_.global(rank()), mine, world_.global(peer), all[peer]));
  }

  std::size_t elements(const Call& call, std::size_t bytes) const { return bytes / size_of(call.dtype); }

  void all_reduce(const Call& call) {
    copy_bytes(call.out.data(), call.in.data(), call.in.size());
    in_pieces(elements(call, call.out.size()), call.dtype, [&](std::size_t first, int count) {
      check_mpi(MPI_Allreduce(MPI_IN_PLACE, call.out.data() + first * size_of(call.dtype), count,
                              mpi_type(call.dtype), operations_.find(call.dtype, call.reduction), group_),
                "MPI_Allreduce");
    });
  }

  void reduce(const Call& call) {
    reduce_to(call.root, call.in.data(), call.out.data(), elements(call, call.in.size()), call);
  }

  void reduce_to(Rank root, const std::byte* in, std::byte* out, std::size_t count, const Call& call) {
    in_pieces(count, call.dtype, [&](std::size_t first, int piece) {
      const std::size_t offset = first * size_of(call.dtype);
      const void* source = root == rank() && in == out ? MPI_IN_PLACE : in + offset;
      check_mpi(MPI_Reduce(source, out + offset, piece, mpi_type(call.dtype),
                           operations_.find(call.dtype, call.reduction), root, group_),
                "MPI_Reduce");
    });
  }

  // One call of MPI's where it can count the elements, else a reduction to each rank in turn.
  void reduce_scatter(const Call& call) {
    const std::size_t part = elements(call, call.out.size());
    if (call.in.size() <= kLongest) {
      // A rank alone may give one buffer for both.
      const void* const in = call.in.data() == call.out.data() ? MPI_IN_PLACE : call.in.data();
      check_mpi(MPI_Reduce_scatter_block(in, call.out.data(), static_cast<int>(part), mpi_type(call.dtype),
                                         operations_.find(call.dtype, call.reduction), group_),
                "MPI_Reduce_scatter_block");
      return;
    }
    for (Rank root = 0; root < size(); ++root)
      reduce_to(root, call.in.data() + static_cast<std::size_t>(root) * call.out.size(), call.out.data(),
                part, call);
  }

  void all_gather(const Call& call) {
    const std::size_t part = elements(call, call.in.size()), bytes = call.in.size();
    std::byte* const mine = call.out.data() + static_cast<std::size_t>(rank()) * bytes;
    copy_bytes(mine, call.in.data(), bytes);
    if (call.out.size() <= kLongest) {
      check_mpi(MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, call.out.data(), static_cast<int>(part),
                              mpi_type(call.dtype), group_),
                "MPI_Allgather");
      return;
    }
    for (Rank root = 0; root < size(); ++root)
      broadcast(call.out.subspan(static_cast<std::size_t>(root) * bytes, bytes), call.dtype, root);
  }

  void broadcast(std::span<std::byte> data, DType type, Rank root) {
    in_pieces(data.size() / size_of(type), type, [&](std::size_t first, int count) {
      check_mpi(MPI_Bcast(data.data() + first * size_of(type), count, mpi_type(type), root, group_),
                "MPI_Bcast");
    });
  }

  void all_to_all(const Call& call) {
    const std::size_t bytes = call.in.size() / static_cast<std::size_t>(size()), part = elements(call, bytes);
    if (call.in.size() <= kLongest) {
      const void* const in = call.in.data() == call.out.data() ? MPI_IN_PLACE : call.in.data();
      check_mpi(MPI_Alltoall(in, static_cast<int>(part), mpi_type(call.dtype), call.out.data(),
                             static_cast<int>(part), mpi_type(call.dtype), group_),
                "MPI_Alltoall");
      return;
    }
    for (int step = 0; step < size(); ++step) swap_parts(call, bytes, step);
  }

  // With the rank `step` places on, and the one `step` places back.
  void swap_parts(const Call& call, std::size_t bytes, int step) {
    const Rank to = (rank() + step) % size(), from = (rank() - step + size()) % size();
    in_pieces(elements(call, bytes), call.dtype, [&](std::size_t first, int count) {
      const std::size_t offset = first * size_of(call.dtype);
      check_mpi(MPI_Sendrecv(call.in.data() + static_cast<std::size_t>(to) * bytes + offset, count,
                             mpi_type(call.dtype), to, 0,
                             call.out.data() + static_cast<std::size_t>(from) * bytes + offset, count,
                             mpi_type(call.dtype), from, 0, group_, MPI_STATUS_IGNORE),
                "MPI_Sendrecv");
    });
  }

  const World world_;
  const MpiOptions options_;
  const Isa isa_ = best_isa();
  std::atomic<bool> cancelled_ = false;
  MPI_Comm group_ = MPI_COMM_NULL;  // ends with MPI: freeing it would be a collective call in a destructor
  MpiWatchdog watchdog_;
  const MpiSession session_;  // before operations_, which MPI must be up for
  MpiOperations operations_;
};

}  // namespace

std::unique_ptr<Collectives> make_mpi(const World& world, const MpiOptions& options) {
  return std::make_unique<Mpi>(world, options);
}

}  // namespace gradwire
