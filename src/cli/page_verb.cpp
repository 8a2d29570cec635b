#include <CLI/CLI.hpp>
#include <memory>

#include "cli/flags.h"
#include "cli/verbs.h"
#include "report/page/comparison.h"
#include "report/render.h"

namespace gradwire {
namespace {

constexpr const char* kPageExample = R"(
One file that needs no network and no installation: whoever opens it chooses
model, machines, batch, precision and the rest, and sees what links do to a
training step. The predictor is inside. It begins with the question given here;
an answer can be sent on as a link.

Examples:
  gradwire page --html whatif.html
  gradwire page --html whatif.html --model resnet50 --on dgx-a100 \
      --on 8x-a100-pcie
)";

struct PageFlags {
  std::string model = "gpt2", html;
  std::vector<std::string> on = {"2x-rtx3090-nvlink", "2x-rtx3090-pcie"};
  StepFlags step;
  bool json = false;
};

int run_page_verb(const PageFlags& flags) {
  PageQuestion question{.model = flags.model,
                        .description = {},
                        .machines = {},
                        .flags = flags.step,
                        .anchor = {},
                        .sweep = {}};
  for (const std::string& name : flags.on) question.machines.push_back({name, {}});
  PageData page = answer_page(question);
  page.verb = "page";
  page.title = "What would a faster link change?";
  if (flags.json) show(page.report, true);
  write_html(flags.html, std::move(page));
  return 0;
}

}  // namespace

void add_page_verb(CLI::App& app, int& exit_code) {
  auto* verb =
      app.add_subcommand("page", "the what-if as a page of its own: the question asked in a browser");
  auto flags = std::make_shared<PageFlags>();
  verb->add_option("--model", flags->model, "a built-in model to begin with")->capture_default_str();
  verb->add_option("--on", flags->on, "a machine to begin with: a preset, N*MACHINE@NETWORK; several times")
      ->take_all()
      ->capture_default_str();
  add_step_flags(*verb, flags->step);
  add_html_flag(*verb, flags->html)->required();
  verb->add_flag("--json", flags->json, "print what compare would, as one JSON object");
  verb->footer(kPageExample);
  verb->callback([flags, &exit_code] { exit_code = run_page_verb(*flags); });
}

}  // namespace gradwire
