//===- DrawGraph.cpp - The graph of a function as SVG ---------------------===//
//
// An op is a card with its result's dimensions as chips, filled with the colours of their axes (several: side
// by side, major first). What has no card of its own (weights, caches) is named inside. A collective is a
// label on the line it interrupts. Lines are striped in the axes of the value they carry, dotted where it is
// partial.
//
//===----------------------------------------------------------------------===//
#include "LayoutGraph.h"
#include "Markup.h"

#include "llvm/Support/FormatVariadic.h"

#include <cmath>

namespace tessera::report {
namespace {

constexpr double kCard = 224, kPad = 10, kChip = 18, kChipGap = 4, kChipLetter = 6.4, kRow = 16,
                 kBodyPad = 16, kBodyHead = 34;

std::string n(double x) { return llvm::formatv("{0:F1}", x).str(); }

struct Chip {
  std::string text;
  std::vector<int> axes;
  bool partial = false;
  double x = 0, y = 0, width = 0;
};

/// One graph with the places of everything in it.
struct Drawing {
  GraphDrawing layout;
  std::vector<std::vector<Chip>> chips;     ///< per node
  std::vector<std::vector<Drawing>> bodies; ///< per node
};

/// The chips of `value` in rows of at most `width`; adds the height that they take to `y`.
std::vector<Chip> placeChips(const Value &value, double width, double &y) {
  std::vector<Chip> chips;
  for (auto [i, dim] : llvm::enumerate(value.dims)) {
    Chip chip;
    chip.text = dimText(dim, i);
    for (const AxisUse &use : dim.axes)
      chip.axes.push_back(use.axis);
    chips.push_back(std::move(chip));
  }
  if (!value.partial.empty()) {
    Chip chip;
    chip.text = (value.partialKind == "sum" ? "Σ " : value.partialKind + " ") + axesText(value.partial);
    for (const AxisUse &use : value.partial)
      chip.axes.push_back(use.axis);
    chip.partial = true;
    chips.push_back(std::move(chip));
  }
  double x = 0;
  for (Chip &chip : chips) {
    chip.text = shorten(chip.text, size_t((width - 12) / kChipLetter));
    chip.width = double(length(chip.text)) * kChipLetter + 12;
    if (x > 0 && x + chip.width > width) {
      x = 0;
      y += kChip + kChipGap;
    }
    chip.x = x;
    chip.y = y;
    x += chip.width + kChipGap;
  }
  if (!chips.empty())
    y += kChip;
  return chips;
}

class Drawer {
public:
  Drawer(llvm::raw_ostream &os, const Program &program) : os(os), program(program) {}

  Drawing measure(const Graph &graph) {
    Drawing drawing;
    for (const Node &node : graph.nodes) {
      Box box;
      std::vector<Chip> chips;
      std::vector<Drawing> bodies;
      if (node.kind == Node::Kind::Region) {
        for (const Graph &body : node.bodies) {
          bodies.push_back(measure(body));
          box.width += bodies.back().layout.width + kBodyPad;
          box.height = std::max(box.height, bodies.back().layout.height);
        }
        box.width = std::max(box.width + kBodyPad, kCard);
        box.height += kBodyHead + kBodyPad;
      } else if (node.kind == Node::Kind::Collective) {
        auto [first, second] = collectiveText(node);
        box.width = double(std::max(length(first), length(second))) * 7.0 + 28;
        box.height = 42;
      } else {
        box.width = kCard;
        double y = node.kind == Node::Kind::Op ? 28 + kRow * double(shownOperands(node)) : 26;
        if (!node.results.empty())
          chips = placeChips(node.results[0], kCard - 2 * kPad, y);
        box.height = y + kPad - 2;
      }
      drawing.layout.boxes.push_back(box);
      drawing.chips.push_back(std::move(chips));
      drawing.bodies.push_back(std::move(bodies));
    }
    for (const Edge &edge : graph.edges) {
      Line line;
      line.from = edge.from;
      line.to = edge.to;
      drawing.layout.lines.push_back(std::move(line));
    }
    layOut(drawing.layout);
    return drawing;
  }

  void draw(const Graph &graph, const Drawing &drawing, double x, double y) {
    for (auto [edge, line] : llvm::zip(graph.edges, drawing.layout.lines))
      drawLine(edge.value, line, x, y);
    for (auto [i, node] : llvm::enumerate(graph.nodes)) {
      const Box &box = drawing.layout.boxes[i];
      switch (node.kind) {
      case Node::Kind::Region:
        drawRegion(node, drawing.bodies[i], box, x + box.x, y + box.y);
        break;
      case Node::Kind::Collective:
        drawCollective(node, box, x + box.x, y + box.y);
        break;
      default:
        drawCard(node, drawing.chips[i], box, x + box.x, y + box.y);
      }
    }
  }

private:
  static size_t shownOperands(const Node &node) { return std::min<size_t>(node.operands.size(), 4); }

