"""jinja2 set up as transformers sets it up for chat templates (utils/chat_template_utils.py), and our render-template beside it."""
import datetime
import json
import subprocess

import jinja2
import jinja2.ext
import jinja2.sandbox

NOW = 1764158400  # 26 November 2025, 12:00 UTC


class Generation(jinja2.ext.Extension):
    """{% generation %} ... {% endgeneration %}: its content, through a call block."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_content"), [], [], body).set_lineno(line)

    def _content(self, caller):
        return caller()


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def strftime_now(form):
    return datetime.datetime.fromtimestamp(NOW, datetime.timezone.utc).strftime(form)


environment = jinja2.sandbox.ImmutableSandboxedEnvironment(
    trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])
environment.filters["tojson"] = tojson
environment.globals["raise_exception"] = raise_exception
environment.globals["strftime_now"] = strftime_now


def expected(template, context):
    """(text, None), or (None, why) where jinja2 refuses."""
    try:
        return environment.from_string(template).render(context), None
    except Exception as error:  # Python's own errors come through, too
        return None, f"{type(error).__name__}: {error}"


class Ours:
    def __init__(self, tool):
        self.process = subprocess.Popen([tool, "--lines"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def render(self, template, context):
        self.process.stdin.write(json.dumps({"template": template, "context": context, "now": NOW}) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"error: render-template ended with status {self.process.wait()} on {template!r}")
        answer = json.loads(line)
        return answer.get("text"), answer.get("error")
