// Names of the tensors of a stack of layers: one pattern stands for all of them. "l.{}.w" is the tensor of
// layer i for slice i of the stack; "l.{i+4}.w" that of layer i + 4, where the stack holds the layers from 4
// on; "l.{2i+1}.w" that of layer 2i + 1, where it holds every second one.
#ifndef TESSERA_RUNTIME_CORE_LAYERNAMES_H
#define TESSERA_RUNTIME_CORE_LAYERNAMES_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tessera::runtime {

// Slice i is of layer step * i + first.
struct LayerPattern {
  std::string_view before, after; // of the number, in the name
  int64_t step = 1, first = 0;

  std::string name(int64_t slice) const {
    std::string text(before);
    return text.append(std::to_string(step * slice + first)).append(after);
  }
};

// The text of `{...}` for slices of layers step * i + first: "{}", "{i+4}", "{2i+1}".
inline std::string layerPlace(int64_t step, int64_t first) {
  if (step == 1 && first == 0)
    return "{}";
  return "{" + (step == 1 ? "" : std::to_string(step)) + "i" + (first ? "+" + std::to_string(first) : "") +
         "}";
}

// The first pattern in `name`; none: nothing in it is one, so it names one tensor. Numbers have at most nine
// digits and no zeros in front, and are left out where they say nothing: what is read is what layerPlace
// writes.
inline std::optional<LayerPattern> layerPattern(std::string_view name) {
  for (size_t open = name.find('{'); open != std::string_view::npos; open = name.find('{', open + 1)) {
    size_t close = name.find('}', open);
    if (close == std::string_view::npos)
      return std::nullopt;
    std::string_view text = name.substr(open, close + 1 - open), rest = text.substr(1, text.size() - 2);
    // Digits at the front of `rest`, taken from it; `none` if there are none.
    auto number = [&](int64_t none) {
      int64_t value = 0, digits = 0;
      for (; !rest.empty() && rest.front() >= '0' && rest.front() <= '9' && digits < 9; ++digits) {
        value = value * 10 + (rest.front() - '0');
        rest.remove_prefix(1);
      }
      return digits ? value : none;
    };
    int64_t step = number(1), first = 0;
    if (!rest.empty() && rest.front() == 'i') {
      rest.remove_prefix(1);
      if (!rest.empty() && rest.front() == '+') {
        rest.remove_prefix(1);
        first = number(0);
      }
    }
    if (step > 0 && text == layerPlace(step, first))
      return LayerPattern{name.substr(0, open), name.substr(close + 1), step, first};
  }
  return std::nullopt;
}

// "layers.{}.w" and 3 -> "layers.3.w"; a name without a pattern is its own.
inline std::string layerName(std::string_view name, int64_t slice) {
  std::optional<LayerPattern> pattern = layerPattern(name);
  return pattern ? pattern->name(slice) : std::string(name);
}

} // namespace tessera::runtime
#endif
