// A page as one HTML file: the page that web/ builds, which is in the program, with what it shows put into it. It opens
// by a double click, offline, and asks nobody for anything.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "report/page/page_data.h"
#include "trace/timeline.h"
#include "train/job/options.h"
#include "train/job/result.h"

namespace gradwire {

std::string_view page_template();  // web/dist/page.html, compiled in

// Everything in the data is text: nothing in it can end the element it stands in, whatever a file's name says.
std::string page_html(const PageData&, std::string_view page = page_template());

// Before a job that takes long: throws ConfigError when the folder is not there or the name is one.
void check_page_place(const std::filesystem::path&);
void write_page(const std::filesystem::path&, const PageData&);  // the old file or the new one, never half

// The page of a training run: what was printed of it, and the steps of all ranks. Pure.
PageData train_page(const TrainOptions&, const TrainResult&, const Timeline&);

}  // namespace gradwire
