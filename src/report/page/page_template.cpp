#include "report/page/page_file.h"

// The assembler takes the file as it is: a compiler would need seconds for a literal of that size.
__asm__(
    ".section .rodata\n"
    ".global gradwire_page_begin\n"
    ".global gradwire_page_end\n"
    "gradwire_page_begin:\n"
    ".incbin \"" GRADWIRE_PAGE
    "\"\n"
    "gradwire_page_end:\n"
    ".byte 0\n"
    ".previous\n");

extern "C" const char gradwire_page_begin[], gradwire_page_end[];

namespace gradwire {

std::string_view page_template() { return {gradwire_page_begin, gradwire_page_end}; }

}  // namespace gradwire
