// Templates that are cut, turned round and put together from pieces of others: each ends within its limits
// with a text or one line. Run under the address and undefined-behaviour sanitizers too (preset asan). More
// cases: TESSERA_TEMPLATE_CASES=N, and another seed with TESSERA_SEED.
#include "TestTemplate.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

using namespace tessera::jinja;
using namespace tessera::jinja::test;

namespace {

#if defined(__SANITIZE_ADDRESS__) || (defined(__has_feature) && __has_feature(address_sanitizer))
constexpr int usualCases = 500; // each takes twenty times as long
#else
constexpr int usualCases = 2000;
#endif

const char *const seeds[] = {
    "{%- for message in messages %}{{ '<|' + message.role + '|>' + message['content'] | trim }}{% if "
    "loop.last %}{{ eos_token }}"
    "{% else %}\n{% endif %}{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}",
    "{% macro type(t, n=0) %}{% if t is mapping %}{% for k, v in t.items() | sort %}{{ k }}:{{ type(v, n + "
    "1) }}{{ ',' if not "
    "loop.last }}{% endfor %}{% elif t is sequence and t is not string %}[{{ t | map('upper') | join('|') "
    "}}]{% else %}{{ t | "
    "tojson(indent=n) }}{% endif %}{% endmacro %}{{ type(tools) }}",
    "{% set ns = namespace(first=true, text='') %}{% for m in messages[::-1] %}{% set i = (messages | length "
    "- 1) - loop.index0 %}"
    "{% if ns.first and m.role == 'user' and not (m.content.startswith('<a>') and "
    "m.content.endswith('</a>')) %}{% set ns.first "
    "= false %}{% set ns.text = ns.text ~ i ~ m.content.split('</think>')[-1].lstrip('\\n') %}{% endif %}{% "
    "endfor %}{{ ns.text }}",
    "{% filter upper %}a{{ messages | selectattr('role', 'equalto', 'user') | list | length }}{% endfilter "
    "%}{% set x | trim %} b "
    "{% endset %}{{ '%s-%05d' | format(x, 3) }}{{ '{:>{}}'.format(x) if x }}{% raw %}{{ }}{% endraw %}{% "
    "call(y) z(1, *[2]) "
    "%}{% endcall %}",
    "{{ {'a': [1, (2, 3.5e-7)], 'b': none} | tojson }}{{ messages[0].content[1:-1:2] }}{{ range(3) | "
    "batch(2) | list }}{{ "
    "cycler('a', 'b').next() }}{{ strftime_now('%Y') }}{{ raise_exception('no') if tools is none }}{{ 'x' if "
    "y is defined else z }}"};

class Mutation : public ::testing::Test {
protected:
  void SetUp() override {
    for (const char *seed : seeds)
      templates.push_back(seed);
    if (std::filesystem::is_directory(TESSERA_TEMPLATES))
      for (const auto &file : std::filesystem::directory_iterator(TESSERA_TEMPLATES))
        if (file.path().extension() == ".jinja") {
          std::ifstream stream(file.path(), std::ios::binary);
          templates.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
        }
    std::sort(templates.begin(), templates.end());
  }
  size_t below(size_t bound) {
    return bound ? std::uniform_int_distribution<size_t>(0, bound - 1)(random) : 0;
  }

  std::string mutated() {
    std::string text = templates[below(templates.size())];
    static const std::string pieces[] = {"{{",
                                         "}}",
                                         "{%",
                                         "%}",
                                         "{#",
                                         "#}",
                                         "-%}",
                                         "(",
                                         ")",
                                         "[",
                                         "]",
                                         "{",
                                         "}",
                                         "|",
                                         ".",
                                         ",",
                                         "'",
                                         "\"",
                                         " ~ ",
                                         " is ",
                                         " in ",
                                         " if ",
                                         " else ",
                                         "not ",
                                         "-",
                                         "**",
                                         " * 99999",
                                         "[::-1]",
                                         "messages",
                                         "loop",
                                         "|list",
                                         "|tojson",
                                         ".items()",
                                         "\n",
                                         "\\",
                                         "\xC3\xA9",
                                         "\x80",
                                         "{% for a in messages %}",
                                         "{% endfor %}",
                                         "{% macro m(x) %}",
                                         "{% endmacro %}",
                                         "m(m)"};
    for (size_t count = 1 + below(4); count > 0; --count) {
      size_t at = below(text.size()), length = std::min(text.size() - at, 1 + below(40));
      switch (below(6)) {
      case 0:
        text.resize(at);
        break;
      case 1:
        text.erase(at, length);
        break;
      case 2:
        text.insert(at, pieces[below(std::size(pieces))]);
        break;
      case 3: // twice
        text.insert(at, text.substr(at, length));
        break;
      case 4: { // a piece in another place
        std::string piece = text.substr(at, length);
        text.insert(below(text.size()), piece);
        break;
      }
      case 5: { // a piece of another one
        const std::string &other = templates[below(templates.size())];
        size_t from = below(other.size());
        text.insert(at, other.substr(from, 1 + below(80)));
        break;
      }
      }
    }
    return text;
  }
  std::vector<std::string> templates;
  std::mt19937 random{20261126};
};

} // namespace

TEST_F(Mutation, EveryTemplateEnds) {
  const char *cases = std::getenv("TESSERA_TEMPLATE_CASES"), *seed = std::getenv("TESSERA_SEED");
  if (seed)
    random.seed(unsigned(std::atoi(seed)));
  Json context = {
      {"messages",
       {{{"role", "system"}, {"content", "s"}},
        {{"role", "user"}, {"content", "Hi <a>"}},
        {{"role", "assistant"},
         {"content", "x</think>\n y"},
         {"tool_calls", {{{"function", {{"name", "f"}, {"arguments", {{"a", 1}}}}}}}}},
        {{"role", "user"}, {"content", "\u00e9"}}}},
      {"tools",
       {{{"type", "function"}, {"function", {{"name", "f"}, {"parameters", {{"type", "object"}}}}}}}},
      {"bos_token", "<s>"},
      {"eos_token", "</s>"},
      {"add_generation_prompt", true}};
  Limits limits;
  limits.maxSteps = 200000;
  limits.maxValueBytes = 4 << 20;
  limits.maxOutputBytes = 1 << 20;
  size_t rendered = 0;
  const int all = cases ? std::atoi(cases) : usualCases;
  for (int i = all; i > 0; --i) {
    std::string text = mutated();
    auto before = std::chrono::steady_clock::now();
    std::string result = render(text, context, limits);
    EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(10)) << text;
    EXPECT_LE(result.size(), limits.maxOutputBytes);
    if (result.compare(0, 7, "error: ") == 0)
      EXPECT_EQ(result.find('\n'), std::string::npos) << text;
    else
      ++rendered;
  }
  EXPECT_GT(rendered, size_t(all / 100)); // not all of them are broken beyond reading
}