  std::pair<std::string, std::string> collectiveText(const Node &node) const {
    const Collective &collective = program.collectives[node.collective];
    std::string first = collective.kind + " " + axesText(collective.axes, "");
    if (collective.received == 0)
      return {first, "no communication"};
    std::string second = bytesText(collective.received) + " · " + timeText(collective.seconds);
    if (collective.executions > 1)
      second += " · ×" + std::to_string(collective.executions);
    return {first, second};
  }

  void drawLine(const Value &value, const Line &line, double x, double y) {
    std::string path;
    for (size_t i = 0; i < line.points.size(); ++i) {
      double px = x + line.points[i].first, py = y + line.points[i].second;
      if (i == 0) {
        path = "M" + n(px) + " " + n(py);
      } else if (i % 2 == 1) {
        path += "V" + n(py);
      } else {
        double qx = x + line.points[i - 1].first, qy = y + line.points[i - 1].second, middle = (py + qy) / 2;
        path += "C" + n(qx) + " " + n(middle) + " " + n(px) + " " + n(middle) + " " + n(px) + " " + n(py);
      }
    }
    std::vector<int> axes = value.axes();
    bool partial = !value.partial.empty();
    if (axes.empty() && !partial) {
      os << "<path class=\"e\" d=\"" << path << "\"/>";
      return;
    }
    if (partial) // dots of the axes it is still to be combined over, on the stripes of those that split it
      os << "<path class=\"e\" d=\"" << path << "\"/>";
    for (auto [i, axis] : llvm::enumerate(axes)) {
      os << "<path class=\"e s a" << colour(axis) << "\" d=\"" << path << "\"";
      if (axes.size() > 1)
        os << " stroke-dasharray=\"7 " << 7 * (axes.size() - 1) << "\" stroke-dashoffset=\"" << -7 * int(i)
           << "\"";
      os << "/>";
    }
    for (auto [i, use] : llvm::enumerate(value.partial))
      os << "<path class=\"e p a" << colour(use.axis) << "\" d=\"" << path << "\" stroke-dasharray=\"0 "
         << 9 * value.partial.size() << "\" stroke-dashoffset=\"" << -9 * int(i) << "\"/>";
  }

  void drawChip(const Chip &chip, double x, double y) {
    double left = x + chip.x, top = y + chip.y, width = chip.width;
    size_t count = chip.axes.size();
    for (auto [i, axis] : llvm::enumerate(chip.axes))
      os << "<rect class=\"f a" << colour(axis) << (chip.partial ? " q" : "") << "\" x=\""
         << n(left + width * double(i) / double(count)) << "\" y=\"" << n(top) << "\" width=\""
         << n(width / double(count)) << "\" height=\"" << n(kChip) << "\"/>";
    os << "<rect class=\"b" << (chip.partial ? " q" : "");
    if (count)
      os << " a" << colour(chip.axes[0]);
    os << "\" x=\"" << n(left) << "\" y=\"" << n(top) << "\" width=\"" << n(width) << "\" height=\""
       << n(kChip) << "\" rx=\"4\"/><text class=\"m\" x=\"" << n(left + width / 2) << "\" y=\""
       << n(top + 12.8) << "\">" << escape(chip.text) << "</text>";
  }

  void drawCard(const Node &node, const std::vector<Chip> &chips, const Box &box, double x, double y) {
    bool op = node.kind == Node::Kind::Op;
    os << "<g><title>" << escape(tooltip(node)) << "</title><rect class=\"" << (op ? "n" : "n io")
       << "\" x=\"" << n(x) << "\" y=\"" << n(y) << "\" width=\"" << n(box.width) << "\" height=\""
       << n(box.height) << "\" rx=\"8\"/>";
    size_t room = size_t((kCard - 2 * kPad) / 7.6);
    std::string title = shorten(node.title, room);
    os << "<text class=\"t\" x=\"" << n(x + kPad) << "\" y=\"" << n(y + 18) << "\">" << escape(title)
       << "</text>";
    if (!op && node.subject.empty()) {
      if (length(title) + 8 < room)
        os << "<text class=\"u r\" x=\"" << n(x + box.width - kPad) << "\" y=\"" << n(y + 18) << "\">"
           << (node.kind == Node::Kind::Input ? "in" : "out") << "</text>";
    } else if (length(title) + 5 < room) {
      os << "<text class=\"u r\" x=\"" << n(x + box.width - kPad) << "\" y=\"" << n(y + 18) << "\">"
         << escape(shorten(node.subject, room - length(title) - 2)) << "</text>";
    }
    for (size_t i = 0; op && i < shownOperands(node); ++i) {
      double row = y + 18 + kRow * double(i + 1);
      double left = x + kPad;
      bool rest = i == 3 && node.operands.size() > 4;
      std::string text =
          rest ? "and " + std::to_string(node.operands.size() - 3) + " more" : node.operands[i].first;
      if (!rest)
        for (int axis : node.operands[i].second.axes()) {
          os << "<rect class=\"w a" << colour(axis) << "\" x=\"" << n(left) << "\" y=\"" << n(row - 9)
             << "\" width=\"9\" height=\"9\"/>";
          left += 11;
        }
      size_t letters = size_t((x + box.width - kPad - left - 16) / kChipLetter);
      os << "<text class=\"o\" x=\"" << n(left) << "\" y=\"" << n(row) << "\">"
         << escape("← " + shorten(text, std::max<size_t>(letters, 4))) << "</text>";
    }
    for (const Chip &chip : chips)
      drawChip(chip, x + kPad, y);
    os << "</g>\n";
  }

