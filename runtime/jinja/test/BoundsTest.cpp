// Whatever a template does, it ends within its limits with one line.
#include "TestTemplate.h"

using namespace tessera::jinja;
using namespace tessera::jinja::test;

static std::string repeat(const std::string &part, size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i)
    text += part;
  return text;
}
static Limits fewSteps() {
  Limits limits;
  limits.maxSteps = 200000;
  return limits;
}
static Limits fewBytes() {
  Limits limits;
  limits.maxValueBytes = 1 << 20;
  limits.maxOutputBytes = 1 << 16;
  return limits;
}

TEST(Bounds, TextThatNestsTooDeepIsNotRead) {
  size_t many = 100000;
  for (const std::string &open : {"(", "[", "{'a':", "not ", "-", "x if "})
    EXPECT_TRUE(has(render("{{ " + repeat(open, many / open.size()) + "1 }}"), "nest")) << open;
  EXPECT_TRUE(has(render(repeat("{% if x %}", 10000)), "nests deeper"));
  EXPECT_TRUE(has(render("{{ x" + repeat(".a", 10000) + " }}"), "nests deeper"));
  EXPECT_TRUE(has(render("{{ 1" + repeat(" + 1", 10000) + " }}"), "nests deeper"));
  EXPECT_TRUE(has(render("{{ x" + repeat("|upper", 10000) + " }}"), "nests deeper"));
  EXPECT_TRUE(has(render("{{ x" + repeat("()", 10000) + " }}"), "nests deeper"));
  EXPECT_TRUE(has(render("{% for " + repeat("(", 10000) + " in x %}"), "nest"));
  EXPECT_TRUE(has(render(std::string(Limits::maxTemplateBytes + 1, 'a')), "larger than 256 KiB"));
}

TEST(Bounds, ChainsThatNestNowhereMayBeLong) {
  EXPECT_EQ(render("{{ ''" + repeat(" ~ 'a'", 5000) + " }}"), std::string(5000, 'a'));
  EXPECT_EQ(render("{% if x %}" + repeat("{% elif x %}", 5000) + "{% else %}e{% endif %}"), "e");
}

TEST(Bounds, MacrosThatCallThemselvesEnd) {
  EXPECT_TRUE(has(render("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}"), "nest deeper than 1000 levels"));
  EXPECT_TRUE(has(render("{% macro f(x) %}{{ [f(x) ~ f(x)]|map('upper')|list }}{% endmacro %}{{ f(1) }}"),
                  "nest deeper"));
  EXPECT_TRUE(has(render("{% macro f(a=f()) %}{% endmacro %}{{ f() }}"), "nest deeper"));
  EXPECT_TRUE(has(render("{% macro w() %}{% call w() %}{{ caller() }}{% endcall %}{% endmacro %}{{ w() }}"),
                  "error:"));
}

TEST(Bounds, FiltersThatApplyFiltersEnd) {
  EXPECT_TRUE(
      has(render("{{ 'a'|map('map'" + repeat(", 'map'", 30000) + ")|list }}"), "more than 256 arguments"));
  EXPECT_TRUE(has(render("{% macro f() %}{{ 'a'|map('map'" + repeat(", 'map'", 200) +
                         ", 'list')|map('list')|list }}{{ f() }}{% endmacro %}{{ f() }}"),
                  "error:"));
  EXPECT_TRUE(has(render("{{ f(*range(1000)) }}"), "error:"));
  EXPECT_TRUE(
      has(render("{% macro f() %}{{ varargs|length }}{% endmacro %}{{ f(*range(1000)) }}"), "more than 256"));
}

TEST(Bounds, LoopsEndAfterSoManySteps) {
  std::string loops = "{% for a in range(99999) %}{% for b in range(99999) %}{% for c in range(99999) %}"
                      "{% endfor %}{% endfor %}{% endfor %}";
  EXPECT_TRUE(has(render(loops, Json::object(), fewSteps()), "takes more than 200000 steps"));
  EXPECT_EQ(Limits().maxSteps, 50000000u); // as docs/ChatTemplates.md says; to walk them takes long
  EXPECT_TRUE(has(render("{{ range(100001) }}"), "a range has more than 100000 elements"));
}

TEST(Bounds, WorkOnLongTextsCountsAsSteps) {
  std::string work =
      "{% set x = 'ab' * 100000 %}{% for i in range(99999) %}{% set y = x.replace('ab', 'cd') %}{% endfor %}";
  EXPECT_TRUE(has(render(work, Json::object(), fewSteps()), "steps"));
  std::string search = "{% set x = 'a' * 400000 %}{% set p = 'a' * 200000 ~ 'b' %}{{ p in x }}";
  EXPECT_TRUE(has(render(search, Json::object(), fewSteps()), "steps"));
}

