#include "report/page/page_file.h"

#include <fmt/format.h>

#include <initializer_list>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "report/page/timelines.h"
#include "report/train.h"

namespace gradwire {
namespace {

constexpr std::string_view kDataPlace = R"(<script type="application/json" id="gradwire-data">null</script>)";
constexpr std::string_view kTitlePlace = "<title>Gradwire</title>";
constexpr std::string_view kAnswerPlace = "<!-- answer -->";

// JSON that may stand in a script element: ASCII, and nothing that HTML could read.
std::string script_json(const nlohmann::json& value) {
  std::string text;
  for (const char c : value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace)) {
    if (c == '<' || c == '>' || c == '&' || c == '\x7f')
      text += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else
      text += c;
  }
  return text;
}

std::string html_text(std::string_view text) {
  std::string escaped;
  for (const char c : printable(text, Lines::keep)) {
    if (c == '<' || c == '>' || c == '&' || c == '"')
      escaped += fmt::format("&#{};", static_cast<int>(c));
    else
      escaped += c == '\n' || c == '\t' ? ' ' : c;
  }
  return escaped;
}

// What is read before the script has drawn anything, and by who allows no script: the title and what is said first.
std::string first_words(const PageData& data) {
  std::string words = fmt::format(R"(<header class="head"><p class="brand">Gradwire</p><h1>{}</h1></header>)",
                                  html_text(data.title));
  for (const Block& block : data.report.blocks)
    if (const auto* said = std::get_if<Sentence>(&block))
      return words +
             fmt::format(R"(<main class="main"><p class="sentence">{}</p></main>)", html_text(said->text));
  return words;
}

// The places stand in the page in this order.
std::string fill(std::string_view page,
                 std::initializer_list<std::pair<std::string_view, std::string>> places) {
  std::string html;
  for (const auto& [place, text] : places) {
    const auto at = page.find(place);
    check(at != std::string_view::npos, "the built-in page has no place for its title, answer or data");
    html += page.substr(0, at);
    html += text;
    page.remove_prefix(at + place.size());
  }
  html += page;
  return html;
}

}  // namespace

std::string page_html(const PageData& data, std::string_view page) {
  std::string block(kDataPlace);
  block.replace(block.find("null"), 4, script_json(page_json(data)));
  return fill(page, {{kTitlePlace, fmt::format("<title>{}</title>", html_text(data.title))},
                     {kAnswerPlace, first_words(data)},
                     {kDataPlace, std::move(block)}});
}

void check_page_place(const std::filesystem::path& path) {
  std::error_code ignored;
  const auto folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  if (!std::filesystem::is_directory(folder, ignored))
    throw ConfigError(fmt::format("--html {}: there is no folder {}", path.string(), folder.string()));
  if (std::filesystem::is_directory(path, ignored))
    throw ConfigError(fmt::format("--html {}: this is a folder; name a file in it", path.string()));
}

void write_page(const std::filesystem::path& path, const PageData& data) {
  check_page_place(path);
  write_file(path, page_html(data));
}

PageData train_page(const TrainOptions& options, const TrainResult& result, const Timeline& timeline) {
  PageData page;
  page.verb = "train";
  page.command = options.command;
  page.title = fmt::format("{} on {} ranks", options.model, result.ranks);
  page.report = run_report(options, result);
  Report trained = train_report(options, result);
  page.report.data = trained.data;
  page.report.add(Gap{});
  page.report.append(std::move(trained));
  auto fitted = drawn_timeline(timeline, "measured", Origin::measured);
  page.timelines.push_back(std::move(fitted.timeline));
  if (!fitted.note.empty()) page.report.add(Sentence{fitted.note});
  return page;
}

}  // namespace gradwire
