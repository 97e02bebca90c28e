//===- WritePage.cpp - The report as one HTML page ------------------------===//
//
// Everything is in the markup: the page can be read and printed without scripts, which only sort and filter.
//
//===----------------------------------------------------------------------===//
#include "Markup.h"

#include "ReportPageText.inc" // kPage_page_css, kPage_page_js

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

namespace tessera::report {
namespace {

constexpr size_t kBars = 24; ///< bars a kind; the table has all

std::string number(double x) { return llvm::formatv("{0:F0}", x).str(); }

class PageWriter {
public:
  PageWriter(llvm::raw_ostream &os, llvm::ArrayRef<Program> programs, const Pipeline *pipeline)
      : os(os), programs(programs), program(programs.front()), pipeline(pipeline) {}

  void write() {
    std::string title = name();
    os << "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
          "'unsafe-inline'; "
          "script-src 'unsafe-inline'; img-src data:\">\n"
          "<link rel=\"icon\" href=\"data:,\">\n<title>"
       << escape(title) << " on " << escape(pipeline ? pipeline->mesh : meshText()) << "</title>\n<style>\n"
       << kPage_page_css << "</style>\n</head>\n<body>\n";
    header(title);
    os << "<main>\n";
    if (pipeline)
      writePipeline(os, *pipeline);
    for (const Program &one : programs)
      PageWriter(os, one, nullptr).sections();
    os << "</main>\n<footer>Written by llm-compile --report. Bytes are of one rank. Times are predictions of "
          "the cost model, not "
          "measurements.</footer>\n<script type=\"application/json\" id=\"data\">";
    writeJson(os, programs, pipeline);
    os << "</script>\n<script>\n" << kPage_page_js << "</script>\n</body>\n</html>\n";
  }

private:
  void sections() {
    if (!program.stages.empty())
      os << "<h2 id=\"" << program.prefix << "program\">" << escape(program.stages) << "</h2>\n";
    graphs();
    memory();
    padding();
    collectives();
    tensors();
  }
  /// An address in the page, of this program.
  std::string id(llvm::StringRef name) const { return program.prefix + name.str(); }

  std::string name() const {
    llvm::StringRef model = llvm::StringRef(program.model).rtrim('/');
    return model.empty()                      ? "program"
           : model.rsplit('/').second.empty() ? model.str()
                                              : model.rsplit('/').second.str();
  }
  std::string meshText() const {
    std::string text;
    for (const MeshAxis &axis : program.mesh.axes)
      text += (text.empty() ? "" : ", ") + axis.name + "=" + std::to_string(axis.size);
    return text.empty() ? "one rank" : text;
  }

  /// A chip; `label` is escaped here.
  void chip(const std::string &label, llvm::ArrayRef<AxisUse> axes, bool partial = false) {
    os << "<span class=\"chip" << (partial ? " q" : "");
    if (!axes.empty())
      os << " a" << colour(axes[0].axis);
    os << "\">";
    for (auto [i, use] : llvm::enumerate(axes))
      os << "<i class=\"a" << colour(use.axis)
         << "\" style=\"left:" << number(100.0 * double(i) / double(axes.size()))
         << "%;width:" << llvm::formatv("{0:F1}", 100.0 / double(axes.size())) << "%\"></i>";
    os << escape(label) << "</span>";
  }
  void chips(const Value &value) {
    for (auto [i, dim] : llvm::enumerate(value.dims))
      chip(dimText(dim, i), dim.axes);
    if (value.dims.empty())
      os << "<span class=\"mute\">scalar</span>";
    if (!value.partial.empty())
      chip((value.partialKind == "sum" ? "Σ " : value.partialKind + " ") + axesText(value.partial),
           value.partial, true);
  }
  static std::string shape(const Value &value, bool local) {
    std::string text;
    for (const Dim &dim : value.dims)
      text += (text.empty() ? "" : " × ") + std::to_string(local ? dim.local : dim.global);
    return text.empty() ? "scalar" : text;
  }

  double total(TensorKind kind) const {
    double sum = 0;
    for (const Tensor &tensor : program.tensors)
      sum += tensor.kind == kind ? tensor.value.bytes : 0;
    return sum;
  }

  void card(const std::string &figure, const std::string &what) {
    os << "<div><b>" << escape(figure) << "</b><span class=\"mute\">" << escape(what) << "</span></div>\n";
  }

  std::string nav() const {
    if (!pipeline)
      return std::string("<a href=\"#graph\">Graph</a><a href=\"#memory\">Memory</a>"
                         "<a href=\"#collectives\">Collectives</a>") +
             (program.padding.dims.empty() ? "" : "<a href=\"#padding\">Padding</a>") +
             "<a href=\"#tensors\">Tensors</a>";
    std::string links = "<a href=\"#pipeline\">Pipeline</a>";
    for (const Program &one : programs)
      links += "<a href=\"#" + one.prefix + "program\">" + escape(one.stages) + "</a>";
    return links;
  }

