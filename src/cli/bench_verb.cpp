#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"
#include "cli/bench_on_machine.h"
#include "cli/flags.h"
#include "cli/progress.h"
#include "cli/usage.h"
#include "cli/verbs.h"
#include "launch/guarded_folder.h"
#include "measure/contestant.h"
#include "measure/contestant_mpi.h"
#include "measure/limit.h"
#include "measure/sampler.h"
#include "net/rendezvous/rendezvous.h"
#include "report/bench.h"
#include "report/render.h"

namespace gradwire {
namespace {

constexpr const char* kBenchExample = R"(
Contestants are sampled in turn, round by round, so that what disturbs the
machine meets all of them; time is the median of the rounds, min the fastest.
Backends:
  shm tcp gloo[:ALGORITHM] mpi[:VARIANT] mpich[:VARIANT] nccl
  shm+tcp shm+gloo auto
  NAME:user   the same on ordinary memory, which shm must stage
  peers       Open MPI, MPICH and Gloo with every setting they are known to be
              fast with

Examples:
  gradwire bench all_reduce -n 2 --backend shm,tcp --sizes 4,64K,1M
  gradwire bench all_reduce -n 2 --backend shm,gloo,mpi --limit --versus shm

Between hosts: start a `gradwire bench` as each rank of a job, by
`gradwire run`, mpirun, srun or torchrun, or with RANK, WORLD_SIZE, MASTER_ADDR,
MASTER_PORT and GRADWIRE_SECRET. Rank 0 prints.

Example, on each of two hosts:
  RANK=0 WORLD_SIZE=2 MASTER_ADDR=host0 MASTER_PORT=29500 \
      gradwire bench all_reduce --backend tcp

With --on MACHINE nothing runs: the model says what nccl-tests would show there,
with the algorithm, protocol and path to look for in NCCL's log. Backends are
then nccl, gloo, mpi, and ours: shm, tcp and shm+tcp, whose programs run in
simulated time.

Examples:
  gradwire bench all_reduce --on dgx-a100 --sizes 1K:1G:8 --html bench.html
  gradwire bench all_reduce --on 4x-rtx4090-pcie --measured p2pBandwidth.txt
  gradwire bench all_reduce --on '2*2x-rtx3090-nvlink@10gbe' --backend nccl,gloo
)";

constexpr const char* kPricedSizes = "8:1G:4";  // what nccl-tests is usually asked for

struct BenchFlags {
  std::string collective, backends = "shm,tcp", sizes = "4,1K,64K,1M,16M", dtype = "f32", reduction = "sum";
  std::string versus, against, interface, sample_time = "10ms", timeout = "60s";
  int ranks = 2, rounds = 7, calls = 0;
  std::string on, costs, html;
  std::vector<std::string> measured;
  std::map<std::string, std::string> nccl;  // its variables
  bool limit = false, json = false, no_plot = false;
  bool ranks_given = false, sizes_given = false, backends_given = false;
};

// The settings peers.md's measurements found to win at one size or another.
const std::vector<std::string> kPeers = {
    "mpi",          "mpi:malloc", "mpi:nocma",  "mpi:segring",           "mpich",
    "mpich:malloc", "gloo",       "gloo:bcube", "gloo:halving_doubling", "gloo:ring_chunked"};

// What --backend names, with what `peers` stands for.
struct Contestants {
  std::vector<std::string> names;
  bool peers = false;  // all of them: those that are not installed are left out
  bool may_lack(const std::string& name) const {
    return peers && std::find(kPeers.begin(), kPeers.end(), name) != kPeers.end();
  }
};

Contestants contestants_of(const BenchFlags& flags) {
  Contestants found;
  for (const auto part : split(flags.backends, ',')) {
    const bool peers = trim(part) == "peers";
    found.peers = found.peers || peers;
    if (peers)
      found.names.insert(found.names.end(), kPeers.begin(), kPeers.end());
    else
      found.names.emplace_back(trim(part));
  }
  if (flags.limit) found.names.emplace_back(kLimit);
  if (!flags.versus.empty() &&
      std::find(found.names.begin(), found.names.end(), flags.versus) == found.names.end())
    throw ConfigError(fmt::format("--versus {}: it is not one of the backends measured ({})", flags.versus,
                                  join(found.names, ", ")));
  return found;
}

std::vector<Bytes> whole_sizes(const std::string& text, DType type) {
  const std::vector<Bytes> sizes = parse_sizes(text);
  for (const Bytes size : sizes)
    if (size % size_of(type) != 0)
      throw ConfigError(fmt::format("--sizes: {} bytes are no whole number of {}: write multiples of {}",
                                    size, name_of(type), size_of(type)));
  return sizes;
}

BenchOptions bench_options(const BenchFlags& flags) {
  if (flags.ranks < 1 || flags.rounds < 1) throw ConfigError("-n and --rounds must be at least 1");
  return {.collective = parse_collective(flags.collective),
          .dtype = parse_dtype(flags.dtype),
          .reduction = parse_reduction(flags.reduction),
          .ranks = flags.ranks,
          .sizes = whole_sizes(flags.sizes, parse_dtype(flags.dtype)),
          .rounds = flags.rounds,
          .calls = flags.calls,
          .sample_time = parse_seconds(flags.sample_time)};
}

// Peers that are not installed are left out and said; a backend the user named must be there.
std::vector<std::unique_ptr<Contestant>> start_contestants(const BenchFlags& flags,
                                                           const std::filesystem::path& folder) {
  const ContestantOptions options{.ranks = flags.ranks,
                                  .timeout = parse_seconds(flags.timeout),
                                  .interface = flags.interface,
                                  .folder = folder};
  const Contestants asked = contestants_of(flags);
  std::vector<std::unique_ptr<Contestant>> contestants;
  for (const auto& name : asked.names) {
    try {
      contestants.push_back(start_contestant(name, options));
    } catch (const ConfigError& error) {
      if (!asked.may_lack(name)) throw;
      say("gradwire bench", fmt::format("without {}: {}", name, error.what()));
    }
  }
  return contestants;
}

int run_priced(const BenchFlags& flags) {
  PriceQuestion question{
      .collective = parse_collective(flags.collective),
      .sizes = whole_sizes(flags.sizes_given ? flags.sizes : kPricedSizes, parse_dtype(flags.dtype)),
      .nccl = nccl_settings(flags.nccl)};
  if (flags.backends_given) {
    question.backends.clear();
    for (const auto& name : contestants_of(flags).names) question.backends.push_back(parse_backend(name));
  }
  return bench_on_machine({.on = flags.on,
                           .ranks = flags.ranks_given ? flags.ranks : 0,
                           .question = std::move(question),
                           .costs = flags.costs,
                           .html = flags.html,
                           .measured = flags.measured,
                           .json = flags.json,
                           .plot = !flags.no_plot});
}

int report(const BenchFlags& flags, const BenchOptions& options,
           const std::vector<std::unique_ptr<Contestant>>& contestants) {
  ProgressBar bar(!flags.json);
  const Measurement measurement =
      measure(options, contestants, [&](double share, const std::string& doing) { bar.show(share, doing); });
  bar.clear();
  BenchView view{.curves = !flags.no_plot};
  if (!flags.versus.empty()) view.contest = Contest{flags.versus, flags.against};
  Report found = bench_report(options, measurement, view);
  show(found, flags.json);
  if (!flags.html.empty())
    write_html(flags.html,
               plain_page("bench", fmt::format("{} with {} ranks", flags.collective, options.ranks),
                          std::move(found)));
  std::uint64_t wrong = 0;
  for (const Row& row : measurement.rows) wrong += row.wrong;
  return wrong == 0 ? 0 : 1;
}

// One of the ranks that something else started.
int run_in_job(const BenchFlags& flags) {
  if (flags.ranks_given)
    throw ConfigError(
        fmt::format("-n {}: this is a rank of a job already, which says how many there are", flags.ranks));
  const World world = join("env://", {.interface = flags.interface, .timeout = parse_seconds(flags.timeout)});
  int code = 0;
  if (world.rank == 0) {
    auto options = bench_options(flags);
    options.ranks = world.size;
    code = report(flags, options, job_contestants(world, contestants_of(flags).names));
  } else {
    follow_job(world, contestants_of(flags).names);
  }
  leave(world);
  return code;
}

int run_bench(const BenchFlags& flags) {
  if (!flags.on.empty()) return run_priced(flags);
  if (is_one_of_several(process_environment())) return run_in_job(flags);
  const auto options = bench_options(flags);
  const auto names = contestants_of(flags).names;
  std::optional<GuardedFolder> folder;  // made while there is but this thread
  if (std::ranges::any_of(names, [](const auto& name) { return find_mpi(name).has_value(); }))
    folder.emplace();
  return report(flags, options, start_contestants(flags, folder ? folder->path() : std::filesystem::path()));
}

void add_rank_verb(CLI::App& app, int& exit_code) {
  auto* verb = app.add_subcommand("bench-rank", "a rank process of `bench`")->group("");
  auto contestant = std::make_shared<std::string>();
  verb->add_option("contestant", *contestant)->required();
  verb->callback([contestant, &exit_code] { exit_code = run_bench_rank(join("env://"), *contestant); });
}

}  // namespace

