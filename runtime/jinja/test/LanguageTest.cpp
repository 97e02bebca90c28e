// Statements, scopes, whitespace. What test/Templates compares with jinja2 is not repeated, but for what a
// line of the interpreter stands for.
#include "TestTemplate.h"

using namespace tessera::jinja;
using namespace tessera::jinja::test;

TEST(Language, BlocksTakeTheirLineBreakAndTheBlanksBeforeThem) {
  EXPECT_EQ(render("a\n  {% if true %}\n b\n  {% endif %}\nc\n"), "a\n b\nc");
  EXPECT_EQ(render("  {% if true %}\n  {% if true %}b{% endif %}{% endif %}"), "b");
  EXPECT_EQ(render("  {{ 1 }}\n  {# x #}\n2"), "  1\n2");
  EXPECT_EQ(render("a {%- if true -%} \n b {%- endif %} c"), "ab c");
  EXPECT_EQ(render("  {%+ if true %}b{% endif +%}\nc"), "  b\nc");
}

TEST(Language, OneLineBreakAtTheEndGoes) {
  EXPECT_EQ(render("a\n\n"), "a\n");
  EXPECT_EQ(render("a\r\nb\r"), "a\nb");
}

TEST(Language, BracesWithinBracketsDoNotEndATag) {
  EXPECT_EQ(render("{{ {'a': {}} }}|{{ '}}' }}"), "{'a': {}}|}}");
}

TEST(Language, RawTextStaysAsItIs) { EXPECT_EQ(render("{% raw %}{{ x }}{% endraw %}"), "{{ x }}"); }

TEST(Language, WhatALoopSetsIsGoneWithItsRound) {
  EXPECT_EQ(render("{% set x = 1 %}{% for i in [1, 2] %}{{ x }}{% set x = 5 %}{{ x }}{% endfor %}{{ x }}"),
            "15151");
  EXPECT_EQ(
      render("{% set n = namespace(x=1) %}{% for i in [1, 2] %}{% set n.x = n.x + i %}{% endfor %}{{ n.x }}"),
      "4");
}

TEST(Language, ABranchSetsForWhatFollows) {
  EXPECT_EQ(render("{% if true %}{% set x = 2 %}{% endif %}{{ x }}"), "2");
}

TEST(Language, LoopsKnowWhereTheyAre) {
  EXPECT_EQ(render("{% for i in 'abc' %}{{ loop.index0 }}{{ loop.previtem }}{{ loop.nextitem }}"
                   "{{ ',' if not loop.last }}{% endfor %}"),
            "0b,1ac,2b");
  EXPECT_EQ(render("{% for i in [1, 2, 3, 4] if i is even %}{{ i }}/{{ loop.length }} {% endfor %}"),
            "2/2 4/2 ");
  EXPECT_EQ(
      render("{% for i in range(9) %}{% if i == 1 %}{% continue %}{% elif i == 3 %}{% break %}{% endif %}"
             "{{ i }}{% endfor %}"),
      "02");
  EXPECT_EQ(render("{% for i in [] %}{% else %}none{% endfor %}"), "none");
}

TEST(Language, MacrosSeeWhereTheyWereWritten) {
  EXPECT_EQ(render("{% macro f() %}{{ x }}{% endmacro %}{% set x = 1 %}{{ f() }}"
                   "{% for i in [1] %}{% set x = 2 %}{{ f() }}{% endfor %}"),
            "11");
  EXPECT_EQ(render("{% macro f(a, b=a) %}{{ a }}{{ b }}{% endmacro %}{{ f(1) }}{{ f(b=2, a=3) }}"), "1132");
  EXPECT_EQ(render("{% macro f(a) %}{% endmacro %}{{ f(1, 2) }}"),
            "error: cannot render the template (t, line 1): macro 'f' takes 1 arguments and is given 2");
}

TEST(Language, AMacroOfALoopLivesOn) {
  EXPECT_EQ(render("{% set n = namespace() %}{% for i in [1, 2] %}{% macro f() %}{{ i }}{% endmacro %}"
                   "{% set n.f = f %}{% endfor %}{{ n.f() }}"),
            "2");
}

