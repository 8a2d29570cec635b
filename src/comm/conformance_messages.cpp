#include "comm/collectives_conformance.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "comm/conformance_case.h"

namespace gradwire {
namespace {

class MessageSuite {
 public:
  MessageSuite(Collectives& collectives, const ConformanceOptions& options, std::uint64_t& sequence)
      : collectives_(collectives),
        options_(options),
        sequence_(sequence),
        ranks_(collectives.size()),
        me_(collectives.rank()) {}

  std::vector<std::string> run() {
    std::vector<std::size_t> sizes = {0, 1, 63, 4099};
    if (options_.large_count > 0) sizes.push_back(options_.large_count);
    for (const bool own : {false, true})
      for (const std::size_t bytes : sizes) {
        if (wants(Collective::exchange)) round_the_ranks(bytes, own);
        if (wants(Collective::exchange)) everybody_with_everybody(bytes, own);
        if (wants(Collective::send)) one_after_the_other(bytes, own);
        uneven(bytes, own);
      }
    return std::move(wrong_);
  }

 private:
  bool wants(Collective kind) const {
    return options_.kinds.empty() ||
           std::find(options_.kinds.begin(), options_.kinds.end(), kind) != options_.kinds.end();
  }

  void start(const Call& call) {
    const Signature signature =
        check_call(call, ranks_, is_point_to_point(call.kind) ? sequence_ : sequence_++);
    run_call(collectives_, spell_out(call, me_, ranks_), signature, scratch_);
  }

  Memory memory(std::size_t bytes, bool own) {
    return own ? collectives_.allocate(bytes) : allocate_private(bytes);
  }

  // What a rank sends another one in a case of so many bytes.
  static Elements text(Rank from, Rank to, std::size_t bytes) {
    return pattern({.kind = Collective::send, .dtype = DType::u8, .count = bytes}, 37 * from + to, bytes);
  }
  static void write(std::span<std::byte> place, const Elements& content) {
    std::copy(content.begin(), content.end(), place.begin());
  }

  void expect(std::span<const std::byte> got, const Elements& wanted, const std::string& what) {
    constexpr std::size_t kEnough = 10;
    if (!std::equal(got.begin(), got.end(), wanted.begin(), wanted.end()) && wrong_.size() < kEnough)
      wrong_.push_back(
          fmt::format("rank {} of {}: {} of {} bytes came wrong", me_, ranks_, what, wanted.size()));
  }

  // Each sends to the next and receives from the one before, itself where it is alone.
  void round_the_ranks(std::size_t bytes, bool own) {
    const Rank next = (me_ + 1) % ranks_, before = (me_ + ranks_ - 1) % ranks_;
    const Memory out = memory(bytes, own), in = memory(bytes, own);
    write(out.bytes(), text(me_, next, bytes));
    start(exchange(
        {{.peer = next, .out = out.bytes(), .tag = 7}, {.peer = before, .in = in.bytes(), .tag = 7}}));
    expect(in.bytes(), text(before, me_, bytes), "a message round the ranks");
  }

  // Two messages each way between every pair, all at once; those of a pair keep their order.
  void everybody_with_everybody(std::size_t bytes, bool own) {
    const std::size_t room = 2 * static_cast<std::size_t>(ranks_) * bytes;
    const Memory out = memory(room, own), in = memory(room, own);
    const auto place = [&](const Memory& memory, Rank peer, std::size_t i) {
      return memory.bytes().subspan((2 * static_cast<std::size_t>(peer) + i) * bytes, bytes);
    };
    std::vector<Message> messages;
    for (std::size_t i = 0; i < 2; ++i)
      for (Rank peer = 0; peer < ranks_; ++peer) {
        write(place(out, peer, i), text(me_ + 100 * static_cast<Rank>(i), peer, bytes));
        messages.push_back({.peer = peer, .out = place(out, peer, i), .in = place(in, peer, i), .tag = 5});
      }
    start(exchange(messages));
    for (std::size_t i = 0; i < 2; ++i)
      for (Rank peer = 0; peer < ranks_; ++peer)
        expect(place(in, peer, i), text(peer + 100 * static_cast<Rank>(i), me_, bytes),
               "a message of a batch");
  }

  // A chain: the others know nothing of what two do.
  void one_after_the_other(std::size_t bytes, bool own) {
    const Memory buffer = memory(bytes, own);
    if (me_ > 0) start(recv(buffer.bytes(), me_ - 1, 3));
    if (me_ > 0) expect(buffer.bytes(), text(me_ - 1, me_, bytes), "a message down the chain");
    write(buffer.bytes(), text(me_, me_ + 1, bytes));
    if (me_ + 1 < ranks_) start(send(buffer.bytes(), me_ + 1, 3));
  }

  // From rank a to rank b; different for every pair, and nothing for some.
  static std::size_t part(Rank a, Rank b, std::size_t bytes) {
    return (bytes + static_cast<std::size_t>(a)) * static_cast<std::size_t>((a + 2 * b) % 3) / 2 *
           sizeof(float);
  }

