//===- DrawPipeline.cpp - The time line of a step -------------------------===//
#include "PipelineData.h"

#include "Markup.h"

#include "tessera/runtime/schedule/Text.h"

#include "llvm/Support/FormatVariadic.h"

namespace tessera::report {

using schedule::Action;
using schedule::Kind;

constexpr size_t kMostActions = 20000; ///< that are drawn
constexpr double kWidth = 1400, kRow = 34, kLabel = 60;

/// Number of the colour of what an action does: forward, gradient of the input or whole backward, of weights;
/// a pair.
static int colourOf(const Action &action) {
  if (action.isPair())
    return 3;
  return action.kind == Kind::Forward ? 0 : action.kind == Kind::BackwardWeight ? 2 : 1;
}

static void drawTimeLine(llvm::raw_ostream &os, const Pipeline &pipeline) {
  const schedule::Schedule &lists = pipeline.lists;
  const schedule::Simulation &run = pipeline.step.simulation;
  const double scale = run.makespan > 0 ? (kWidth - kLabel) / run.makespan : 0;
  const double height = kRow * double(lists.numRanks());
  os << "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Time line of a step\"><svg "
        "viewBox=\"0 0 "
     << llvm::formatv("{0:F0} {1:F0}", kWidth, height)
     << "\" role=\"img\" aria-label=\"What ranks do when\">\n";
  size_t drawn = 0;
  for (int64_t at = 0; at < lists.numRanks(); ++at) {
    const double y = kRow * double(at);
    os << llvm::formatv("<text class=\"t\" x=\"0\" y=\"{0:F1}\">{1} {2}</text>\n", y + 21,
                        escape(pipeline.axis), at);
    const schedule::ActionList &list = lists.ranks[size_t(at)];
    for (size_t i = 0; i < list.size() && drawn < kMostActions; ++i) {
      if (!schedule::computes(list[i].kind))
        continue;
      ++drawn;
      const schedule::Span &span = run.spans[size_t(at)][i];
      const double x = kLabel + span.begin * scale, width = (span.end - span.begin) * scale;
      const std::string name = schedule::toString(list[i]);
      os << llvm::formatv("<g class=\"a{0}\"><rect class=\"k\" x=\"{1:F2}\" y=\"{2:F1}\" width=\"{3:F2}\" "
                          "height=\"26\"><title>{4}: {5} from {6}</title></rect>",
                          colourOf(list[i]), x, y + 4, width, name, timeText(span.end - span.begin),
                          timeText(span.begin));
      if (width > 8 * double(name.size()))
        os << llvm::formatv("<text class=\"m\" x=\"{0:F1}\" y=\"{1:F1}\">{2}</text>", x + width / 2, y + 21,
                            name);
      os << "</g>\n";
    }
  }
  os << "</svg></div>\n";
  if (drawn == kMostActions)
    os << "<p class=\"mute\">The first " << kMostActions << " actions are drawn.</p>\n";
}

static std::string layersText(const Pipeline::Stage &stage) {
  if (stage.layers == 0)
    return "none";
  return std::to_string(stage.first) + " to " + std::to_string(stage.first + stage.layers - 1);
}

void writePipeline(llvm::raw_ostream &os, const Pipeline &pipeline) {
  os << "<h2 id=\"pipeline\">Pipeline</h2>\n";
  if (pipeline.lists.numRanks() > 0) {
    os << "<p>" << escape(pipeline.schedule) << ": a step takes " << timeText(pipeline.step.seconds())
       << ", of which ranks idle " << llvm::formatv("{0:F1}", 100 * pipeline.step.idle())
       << " %. Its list, which is drawn, takes " << timeText(pipeline.step.simulation.makespan)
       << ". Colours: forward, gradients of inputs (or a whole backward), gradients of weights, "
          "pairs.</p>\n<div class=\"panel\">";
    drawTimeLine(os, pipeline);
    os << "</div>\n";
  }
  os << "<div class=\"panel scroll\"><table "
        "id=\"stage-table\">\n<thead><tr><th>stage</th><th>at</th><th>layers</th>";
  if (!pipeline.stages.empty())
    for (auto &[name, seconds] : pipeline.stages.front().seconds)
      os << "<th class=\"v\">" << escape(name) << "</th>";
  os << "</tr></thead>\n<tbody>\n";
  for (auto [i, stage] : llvm::enumerate(pipeline.stages)) {
    os << "<tr><td>" << i << "</td><td>" << escape(pipeline.axis) << " " << stage.at << "</td><td>"
       << layersText(stage) << "</td>";
    for (auto &[name, seconds] : stage.seconds)
      os << "<td class=\"v\">" << timeText(seconds) << "</td>";
    os << "</tr>\n";
  }
  os << "</tbody></table></div>\n<h3>Channels</h3>\n<div class=\"panel scroll\"><table "
        "id=\"channel-table\">\n<thead><tr><th>value</"
        "th><th>from</th><th>to</th><th>type</th><th class=\"v\">bytes</th><th class=\"v\">times</th><th "
        "class=\"v\">time</th><th>why</th></tr></thead>\n<tbody>\n";
  for (const ChannelExplanation &channel : pipeline.channels)
    os << "<tr><td class=\"l\">" << escape(channel.value) << "</td><td>stage " << channel.from
       << "</td><td>stage " << channel.to << "</td><td class=\"l\">" << escape(channel.type)
       << "</td><td class=\"v\">" << channel.bytes << "</td><td class=\"v\">" << channel.executions
       << "</td><td class=\"v\">" << timeText(channel.seconds) << "</td><td class=\"why\">"
       << escape(channel.why) << "</td></tr>\n";
  os << "</tbody></table></div>\n";
}

llvm::json::Value toJson(const Pipeline &pipeline) {
  llvm::json::Array stages, channels, ranks;
  for (const Pipeline::Stage &stage : pipeline.stages) {
    llvm::json::Object object{{"at", stage.at}, {"first", stage.first}, {"layers", stage.layers}};
    for (auto &[name, seconds] : stage.seconds)
      object[name] = seconds;
    stages.push_back(std::move(object));
  }
  for (const ChannelExplanation &channel : pipeline.channels)
    channels.push_back(llvm::json::Object{{"value", channel.value},
                                          {"from", channel.from},
                                          {"to", channel.to},
                                          {"bytes", channel.bytes},
                                          {"executions", channel.executions},
                                          {"seconds", channel.seconds},
                                          {"why", channel.why}});
  for (const schedule::ActionList &list : pipeline.lists.ranks)
    ranks.push_back(schedule::toString(list));
  return llvm::json::Object{
      {"axis", pipeline.axis},       {"schedule", pipeline.schedule},   {"seconds", pipeline.step.seconds()},
      {"stages", std::move(stages)}, {"channels", std::move(channels)}, {"lists", std::move(ranks)}};
}

} // namespace tessera::report
