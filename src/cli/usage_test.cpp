#include "cli/usage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"

namespace gradwire {
namespace {

using testing::ElementsAre;

// A program with two verbs, and what it says to a command line.
struct Program {
  Program() {
    app.name("gradwire");
    app.require_subcommand(1);
    auto* compare = app.add_subcommand("compare", "compares");
    compare->add_option("model", model)->required();
    compare->add_option("--on", on, "a machine")->required();
    compare->add_option("-n,--batch", batch)->check(within(1, 1024));
    compare->add_flag("--json", json);
    compare->footer("Examples:\n  gradwire compare gpt2 --on dgx-a100\n");
    app.add_subcommand("run", "runs")->add_option("program", command)->required();
  }

  std::string says(const Words& words) {
    const CLI::App* verb = nullptr;
    try {
      verb = find_verb(app, words);
      Words checked = checked_words(app, verb, words);
      std::reverse(checked.begin(), checked.end());
      app.parse(checked);
      return "";
    } catch (const CLI::ParseError& error) {
      return usage_message(app, verb, error);
    } catch (const ConfigError& error) {
      return error.what();
    }
  }

  CLI::App app{"a program"};
  std::string model, on;
  int batch = 0;
  bool json = false;
  Words command;
};

std::string said(const Words& words) { return Program().says(words); }

TEST(Usage, names_the_verb_that_was_meant_or_all_of_them) {
  EXPECT_EQ(said({"comapre"}), "'comapre' is not a verb; did you mean compare? (see `gradwire --help`)");
  EXPECT_EQ(said({"nosuch"}), "'nosuch' is not a verb; there are compare, run (see `gradwire --help`)");
}

TEST(Usage, names_the_flag_that_was_meant_before_it_misses_another) {
  EXPECT_EQ(said({"compare", "gpt2", "--bacth", "4"}),
            "there is no flag --bacth; did you mean --batch? (see `gradwire compare --help`)");
  EXPECT_EQ(said({"compare", "gpt2", "--nosuch=4"}),
            "there is no flag --nosuch (see `gradwire compare --help`)");
  EXPECT_EQ(said({"compare", "resnet50", "--batch-size=4"}),
            "there is no flag --batch-size; did you mean --batch? (see `gradwire compare --help`)");
  EXPECT_EQ(said({"compare", "gpt2", "--machine", "dgx-a100"}),
            "there is no flag --machine; did you mean --on? (see `gradwire compare --help`)");
  EXPECT_EQ(said({"--nosuch"}), "there is no flag --nosuch (see `gradwire --help`)");
}

TEST(Usage, shows_an_example_when_something_is_missing) {
  EXPECT_EQ(said({"compare", "gpt2"}),
            "--on is missing; as in `gradwire compare gpt2 --on dgx-a100` (see `gradwire compare --help`)");
  EXPECT_EQ(said({"compare"}),
            "model is missing; as in `gradwire compare gpt2 --on dgx-a100` (see `gradwire compare --help`)");
}

TEST(Usage, says_what_a_number_must_be) {
  EXPECT_EQ(said({"compare", "m", "--on", "x", "--batch", "0"}),
            "--batch 0: write a number from 1 to 1024 (see `gradwire compare --help`)");
  EXPECT_EQ(said({"compare", "m", "--on", "x", "--batch", "-4"}),
            "--batch -4: write a number from 1 to 1024 (see `gradwire compare --help`)");
  EXPECT_EQ(said({"compare", "m", "--on", "x", "--batch", "four"}),
            "--batch four: write a number from 1 to 1024 (see `gradwire compare --help`)");
  EXPECT_EQ(said({"compare", "m", "--on", "x", "--batch", "1.5"}),
            "--batch 1.5: write a whole number below 2 billion (see `gradwire compare --help`)");
}

TEST(Usage, says_when_a_value_or_a_word_is_missing_or_too_many) {
  EXPECT_EQ(said({"compare", "m", "--on"}), "--on needs a value: a machine (see `gradwire compare --help`)");
  EXPECT_EQ(said({"compare", "m", "--on", "x", "--on", "y"}),
            "--on is there 2 times; write it once (see `gradwire compare --help`)");
  EXPECT_EQ(said({"compare", "m", "--on", "x", "y"}),
            "'y' is a word too many (see `gradwire compare --help`)");
}

TEST(Usage, knows_help_as_a_word) {
  EXPECT_THAT(asked({"help"}), ElementsAre("--help"));
  EXPECT_THAT(asked({"help", "compare"}), ElementsAre("compare", "--help"));
  EXPECT_THAT(asked({"run", "help"}), ElementsAre("run", "help"));
}

TEST(Usage, takes_what_is_right) {
  EXPECT_EQ(said({"compare", "m", "--on", "x", "-n4", "--json"}), "");
  EXPECT_EQ(said({"compare", "m", "--on=x", "--batch=4"}), "");
}

TEST(Usage, leaves_the_flags_of_a_program_to_it) {
  for (const Words& words : {Words{"run", "ls", "--all"}, Words{"run", "--", "ls", "--all"}}) {
    Program program;
    EXPECT_EQ(program.says(words), "");
    EXPECT_THAT(program.command, ElementsAre("ls", "--all"));
  }
}

}  // namespace
}  // namespace gradwire