  void header(const std::string &title) {
    os << "<header>\n<h1>" << escape(title) << "</h1>\n<div class=\"mute mono\">" << escape(program.model)
       << "</div>\n<nav>" << nav() << "</nav>\n<div class=\"cards\">\n";
    const int64_t ranks = pipeline ? pipeline->ranks : program.mesh.numDevices();
    card(std::to_string(ranks) + (ranks == 1 ? " rank" : " ranks"),
         "mesh " + (pipeline ? pipeline->mesh : meshText()));
    if (pipeline) {
      card(std::to_string(pipeline->stages.size()) + " stages",
           pipeline->schedule + " over " + pipeline->axis);
      os << "</div>\n</header>\n";
      return;
    }
    card(bytesText(total(TensorKind::Weight)), "weights on each rank");
    card(bytesText(total(TensorKind::Cache)), states() + std::string(" on each rank"));
    for (const Function &function : program.functions) {
      auto [bytes, seconds, count] = communication(function.name);
      card(bytesText(bytes), "received by a rank in one " + function.name + ": " + number(count) +
                                 " collectives, " + timeText(seconds) +
                                 (program.nominal ? std::string(" on a nominal machine")
                                                  : " predicted for " + program.predictedFor));
    }
    os << "</div>\n</header>\n";
  }

  /// Bytes, seconds and executions of one call of a function.
  std::tuple<double, double, double> communication(const std::string &function) const {
    double bytes = 0, seconds = 0, count = 0;
    for (const Collective &collective : program.collectives)
      if (collective.function == function && collective.received > 0) {
        bytes += collective.received * double(collective.executions);
        seconds += collective.seconds * double(collective.executions);
        count += double(collective.executions);
      }
    return {bytes, seconds, count};
  }

  /// Nothing lies along an axis of one rank, as a pipeline's is for the program of a stage.
  void legend() {
    std::vector<AxisUse> axes;
    os << "<div class=\"legend\">";
    for (auto [i, axis] : llvm::enumerate(program.mesh.axes)) {
      if (axis.size == 1)
        continue;
      axes.push_back({int(i), axis.name});
      chip(axis.name + " = " + std::to_string(axis.size), {axes.back()});
    }
    if (axes.size() > 1)
      chip("one dimension over " + axes[0].text + " and " + axes[1].text,
           {{axes[0].axis, ""}, {axes[1].axis, ""}});
    chip("whole on every rank", {});
    if (!axes.empty())
      chip("Σ partial: a sum still to be made over " + axes[0].text, {{axes[0].axis, ""}}, true);
    os << "</div>\n";
  }

  /// What a program keeps from call to call: of a step of training that is no cache.
  const char *states() const { return program.hasCaches ? "caches" : "states"; }

  void graphs() {
    os << "<h2 id=\"" << id("graph")
       << "\">Graph</h2>\n<p>Boxes are ops with the dimensions of what they make: global size, "
          "then the axes that split it. "
          "Lines have the colours of the value they carry, dots where it is partial. Rounded labels are "
          "collectives: bytes that a rank "
          "receives and predicted time, each time, and how often; they lead to their row below.</p>\n";
    legend();
    for (auto [i, function] : llvm::enumerate(program.functions)) {
      auto [bytes, seconds, count] = communication(function.name);
      os << "<details" << (i == 0 ? " open" : "") << "><summary>" << escape(function.name)
         << " <span class=\"mute\">· " << number(count) << " collectives, " << bytesText(bytes)
         << "</span></summary>\n<div class=\"scroll graph\" tabindex=\"0\" role=\"region\" "
         << "aria-label=\"Graph of " << escape(function.name) << "\">\n";
      drawGraph(os, program, function, id("graph") + std::to_string(i));
      os << "</div></details>\n";
    }
  }

  void bars(TensorKind kind, const char *title, const char *style, llvm::StringRef note) {
    std::vector<const Tensor *> chosen;
    size_t all = 0;
    for (const Tensor &tensor : program.tensors) // largest first
      if (tensor.kind == kind && ++all <= kBars)
        chosen.push_back(&tensor);
    if (chosen.empty())
      return;
    os << "<div class=\"panel\"><h3><span class=\"key " << style << "\"></span>" << title << "</h3>";
    if (!note.empty())
      os << "<p class=\"mute\">" << note << "</p>";
    os << "<div class=\"bars\">\n";
    double largest = std::max(chosen[0]->value.bytes, 1.0);
    for (const Tensor *tensor : chosen)
      os << "<span class=\"mono\">" << escape(label(*tensor)) << "</span><div><i class=\"" << style
         << "\" style=\"width:" << llvm::formatv("{0:F2}", 100 * tensor->value.bytes / largest)
         << "%\"></i></div><span class=\"mono\">" << bytesText(tensor->value.bytes) << "</span>\n";
    os << "</div>";
    if (all > chosen.size())
      os << "<p class=\"mute\">and " << all - chosen.size() << " smaller ones, in the table of tensors</p>";
    os << "</div>\n";
  }

