// How two ranks that meet on a fresh TCP connection prove to each other that they know the secret of their
// world.
//
//   connecting side   Hello    which connection this is to be, and a nonce
//   accepting side    Answer   its own nonce, and its proof
//   connecting side   its proof
//   accepting side    a welcome, so that the connecting side knows that the connection counts
//
// Both proofs cover the world's name, the connection's place and both nonces, and differ by role, so that
// none can be replayed, thrown back or used for another place. The secret never travels, and nothing is
// encrypted.
//
// A Handshake never waits: the owner polls its socket for events() and calls advance(). One thread.
#pragma once

#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/secret.h"
#include "base/units.h"
#include "net/world.h"

namespace gradwire {

// A connection's place in the mesh: rank `from` connects, rank `to` accepts; a pair of ranks has several
// lanes.
struct Edge {
  std::int32_t from = 0, to = 0, lane = 0;
};

class Handshake {
 public:
  enum class State { working, done, failed };
  enum class Failure {
    broken,
    refused,
    stranger
  };  // trying again may help; nobody listens; it is not one of us

  // For a socket on which connect() has been called, and for one that was accepted. `world` must outlive it.
  Handshake(Fd socket, const World& world, const Edge& edge);
  Handshake(Fd socket, const World& world);

  State advance();
  int socket() const { return socket_.get(); }
  short events() const;  // for poll
  Fd take_socket() { return std::move(socket_); }

  const Edge& edge() const { return edge_; }    // the accepting side knows it once done
  Failure failure() const { return failure_; }  // once failed, as is the next
  const std::string& reason() const { return reason_; }

 private:
  enum class Step { hello, answer, proof, welcome, nothing };  // what the other side is to say next

  State fail(Failure failure, const std::string& reason);
  bool flush();    // true when all that was to be said is said
  bool receive();  // true when all that is awaited is there
  std::size_t bytes_of_step() const;
  bool understand();  // what is there; false when it is not what a rank of this world says
  bool understand_hello();
  bool understand_answer();
  bool understand_proof();
  bool understand_welcome();
  Proof proof_of(std::string_view role) const;

  Fd socket_;
  const World* world_;
  Edge edge_;
  Nonce connector_{}, acceptor_{};
  Step awaited_;
  std::string outgoing_, incoming_;
  std::string reason_;
  Failure failure_ = Failure::broken;
};

}  // namespace gradwire
