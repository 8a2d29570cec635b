#include <array>
#include <span>

#include "base/error.h"
#include "base/files.h"
#include "fuzz/readers.h"
#include "launch/outcome.h"
#include "launch/roster.h"
#include "net/fault.h"
#include "net/store/wire.h"
#include "report/page/question.h"
#include "trace/timeline.h"
#include "train/loop/checkpoint_files.h"
#include "train/loop/tensor_file.h"

namespace gradwire {
namespace {

std::string made_checkpoint() {
  const std::array<float, 6> matrix = {1, 2, 3, 4, 5, 6};
  const std::array<std::int64_t, 1> step = {17};
  const TempDir folder;
  write_tensor_file(folder.path() / "c",
                    {{"b.weight", "F32", {2, 3}, std::as_bytes(std::span(matrix))},
                     {"a.step", "I64", {}, std::as_bytes(std::span(step))},
                     {"empty", "U8", {0, 4}, {}}},
                    {{"gradwire.step", "5"}, {"gradwire.epoch", "0"}});
  return read_file(folder.path() / "c");
}

const std::string& whole_checkpoint() {
  static const std::string bytes = made_checkpoint();
  return bytes;
}

// Not a byte of it may change unnoticed.
void read_checkpoint(std::string_view bytes) {
  TensorFile(std::string(bytes), "c");
  check(bytes == whole_checkpoint(), "a damaged checkpoint was taken for whole");
}

// As other programs write them: the length of the header, the header, the bytes.
std::string foreign_checkpoint() {
  const std::string header =
      R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[2,1],"data_offsets":[4,12]}})";
  const std::uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), sizeof length) + header + std::string(12, '\1');
}

const std::string kListedParts =
    "run.ckpt.step-3.0123abcd.0-of-2 00112233445566778899aabbccddeeff\n"
    "run.ckpt.step-3.0123abcd.1-of-2 ffeeddccbbaa99887766554433221100";

void read_parts(std::string_view text) {
  for (const PartEntry& part : parts_in(Notes{{"gradwire.shards", std::string(text)}}))
    check(part.name.find('/') == std::string::npos, "a part of a checkpoint leads elsewhere");
}

// As the page and its address hold it.
const std::string kQuestion =
    R"({"model": {"name": "mine", "parameters": 124e6, "family": "transformer"}, "machines": ["dgx-a100",
        {"name": "2*box.txt:rtx3090@10gbe", "matrix": "\tGPU0\tGPU1\nGPU0\tX\tPHB\nGPU1\tPHB\tX\n"}],
        "batch": 16, "bucket_mb": 12.5, "precision": "bf16", "compress": "powersgd",
        "env": {"NCCL_P2P_DISABLE": "1"}, "anchor": {"step_ms": 120, "batch": 8, "accumulate": 1}, "sweep": "batch=8,16"})";

void read_question(std::string_view text) {
  const PageQuestion question = parse_question(text);
  command_of(question);
  machines_of(question);
}

Timeline two_ranks() {
  Timeline timeline;
  timeline.source = "gradwire train mlp, shm";
  timeline.ranks = 2;
  for (const Rank rank : {0, 1}) {
    Span span;
    span.rank = rank;
    span.kind = SpanKind::forward;
    span.begin = 0.001;
    span.end = 0.0035;
    timeline.spans.push_back(span);
    span.kind = SpanKind::bucket;
    span.bucket = 2;
    span.bytes = 25 << 20;
    timeline.spans.push_back(span);
  }
  return timeline;
}

// What may come over a connection; there Malformed and other errors of transports are what bad bytes get.
template <typename Read>
auto by_wire(const Read& read) {
  return [read](std::string_view bytes) {
    try {
      read(bytes);
    } catch (const TransportError&) {
    }
  };
}

std::vector<std::string> messages() {
  Request request;
  request.kind = Request::Kind::set;
  request.number = 7;
  request.key = "world/host/1";
  request.value = "a value";
  return {frame(Greeting{make_nonce()}.encode()), frame(Claim{make_nonce(), {}, {1, "0"}}.encode()),
          frame(request.encode()), frame(Reply{7, true, "a value"}.encode())};
}

// As each of the messages there are.
void take_message(std::string_view bytes) {
  FrameReader frames;
  frames.append(bytes);
  while (const auto message = frames.next(kMaxFrame)) {
    by_wire([](std::string_view text) { Greeting::decode(text); })(*message);
    by_wire([](std::string_view text) { Claim::decode(text); })(*message);
    by_wire([](std::string_view text) { ProofVerdict::decode(text); })(*message);
    by_wire([](std::string_view text) { Request::decode(text); })(*message);
    by_wire([](std::string_view text) { Reply::decode(text); })(*message);
  }
}

const Fault kFault{Fault::Kind::peer_lost, 1, 2, "rank 2 is gone"};

Outcome outcome() {
  Outcome lost;
  lost.rank = 1;
  lost.kind = Outcome::Kind::threw;
  lost.error = "PeerLost";
  lost.text = "rank 0 is gone";
  lost.peer = 0;
  return lost;
}

}  // namespace

std::vector<Reader> readers_of_our_own() {
  return {{"timeline",
           [](std::string_view text) { parse_timeline(text, "t.json"); },
           {timeline_json(two_ranks())}},
          {"checkpoint", read_checkpoint, {whole_checkpoint()}},
          // Without a checksum damage comes further.
          {"foreign_checkpoint",
           [](std::string_view text) { TensorFile(std::string(text), "c", Unchecked::accept); },
           {foreign_checkpoint()}},
          {"parts", read_parts, {kListedParts}},
          {"question", read_question, {kQuestion}},
          {"messages", by_wire([](std::string_view bytes) { take_message(bytes); }), messages()},
          {"fault", by_wire([](std::string_view text) { Fault::decode(text); }), {kFault.encode()}},
          {"outcome", by_wire([](std::string_view text) { decode_outcome(text); }), {encode(outcome())}},
          {"roster",
           by_wire([](std::string_view text) { NodeRoster::parse(text); }),
           {"0:2:abcdef01.1 1:2:12345678.1"}}};
}

}  // namespace gradwire