  void drawCollective(const Node &node, const Box &box, double x, double y) {
    const Collective &collective = program.collectives[node.collective];
    auto [first, second] = collectiveText(node);
    os << "<a href=\"#" << program.prefix << "c" << node.collective << "\"><title>"
       << escape(collective.why.empty() ? collective.kind : collective.why) << "</title><rect class=\"k";
    if (!collective.axes.empty())
      os << " a" << colour(collective.axes[0].axis);
    os << "\" x=\"" << n(x) << "\" y=\"" << n(y) << "\" width=\"" << n(box.width) << "\" height=\""
       << n(box.height) << "\" rx=\"21\"/><text class=\"kt\" x=\"" << n(x + box.width / 2) << "\" y=\""
       << n(y + 18) << "\">" << escape(first) << "</text><text class=\"m\" x=\"" << n(x + box.width / 2)
       << "\" y=\"" << n(y + 33) << "\">" << escape(second) << "</text></a>\n";
  }

  void drawRegion(const Node &node, const std::vector<Drawing> &bodies, const Box &box, double x, double y) {
    os << "<rect class=\"g\" x=\"" << n(x) << "\" y=\"" << n(y) << "\" width=\"" << n(box.width)
       << "\" height=\"" << n(box.height) << "\" rx=\"12\"/><text class=\"t\" x=\"" << n(x + kBodyPad)
       << "\" y=\"" << n(y + 22) << "\">" << escape(node.title + " × " + std::to_string(node.repeats))
       << "</text>";
    double used = kBodyPad;
    for (const Drawing &body : bodies)
      used += body.layout.width + kBodyPad;
    double left = x + kBodyPad + (box.width - used) / 2;
    for (auto [i, body] : llvm::enumerate(bodies)) {
      if (bodies.size() > 1)
        os << "<text class=\"u\" x=\"" << n(left) << "\" y=\"" << n(y + 32) << "\">body " << i << " × "
           << node.bodies[i].runs << "</text>";
      draw(node.bodies[i], body, left, y + kBodyHead);
      left += body.layout.width + kBodyPad;
    }
  }

  static std::string tooltip(const Node &node) {
    std::string text = node.title + (node.subject.empty() ? "" : " (" + node.subject + ")");
    for (const Value &value : node.results) {
      text += "; ";
      for (auto [i, dim] : llvm::enumerate(value.dims))
        text += (i ? ", " : "") + dimText(dim, i);
      text += (value.dims.empty() ? "" : " ") + value.element;
      if (!value.partial.empty())
        text += ", partial " + value.partialKind + " over " + axesText(value.partial);
      text += ", " + bytesText(value.bytes) + " a rank";
    }
    return text;
  }

  llvm::raw_ostream &os;
  const Program &program;
};

} // namespace

void drawGraph(llvm::raw_ostream &os, const Program &program, const Function &function, llvm::StringRef id) {
  Drawer drawer(os, program);
  Drawing drawing = drawer.measure(function.graph);
  double width = std::ceil(drawing.layout.width + 8), height = std::ceil(drawing.layout.height + 8);
  // Shrinks on narrow screens as far as text stays readable; then its frame scrolls.
  os << "<svg id=\"" << id << "\" role=\"img\" aria-label=\"Graph of " << escape(function.name)
     << "\" viewBox=\"0 0 " << width << " " << height << "\" style=\"max-width:" << width
     << "px;min-width:" << std::ceil(width * 0.72) << "px\">\n";
  drawer.draw(function.graph, drawing, 4, 4);
  os << "</svg>\n";
}

} // namespace tessera::report
