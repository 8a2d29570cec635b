#include "net/store/wire.h"

#include <gtest/gtest.h>

namespace gradwire {
namespace {

TEST(FrameReader, gives_whole_frames_however_the_bytes_arrive) {
  const std::string stream = frame("one") + frame("") + frame(std::string(3000, 'x'));
  for (const std::size_t piece : {1, 2, 3, 7, 1000, 4000}) {
    FrameReader reader;
    std::vector<std::string> frames;
    for (std::size_t at = 0; at < stream.size(); at += piece) {
      reader.append(std::string_view(stream).substr(at, piece));
      while (auto next = reader.next(3000)) frames.push_back(*next);
    }
    EXPECT_EQ(frames, (std::vector<std::string>{"one", "", std::string(3000, 'x')})) << piece;
  }
}

TEST(FrameReader, refuses_a_frame_as_soon_as_it_announces_too_much) {
  FrameReader reader;
  reader.append(std::string("\x01\x02\x00\x00", 4));
  EXPECT_THROW(reader.next(512), Malformed);
}

TEST(StoreWire, messages_survive_the_journey) {
  const Request request{Request::Kind::add, 1ULL << 60, -7, "key", std::string("a\0b", 3)};
  const auto same_request = Request::decode(request.encode());
  EXPECT_EQ(same_request.kind, request.kind);
  EXPECT_EQ(same_request.number, request.number);
  EXPECT_EQ(same_request.amount, -7);
  EXPECT_EQ(same_request.key, "key");
  EXPECT_EQ(same_request.value, request.value);

  const Claim claim{make_nonce(), make_nonce(), {-1, "space"}};
  const auto same_claim = Claim::decode(claim.encode());
  EXPECT_EQ(same_claim.nonce, claim.nonce);
  EXPECT_EQ(same_claim.proof, claim.proof);
  EXPECT_EQ(same_claim.who.rank, -1);
  EXPECT_EQ(same_claim.who.space, "space");

  EXPECT_FALSE(ProofVerdict::decode(ProofVerdict{{}, "no"}.encode()).proof);
  EXPECT_EQ(ProofVerdict::decode(ProofVerdict{{}, "no"}.encode()).reason, "no");
  EXPECT_EQ(Reply::decode(Reply{3, false, "why"}.encode()).value, "why");
}

// Every message cut at every length, and with one byte too many.
TEST(StoreWire, no_torn_message_is_taken_for_a_whole_one) {
  const auto request = Request{Request::Kind::set, 1, 0, "key", "value"}.encode();
  const auto claim = Claim{{}, {}, {3, "space"}}.encode();
  const auto reply = Reply{1, true, "value"}.encode();
  for (std::size_t i = 0; i < request.size(); ++i)
    EXPECT_THROW(Request::decode(request.substr(0, i)), Malformed);
  for (std::size_t i = 0; i < claim.size(); ++i) EXPECT_THROW(Claim::decode(claim.substr(0, i)), Malformed);
  for (std::size_t i = 0; i < reply.size(); ++i) EXPECT_THROW(Reply::decode(reply.substr(0, i)), Malformed);
  EXPECT_THROW(Request::decode(request + "x"), Malformed);
  EXPECT_THROW(Claim::decode(claim + "x"), Malformed);
  EXPECT_THROW(Greeting::decode("HTTP/1.1 400 Bad Request and so on and on and on"), Malformed);
}

TEST(StoreWire, proofs_depend_on_everything_they_should) {
  const Nonce one = make_nonce(), two = make_nonce();
  const auto proof = client_proof("secret", one, two, {1, "a"});
  EXPECT_EQ(proof, client_proof("secret", one, two, {1, "a"}));
  EXPECT_NE(proof, client_proof("other", one, two, {1, "a"}));
  EXPECT_NE(proof, client_proof("secret", two, one, {1, "a"}));
  EXPECT_NE(proof, client_proof("secret", one, two, {2, "a"}));
  EXPECT_NE(proof, client_proof("secret", one, two, {1, "b"}));
  EXPECT_NE(server_proof("secret", one, two), client_proof("secret", one, two, {}));
}

}  // namespace
}  // namespace gradwire