  static std::string label(const Tensor &tensor) {
    if (tensor.kind != TensorKind::Activation)
      return tensor.name;
    return tensor.function + ": " + tensor.madeBy + (tensor.name.empty() ? "" : " " + tensor.name);
  }

  void memory() {
    double weights = total(TensorKind::Weight), caches = total(TensorKind::Cache), largest = 0;
    for (const Tensor &tensor : program.tensors)
      if (tensor.kind == TensorKind::Activation)
        largest = std::max(largest, tensor.value.bytes);
    double sum = std::max(weights + caches + largest, 1.0);
    os << "<h2 id=\"" << id("memory")
       << "\">Memory of one rank</h2>\n<div class=\"panel\"><div class=\"stack\" "
          "aria-hidden=\"true\">";
    for (auto [bytes, style] : {std::pair(weights, "kw"), std::pair(caches, "kc"), std::pair(largest, "ka")})
      os << "<span class=\"" << style << "\" style=\"width:" << llvm::formatv("{0:F2}", 100 * bytes / sum)
         << "%\"></span>";
    os << "</div><span class=\"key kw\"></span>weights " << bytesText(weights)
       << " &nbsp; <span class=\"key kc\"></span>" << states() << " " << bytesText(caches)
       << " &nbsp; <span class=\"key ka\"></span>largest activation " << bytesText(largest)
       << "</div>\n<div style=\"height:12px\"></div>\n<div class=\"cols\">\n";
    bars(TensorKind::Weight, "Weights", "kw", "");
    bars(TensorKind::Cache, program.hasCaches ? "Caches" : "States", "kc", "");
    bars(TensorKind::Activation, "Activations", "ka",
         "Values of one execution, each on its own. Their buffers share one arena, so they do not add up; "
         "fused ones have no buffer.");
    os << "</div>\n";
  }

  void tableHead(llvm::StringRef id, llvm::StringRef caption, size_t rows,
                 llvm::ArrayRef<std::pair<const char *, bool>> columns) {
    os << "<div class=\"panel\" style=\"padding:0\"><div class=\"tools\"><label>Filter <input "
          "type=\"search\" data-table=\""
       << id << "\" placeholder=\"words\"></label><span class=\"mute\" id=\"" << id
       << "-count\" role=\"status\">" << rows << " of " << rows
       << "</span></div>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"" << caption
       << "\"><table class=\"sort\" id=\"" << id << "\">\n<thead><tr>";
    for (auto [title, numeric] : columns)
      os << "<th scope=\"col\" aria-sort=\"none\"" << (numeric ? " class=\"v\"" : "")
         << "><button type=\"button\">" << title << "</button></th>";
    os << "</tr></thead>\n<tbody>\n";
  }
  void tableEnd() { os << "</tbody></table></div></div>\n"; }
  void numeric(double value, const std::string &text) {
    os << "<td class=\"v\" data-v=\"" << llvm::format("%.9g", value) << "\">" << text << "</td>";
  }
  void exact(double bytes) {
    os << "<td class=\"v\" data-v=\"" << number(bytes) << "\" title=\"" << number(bytes) << " bytes\">"
       << bytesText(bytes) << "</td>";
  }

  /// Dimensions that their axes do not divide.
  void padding() {
    if (program.padding.dims.empty())
      return;
    os << "<h2 id=\"" << id("padding")
       << "\">Padding</h2>\n<p>Sizes that do not divide are filled up: every rank holds, "
          "computes on and sends as much as the "
          "fullest. Of one rank, in one run of every function; percentages are of all that a rank holds, "
          "writes, sends and computes.</p>\n";
    tableHead(id("padding-table"), "Padding", program.padding.dims.size(),
              {{"dimension", false},
               {"axes", false},
               {"size", true},
               {"padded to", true},
               {"weights", true},
               {states(), true},
               {"activations written", true},
               {"collectives", true},
               {"FLOPs", true},
               {"in", false}});
    const dist::PaddingShare &total = program.padding.total;
    for (const dist::PaddedDim &dim : program.padding.dims) {
      os << "<tr><td class=\"l\">" << escape(dim.name) << "</td><td>";
      for (const AxisRef &axis : dim.axes)
        chip(tessera::toString(axis, program.mesh), AxisUse{axis.axis, ""});
      os << "</td>";
      numeric(double(dim.size), std::to_string(dim.size));
      numeric(double(dim.padded), std::to_string(dim.padded));
      auto part = [&](double padding, double all, const std::string &text) {
        numeric(padding, padding > 0 ? text + llvm::formatv(" ({0:F1} %)", 100 * padding / all).str() : "0");
      };
      part(dim.share.weightBytes, total.weightBytes, bytesText(dim.share.weightBytes));
      part(dim.share.stateBytes, total.stateBytes, bytesText(dim.share.stateBytes));
      part(dim.share.activationBytes, total.activationBytes, bytesText(dim.share.activationBytes));
      part(dim.share.sentBytes, total.sentBytes, bytesText(dim.share.sentBytes));
      part(dim.share.flops, total.flops, number(dim.share.flops));
      os << "<td class=\"l\">" << escape(llvm::join(dim.values, ", ")) << "</td></tr>\n";
    }
    tableEnd();
  }

