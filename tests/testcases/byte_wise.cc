// byte_wise LINES MICROSECONDS: writes lines of text of one to four bytes a character, and one byte
// a line that is no text at all, each byte by a write of its own and a pause after it: whoever
// looks in between sees half characters.

#include <unistd.h>

#include <cstdlib>
#include <string_view>

int main(int argc, char** argv) {
  constexpr std::string_view kLine = "z\xc3\xbcrich \xe2\x82\xac \xf0\x9f\x98\x80 \xff.\n";
  const long lines = argc > 1 ? std::strtol(argv[1], nullptr, 10) : 1;
  const auto pause = static_cast<useconds_t>(argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 0);
  for (long line = 0; line < lines; ++line) {
    for (const char& byte : kLine) {
      if (::write(STDOUT_FILENO, &byte, 1) != 1) return EXIT_FAILURE;
      if (pause > 0) ::usleep(pause);
    }
  }
  return EXIT_SUCCESS;
}
