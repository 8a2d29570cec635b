#include "report/page/page_file.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/files.h"
#include "report/page/timelines.h"
#include "report/train.h"

namespace gradwire {
namespace {

constexpr std::string_view kDataPlace = R"(<script type="application/json" id="gradwire-data">null</script>)";
constexpr std::string_view kTitlePlace = "<title>Gradwire</title>";

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
  for (const char c : text) {
    if (c == '<' || c == '>' || c == '&' || c == '"')
      escaped += fmt::format("&#{};", static_cast<int>(c));
    else
      escaped += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return escaped;
}

// The page before, between and after what is put into it.
struct Pieces {
  std::string_view head, middle, tail;
};

Pieces cut(std::string_view page) {
  const auto title = page.find(kTitlePlace), data = page.find(kDataPlace);
  check(title != std::string_view::npos && data != std::string_view::npos && title < data,
        "the built-in page has no place for its title and data");
  const auto after_title = title + kTitlePlace.size();
  return {page.substr(0, title), page.substr(after_title, data - after_title),
          page.substr(data + kDataPlace.size())};
}

}  // namespace

std::string page_html(const PageData& data, std::string_view page) {
  const Pieces pieces = cut(page);
  const auto filled = kDataPlace.find("null");
  std::string html(pieces.head);
  html += fmt::format("<title>{}</title>", html_text(data.title));
  html += pieces.middle;
  html += kDataPlace.substr(0, filled);
  html += script_json(page_json(data));
  html += kDataPlace.substr(filled + 4);
  html += pieces.tail;
  return html;
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