  void collectives() {
    os << "<h2 id=\"" << id("collectives") << "\">Collectives</h2>\n";
    if (program.collectives.empty()) {
      os << "<p>None: no rank needs anything from another.</p>\n";
      return;
    }
    bool flags = llvm::any_of(program.collectives, [](const Collective &c) { return !c.flag.empty(); });
    std::vector<std::pair<const char *, bool>> columns = {
        {"#", true},           {"function", false},  {"kind", false}, {"axes", false},
        {"for", false},        {"tensor", false},    {"bytes", true}, {"times", true},
        {"total bytes", true}, {"total time", true}, {"why", false},  {"between", false}};
    if (flags)
      columns.insert(columns.end(), {{"change to try", false}, {"what it changes", false}});
    tableHead(id("collective-table"), "Collectives", program.collectives.size(), columns);
    for (auto [i, c] : llvm::enumerate(program.collectives)) {
      os << "<tr id=\"" << id("c") << i << "\"><td class=\"v\" data-v=\"" << i << "\">" << i << "</td><td>"
         << escape(c.function) << "</td><td class=\"l\">" << escape(c.kind) << "</td><td>";
      for (const AxisUse &use : c.axes)
        chip(use.text, use);
      os << "</td><td class=\"l\">" << escape(c.tensor) << "</td><td class=\"d\">";
      chips(c.before);
      os << "</td>";
      exact(c.received);
      numeric(double(c.executions), std::to_string(c.executions));
      exact(c.received * double(c.executions));
      numeric(c.seconds * double(c.executions), timeText(c.seconds * double(c.executions)));
      os << "<td class=\"why\">" << escape(c.why.empty() ? "no reason given" : c.why)
         << "</td><td class=\"why\">" << escape(c.ends) << "</td>";
      if (flags)
        os << "<td class=\"l\">" << escape(c.flag) << "</td><td class=\"why\">" << escape(c.price) << "</td>";
      os << "</tr>\n";
    }
    tableEnd();
  }

  void tensors() {
    os << "<h2 id=\"" << id("tensors") << "\">Tensors</h2>\n";
    tableHead(id("tensor-table"), "Tensors", program.tensors.size(),
              {{"kind", false},
               {"name", false},
               {"function", false},
               {"made by", false},
               {"type", false},
               {"dimensions", false},
               {"global shape", false},
               {"local shape", false},
               {"bytes", true},
               {"why it lies so", false}});
    for (const Tensor &t : program.tensors) {
      const bool isState = t.kind == TensorKind::Cache && !program.hasCaches;
      os << "<tr><td>" << (isState ? "state" : toString(t.kind)) << "</td><td class=\"l\">" << escape(t.name)
         << "</td><td>" << escape(t.function.empty() ? "all" : t.function) << "</td><td class=\"l\">"
         << escape(t.madeBy) << "</td><td class=\"l\">" << escape(t.value.element) << "</td><td class=\"d\">";
      chips(t.value);
      os << "</td><td class=\"l\">" << shape(t.value, false) << "</td><td class=\"l\">"
         << shape(t.value, true) << "</td>";
      exact(t.value.bytes);
      os << "<td class=\"why\">";
      for (auto [i, reason] : llvm::enumerate(t.reasons))
        os << (i ? "<br>" : "") << escape(reason);
      os << "</td></tr>\n";
    }
    tableEnd();
  }

  llvm::raw_ostream &os;
  llvm::ArrayRef<Program> programs;
  const Program &program; ///< the first
  const Pipeline *pipeline;
};

} // namespace

void writePage(llvm::raw_ostream &os, llvm::ArrayRef<Program> programs, const Pipeline *pipeline) {
  PageWriter(os, programs, pipeline).write();
}

} // namespace tessera::report
