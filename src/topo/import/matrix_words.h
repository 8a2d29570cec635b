// The words of a pasted `nvidia-smi topo -m`, line by line, and which kind of word each is.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gradwire {

using Words = std::vector<std::string_view>;

std::string without_escapes(
    std::string_view text);               // escape codes, carriage returns, Markdown's bars become blanks
bool names_a_gpu(std::string_view text);  // "GPU0" anywhere: quick, of texts that need not be a report at all
Words matrix_words(std::string_view line);  // two columns that run together, "PXBNODE", are two words

bool is_gpu_name(std::string_view word);
bool is_number(std::string_view word);
bool is_p2p_status(std::string_view word);  // of `nvidia-smi topo -p2p`

bool is_matrix_header(const Words&);  // names a GPU first and no cell
std::vector<std::string> column_names(
    const Words& header);  // up to the affinity, or where someone cut them off

}  // namespace gradwire
