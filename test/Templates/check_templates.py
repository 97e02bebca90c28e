"""check_templates.py RENDER_TEMPLATE FOLDER [--list]: every template of FOLDER with each conversation below, by jinja2 and by our interpreter.

The same bytes, or both refuse. Where we refuse and jinja2 does not, that is listed and counted; other differences fail. --list: what jinja2 refuses, too."""
import pathlib
import sys

from reference import Ours, expected

WEATHER = {"type": "function", "function": {
    "name": "get_weather", "description": "The weather of a city, \"now\" or <later>.", "parameters": {
        "type": "object", "required": ["city"], "properties": {
            "city": {"type": "string", "description": "Name of the city"},
            "unit": {"type": "string", "enum": ["celsius", "fahrenheit"], "default": "celsius"},
            "days": {"type": "integer", "minimum": 1},
            "places": {"type": "array", "items": {"type": "number"}},
            "more": {"type": "object", "properties": {"wind": {"type": "boolean"}}}}}}}
CLOCK = {"type": "function", "function": {"name": "clock", "description": "", "parameters": {"type": "object", "properties": {}}}}
TALK = [{"role": "user", "content": "Hi & <hello>, wörld!"}, {"role": "assistant", "content": "Hello.\n\nHow are you?  "},
        {"role": "user", "content": "  Fine: \"quoted\" 'text' \\ {{ x }} 日本 🙂\n"}]
SYSTEM = {"role": "system", "content": "You are terse.\nAlways."}


def call(name, arguments, identity="abcdef123"):
    return {"role": "assistant", "content": "", "tool_calls": [{"id": identity, "type": "function", "function": {"name": name, "arguments": arguments}}]}


TOOL_TURNS = [SYSTEM, TALK[0], call("get_weather", {"city": "Zürich", "days": 2, "unit": None, "places": [1, 2.5], "more": {"wind": True}}),
              {"role": "tool", "name": "get_weather", "tool_call_id": "abcdef123", "content": "{\"t\": 21.5}"}]
CONVERSATIONS = {
    "plain": {"messages": [TALK[0]], "add_generation_prompt": True},
    "system": {"messages": [SYSTEM, TALK[0]], "add_generation_prompt": True},
    "turns": {"messages": [SYSTEM, *TALK, {"role": "assistant", "content": "Good."}], "add_generation_prompt": False},
    "tools": {"messages": TOOL_TURNS, "tools": [WEATHER, CLOCK], "add_generation_prompt": True},
    "thinking": {"messages": [SYSTEM, TALK[0], {"role": "assistant", "content": "<think>\nhm\n</think>\n\nYes.", "reasoning_content": "hm"}, TALK[2]],
                 "add_generation_prompt": True, "enable_thinking": False, "thinking": True, "reasoning_effort": "low"},
    "tools, no system": {"messages": [TALK[0], call("clock", {}), {"role": "tool", "name": "clock", "tool_call_id": "abcdef123", "content": "noon"},
                                      {"role": "assistant", "content": "Noon."}, TALK[2]],
                         "tools": [CLOCK], "add_generation_prompt": True, "enable_thinking": True, "xml_tools": [CLOCK], "documents": [
                             {"title": "T", "text": "A text.", "doc_id": 1}]},
    "tools, arguments as text": {"messages": [TALK[0], call("clock", "{\"a\": 1}"), {"role": "tool", "tool_call_id": "abcdef123", "content": "noon"}],
                                 "tools": [WEATHER], "add_generation_prompt": True, "date_string": "26 Nov 2025", "builtin_tools": ["code_interpreter"]},
    "parts": {"messages": [{"role": "user", "content": [{"type": "text", "text": "What"}, {"type": "text", "text": " is it?"}]}],
              "add_generation_prompt": True},
}
SPECIAL = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}


def main():
    tool, folder = sys.argv[1:3]
    templates = sorted(pathlib.Path(folder).glob("*.jinja"))
    ours, equal, whole, cases, refused, wrong = Ours(tool), 0, 0, 0, [], []
    for path in templates:
        template, clean = path.read_text(encoding="utf-8"), True
        for name, conversation in CONVERSATIONS.items():
            cases += 1
            context = {**conversation, **SPECIAL}
            text, why = expected(template, context)
            own, own_why = ours.render(template, context)
            if text == own:
                equal += 1
                if text is None and "--list" in sys.argv:
                    print(f"both refuse {path.name}, {name}: {why} | {own_why}")
                continue
            clean = False
            (refused if own is None else wrong).append(f"{path.name}, {name}: " + (own_why if own is None else f"{own!r}, not {text!r} ({why})"))
        whole += clean
    for line in refused:
        print("refused:", line)
    for line in wrong:
        print("wrong:", line)
    print(f"{whole} of {len(templates)} templates equal on all conversations; {equal} of {cases} cases, {len(refused)} refused by us alone, {len(wrong)} wrong")
    sys.exit(bool(wrong) or whole < len(templates) - 10 or len(templates) < 60)


main()
