#include "tessera/runtime/plot/Plot.h"

#include "Chart.h"
#include "PageText.h"

#include <algorithm>
#include <filesystem>

namespace tessera::plot {

namespace {
constexpr size_t mostPoints = 600; // of a line

Series seriesOf(const NamedLog &run, size_t number, double LogLine::*value) {
  Series series{run.name, number, false, {}};
  for (const LogLine &line : run.lines)
    series.points.emplace_back(double(line.step), line.*value);
  series.points = thinned(series.points, mostPoints);
  return series;
}

Chart chartOf(const std::vector<NamedLog> &runs, const char *title, const char *id, double LogLine::*value) {
  Chart chart{title, id, {}};
  for (size_t r = 0; r < runs.size(); ++r)
    chart.series.push_back(seriesOf(runs[r], r, value));
  return chart;
}

// Evaluations are points of their own, steps apart.
void addEvaluations(Chart &chart, const std::vector<NamedLog> &runs) {
  for (size_t r = 0; r < runs.size(); ++r) {
    Series series{runs[r].name + " (evaluation)", r, true, {}};
    for (const LogLine &line : runs[r].lines)
      if (std::isfinite(line.evalLoss))
        series.points.emplace_back(double(line.step), line.evalLoss);
    series.points = thinned(series.points, mostPoints);
    if (!series.points.empty())
      chart.series.push_back(std::move(series));
  }
}

// The finite values, in order.
std::vector<double> valuesOf(const NamedLog &run, double LogLine::*value) {
  std::vector<double> values;
  for (const LogLine &line : run.lines)
    if (std::isfinite(line.*value))
      values.push_back(line.*value);
  return values;
}

std::string cell(const std::string &text) { return "<td>" + text + "</td>"; }
std::string lastOf(const std::vector<double> &values) {
  return values.empty() ? "–" : shortNumber(values.back());
}

std::string tableMarkup(const std::vector<NamedLog> &runs) {
  std::string text = "<div class=\"panel scroll\"><table><thead><tr><th>run</th><th>last step</th><th>last "
                     "loss</th><th>least loss</th><th>last evaluation</th><th>median "
                     "tokens/s</th></tr></thead><tbody>\n";
  for (size_t r = 0; r < runs.size(); ++r) {
    const NamedLog &run = runs[r];
    std::vector<double> losses = valuesOf(run, &LogLine::loss),
                        rates = valuesOf(run, &LogLine::tokensPerSecond);
    std::string least = losses.empty() ? "–" : shortNumber(*std::min_element(losses.begin(), losses.end()));
    std::string median = "–";
    if (!rates.empty()) {
      std::nth_element(rates.begin(), rates.begin() + rates.size() / 2, rates.end());
      median = shortNumber(rates[rates.size() / 2]);
    }
    text += "<tr><td><span class=\"key a" + std::to_string(r % 8) + (r >= 8 ? " again" : "") + "\"></span>" +
            escapeMarkup(run.name) + "</td>" +
            cell(run.lines.empty() ? "–" : std::to_string(run.lines.back().step)) + cell(lastOf(losses)) +
            cell(least) + cell(lastOf(valuesOf(run, &LogLine::evalLoss))) + cell(median) + "</tr>\n";
  }
  return text + "</tbody></table></div>\n";
}
} // namespace

std::string plotPage(const std::vector<NamedLog> &runs) {
  std::string title = runs.size() == 1 ? runs[0].name : std::to_string(runs.size()) + " training runs";
  Chart loss = chartOf(runs, "Loss", "loss", &LogLine::loss);
  addEvaluations(loss, runs);
  std::string page = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                     "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
                     "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
                     "'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">\n"
                     "<link rel=\"icon\" href=\"data:,\">\n<title>" +
                     escapeMarkup(title) + "</title>\n<style>" + pageStyle +
                     "</style>\n</head>\n<body>\n<header><h1>" + escapeMarkup(title) +
                     "</h1></header>\n<main>\n" + tableMarkup(runs) + "<div class=\"cols\">\n";
  page += chartMarkup(loss);
  page += chartMarkup(chartOf(runs, "Gradient norm", "grad_norm", &LogLine::gradNorm));
  page += chartMarkup(chartOf(runs, "Learning rate", "lr", &LogLine::learningRate));
  page += chartMarkup(chartOf(runs, "Tokens a second", "tokens_per_s", &LogLine::tokensPerSecond));
  return page +
         "</div>\n</main>\n<footer>Written by OUT plot. Loss and gradient norm are of a step before its "
         "update.</footer>\n<script>" +
         pageScript + "</script>\n</body>\n</html>\n";
}

std::vector<std::string> shortNames(const std::vector<std::string> &paths) {
  std::vector<std::vector<std::string>> parts;
  for (const std::string &path : paths) {
    std::filesystem::path normal = std::filesystem::path(path).lexically_normal();
    parts.emplace_back();
    for (const std::filesystem::path &part : normal)
      if (std::string text = part.string(); text != "/" && text != ".")
        parts.back().push_back(text);
  }
  auto equal = [&](bool fromTheEnd, size_t i) { // do all have the same i-th part, and one more?
    for (const auto &own : parts)
      if (own.size() < i + 2 ||
          (fromTheEnd ? own[own.size() - 1 - i] != parts[0][parts[0].size() - 1 - i] : own[i] != parts[0][i]))
        return false;
    return true;
  };
  size_t front = 0, back = 0;
  while (parts.size() > 1 && equal(true, back))
    ++back;
  for (auto &own : parts)
    own.resize(own.size() - back);
  while (parts.size() > 1 && equal(false, front))
    ++front;
  std::vector<std::string> names;
  for (size_t i = 0; i < parts.size(); ++i) {
    std::string name;
    if (parts.size() == 1)
      front = parts[i].empty() ? 0 : parts[i].size() - 1;
    for (size_t p = front; p < parts[i].size(); ++p)
      name += (name.empty() ? "" : "/") + parts[i][p];
    names.push_back(name.empty() ? paths[i] : name);
  }
  return names;
}

} // namespace tessera::plot
