//===- Markup.cpp - Pieces of HTML and SVG --------------------------------===//
#include "Markup.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

namespace tessera::report {

static std::string clean(llvm::StringRef text) {
  std::string result = llvm::json::isUTF8(text) ? text.str() : llvm::json::fixUTF8(text);
  for (char &c : result)
    if ((unsigned char)c < 0x20 || c == 0x7f)
      c = ' ';
  return result;
}

std::string escape(llvm::StringRef text) {
  std::string result;
  llvm::raw_string_ostream os(result);
  llvm::printHTMLEscaped(clean(text), os);
  return result;
}

static bool startsCharacter(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

size_t length(llvm::StringRef text) { return size_t(llvm::count_if(text, startsCharacter)); }

std::string shorten(llvm::StringRef given, size_t characters) {
  std::string text = clean(given);
  size_t n = length(text);
  if (n <= characters || characters < 2)
    return text;
  size_t head = characters / 2, tail = characters - head - 1, seen = 0;
  std::string result;
  for (char c : text) {
    if (startsCharacter(c) && ++seen == head + 1)
      result += "…";
    if (seen <= head || seen > n - tail)
      result += c;
  }
  return result;
}

std::string bytesText(double bytes) {
  static constexpr const char *units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  size_t unit = 0;
  for (; bytes >= 1023.95 && unit + 1 < std::size(units); ++unit)
    bytes /= 1024;
  return unit == 0 ? llvm::formatv("{0:F0} B", bytes).str()
                   : llvm::formatv("{0:F1} {1}", bytes, units[unit]).str();
}

std::string timeText(double seconds) {
  if (seconds <= 0)
    return "0";
  if (seconds < 999.5e-6)
    return llvm::formatv("{0:F1} µs", seconds * 1e6);
  return seconds < 0.9995 ? llvm::formatv("{0:F2} ms", seconds * 1e3).str()
                          : llvm::formatv("{0:F2} s", seconds).str();
}

std::string axesText(llvm::ArrayRef<AxisUse> axes, llvm::StringRef empty) {
  std::string text;
  for (const AxisUse &use : axes)
    text += (text.empty() ? "" : "+") + use.text;
  return text.empty() ? empty.str() : text;
}

std::string dimText(const Dim &dim, size_t index) {
  std::string text =
      (dim.name.empty() ? "dim " + std::to_string(index) : dim.name) + " " + std::to_string(dim.global);
  return dim.axes.empty() ? text : text + "/" + axesText(dim.axes);
}

int colour(int axis) { return axis % 8; }

namespace {
/// The whole program as JSON: what the page shows, for scripts.
class JsonWriter {
public:
  JsonWriter(llvm::raw_ostream &os, const Program &program) : program(program), json(os) {}

  void write() {
    json.object([&] {
      text("model", program.model);
      text("architecture", program.architecture);
      json.attributeArray("mesh", [&] {
        for (const MeshAxis &axis : program.mesh.axes)
          json.array([&] {
            json.value(clean(axis.name));
            json.value(axis.size);
          });
      });
      json.attributeArray("functions", [&] {
        for (const Function &function : program.functions)
          json.object([&] {
            text("name", function.name);
            json.attributeObject("graph", [&] { graph(function.graph); });
          });
      });
      json.attributeArray("tensors", [&] {
        for (const Tensor &tensor : program.tensors)
          json.object([&] {
            json.attribute("kind", toString(tensor.kind));
            text("name", tensor.name);
            if (!tensor.function.empty())
              text("function", tensor.function);
            if (!tensor.madeBy.empty())
              text("made_by", tensor.madeBy);
            value(tensor.value);
            if (!tensor.reasons.empty())
              json.attributeArray("reasons", [&] {
                for (const std::string &reason : tensor.reasons)
                  json.value(clean(reason));
              });
          });
      });
      json.attributeArray("collectives", [&] {
        for (const Collective &collective : program.collectives)
          json.object([&] {
            text("function", collective.function);
            text("kind", collective.kind);
            text("tensor", collective.tensor);
            axes("axes", collective.axes);
            json.attributeObject("before", [&] { value(collective.before); });
            json.attributeObject("after", [&] { value(collective.after); });
            json.attribute("bytes_received", collective.received);
            json.attribute("seconds", collective.seconds);
            json.attribute("executions", collective.executions);
            text("why", collective.why);
            if (!collective.flag.empty()) {
              text("flag", collective.flag);
              text("price", collective.price);
            }
          });
      });
      json.attributeArray("padding", [&] {
        for (const dist::PaddedDim &dim : program.padding.dims)
          json.object([&] {
            text("dim", dim.name);
            text("axes", dim.axesText);
            json.attribute("size", dim.size);
            json.attribute("padded", dim.padded);
            json.attribute("weight_bytes", dim.share.weightBytes);
            json.attribute("state_bytes", dim.share.stateBytes);
            json.attribute("activation_bytes_written", dim.share.activationBytes);
            json.attribute("collective_bytes", dim.share.sentBytes);
            json.attribute("flops", dim.share.flops);
          });
      });
    });
  }

private:
  void text(llvm::StringRef key, llvm::StringRef value) { json.attribute(key, clean(value)); }
  void axes(llvm::StringRef key, const std::vector<AxisUse> &axes) {
    json.attributeArray(key, [&] {
      for (const AxisUse &use : axes)
        json.value(clean(use.text));
    });
  }
  void value(const Value &value) {
    text("element", value.element);
    json.attribute("bytes", value.bytes);
    json.attributeArray("dims", [&] {
      for (const Dim &dim : value.dims)
        json.object([&] {
          text("name", dim.name);
          json.attribute("global", dim.global);
          json.attribute("local", dim.local);
          if (!dim.axes.empty())
            axes("axes", dim.axes);
        });
    });
    if (!value.partialKind.empty()) {
      text("partial_kind", value.partialKind);
      axes("partial", value.partial);
    }
  }
  void graph(const Graph &graph) {
    if (graph.runs != 1)
      json.attribute("runs", graph.runs);
    json.attributeArray("nodes", [&] {
      for (const Node &node : graph.nodes)
        json.object([&] {
          static constexpr const char *kinds[] = {"op", "collective", "input", "output", "region"};
          json.attribute("kind", kinds[int(node.kind)]);
          text("title", node.title);
          if (!node.subject.empty())
            text("subject", node.subject);
          if (!node.operands.empty())
            json.attributeArray("operands", [&] {
              for (const auto &operand : node.operands)
                json.value(clean(operand.first));
            });
          if (node.collective >= 0)
            json.attribute("collective", node.collective);
          if (node.bodies.empty())
            return;
          json.attribute("repeats", node.repeats);
          json.attributeArray("bodies", [&] {
            for (const Graph &body : node.bodies)
              json.object([&] { this->graph(body); });
          });
        });
    });
    json.attributeArray("edges", [&] {
      for (const Edge &edge : graph.edges)
        json.array([&] {
          json.value(edge.from);
          json.value(edge.to);
        });
    });
  }

  const Program &program;
  llvm::json::OStream json;
};
} // namespace

void writeJson(llvm::raw_ostream &os, llvm::ArrayRef<Program> programs, const Pipeline *pipeline) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (pipeline)
    stream << "{\"pipeline\":" << toJson(*pipeline) << ",\"programs\":[";
  for (size_t i = 0; i < programs.size(); ++i) {
    stream << (i ? "," : "");
    JsonWriter(stream, programs[i]).write();
  }
  stream << (pipeline ? "]}" : "");
  // Inside strings only, where JSON allows it: these characters stand nowhere else in JSON.
  for (char c : text) {
    if (c == '<' || c == '>' || c == '&')
      os << llvm::formatv("\\u{0:x-4}", int(c)).str();
    else
      os << c;
  }
}

} // namespace tessera::report
