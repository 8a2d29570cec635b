#include "base/module.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/error.h"
#include "support/error_of.h"

namespace gradwire {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class Modules : public testing::Test {
 protected:
  Modules() { ::setenv("GRADWIRE_MODULES", GRADWIRE_MODULE_STANDINS, 1); }
  ~Modules() override { ::unsetenv("GRADWIRE_MODULES"); }

  static ModuleSpec named(const std::string& name) {
    return {.name = name, .not_built = "built without it", .install = "apt-get install its-package"};
  }
  static std::string error_opening(const std::string& name,
                                   const char* symbol = "gradwire_throw_config_error") {
    return error_of([&] { open_module(named(name), symbol); });
  }
};

TEST_F(Modules, throw_errors_that_their_caller_catches_by_type) {
  const auto lose = module_function<void(int)>(named("works"), "gradwire_throw_peer_lost");
  try {
    lose(3);
    FAIL() << "nothing was thrown";
  } catch (const TransportError& error) {  // by a base, as most do
    const auto* lost = dynamic_cast<const PeerLost*>(&error);
    ASSERT_NE(lost, nullptr);
    EXPECT_EQ(lost->peer(), 3);
  }
  EXPECT_THROW(module_function<void()>(named("works"), "gradwire_throw_config_error")(), ConfigError);
}

TEST_F(Modules, that_are_not_there_are_said_in_the_callers_words) {
  EXPECT_EQ(error_opening("nosuch"), "built without it");
  EXPECT_FALSE(find_module("nosuch"));
  EXPECT_TRUE(find_module("works"));
}

TEST_F(Modules, without_their_library_say_what_to_install) {
  EXPECT_EQ(error_opening("alone"),
            "libgradwire-alone.so needs libgone.so.7, which is not installed: apt-get install its-package");
}

TEST_F(Modules, of_another_version_are_refused) {
  EXPECT_THAT(error_opening("old"), AllOf(HasSubstr("is of Gradwire 0.0.1"), HasSubstr("install both anew")));
  EXPECT_THAT(error_opening("stranger"), HasSubstr("is not a module of Gradwire"));
  EXPECT_THAT(error_opening("works", "nosuch"), HasSubstr("has no nosuch"));
}

TEST_F(Modules, are_looked_for_beside_the_program_unless_a_folder_is_named) {
  ::unsetenv("GRADWIRE_MODULES");
  EXPECT_FALSE(find_module("works"));
}

}  // namespace
}  // namespace gradwire
