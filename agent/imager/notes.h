// What stands beside the pixels of a picture's file and changes what is seen: how the camera was
// held, and whether inks are stored inverted. Hostile input: every read is bounded.
#pragma once

#include <string_view>

namespace sandkeep {

// EXIF's orientation, 1 to 8; 1 where there is none, or none that makes sense.
int OrientationOf(std::string_view exif);

struct JpegNotes {
  int orientation = 1;
  bool adobe = false;  // Its four inks are stored inverted.
};
JpegNotes NotesOfJpeg(std::string_view bytes);

struct PngNotes {
  int orientation = 1;
  bool whole = false;  // It has its end.
  // More in it than its header has pixels for, however badly they were packed: a decoder would
  // unpack it all the same, to throw it away.
  bool swollen = false;
};
PngNotes NotesOfPng(std::string_view bytes);

}  // namespace sandkeep
