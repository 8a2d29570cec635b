// All that a program using Gradwire needs: start or join a world of ranks, make a communicator, call
// collectives.
#pragma once

#include "base/error.h"
#include "comm/communicator.h"
#include "comm/make.h"
#include "comm/objects.h"
#include "launch/spawn.h"
#include "net/rendezvous/rendezvous.h"
