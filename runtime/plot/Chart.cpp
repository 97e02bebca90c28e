#include "Chart.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

namespace tessera::plot {

namespace {
// Of a drawing, in its own units.
constexpr double width = 720, height = 330, left = 62, right = 14, top = 12, bottom = 40;

std::string n(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.5g", std::round(value * 100) / 100);
  return text;
}

struct Range {
  double least = std::numeric_limits<double>::infinity(), greatest = -least;
  void take(double value) {
    if (std::isfinite(value)) {
      least = std::min(least, value);
      greatest = std::max(greatest, value);
    }
  }
  bool empty() const { return least > greatest; }
  // Room above and below; a range even where all values are one.
  Range widened(double part) const {
    double by = greatest > least ? (greatest - least) * part : std::max(std::fabs(least) * 0.1, 1e-9);
    Range range;
    range.least = least - by, range.greatest = greatest + by;
    return range;
  }
};

double across(const Range &steps, double step) {
  return left + (step - steps.least) / (steps.greatest - steps.least) * (width - left - right);
}
double down(const Range &values, double value) {
  return height - bottom -
         (value - values.least) / (values.greatest - values.least) * (height - top - bottom);
}

std::string axes(const Range &steps, const Range &values) {
  std::string text;
  for (double tick : axisTicks(values.least, values.greatest, 6)) {
    std::string y = n(down(values, tick));
    text += "<line class=\"grid\" x1=\"" + n(left) + "\" x2=\"" + n(width - right) + "\" y1=\"" + y +
            "\" y2=\"" + y + "\"/><text class=\"tick r\" x=\"" + n(left - 8) + "\" y=\"" +
            n(down(values, tick) + 4) + "\">" + shortNumber(tick) + "</text>";
  }
  for (double tick : axisTicks(steps.least, steps.greatest, 8))
    if (tick == std::floor(tick))
      text += "<text class=\"tick m\" x=\"" + n(across(steps, tick)) + "\" y=\"" + n(height - bottom + 20) +
              "\">" + shortNumber(tick) + "</text>";
  text += "<line class=\"axis\" x1=\"" + n(left) + "\" x2=\"" + n(width - right) + "\" y1=\"" +
          n(height - bottom) + "\" y2=\"" + n(height - bottom) + "\"/><text class=\"tick m\" x=\"" +
          n((left + width - right) / 2) + "\" y=\"" + n(height - 4) + "\">step</text>";
  return text;
}

std::string lineOf(const Series &series, const Range &steps, const Range &values) {
  std::string path, dots, class_ = "a" + std::to_string(series.colour % 8);
  bool open = false, alone = false; // a point between two interruptions has no line
  std::string last;
  auto close = [&] {
    if (alone)
      dots += last;
    open = alone = false;
  };
  for (const auto &[step, value] : series.points) {
    if (!std::isfinite(value)) {
      close();
      continue;
    }
    std::string x = n(across(steps, step)), y = n(down(values, value));
    path += (open ? "L" : "M") + x + " " + y;
    alone = !open;
    open = true;
    last = "<circle class=\"" + class_ + "\" cx=\"" + x + "\" cy=\"" + y + "\" r=\"3\"/>";
  }
  close();
  return "<path class=\"line " + class_ + (series.dashed ? " dashed" : "") +
         (series.colour >= 8 ? " again" : "") + "\" d=\"" + path + "\"><title>" + escapeMarkup(series.name) +
         "</title></path>" + dots;
}

// What the script under the page reads: where the drawing lies, and the points.
std::string pointsOf(const Chart &chart, const Range &steps) {
  std::string text = " data-steps=\"" + n(left) + " " + n(width - right) + " " + n(steps.least) + " " +
                     n(steps.greatest) + "\" data-lines=\"";
  for (const Series &series : chart.series) {
    text += escapeMarkup(series.name) + "\t" + std::to_string(series.colour % 8);
    for (const auto &[step, value] : series.points) {
      char point[64];
      std::snprintf(point, sizeof point, "\t%.0f %.6g", step, value);
      if (std::isfinite(value))
        text += point;
    }
    text += "\n";
  }
  return text + "\"";
}
} // namespace

std::vector<double> axisTicks(double least, double greatest, int count) {
  double raw = (greatest - least) / std::max(count, 1), power = std::pow(10, std::floor(std::log10(raw)));
  double step = power;
  for (double factor : {2.0, 5.0, 10.0})
    if (step < raw * 0.75)
      step = power * factor;
  std::vector<double> ticks;
  const double first = std::ceil(least / step - 1e-9);
  // Beyond 2^53 the next number may be no other one.
  for (double i = first; i * step <= greatest + step * 1e-9; ++i) {
    ticks.push_back(i == 0 ? 0 : i * step);
    if (i + 1 == i)
      break;
  }
  return ticks;
}

std::vector<std::pair<double, double>> thinned(const std::vector<std::pair<double, double>> &points,
                                               size_t most) {
  if (points.size() <= most)
    return points;
  std::vector<std::pair<double, double>> kept;
  const size_t buckets = most / 2;
  for (size_t b = 0; b < buckets; ++b) {
    size_t begin = b * points.size() / buckets, end = (b + 1) * points.size() / buckets;
    // Interruptions stay: one of a bucket is enough.
    size_t least = end, greatest = end, gap = end;
    for (size_t i = begin; i < end; ++i) {
      if (!std::isfinite(points[i].second)) {
        gap = i;
        continue;
      }
      if (least == end || points[i].second < points[least].second)
        least = i;
      if (greatest == end || points[i].second > points[greatest].second)
        greatest = i;
    }
    std::vector<size_t> chosen = {least, greatest, gap};
    std::sort(chosen.begin(), chosen.end());
    chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
    for (size_t i : chosen)
      if (i < end)
        kept.push_back(points[i]);
  }
  return kept;
}

std::string escapeMarkup(const std::string &text) {
  std::string escaped;
  for (char c : text)
    switch (c) {
    case '&':
      escaped += "&amp;";
      break;
    case '<':
      escaped += "&lt;";
      break;
    case '>':
      escaped += "&gt;";
      break;
    case '"':
      escaped += "&quot;";
      break;
    default:
      escaped += (unsigned char)c < 0x20 ? ' ' : c;
    }
  return escaped;
}

std::string shortNumber(double value) {
  char text[32];
  double size = std::fabs(value);
  const char *unit = size >= 999.5e9   ? "T"
                     : size >= 999.5e6 ? "G"
                     : size >= 999.5e3 ? "M"
                     : size >= 9999.5  ? "k"
                                       : "";
  double scale = *unit == 'T' ? 1e12 : *unit == 'G' ? 1e9 : *unit == 'M' ? 1e6 : *unit == 'k' ? 1e3 : 1;
  std::snprintf(text, sizeof text, "%.4g%s", value / scale, unit);
  return text;
}

std::string chartMarkup(const Chart &chart) {
  Range steps, values;
  for (const Series &series : chart.series)
    for (const auto &[step, value] : series.points)
      if (std::isfinite(value)) {
        steps.take(step);
        values.take(value);
      }
  std::string head = "<section class=\"panel\"><h2>" + escapeMarkup(chart.title) + "</h2>";
  if (values.empty())
    return head + "<p class=\"mute\">The logs do not say.</p></section>\n";
  if (steps.least == steps.greatest)
    steps = steps.widened(0);
  values = values.widened(0.05);
  std::string text = head + "<svg class=\"chart\" id=\"" + chart.id + "\" viewBox=\"0 0 " + n(width) + " " +
                     n(height) + "\" role=\"img\" aria-label=\"" + escapeMarkup(chart.title) +
                     " over steps\"" + pointsOf(chart, steps) + ">" + axes(steps, values);
  for (const Series &series : chart.series)
    text += lineOf(series, steps, values);
  return text + "<line class=\"at\" y1=\"" + n(top) + "\" y2=\"" + n(height - bottom) +
         "\" x1=\"-9\" x2=\"-9\"/></svg><p class=\"values mute\" aria-live=\"polite\">&nbsp;</p></section>\n";
}

} // namespace tessera::plot
