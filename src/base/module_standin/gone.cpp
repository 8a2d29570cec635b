// A library that the loader does not find.
int gone() { return 0; }
