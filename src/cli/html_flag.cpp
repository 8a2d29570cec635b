#include "cli/html_flag.h"

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"
#include "report/page/page_file.h"
#include "report/page/question.h"

namespace gradwire {

CLI::Option* add_html_flag(CLI::App& verb, std::string& file) {
  return verb.add_option("--html", file, "write a page too: one file to open in a browser, offline")
      ->type_name("FILE")
      ->each([](const std::string& value) { check_page_place(value); });
}

std::string typed_command() {
  const std::string line = read_file("/proc/self/cmdline");
  std::string command = "gradwire";
  const auto words = split(line, '\0');  // a last one is empty
  for (std::size_t i = 1; i + 1 < words.size(); ++i) {
    if (words[i] == "--html")
      ++i;
    else if (!words[i].starts_with("--html="))
      command += " " + quoted_word(words[i]);
  }
  return command;
}

void write_html(const std::string& file, PageData page) {
  if (file.empty()) return;
  if (page.command.empty()) page.command = typed_command();
  write_page(file, page);
  fmt::print(stderr, "wrote {}: open it in a browser\n", printable(file));
}

PageData plain_page(std::string verb, std::string title, Report report) {
  PageData page;
  page.verb = std::move(verb);
  page.title = std::move(title);
  page.report = std::move(report);
  return page;
}

}  // namespace gradwire