void add_bench_verb(CLI::App& app, int& exit_code) {
  auto* verb = app.add_subcommand("bench", "measure collectives on this machine, backends side by side");
  auto flags = std::make_shared<BenchFlags>();
  verb->add_option("collective", flags->collective,
                   "all_reduce, reduce_scatter, all_gather, broadcast, reduce, all_to_all, barrier, gather, "
                   "scatter, exchange (each rank to the next), send or recv (rank 0 to rank 1)")
      ->required();
  verb->add_option("-n,--ranks", flags->ranks, "rank processes of each contestant")
      ->capture_default_str()
      ->check(within(1, 65536));
  verb->add_option("-b,--backend", flags->backends, "who takes part, comma-separated")->capture_default_str();
  verb->add_option("-s,--sizes", flags->sizes, "bytes: a list, or FIRST:LAST[:FACTOR]")
      ->capture_default_str();
  verb->add_option("-d,--dtype", flags->dtype, "f16 bf16 f32 f64 i8 u8 i32 i64")->capture_default_str();
  verb->add_option("-o,--op", flags->reduction, "sum avg min max product")->capture_default_str();
  verb->add_option("-r,--rounds", flags->rounds, "samples of each contestant at each size")
      ->capture_default_str()
      ->check(within(1, 1e6));
  verb->add_option("--sample-time", flags->sample_time, "how long a sample lasts")->capture_default_str();
  verb->add_option("-i,--iters", flags->calls, "calls a sample, instead of a time")->check(within(1, 1e9));
  verb->add_option("--timeout", flags->timeout, "give up on a wait after this long")->capture_default_str();
  verb->add_option("--interface", flags->interface,
                   "where network backends listen: a name, an address or a CIDR");
  verb->add_flag_callback(
      "--trust-network",
      [] { ::setenv("GRADWIRE_TRUST_NETWORK", "1", 1); },  // for the ranks, which inherit it
      "let gloo, which proves nothing, listen beyond loopback");
  verb->add_flag("--limit", flags->limit, "also measure the machine's own limit (all_reduce, f32, sum)");
  verb->add_option("--versus", flags->versus, "compare this backend with the fastest other at each size");
  verb->add_option("--against", flags->against, "with --versus: only these others count, as in gloo");
  verb->add_flag("--json", flags->json, "print one JSON object and nothing else");
  add_html_flag(*verb, flags->html);
  verb->add_flag("--no-plot", flags->no_plot, "leave out the plot");
  verb->footer(kBenchExample);
  verb->add_option("--on", flags->on,
                   "price it on this machine instead of running: see gradwire topo --help");
  verb->add_option("--costs", flags->costs,
                   "with --on: take the costs of gloo, tcp or mpi from this bench --json");
  add_nccl_flag(*verb, flags->nccl);
  add_measured_flag(*verb, flags->measured);
  verb->callback([verb, flags, &exit_code] {
    flags->ranks_given = verb->count("--ranks") > 0;
    flags->sizes_given = verb->count("--sizes") > 0;
    flags->backends_given = verb->count("--backend") > 0;
    if (!flags->on.empty())
      refuse_flags(*verb,
                   {"--op", "--rounds", "--sample-time", "--iters", "--timeout", "--interface", "--limit",
                    "--versus", "--against"},
                   "with --on: nothing is measured");
    else
      refuse_flags(*verb, {"--costs", "--measured", "--nccl"},
                   "without --on: it prices a machine's collectives");
    exit_code = run_bench(*flags);
  });
  add_rank_verb(app, exit_code);
}

}  // namespace gradwire
