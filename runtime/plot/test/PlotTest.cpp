// The page of logs: what is drawn where, axes, long runs, and text that is markup.
#include "tessera/runtime/plot/Plot.h"
#include "Chart.h"

#include <cmath>
#include <gtest/gtest.h>
#include <regex>

using namespace tessera;
using namespace tessera::plot;

namespace {

NamedLog run(const std::string &name, int64_t steps, double scale) {
  NamedLog log{name, {}};
  for (int64_t step = 1; step <= steps; ++step)
    log.lines.push_back({step, scale / double(step), scale, 1e-3, 1000 * scale, NAN});
  return log;
}
size_t count(const std::string &text, const std::string &part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++found;
  return found;
}
using Points = std::vector<std::pair<double, double>>;

TEST(Plot, EveryRunIsALineInEveryChart) {
  std::string page = plotPage({run("first", 20, 4), run("second", 10, 2)});
  for (const char *id : {"loss", "grad_norm", "lr", "tokens_per_s"})
    EXPECT_EQ(count(page, std::string("id=\"") + id + "\""), 1u) << id;
  EXPECT_EQ(count(page, "<path class=\"line a0\""), 4u);
  EXPECT_EQ(count(page, "<path class=\"line a1\""), 4u);
  EXPECT_EQ(count(page, "<title>second</title>"), 4u);
  EXPECT_NE(page.find("<h1>2 training runs</h1>"), std::string::npos);
  // Last step, last and least loss, tokens a second of the table.
  EXPECT_NE(page.find("first</td><td>20</td><td>0.2</td><td>0.2</td><td>–</td><td>4000</td>"),
            std::string::npos);
}

TEST(Plot, ItNeedsNoNetwork) {
  std::string page = plotPage({run("one", 3, 1)});
  EXPECT_NE(page.find("default-src 'none'"), std::string::npos);
  for (const char *part : {"http:", "https:", "src=", "@import", "url("})
    EXPECT_EQ(page.find(part), std::string::npos) << part;
}

TEST(Plot, NamesThatAreMarkupStayText) {
  std::string page = plotPage({run("<script>alert(\"&\")</script>", 3, 1)});
  EXPECT_EQ(page.find("<script>alert"), std::string::npos);
  EXPECT_NE(page.find("&lt;script&gt;alert(&quot;&amp;&quot;)&lt;/script&gt;"), std::string::npos);
}

TEST(Plot, PointsLieOnTheAxes) {
  // Values 0 to 10 with a margin of 5 % over 12 to 290 from above; steps 1 to 3 over 62 to 706.
  std::string chart = chartMarkup({"t", "t", {{"s", 0, false, {{1, 0}, {2, 10}, {3, 5}}}}});
  EXPECT_NE(chart.find("d=\"M62 277.36L384 24.64L706 151\""), std::string::npos) << chart;
}

TEST(Plot, WhatIsNotFiniteInterruptsALine) {
  std::string chart = chartMarkup(
      {"t", "t", {{"s", 2, false, {{1, 0}, {2, 1}, {3, NAN}, {4, 1}, {5, NAN}, {6, 0}, {7, 1}}}}});
  std::smatch path;
  ASSERT_TRUE(std::regex_search(chart, path, std::regex(" d=\"([^\"]*)\"")));
  EXPECT_EQ(count(path[1], "M"), 3u);
  EXPECT_EQ(count(chart, "<circle class=\"a2\""), 1u); // step 4 stands alone
  EXPECT_EQ(chart.find("nan"), std::string::npos);
  EXPECT_NE(chartMarkup({"t", "t", {{"s", 0, false, {{1, NAN}}}}}).find("The logs do not say."),
            std::string::npos);
  // One step, one value: still a chart.
  EXPECT_NE(chartMarkup({"t", "t", {{"s", 0, false, {{7, 3}}}}}).find("<circle"), std::string::npos);
}

TEST(Plot, EvaluationsAreLinesOfTheirOwn) {
  NamedLog log = run("r", 9, 1);
  log.lines[2].evalLoss = 0.5;
  log.lines[8].evalLoss = 0.25;
  std::string page = plotPage({log, run("q", 9, 1)});
  EXPECT_EQ(count(page, "<path class=\"line a0 dashed\""), 1u);
  EXPECT_EQ(count(page, "<title>r (evaluation)</title>"), 1u);
  EXPECT_EQ(count(page, "<title>q (evaluation)</title>"), 0u);
  EXPECT_NE(page.find("<td>0.25</td>"), std::string::npos);
}

TEST(Plot, LongRunsKeepTheirPeaks) {
  Points points;
  for (int i = 0; i < 100000; ++i)
    points.emplace_back(i, i == 54321 ? 100 : i == 777 ? -100 : std::sin(i * 0.01));
  Points kept = thinned(points, 600);
  EXPECT_LE(kept.size(), 600u);
  EXPECT_NE(std::find(kept.begin(), kept.end(), std::pair(54321.0, 100.0)), kept.end());
  EXPECT_NE(std::find(kept.begin(), kept.end(), std::pair(777.0, -100.0)), kept.end());
  EXPECT_TRUE(std::is_sorted(kept.begin(), kept.end(), [](auto &a, auto &b) { return a.first < b.first; }));
  EXPECT_EQ(thinned(kept, 600), kept);
  points[5000].second = NAN; // an interruption stays one
  kept = thinned(points, 600);
  EXPECT_EQ(std::count_if(kept.begin(), kept.end(), [](auto &p) { return std::isnan(p.second); }), 1);
  EXPECT_LT(plotPage({run("long", 200000, 3)}).size(), 150000u);
}

TEST(Plot, TicksAreRound) {
  using Ticks = std::vector<double>;
  EXPECT_EQ(axisTicks(0, 10, 5), (Ticks{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(axisTicks(-1, 1, 4), (Ticks{-1, -0.5, 0, 0.5, 1}));
  EXPECT_EQ(axisTicks(3, 97, 5), (Ticks{20, 40, 60, 80}));
  EXPECT_LE(axisTicks(1e17, 1e17 + 16, 6).size(), 11u); // one more may be no other number
  for (double least : {0.0, 1e-7, 123.4, -5e6})
    for (double size : {1e-8, 0.3, 7.0, 1e9}) {
      Ticks ticks = axisTicks(least, least + size, 6);
      EXPECT_GE(ticks.size(), 3u) << least << " " << size;
      EXPECT_LE(ticks.size(), 11u) << least << " " << size;
    }
}

TEST(Plot, NumbersAreShort) {
  EXPECT_EQ(shortNumber(0), "0");
  EXPECT_EQ(shortNumber(0.0003), "0.0003");
  EXPECT_EQ(shortNumber(4.79921), "4.799");
  EXPECT_EQ(shortNumber(9999), "9999");
  EXPECT_EQ(shortNumber(12500), "12.5k");
  EXPECT_EQ(shortNumber(1.25e6), "1.25M");
  EXPECT_EQ(shortNumber(-2e9), "-2G");
}

TEST(Plot, RunsAreCalledByWhatTellsThemApart) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(shortNames({"/x/runs/a/log.jsonl", "/x/runs/b/log.jsonl"}), (Names{"a", "b"}));
  EXPECT_EQ(shortNames({"a.jsonl", "b.jsonl"}), (Names{"a.jsonl", "b.jsonl"}));
  EXPECT_EQ(shortNames({"/x/run/log.jsonl"}), (Names{"log.jsonl"}));
  EXPECT_EQ(shortNames({"/x/log.jsonl", "/x/a/log.jsonl"}), (Names{"x", "x/a"}));
  EXPECT_EQ(shortNames({"l", "l"}), (Names{"l", "l"}));
}

} // namespace
