// Values behave as Python's do: their text, JSON, order, methods and filters.
#include "TestTemplate.h"

using namespace tessera::jinja;
using namespace tessera::jinja::test;

TEST(Python, ValuesPrintAsInPython) {
  EXPECT_EQ(render("{{ true }} {{ none }} {{ [1, 'a', none, (2,)] }} {{ {'a': 'it\\'s'} }}"),
            "True None [1, 'a', None, (2,)] {'a': \"it's\"}");
  EXPECT_EQ(render("{{ ['\\n\\x00\u00e9\\u200b'] }}"), "['\\n\\x00\u00e9\\u200b']");
}

TEST(Python, FloatsPrintAsInPython) {
  EXPECT_EQ(render("{{ 1.0 }} {{ 0.1 + 0.2 }} {{ 1e16 }} {{ 1e15 }} {{ 0.0001 }} {{ 0.00001 }} {{ 1.5e300 }} "
                   "{{ 7 / 2 }} {{ -0.0 }}"),
            "1.0 0.30000000000000004 1e+16 1000000000000000.0 0.0001 1e-05 1.5e+300 3.5 -0.0");
}

TEST(Python, DivisionRoundsDown) {
  EXPECT_EQ(render("{{ -7 // 2 }} {{ -7 % 3 }} {{ 7 % -3 }} {{ -7.5 // 2 }}"), "-4 2 -2 -4.0");
}

TEST(Python, IntegersBeyond64BitsAreRefused) {
  EXPECT_TRUE(has(render("{{ 9223372036854775807 + 1 }}"), "beyond 64 bits"));
  EXPECT_TRUE(has(render("{{ 10 ** 30 }}"), "beyond 64 bits"));
  EXPECT_TRUE(has(render("{{ (-9223372036854775807 - 1) // -1 }}"), "beyond 64 bits"));
  EXPECT_EQ(render("{{ (-9223372036854775807 - 1) % -1 }}"), "0");
}

TEST(Python, JsonIsWrittenAsTransformersWritesIt) {
  Json context = {{"v", {{"b", {1, 2.5, nullptr, true}}, {"a", "<\u00e9>\n"}, {"e", Json::array()}}}};
  EXPECT_EQ(render("{{ v|tojson }}", context),
            "{\"b\": [1, 2.5, null, true], \"a\": \"<\u00e9>\\n\", \"e\": []}");
  EXPECT_EQ(render("{{ v|tojson(separators=(',', ':'), sort_keys=true, ensure_ascii=true) }}", context),
            "{\"a\":\"<\\u00e9>\\n\",\"b\":[1,2.5,null,true],\"e\":[]}");
  EXPECT_EQ(render("{{ [1, {'a': 2}]|tojson(indent=2) }}"), "[\n  1,\n  {\n    \"a\": 2\n  }\n]");
}

TEST(Python, DictionariesKeepTheirOrder) {
  EXPECT_EQ(render("{{ {'b': 1, 'a': 2, 'b': 3} }}{% for k, v in d.items() %}{{ k }}{{ v }}{% endfor %}",
                   {{"d", {{"z", 1}, {"a", 2}}}}),
            "{'b': 3, 'a': 2}z1a2");
  EXPECT_EQ(render("{{ {1: 'a'}[true] }}{{ {1: 'a'}[1.0] }}"), "aa");
}

TEST(Python, MethodsComeBeforeKeysAndIndexesAfter) {
  Json context = {{"d", {{"items", 5}}}};
  EXPECT_EQ(render("{{ d.items is callable }}{{ d['items'] }}", context), "True5");
}

TEST(Python, TextIsCountedInCharacters) {
  EXPECT_EQ(render("{{ 'h\u00e9llo'[1] }}{{ 'h\u00e9llo'[-4:-2] }}{{ 'h\u00e9'[::-1] }}{{ "
                   "'\U0001F642'|length }}{{ 'a\u00e9b'.find('b') }}"),
            "\u00e9\u00e9l\u00e9h12");
}

