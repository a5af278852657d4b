// Text that must not reach a log, an error message or a core file: it has no stream operator and no
// AbslStringify, and it wipes itself.
#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace sandkeep {

class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string text) : text_(std::move(text)) {}
  Secret(Secret&& other) noexcept : text_(std::move(other.text_)) { other.Wipe(); }
  Secret& operator=(Secret&& other) noexcept {
    if (this != &other) {
      Wipe();
      text_ = std::move(other.text_);
      other.Wipe();
    }
    return *this;
  }
  Secret(const Secret&) = default;
  Secret& operator=(const Secret&) = default;
  ~Secret() { Wipe(); }

  bool empty() const { return text_.empty(); }
  // The only way to the text; a grep for it finds every use.
  std::string_view Reveal() const { return text_; }

 private:
  void Wipe() {
    volatile char* bytes = text_.data();
    for (std::size_t i = 0; i < text_.size(); ++i) bytes[i] = 0;
    text_.clear();
  }

  std::string text_;
};

}  // namespace sandkeep
