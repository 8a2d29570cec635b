// Linked into every module, for open_module() to compare with the program's.
extern "C" const char* const gradwire_module_version;
const char* const gradwire_module_version = GRADWIRE_VERSION;