TEST(Python, CasesBeyondAscii) {
  EXPECT_EQ(
      render(
          "{{ '\u00e4\u00df\u01c6'|upper }} {{ '\u0391\u03a3 \u0130'|lower }} {{ 'l\u00e9on x'.title() }}"),
      "\u00c4SS\u01c4 \u03b1\u03c2 i\u0307 L\u00e9on X");
}

TEST(Python, SplittingAndStripping) {
  EXPECT_EQ(
      render(
          "{{ ' a  b '.split() }}{{ 'a,b,c'.split(',', 1) }}{{ 'a,b,c'.rsplit(',', 1) }}{{ ''.split(',') }}"),
      "['a', 'b']['a', 'b,c']['a,b', 'c']['']");
  EXPECT_EQ(render("{{ 'abca'.strip('a') }}{{ '\u3000x\u00a0'.strip() }}{{ 'aab'.lstrip('a') }}"), "bcxb");
}

TEST(Python, IteratorsAreReadOnce) {
  EXPECT_EQ(render("{% set g = [1, 2]|map('string') %}{{ g|list }}{{ g|list }}"), "['1', '2'][]");
  EXPECT_TRUE(has(render("{{ ([1]|map('string'))|length }}"), "has no length"));
  EXPECT_TRUE(has(render("{{ [1]|map('string') }}"), "use '|list' first"));
}

TEST(Python, GeneratorsFailWhenTheyAreRead) {
  EXPECT_EQ(render("{% set g = 5|items %}ok"), "ok");
  EXPECT_TRUE(has(render("{% set g = 5|items %}{{ g|list }}"), "'items' wants a dictionary"));
  EXPECT_TRUE(has(render("{% set g = 5|items %}{{ g|first }}"), "'items' wants a dictionary"));
}

TEST(Python, SortingIsStableAndIgnoresCase) {
  EXPECT_EQ(render("{{ ['b', 'A', 'a', 'B']|sort }}{{ ['b', 'A', 'a', 'B']|sort(reverse=true) }}"),
            "['A', 'a', 'b', 'B']['b', 'B', 'A', 'a']");
  EXPECT_EQ(render("{{ {'b': 1, 'A': 2}|dictsort }}"), "[('A', 2), ('b', 1)]");
}

TEST(Python, SelectionByAttribute) {
  Json context = {{"u", {{{"n", "a"}, {"x", 1}}, {{"n", "b"}}}}};
  EXPECT_EQ(
      render("{{ u|selectattr('x', 'defined')|map(attribute='n')|list }}{{ u|rejectattr('x')|list|length }}",
             context),
      "['a']1");
}

TEST(Python, SafeTextEscapesWhatIsAddedToIt) {
  EXPECT_EQ(render("{{ '<' + ('>'|safe) }}{{ '<' ~ ('>'|safe) }}{{ ('<'|e)|e }}"), "&lt;><>&lt;");
}

TEST(Python, Formats) {
  EXPECT_EQ(render("{{ '%s|%05d|%.2f|%-3s|' % ('a', 42, 2.345, 'b') }}"), "a|00042|2.35|b  |");
  EXPECT_EQ(render("{{ '{0}{1}{0} {a:>4}|{:,}'.format(1, 2, a='x') }}").substr(0, 6), "error:");
  EXPECT_EQ(render("{{ '{0}{1}{0} {a:>4}|{1:,}'.format(1, 2000, a='x') }}"), "120001    x|2,000");
}

TEST(Python, RoundingTakesTiesToEven) {
  EXPECT_EQ(render("{{ 2.5|round }} {{ 3.5|round }} {{ 2.675|round(2) }} {{ 2|round }}"), "2.0 4.0 2.67 2");
}

TEST(Python, ComparisonsOfUnlikeValuesAreErrors) {
  EXPECT_TRUE(has(render("{{ 'a' < 1 }}"), "has no order with"));
  EXPECT_EQ(render("{{ 'a' == 1 }} {{ 1 == 1.0 == true }} {{ [1] == (1,) }}"), "False True False");
}