  template <typename Size>
  std::vector<std::size_t> parts(const Size& size) const {
    std::vector<std::size_t> sizes;
    for (Rank rank = 0; rank < ranks_; ++rank) sizes.push_back(size(rank));
    return sizes;
  }
  static std::size_t sum(const std::vector<std::size_t>& sizes) {
    return std::accumulate(sizes.begin(), sizes.end(), std::size_t{0});
  }

  void uneven(std::size_t bytes, bool own) {
    if (wants(Collective::all_to_all)) uneven_all_to_all(bytes, own);
    if (wants(Collective::all_gather)) uneven_gathers(bytes, own);
    if (wants(Collective::scatter)) uneven_scatter(bytes, own);
    if (wants(Collective::reduce_scatter)) uneven_reduce_scatter(bytes, own);
  }

  void uneven_all_to_all(std::size_t bytes, bool own) {
    const auto out_sizes = parts([&](Rank to) { return part(me_, to, bytes); });
    const auto in_sizes = parts([&](Rank from) { return part(from, me_, bytes); });
    const Memory out = memory(sum(out_sizes), own), in = memory(sum(in_sizes), own);
    Elements given, wanted;
    for (Rank peer = 0; peer < ranks_; ++peer) {
      const Elements mine = text(me_, peer, out_sizes[peer]), theirs = text(peer, me_, in_sizes[peer]);
      given.insert(given.end(), mine.begin(), mine.end());
      wanted.insert(wanted.end(), theirs.begin(), theirs.end());
    }
    write(out.bytes(), given);
    start(with_parts(all_to_all(out.bytes(), in.bytes(), DType::f32), {.in = out_sizes, .out = in_sizes}));
    expect(in.bytes(), wanted, "an all_to_all with parts of different sizes");
  }

  void uneven_gathers(std::size_t bytes, bool own) {
    const auto sizes = parts([&](Rank from) { return part(from, 1, bytes); });
    const Memory out = memory(sizes[me_], own), in = memory(sum(sizes), own);
    Elements wanted;
    for (Rank from = 0; from < ranks_; ++from) {
      const Elements theirs = text(from, 0, sizes[from]);
      wanted.insert(wanted.end(), theirs.begin(), theirs.end());
    }
    write(out.bytes(), text(me_, 0, sizes[me_]));
    start(with_parts(all_gather(out.bytes(), in.bytes(), DType::f32), {.out = sizes}));
    expect(in.bytes(), wanted, "an all_gather with parts of different sizes");
    const Rank root = ranks_ - 1;
    std::fill(in.bytes().begin(), in.bytes().end(), std::byte{});
    if (me_ == root)
      start(with_parts(gather(out.bytes(), in.bytes(), DType::f32, root), {.out = sizes}));
    else
      start(gather(out.bytes(), {}, DType::f32, root));
    if (me_ == root) expect(in.bytes(), wanted, "a gather with parts of different sizes");
  }

  void uneven_scatter(std::size_t bytes, bool own) {
    const auto sizes = parts([&](Rank to) { return part(to, 2, bytes); });
    const Memory out = memory(sum(sizes), own), in = memory(sizes[me_], own);
    Elements all;
    for (Rank to = 0; to < ranks_; ++to) {
      const Elements theirs = text(0, to, sizes[to]);
      all.insert(all.end(), theirs.begin(), theirs.end());
    }
    write(out.bytes(), all);
    if (me_ == 0)
      start(with_parts(scatter(out.bytes(), in.bytes(), DType::f32, 0), {.in = sizes}));
    else
      start(scatter({}, in.bytes(), DType::f32, 0));
    expect(in.bytes(), text(0, me_, sizes[me_]), "a scatter with parts of different sizes");
  }

  void uneven_reduce_scatter(std::size_t bytes, bool own) {
    const auto sizes = parts([&](Rank to) { return part(to, 1, bytes); });
    const std::size_t before = sum({sizes.begin(), sizes.begin() + me_});
    const Memory in = memory(sum(sizes), own), out = memory(sizes[me_], own);
    const ConformanceCase c{.kind = Collective::reduce_scatter, .count = bytes};
    std::vector<Elements> mine;
    for (Rank rank = 0; rank < ranks_; ++rank) {
      const Elements whole = pattern(c, rank, sum(sizes) / sizeof(float));
      if (rank == me_) write(in.bytes(), whole);
      mine.emplace_back(whole.begin() + static_cast<std::ptrdiff_t>(before),
                        whole.begin() + static_cast<std::ptrdiff_t>(before + sizes[me_]));
    }
    start(with_parts(reduce_scatter(in.bytes(), out.bytes(), DType::f32), {.in = sizes}));
    expect(out.bytes(), reference_combine(c.dtype, c.reduction, mine),
           "a reduce_scatter with parts of different sizes");
  }

  Collectives& collectives_;
  const ConformanceOptions& options_;
  std::uint64_t& sequence_;
  const int ranks_;
  const Rank me_;
  Memory scratch_;
  std::vector<std::string> wrong_;
};

}  // namespace

std::vector<std::string> check_messages(Collectives& collectives, const ConformanceOptions& options,
                                        std::uint64_t& sequence) {
  return MessageSuite(collectives, options, sequence).run();
}

}  // namespace gradwire
