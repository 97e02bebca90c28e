#include "PredictedTrace.h"
#include "tessera/runtime/core/Error.h"
#include "tessera/runtime/io/OutputFile.h"
#include "tessera/runtime/schedule/Text.h"

#include <algorithm>
#include <cmath>

namespace tessera::runtime {

using schedule::Action;

void putPrediction(const StagePrograms &stages, const Prediction &prediction, int64_t first,
                   TraceEvents &events) {
  const schedule::Schedule &lists = stages.lists(Role::Train);
  enum Row { Parts, Messages };
  auto nanoseconds = [](double seconds) { return int64_t(std::llround(seconds * 1e9)); };
  const schedule::StepPrediction &step = prediction.step;
  const double end = step.simulation.makespan;
  for (int64_t at = 0; at < lists.numRanks(); ++at) {
    const int64_t process = first + at;
    events.process(process, "predicted: " + stages.spec().axis + " " + std::to_string(at));
    events.row(process, Parts, "part");
    const schedule::ActionList &list = lists.ranks[size_t(at)];
    std::vector<int64_t> lanes; // when what a row of messages has is there
    for (size_t i = 0; i < list.size(); ++i) {
      const Action &action = list[i];
      const schedule::Span &span = step.simulation.spans[size_t(at)][i];
      if (schedule::computes(action.kind)) {
        events.slice(process, Parts, nanoseconds(span.begin), nanoseconds(span.end), "part",
                     schedule::toString(action), "{}");
      } else if (schedule::sends(action.kind)) {
        const double link = schedule::Costs::of(prediction.costs.costs.link,
                                                std::min(action.stage, schedule::otherEnd(action)));
        const double departure = step.simulation.departures[size_t(at)][i];
        const int64_t begin = nanoseconds(departure), there = nanoseconds(departure + link);
        size_t lane = 0;
        while (lane < lanes.size() && lanes[lane] > begin)
          ++lane;
        if (lane == lanes.size()) {
          lanes.push_back(0);
          events.row(process, Messages + int64_t(lane),
                     "messages" + (lane ? " " + std::to_string(lane + 1) : ""));
        }
        lanes[lane] = there;
        events.slice(process, Messages + int64_t(lane), begin, there, "message", schedule::toString(action),
                     "{}");
      }
    }
    auto behind = [&](double begin, double seconds, const char *name) {
      if (seconds > 0)
        events.slice(process, Parts, nanoseconds(begin), nanoseconds(begin + seconds), "part", name, "{}");
    };
    behind(end, step.shared[size_t(at)], "shared gradients");
    behind(end + step.sharedSeconds(), step.once[size_t(at)], "once a step");
  }
}

void writePrediction(const StagePrograms *stages, const std::string &file) {
  const std::optional<Prediction> prediction = stages ? predictStep(*stages) : std::nullopt;
  if (!prediction)
    throw Error("cannot trace", "--trace=" + file, "only the step of a pipeline that trains is predicted",
                "leave it out, or compile with --task=train and an axis pp in the mesh");
  io::OutputFile out(file, "cannot write trace");
  check(out.open());
  auto put = [&](const std::string &text) { check(out.write(text.data(), text.size())); };
  put(TraceEvents::fileBegin);
  TraceEvents events(/*isFirst=*/true, put);
  putPrediction(*stages, *prediction, 0, events);
  put(TraceEvents::fileEnd);
  check(out.finish());
}

} // namespace tessera::runtime