TEST(Bounds, ValuesHaveSoManyBytes) {
  EXPECT_TRUE(has(render("{{ 'a' * 9223372036854775807 }}"), "values take more than"));
  EXPECT_TRUE(has(render("{{ [1] * 4611686018427387904 }}"), "values take more than"));
  EXPECT_TRUE(has(render("{{ '%99999999d' % 1 }}"), "a width or precision is beyond"));
  EXPECT_TRUE(has(render("{{ 'a'.center(99999999999) }}"), "error:"));
  EXPECT_TRUE(has(render("{{ 'a'.zfill(99999999999) }}"), "values take more than"));
  EXPECT_TRUE(has(render("{{ 'a\nb'|indent(99999999999) }}"), "values take more than"));
  EXPECT_TRUE(has(
      render("{% set n = namespace(x='a') %}{% for i in range(99) %}{% set n.x = n.x ~ n.x %}{% endfor %}",
             Json::object(), fewBytes()),
      "error:"));
  EXPECT_TRUE(has(
      render(
          "{% set n = namespace(x=[]) %}{% for i in range(99999) %}{% set n.x = n.x + [i, i] %}{% endfor %}",
          Json::object(), fewBytes()),
      "values take more than 1048576 bytes"));
  EXPECT_TRUE(has(render("{% for i in range(99999) %}{% set x = namespace(a=namespace()) %}{% endfor %}",
                         Json::object(), fewBytes()),
                  "values take more than"));
}

TEST(Bounds, WhatIsGoneDoesNotCount) {
  EXPECT_EQ(
      render("{% for i in range(9999) %}{% set x = 'a' * 1000 %}{% endfor %}ok", Json::object(), fewBytes()),
      "ok");
}

TEST(Bounds, OutputHasSoManyBytes) {
  EXPECT_TRUE(has(render("{% for i in range(20000) %}aaaa{% endfor %}", Json::object(), fewBytes()),
                  "prints more than 65536"));
  EXPECT_TRUE(has(render("{% set x %}{% for i in range(20000) %}aaaa{% endfor %}{% endset %}", Json::object(),
                         fewBytes()),
                  "prints more than 65536"));
  // What a block has given away is not held any more.
  EXPECT_EQ(
      render("{% for i in range(999) %}{% set x %}" + std::string(1000, 'a') + "{% endset %}{% endfor %}ok",
             Json::object(), fewBytes()),
      "ok");
}

TEST(Bounds, ValuesNestSoDeep) {
  std::string deep = "{% set n = namespace(x=[]) %}{% for i in range(999) %}{% set n.x = ";
  for (const char *wrap : {"[n.x]", "(n.x,)", "{'a': n.x}", "{'a': n.x}.get", "[n.x]|map('list')"})
    EXPECT_TRUE(has(render(deep + wrap + " %}{% endfor %}"), "values nest deeper than 80 levels")) << wrap;
  EXPECT_TRUE(has(
      render("{% set n = namespace(x=0) %}{% for i in range(999) %}{% for j in [n.x] %}{% set n.x = loop %}"
             "{% endfor %}{% endfor %}"),
      "values nest deeper"));
}

TEST(Bounds, SharedPartsAreNotWalkedForever) {
  std::string shared =
      "{% set n = namespace(x=[1]) %}{% for i in range(60) %}{% set n.x = [n.x, n.x] %}{% endfor %}";
  for (const char *use :
       {"{{ n.x }}", "{{ n.x|tojson }}", "{{ n.x == n.x + [] }}", "{{ [n.x] in [[n.x + []]] }}"})
    EXPECT_EQ(render(shared + use, Json::object(), fewSteps()).substr(0, 6), "error:") << use;
}

TEST(Bounds, NamespacesMayHoldThemselves) {
  EXPECT_EQ(
      render("{% set n = namespace() %}{% set n.n = [n] %}{% set m = namespace(n=n) %}{% set n.m = m %}ok"),
      "ok");
  EXPECT_TRUE(has(render("{% set n = namespace() %}{{ n }}"), "would be an address"));
  EXPECT_EQ(render("{% set n = namespace(x=0) %}{% for i in range(50000) %}{% set n.x = namespace(x=n.x) "
                   "%}{% endfor %}ok"),
            "ok");
}

TEST(Bounds, ACyclerKeepsWhatATemplateCannotReach) {
  EXPECT_EQ(render("{% set c = cycler(1, 2) %}{{ c.next() }}{{ c.current }}{{ c.next() }}{{ c.next() }}"),
            "1221");
}

TEST(Bounds, ContextIsHeldToTheSameLimits) {
  Json deep = Json::array();
  for (int i = 0; i < 200; ++i)
    deep = Json::array({deep});
  EXPECT_TRUE(has(render("{{ x }}", {{"x", deep}}), "values nest deeper"));
  EXPECT_EQ(render("ok", {{"x", deep}}), "ok"); // what is not read is not looked at
  EXPECT_TRUE(has(render("{{ x }}", {{"x", "\xFF"}}), "not valid UTF-8"));
  EXPECT_TRUE(has(render("{{ '\xFF' }}"), "not valid UTF-8"));
  EXPECT_TRUE(has(render("{{ x }}", {{"x", 18446744073709551615u}}), "beyond 64 bits"));
  EXPECT_FALSE(parseOrderedJson(repeat("[", 100000), "x"));
  EXPECT_FALSE(parseOrderedJson("{", "x"));
  EXPECT_EQ(parseOrderedJson("{\"b\": 1, \"a\": \"[[{\"}", "x")->dump(), "{\"b\":1,\"a\":\"[[{\"}");
}
