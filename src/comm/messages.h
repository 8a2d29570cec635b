// Calls that are made of messages, once for all backends: send, recv and exchange themselves, gather and scatter, and
// all_gather, reduce_scatter and all_to_all where the ranks' parts differ in size. A backend only has to move them
// (Collectives::exchange). Pure functions, but for run_call().
#pragma once

#include "comm/collectives.h"

namespace gradwire {

// Whether a call is one of these; else the backend does it itself.
bool is_of_messages(const Call& call);

// The call with its messages, as one rank has to send and receive them: of any all_to_all too, for backends that have none.
// Throws ConfigError where its own buffer has not the size of its part.
Call spell_out(Call call, Rank me, int world);

// What both sides present with a message of these bytes in a call.
Signature signature_of(const Signature& call, std::uint32_t tag, std::size_t bytes);

// Runs a call that was spelt out if it is of messages. `scratch` is kept between calls, as what is received of a reduction
// has to be somewhere before it is added.
void run_call(Collectives& collectives, const Call& call, const Signature& signature, Memory& scratch);

}  // namespace gradwire
