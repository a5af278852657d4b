// How sandkeep-imager gives up everything but to read its standard input, write its standard output
// and compute: bounds of memory and time, no new descriptor, then seccomp. Before the first byte of
// a picture; one thread.
#pragma once

namespace sandkeep {

// Returns an errno, 0 if all is well.
int GiveUpAll();

}  // namespace sandkeep
