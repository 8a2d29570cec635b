// Where the secret of a job comes from when ranks are not brought together by a file.
#pragma once

#include <filesystem>
#include <string>

#include "net/rendezvous/environment.h"

namespace gradwire {

// GRADWIRE_SECRET; else the user's own cookie, $HOME/.gradwire-cookie, which is made when there is none,
// mixed with the job's name. Throws ConfigError when the secret is short or the cookie can be read by others.
std::string choose_secret(const Environment& environment, const std::string& job);

// The content of a file that only this user can read or write, without the white space around it; what others
// may have touched is refused with the command that mends it.
std::string read_private_file(const std::filesystem::path& path);

// Throws ConfigError when a secret can be guessed; `origin` says where it stands.
void check_secret(const std::string& secret, const std::string& origin);

}  // namespace gradwire
