// What a chat is shown of a picture: never anything that it couldn't go on with.

#include "agent/imager/render.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "agent/imager/decode.h"
#include "agent/imager/notes.h"
#include "common/strings.h"
#include "tests/unit/agent/imager/test_images.h"

namespace sandkeep {
namespace {

using testing::Eq;

constexpr ImageBounds kBounds{1568, 700'000};
constexpr Colour kRed{255, 0, 0};
constexpr Colour kGreen{0, 255, 0};
constexpr Colour kBlue{0, 0, 255};
constexpr Colour kWhite{255, 255, 255};

Bitmap Decoded(const RenderedImage& image) {
  absl::StatusOr<DecodedImage> decoded = absl::InternalError("of no format");
  switch (image.format) {
    case ImageFormat::kPng:
      decoded = DecodePng(image.data);
      break;
    case ImageFormat::kJpeg:
      decoded = DecodeJpeg(image.data, kBounds.max_px);
      break;
    case ImageFormat::kWebP:
      decoded = DecodeWebP(image.data, kBounds.max_px);
      break;
    case ImageFormat::kGif:
      decoded = DecodeGif(image.data);
      break;
  }
  if (!decoded.ok()) {
    ADD_FAILURE() << decoded.status();
    return Plain({1, 1}, {});
  }
  EXPECT_EQ(decoded->size.width, image.width);
  EXPECT_EQ(decoded->size.height, image.height);
  EXPECT_TRUE(decoded->plain);
  return std::move(decoded->bitmap);
}

RenderedImage Rendered(const std::string& file, const ImageBounds& bounds = kBounds) {
  absl::StatusOr<RenderedImage> image = Render(file, bounds);
  if (!image.ok()) {
    ADD_FAILURE() << image.status();
    return {};
  }
  EXPECT_LE(std::max(image->width, image->height), bounds.max_px);
  EXPECT_LE(static_cast<std::int64_t>(image->data.size()), bounds.max_bytes);
  return *std::move(image);
}

std::vector<std::pair<std::string, std::string>> OfEveryKind(Size size) {
  const Bitmap bitmap = Quarters(size);
  return {{"png", PngFile(bitmap)},
          {"palette", PngPaletteFile(bitmap)},
          {"jpeg", JpegFile(bitmap)},
          {"gif", GifFile(size, {kRed, kBlue})},
          {"webp", WebPFile(bitmap, /*lossless=*/false)},
          {"lossless webp", WebPFile(bitmap, /*lossless=*/true)},
          {"animated webp", WebPAnimationFile({bitmap, Noise(size)})}};
}

TEST(RenderTest, WithinBoundsAFileStaysAsItIs) {
  for (const auto& [kind, file] : OfEveryKind({160, 90})) {
    const RenderedImage image = Rendered(file);
    EXPECT_TRUE(image.data == file) << kind;
    EXPECT_FALSE(image.scaled) << kind;
    EXPECT_EQ(image.width, 160) << kind;
    EXPECT_EQ(image.height, 90) << kind;
  }
}

TEST(RenderTest, TooWideAFileIsScaled) {
  constexpr ImageBounds kSmall{100, 700'000};
  for (const auto& [kind, file] : OfEveryKind({400, 300})) {
    const RenderedImage image = Rendered(file, kSmall);
    EXPECT_TRUE(image.scaled) << kind;
    EXPECT_EQ(image.width, 100) << kind;
    EXPECT_EQ(image.height, 75) << kind;
    const Bitmap bitmap = Decoded(image);
    EXPECT_TRUE(IsNear(ColourAt(bitmap, 10, 10), kRed)) << kind;
    if (kind == "gif") continue;
    EXPECT_TRUE(IsNear(ColourAt(bitmap, 90, 10), kGreen)) << kind;
    EXPECT_TRUE(IsNear(ColourAt(bitmap, 10, 65), kBlue)) << kind;
  }
}

TEST(RenderTest, AnyShapeKeepsAtLeastOnePixel) {
  const RenderedImage wide = Rendered(PngFile(Plain({5000, 2}, kBlue)));
  EXPECT_EQ(wide.width, 1568);
  EXPECT_EQ(wide.height, 1);
  EXPECT_TRUE(IsNear(ColourAt(Decoded(wide), 700, 0), kBlue));
  EXPECT_EQ(Rendered(JpegFile(Plain({1, 4000}, kRed))).height, 1568);
}

TEST(RenderTest, TooManyBytesBecomeFewer) {
  const std::string png = PngFile(Noise({640, 480}));
  const RenderedImage opaque = Rendered(png, {1568, 60'000});
  EXPECT_EQ(opaque.format, ImageFormat::kJpeg);
  EXPECT_TRUE(opaque.scaled);
  Decoded(opaque);
  const RenderedImage photo = Rendered(JpegFile(Noise({640, 480}), 100), {1568, 30'000});
  EXPECT_EQ(photo.format, ImageFormat::kJpeg);
  Decoded(photo);
  // A drawing loses nothing if it needn't.
  EXPECT_EQ(Rendered(PngFile(Quarters({3000, 2000}))).format, ImageFormat::kPng);
}

TEST(RenderTest, WhatShinesThroughStillDoes) {
  const Colour half{0, 0, 255, 128};
  const RenderedImage png = Rendered(PngFile(Plain({2000, 2000}, half)));
  EXPECT_EQ(png.format, ImageFormat::kPng);
  EXPECT_TRUE(IsNear(ColourAt(Decoded(png), 5, 5), half));
  const RenderedImage noise =
      Rendered(PngFile(Noise({600, 600}, /*with_alpha=*/true)), {1568, 80'000});
  EXPECT_EQ(noise.format, ImageFormat::kWebP);
  EXPECT_FALSE(IsOpaque(Decoded(noise)));
  // What is invisible has no colour that could spread.
  Bitmap edge = Plain({200, 10}, {0, 255, 0, 0});
  for (int y = 0; y < 10; ++y) std::fill(edge.Row(y), edge.Row(y) + 101 * kChannels, 255);
  const Bitmap small = Shrink(edge, {100, 5});
  EXPECT_EQ(ColourAt(small, 50, 2).red, 255);
  EXPECT_NEAR(ColourAt(small, 50, 2).alpha, 128, 1);
}

TEST(RenderTest, APictureIsShownAsItsCameraWasHeld) {
  // Taken with the camera turned: its left lower corner is the upright one's left upper.
  const Bitmap taken = Quarters({80, 40});
  for (const bool little : {false, true}) {
    const std::string exif = Exif(6, little);
    const std::string files[] = {
        WithJpegSegment(JpegFile(taken), 0xE1, std::string("Exif\0\0", 6) + exif),
        WithPngChunk(PngFile(taken), "eXIf", exif), WithWebPExif(WebPFile(taken, true), exif)};
    for (const std::string& file : files) {
      const RenderedImage image = Rendered(file);
      EXPECT_TRUE(image.scaled);
      EXPECT_EQ(image.width, 40);
      EXPECT_EQ(image.height, 80);
      const Bitmap bitmap = Decoded(image);
      EXPECT_TRUE(IsNear(ColourAt(bitmap, 5, 5), kBlue));
      EXPECT_TRUE(IsNear(ColourAt(bitmap, 35, 5), kRed));
      EXPECT_TRUE(IsNear(ColourAt(bitmap, 35, 75), kGreen));
    }
  }
  const std::string upright = WithPngChunk(PngFile(taken), "eXIf", Exif(1, true));
  EXPECT_FALSE(Rendered(upright).scaled);
}

TEST(RenderTest, AllEightWaysToHoldACamera) {
  //   R G      where the colours of the taken picture's upper row, then its lower row, are seen
  //   B W
  const Bitmap taken = Quarters({2, 2});
  const std::vector<Colour> seen[] = {{kRed, kGreen, kBlue, kWhite}, {kGreen, kRed, kWhite, kBlue},
                                      {kWhite, kBlue, kGreen, kRed}, {kBlue, kWhite, kRed, kGreen},
                                      {kRed, kBlue, kGreen, kWhite}, {kBlue, kRed, kWhite, kGreen},
                                      {kWhite, kGreen, kBlue, kRed}, {kGreen, kWhite, kRed, kBlue}};
  for (int orientation = 1; orientation <= 8; ++orientation) {
    const Bitmap upright = Upright(taken, orientation);
    const auto& expected = seen[orientation - 1];
    for (int i = 0; i < 4; ++i) {
      EXPECT_TRUE(IsNear(ColourAt(upright, i % 2, i / 2), expected[static_cast<std::size_t>(i)]))
          << orientation << ", " << i;
    }
  }
}

TEST(RenderTest, InksBecomeLight) {
  // As everyone stores them: inverted, so that 255 is no ink.
  const RenderedImage white = Rendered(JpegInksFile({64, 64}, {255, 255, 255, 255}));
  EXPECT_TRUE(white.scaled) << "some programs show inks inverted";
  EXPECT_TRUE(IsNear(ColourAt(Decoded(white), 9, 9), kWhite));
  const RenderedImage blue = Rendered(JpegInksFile({64, 64}, {0, 0, 255, 255}));
  EXPECT_TRUE(IsNear(ColourAt(Decoded(blue), 9, 9), kBlue));
}

TEST(RenderTest, SixteenBitsAndPalettesKeepTheirColours) {
  const RenderedImage deep = Rendered(Png16File({2000, 20}, kBlue));
  EXPECT_TRUE(IsNear(ColourAt(Decoded(deep), 100, 9), kBlue));
  const RenderedImage palette = Rendered(PngPaletteFile(Quarters({2000, 2000})));
  const Bitmap bitmap = Decoded(palette);
  EXPECT_TRUE(IsNear(ColourAt(bitmap, 9, 9), kRed));
  EXPECT_EQ(ColourAt(bitmap, 1500, 1500).alpha, 0);
}

TEST(RenderTest, OfAnAnimationTheFirstFrameIsScaled) {
  const RenderedImage gif = Rendered(GifFile({1600, 40}, {kRed, kGreen, kBlue}));
  EXPECT_TRUE(IsNear(ColourAt(Decoded(gif), 700, 20), kRed));
  const RenderedImage webp =
      Rendered(WebPAnimationFile({Plain({1600, 40}, kBlue), Plain({1600, 40}, kRed)}));
  EXPECT_TRUE(IsNear(ColourAt(Decoded(webp), 700, 20), kBlue));
}

TEST(RenderTest, AnAnimationThatTakesTooLongToCheckIsItsFirstFrame) {
  const std::vector<Colour> frames(45, kGreen);
  const RenderedImage image = Rendered(GifFile({1000, 1000}, frames));
  EXPECT_TRUE(image.scaled);
  EXPECT_EQ(image.format, ImageFormat::kPng);
  EXPECT_TRUE(IsNear(ColourAt(Decoded(image), 5, 5), kGreen));
}

TEST(RenderTest, WhatIsCutOffIsRefused) {
  for (const auto& [kind, file] : OfEveryKind({64, 48})) {
    for (std::size_t size = 0; size + 1 < file.size(); size += 1 + file.size() / 97) {
      const auto image = Render(file.substr(0, size), kBounds);
      EXPECT_TRUE(absl::IsInvalidArgument(image.status())) << kind << " of " << size << " bytes";
    }
    EXPECT_FALSE(Render(file.substr(0, file.size() - 2), kBounds).ok()) << kind;
  }
}

TEST(RenderTest, WhatIsNoPictureIsRefused) {
  for (const std::string& file :
       {std::string(), std::string("text"),
        std::string("<svg xmlns='http://www.w3.org/2000/svg'/>"), std::string("\x89PNG\r\n\x1A\n"),
        std::string("GIF89a"), std::string("\xFF\xD8\xFF\xD9"), std::string("RIFF\4\0\0\0WEBP", 12),
        std::string("BM") + std::string(100, 'x')}) {
    EXPECT_TRUE(absl::IsInvalidArgument(Render(file, kBounds).status())) << file;
  }
}

TEST(RenderTest, AHeaderThatLiesIsFoundOut) {
  std::string jpeg = JpegFile(Quarters({64, 48}));
  const std::size_t frame = jpeg.find("\xFF\xC0");
  jpeg[frame + 5] = 0x40;  // 16,432 lines instead of 48.
  EXPECT_FALSE(Render(jpeg, kBounds).ok());
  std::string gif = GifFile({64, 48}, {kRed});
  gif[6] = 8;  // A canvas of 8 columns, with a frame of 64 on it.
  gif[7] = 0;
  EXPECT_FALSE(Render(gif, kBounds).ok());
  std::string png = PngFile(Quarters({64, 48}));
  png[22] = 0x30;  // Its sum is wrong too.
  EXPECT_FALSE(Render(png, kBounds).ok());
  std::string webp = WebPFile(Quarters({64, 48}), false);
  webp[4] = static_cast<char>(webp[4] + 64);  // Larger than the file.
  EXPECT_FALSE(Render(webp, kBounds).ok());
}

TEST(RenderTest, WhateverIsBrokenOnTheWayNothingBrokenComesOut) {
  std::mt19937 random(11);
  for (const auto& [kind, file] : OfEveryKind({48, 32})) {
    for (int round = 0; round < 200; ++round) {
      std::string broken = file;
      for (int i = 0; i <= round % 4; ++i) {
        broken[random() % broken.size()] = static_cast<char>(random());
      }
      const auto image = Render(broken, kBounds);
      if (image.ok()) Decoded(*image);
    }
  }
}

TEST(NotesTest, AnyExifIsRead) {
  EXPECT_EQ(OrientationOf(Exif(8, false)), 8);
  EXPECT_EQ(OrientationOf(Exif(3, true)), 3);
  for (const int senseless : {0, 9, 255}) EXPECT_EQ(OrientationOf(Exif(senseless, true)), 1);
  std::mt19937 random(5);
  for (int round = 0; round < 5000; ++round) {
    std::string exif = Exif(6, round % 2 == 0).substr(0, random() % 40);
    if (!exif.empty()) exif[random() % exif.size()] = static_cast<char>(random());
    const int orientation = OrientationOf(exif);
    EXPECT_GE(orientation, 1);
    EXPECT_LE(orientation, 8);
  }
}

TEST(RenderedImageTest, TheAgentBelievesOnlyWhatItSees) {
  RenderedImage image{
      .format = ImageFormat::kPng, .width = 64, .height = 48, .data = "\x89PNG\r\n\x1A\n.."};
  const auto unpacked = Unpack(Pack(image), kBounds);
  ASSERT_TRUE(unpacked.ok()) << unpacked.status();
  EXPECT_EQ(unpacked->width, 64);
  EXPECT_EQ(unpacked->height, 48);
  EXPECT_FALSE(unpacked->scaled);
  EXPECT_EQ(unpacked->data, image.data);
  for (const std::string& lie :
       {std::string(), std::string("\1\0\0\1\0\1", 6), std::string(40, 'x'),
        Pack({.format = ImageFormat::kGif, .width = 9, .height = 9, .data = image.data}),
        Pack({.format = ImageFormat::kPng, .width = 0, .height = 9, .data = image.data}),
        Pack({.format = ImageFormat::kPng, .width = 1569, .height = 9, .data = image.data}),
        Pack({.format = ImageFormat::kPng,
              .width = 9,
              .height = 9,
              .data = image.data + std::string(700'000, 'x')})}) {
    EXPECT_TRUE(absl::IsDataLoss(Unpack(lie, kBounds).status()));
  }
}

}  // namespace
}  // namespace sandkeep