TEST(Language, CallBlocksAreGivenToTheMacro) {
  EXPECT_EQ(render("{% macro w() %}[{{ caller(1) }}]{% endmacro %}{% call(x) w() %}x{{ x }}{% endcall %}"),
            "[x1]");
}

TEST(Language, FiltersOfBlocks) {
  EXPECT_EQ(render("{% filter upper %}ab{% endfilter %}{% set x | trim | upper %} c {% endset %}{{ x }}"),
            "ABC");
}

TEST(Language, GenerationBlocksAreTransparentButForWhatTheySet) {
  EXPECT_EQ(render("{% generation %}a{% set x = 1 %}{{ x }}{% endgeneration %}{{ x }}"), "a1");
}

TEST(Language, OperatorsGroupAsInJinja) {
  EXPECT_EQ(render("{{ 2 ** 3 ** 2 }} {{ -2 ** 2 }} {{ 1 ~ 2 * 3 }} {{ 1 < 2 < 2 }} {{ not 1 == 2 }}"),
            "64 4 16 False True");
}

TEST(Language, UndefinedValuesPrintNothingAndHaveNoParts) {
  EXPECT_EQ(render("{{ a }}{{ a is defined }}{{ {}.a }}"), "False");
  EXPECT_EQ(render("\n\n{{ a.b }}"),
            "error: cannot render the template (t, line 3): 'a' is undefined; give it, or test it "
            "with 'is defined'");
  EXPECT_TRUE(has(render("{{ a + 1 }}"), "'a' is undefined"));
}

TEST(Language, NothingChangesAListOrADictionary) {
  EXPECT_TRUE(has(render("{{ [].append(1) }}"), "'append' would change a list, which the sandbox"));
  EXPECT_TRUE(has(render("{{ {}.update({}) }}"), "'update' would change a dictionary"));
  EXPECT_EQ(render("{{ {}.pop is defined }}"), "False");
}

TEST(Language, WhatIsNotSupportedIsNamedWithItsLine) {
  EXPECT_EQ(render("\n{% include 'x' %}"),
            "error: cannot read the template (t, line 2): 'include' is not supported in "
            "chat templates; write it without");
  for (const char *tag : {"extends 'x'", "import 'x' as y", "from 'x' import y", "block x", "do 1"})
    EXPECT_TRUE(has(render(std::string("{% ") + tag + " %}"), "is not supported")) << tag;
  EXPECT_TRUE(has(render("{% for x in [] recursive %}{% endfor %}"), "recursive loops are not supported"));
  EXPECT_TRUE(has(render("{{ 1|nope }}"), "the filter 'nope' is not supported"));
  EXPECT_TRUE(has(render("{{ 1 is nope }}"), "the test 'nope' is not supported"));
  EXPECT_TRUE(has(render("{% nope %}"), "the block 'nope' is unknown"));
}

TEST(Language, TheTemplateItselfMayRefuse) {
  EXPECT_EQ(render("{{ raise_exception('roles\nmust alternate') }}"),
            "error: cannot render the template (t, line 1): the template itself says: roles\\x0Amust "
            "alternate; change the "
            "messages or the arguments");
}

TEST(Language, TheTimeIsTheOneGiven) { EXPECT_EQ(render("{{ strftime_now('%d %b %Y') }}"), "26 Nov 2025"); }

TEST(Language, ACyclerThatIsResetBeginsAnew) {
  EXPECT_EQ(render("{% set c = cycler(1, 2, 3) %}{{ c.next() }}{{ c.next() }}{{ c.reset() }}{{ c.current }}"
                   "{{ c.next() }}{{ c.next() }}"),
            "12None112");
}

TEST(Language, NamesThatAreReadAreKnown) {
  auto parsed = Template::parse("{% if enable_thinking %}{% endif %}", "t");
  ASSERT_TRUE(parsed);
  EXPECT_TRUE(parsed->reads("enable_thinking"));
  EXPECT_FALSE(parsed->reads("tools"));
}
