"""Conversations of a compiled model: with --chat, from a file, and in a terminal (a pty).

    check_chat.py --compiler LLM_COMPILE --model DIR --out OUT [--mesh M] [--window N] [--flag F]...

The copy of the model that runs has a template, a tokenizer that adds a BOS and two end tokens; with --window it is a Mistral, whose caches are rings. What a conversation is in tokens follows from plain
`generate` of the text that the template makes of it."""
import argparse
import fcntl
import json
import os
import pty
import re
import resource
import select
import shutil
import signal
import subprocess
import sys
import termios
import time

# Background jobs ignore SIGINT and SIGQUIT, nohup ignores SIGHUP, and children would inherit that.
for number in (signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM):
    signal.signal(number, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)

parser = argparse.ArgumentParser()
for flag in ("--compiler", "--model", "--out"):
    parser.add_argument(flag, required=True)
parser.add_argument("--mesh")
parser.add_argument("--window", type=int)
parser.add_argument("--flag", action="append", default=[], help="one more flag for the compiler")
args = parser.parse_args()
TEMPLATE = ("{{ bos_token }}{% for m in messages %}{% if m.role == 'system' %}[{{ m.content }}]{% else %}({{ m.role }}{{ mark | default('') }}) {{ m.content }}\n"
            "{% endif %}{% endfor %}{% if add_generation_prompt %}(assistant){% endif %}")
model = args.out + ".model"


def write(name, value):
    with open(os.path.join(model, name), "w", encoding="utf-8") as file:
        file.write(value if isinstance(value, str) else json.dumps(value))


shutil.rmtree(model, ignore_errors=True)
shutil.copytree(args.model, model)
with open(os.path.join(model, "tokenizer.json"), encoding="utf-8") as file:
    tokenizer = json.load(file)
bos = tokenizer["added_tokens"][0]
tokenizer["post_processor"] = {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": bos["content"], "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
                               "pair": [], "special_tokens": {bos["content"]: {"id": bos["content"], "ids": [bos["id"]], "tokens": [bos["content"]]}}}
write("tokenizer.json", tokenizer)
write("generation_config.json", {"eos_token_id": [387, 388]})
write("tokenizer_config.json", {"bos_token": bos["content"], "chat_template": TEMPLATE})
flags = [f"--mesh={args.mesh}"] if args.mesh else []
if args.window:
    with open(os.path.join(model, "config.json"), encoding="utf-8") as file:
        config = json.load(file)
    write("config.json", {**config, "architectures": ["MistralForCausalLM"], "model_type": "mistral", "sliding_window": args.window})
    flags.append("--chunk=16")
done = subprocess.run([args.compiler, model, "--batch=3", "--max-seq-len=96", "-o", args.out, *flags, *args.flag], capture_output=True, text=True)
if done.returncode:
    sys.exit(done.stderr)
if not re.fullmatch(r"made \S+ \([0-9.]+ MB, [12] ranks?, cpu\); try: \S+ chat\n", done.stderr):
    sys.exit(f"compiling closes with {done.stderr!r}")


def run(*words, status=0, text=None):
    done = subprocess.run([args.out, *words], input=text and text.encode(), capture_output=True, timeout=300)
    done.stdout, done.stderr = (stream.decode(errors="replace") for stream in (done.stdout, done.stderr))  # every line break as it is
    if done.returncode != status:
        sys.exit(f"{words}: exit status {done.returncode}, not {status}: {done.stderr}")
    return done


def answer(*words):
    """The one line of --json."""
    return json.loads(run("generate", "--json", "--quiet", *words).stdout)


def expect(got, wanted, what):
    if got != wanted:
        sys.exit(f"{what}: {got!r}\nexpected {wanted!r}")


# A conversation is what the template makes of it, with one BOS and no second one.
few = "--max-new-tokens=6"
plain = answer(few, "--prompt=(user) Hi there\n(assistant)")
expect(answer(few, "--chat", "--prompt=Hi there"), plain, "--chat")
with_system = answer(few, "--prompt=[Be brief.](user!) Hi there\n(assistant)")
expect(answer(few, "--chat", "--prompt=Hi there", "--system=Be brief.", "--template-arg=mark=!"), with_system, "--system and --template-arg")
if with_system == plain:
    sys.exit("the system's words change nothing: nothing is shown")
done = run("generate", "--chat", "--prompt=Hi", "--template-arg=thinking=true", status=1)
expect(done.stderr.count("\n") == 1 and "(--template-arg=thinking=true): the model's chat template reads nothing of that name" in done.stderr, True, done.stderr)
for name in ("messages", "add_generation_prompt"):
    expect(run("chat", f"--template-arg={name}=[]", status=1).stderr, f"error: cannot format the conversation (--template-arg={name}=[]): the conversation itself gives {name}; leave it out\n", name)

# Any end token of the model ends a turn, the second one of the list, too.
long = answer("--max-new-tokens=24", "--chat", "--prompt=Hi there")
expect((long["finish"], len(long["tokens"])), ("length", 24), "without an end token")
for end in sorted(set(long["tokens"]), key=long["tokens"].index)[2:5]:
    write("generation_config.json", {"eos_token_id": [387, end]})
    cut = long["tokens"][:long["tokens"].index(end) + 1]
    got = answer("--max-new-tokens=24", "--chat", "--prompt=Hi there")
    expect((got["finish"], got["tokens"]), ("end", cut), f"end token {end}")
write("generation_config.json", {"eos_token_id": [387, 388]})

# A special token ends an answer where it is asked for. In a conversation the tokenizer's own eos_token does.
halt = sorted(set(long["tokens"]), key=long["tokens"].index)[3]
write("tokenizer.json", {**tokenizer, "added_tokens": [*tokenizer["added_tokens"], {"id": halt, "content": "<halt>", "special": True, "normalized": False}]})
cut = long["tokens"][:long["tokens"].index(halt) + 1]
for words, said, wanted in ((["--chat", "--prompt=Hi there", "--stop=<halt>"], {}, ("stop", cut)), (["--chat", "--prompt=Hi there"], {"eos_token": "<halt>"}, ("end", cut)),
                            # Of several tokens: neither is one that ends an answer.
                            (["--chat", "--prompt=Hi there", "--stop=<halt>zq"], {}, ("length", long["tokens"])),
                            (["--chat", "--prompt=Hi there"], {"eos_token": "<halt>zq"}, ("length", long["tokens"])),
                            (["--prompt=(user) Hi there\n(assistant)"], {"eos_token": "<halt>"}, ("length", long["tokens"]))):
    write("tokenizer_config.json", {"bos_token": bos["content"], "chat_template": TEMPLATE, **said})
    got = answer("--max-new-tokens=24", *words)
    expect((got["finish"], got["tokens"]), wanted, f"{words} {said}")
    expect("<halt>" in got["text"], False, "a special token is printed")
write("tokenizer.json", tokenizer)
write("tokenizer_config.json", {"bos_token": bos["content"], "chat_template": TEMPLATE})

# --stop: not printed, wherever tokens cut it.
text = long["text"]
for begin in range(1, len(text) - 4, 3):
    stop = text[begin:begin + 4]
    got = answer("--max-new-tokens=24", "--chat", "--prompt=Hi there", f"--stop={stop}", "--stop=never said")
    expect((got["finish"], got["text"]), ("stop", text[:text.index(stop)]), f"--stop={stop}")
    expect(got["tokens"], long["tokens"][:len(got["tokens"])], f"tokens with --stop={stop}")

# Lines of standard input are turns, and each reads only what is new of its conversation. Whole old turns leave where it does not fit: what chat says is what
# `generate` says of the text of the turns that are left.
def fresh(text):
    return text + ("" if text.endswith("\n") else "\n")


def conversation(lines, new):
    turns, said, left = [], "", 0
    for line in lines:
        turns.append([line, None])
        while True:
            words = "".join(f"(user) {user}\n" + (f"(assistant) {reply}\n" if reply is not None else "(assistant)") for user, reply in turns)
            done = subprocess.run([args.out, "generate", "--json", "--quiet", f"--max-new-tokens={new}", f"--prompt={words}"], capture_output=True, text=True)
            if done.returncode == 0:
                break
            if "do not fit" not in done.stderr:
                sys.exit(done.stderr)
            turns.pop(0)
            left += 1
        turns[-1][1] = json.loads(done.stdout)["text"]
        said += fresh(turns[-1][1])
    return said, left


lines = [f"{letter} good word" for letter in "abcdef"]
for words, new in ((["Hi there", "Go on"], 6), (lines, 4)):
    wanted, left = conversation(words, new)
    done = run("chat", f"--max-new-tokens={new}", text="\n\n".join(words))
    expect(done.stdout, wanted, f"a conversation of {len(words)} turns")
    expect(" leave" in done.stderr, left > 0, f"{left} turns left: {done.stderr}")
if not left:
    sys.exit("all turns fit: nothing is shown")
def told(lines, user, assistant, *words, beside=0):
    """What a conversation prints, and what reading it says, by plain `generate`; None where an answer has a zero, which no argument holds. `beside`: prompts before each."""
    text, said = "", ""
    for number, line in enumerate(lines):
        text += user.format(line)
        if "\0" in text:
            return None
        done = run("generate", "--json", *words, *["--prompt=any"] * number * beside, "--prompt=" + text)
        reply = json.loads(done.stdout.splitlines()[-1])["text"]
        text += assistant.format(reply)
        said += fresh(reply)
    return said, re.search(r"prefill: \d+ tokens", done.stderr)[0]


# An answer of one token, behind which the conversation goes on at once: the caches do not hold that token yet.
template = "{{ bos_token }}{% for m in messages %}({{ m.role }}){{ m.content }}{{ bos_token }}{% endfor %}(assistant)"
write("tokenizer_config.json", {"bos_token": bos["content"], "chat_template": template})
few_lines, wanted = next((part, found) for part in (lines[:3], lines[3:], lines[1:4], lines[2:5])
                         if (found := told(part, "(user){}" + bos["content"] + "(assistant)", "{}" + bos["content"], "--max-new-tokens=1")))
done = run("chat", "--max-new-tokens=1", text="\n".join(few_lines))
expect((done.stdout, re.search(r"prefill: \d+ tokens", done.stderr)[0]), wanted, "answers of one token, and each token of the conversation read once")
write("tokenizer_config.json", {"bos_token": bos["content"], "chat_template": TEMPLATE})
# The second answer is drawn with the numbers of a second prompt, and so on.
draws, wanted = next((draws, found) for draws in (["--temperature=3", f"--seed={seed}", "--max-new-tokens=3"] for seed in range(5, 25))
                     if (found := told(lines[:3], "(user) {}\n(assistant)", " {}\n", *draws, beside=1)))
expect(run("chat", *draws, text="\n".join(lines[:3])).stdout, wanted[0], "answers that are drawn")
# Turns leave for the sake of a quarter of the context, not of all that an answer may have.
opening = answer(few, f"--prompt=(user) {lines[0]}\n(assistant)")["text"]
words = f"(user) {lines[0]}\n(assistant) {opening[:opening.index(opening[2:4])]}\n(user) "
for count in range(1, 60):
    done = run("generate", "--max-new-tokens=0", f"--prompt={words}{'x ' * count}.\n(assistant)")
    if int(re.search(r"prefill: (\d+) tokens", done.stderr)[1]) in range(60, 72):
        break
done = run("chat", "--max-new-tokens=80", f"--stop={opening[2:4]}", text=f"{lines[0]}\n{'x ' * count}.\n")
expect((count < 59, " leave" in done.stderr), (True, False), f"turns that need not leave: {done.stderr}")
expect(run("chat", "--max-new-tokens=6", "--quiet", text="\ufeffHi there\r\nGo on\r\n").stdout,
       run("chat", "--max-new-tokens=6", "--quiet", text="Hi there\nGo on\n").stdout, "lines of Windows")
# One of many that is refused is named.
no_text, too_long = r"a text given to it is not valid UTF-8; give it in UTF-8", r"the longest context has 96; say it shorter, or compile with a larger --max-seq-len"
for words, text, line in ((["generate", "--chat", "--prompt=Hi", "--prompt=\udcff"], b"", rf"render the template \(prompt 2, \S+, chat_template\): {no_text}"),
                          (["chat"], b"Hi\n\xff\n", rf"render the template \(message 2, \S+, chat_template\): {no_text}"),
                          (["chat"], b"Hi\n" + b"Go on. " * 90, rf"answer \(message 2, \d+ tokens\): {too_long}")):
    done = subprocess.run([args.out, *words, "--quiet", "--max-new-tokens=1"], input=text, capture_output=True, timeout=300)
    if done.returncode != 1 or not re.fullmatch(f"error: cannot {line}\n", done.stderr.decode()):
        sys.exit(f"{words}: exit status {done.returncode}, {done.stderr}")
if not re.fullmatch(r"loaded [^;]*\n", (done := run("chat", text="")).stderr):
    sys.exit(f"a conversation without a message closes with {done.stderr!r}")
expect(run("chat", "--prompt=", "--prompt= ", "--prompt=Hi there", "--max-new-tokens=6", "--quiet", text="\n").stdout, fresh(plain["text"]), "blank messages are none")
expect(run("generate", "--prompt-file=-", "--prompt-file=-", text="Hi\n", status=1).stderr, "error: cannot read prompts (standard input): --prompt-file=- is given twice; give it once\n", "standard input twice")
with open("/dev/zero") as endless:
    done = subprocess.run([args.out, "chat"], stdin=endless, capture_output=True, text=True, timeout=300)
expect((done.returncode, done.stderr), (1, "error: cannot read a message (standard input): its line takes more than 16 MiB; give each line one message\n"), "a line without an end")
# Between turns a signal ends it at once, and it says so.
for sign, number in ((signal.SIGTERM, 143), (signal.SIGINT, 130)):
    chat = subprocess.Popen([args.out, "chat", "--quiet", "--max-new-tokens=6"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    chat.stdin.write("Hi there\n")
    chat.stdin.flush()
    shown = ""
    while shown != fresh(plain["text"]):
        letter = chat.stdout.read(1)
        if not letter:
            sys.exit(f"the first answer is {shown!r}, and then there is no more: {chat.stderr.read()!r}")
        shown += letter
    chat.stdin.write("\n")  # no message: whoever has read it waits for the next one
    chat.stdin.flush()
    while int.from_bytes(fcntl.ioctl(chat.stdin, termios.FIONREAD, bytes(4)), sys.byteorder):
        time.sleep(0.01)
    chat.send_signal(sign)
    expect((chat.communicate(timeout=60)[1], chat.returncode), (f"error: cannot finish ({sign.name}): it was told to end; run it again\n", number), f"{sign.name} between turns")
first = plain["text"]
read = [int(re.search(r"prefill: (\d+) tokens", run(*words, "--max-new-tokens=6", text=text).stderr)[1])
        for words, text in ((["chat"], "Hi there\n"), (["chat"], "Hi there\nGo on\n"),
                            (["generate", f"--prompt=(user) Hi there\n(assistant) {first}\n(user) Go on\n(assistant)"], None))]
if not read[0] < read[1] <= read[2] + 2:
    sys.exit(f"one turn reads {read[0]} tokens, two {read[1]}; the whole conversation has {read[2]}")


# In a terminal.
class Terminal:
    def __init__(self, *words, kind="xterm"):
        self.child, self.fd = pty.fork()
        if self.child == 0:
            os.environ["TERM"] = kind
            os.execv(args.out, [args.out, *words])
        self.seen = self.all = ""

    def until(self, pattern, what):
        """Reads until `pattern` comes, and returns what came before it."""
        end = time.monotonic() + 60
        while not (found := re.search(pattern, self.seen)):
            if time.monotonic() > end or not self.read(end - time.monotonic()):
                sys.exit(f"{what}: the terminal shows {self.seen!r}, and {pattern!r} does not come")
        before = self.seen[:found.start()]
        self.seen = self.seen[found.end():]
        return re.sub(r"\x1b\[[0-9?]*[a-zA-Z]", "", before)

    def read(self, seconds):
        if not select.select([self.fd], [], [], max(0, seconds))[0]:
            return False
        try:
            data = os.read(self.fd, 1 << 16)
        except OSError:
            return False
        self.seen += data.decode(errors="replace")
        self.all += data.decode(errors="replace")
        return bool(data)

    def type(self, text):
        os.write(self.fd, text.encode())

    def leave(self):
        while self.read(60):
            pass
        _, status = os.waitpid(self.child, 0)
        return os.waitstatus_to_exitcode(status)


READY = r"\x1b\[J> "  # the prompt, drawn afresh
terminal = Terminal("chat", "--max-new-tokens=6")
terminal.until(READY, "a terminal")
terminal.type("Hi ther\x7fre\r")  # a letter is taken back
terminal.until(r"> Hi there\r\x1b\[\d+C\r+\n", "editing")
shown = terminal.until(READY, "the first answer")
if fresh(first).replace("\n", "\r\n") not in shown:
    sys.exit(f"the first answer is shown as {shown!r}, not {first!r}")
terminal.type("Go on\r")
terminal.until(READY, "the second answer")
terminal.type("\x1b[A\x1b[A")  # twice up in the history
terminal.until(r"> Hi there", "the history")
terminal.type("\x03")  # what was typed is dropped
terminal.until(r"\^C", "Ctrl-C while a message is typed")
terminal.until(READY, "Ctrl-C while a message is typed")
terminal.type("one\\\rtwo\r")
terminal.until(r"two", "a message of two lines")
terminal.until(READY, "a message of two lines")
os.write(terminal.fd, b"Go\xfe \xe4on\r")  # bytes of another encoding take no key with them
terminal.until("> Go\ufffd \ufffdon" + r"\r\x1b\[\d+C\r+\n", "bytes that are no text")
terminal.until(READY, "bytes that are no text")
terminal.type("\x04")
status = terminal.leave()
if status or "prefill: " not in terminal.seen:
    sys.exit(f"Ctrl-D: exit status {status}, {terminal.seen!r}")

# A terminal that moves no cursor is sent nothing to move it.
terminal = Terminal("chat", "--max-new-tokens=6", kind="dumb")
terminal.type("Hi there\n\x04")
status = terminal.leave()
if status or "\x1b" in terminal.seen or fresh(first).replace("\n", "\r\n") not in terminal.seen:
    sys.exit(f"TERM=dumb: exit status {status}, {terminal.seen!r}")

# Ctrl-C stops an answer, and the conversation goes on; a full context makes old turns leave.
terminal = Terminal("chat", "--quiet", "--prompt=Hi there")
terminal.until(r"> Hi there\r\n", "a first message")
terminal.until(re.escape(first[:3].replace("\n", "\r\n")), "the beginning of an answer")
terminal.type("\x03")
terminal.until(READY, "Ctrl-C stops an answer")
terminal.type("And then?\r")
terminal.until(r"the context of 96 tokens is full: the answer ends here", "an answer of the whole context")
terminal.until(READY, "an answer of the whole context")
terminal.type("More\r")
terminal.until(r"the context of 96 tokens is full: the oldest (turn leaves|2 turns leave) the conversation", "old turns leave")
terminal.until(READY, "old turns leave")
terminal.type("x " * 100 + "\r")
terminal.until(r"error: cannot answer \(the message, \d+ tokens\): the longest context has 96; say it shorter", "a message that does not fit")
terminal.until(READY, "a message that does not fit")
terminal.type("\x04")
status = terminal.leave()
if status or "prefill" in terminal.seen:
    sys.exit(f"--quiet: exit status {status}, {terminal.seen!r}")
# What was said before a message that is refused is still said, for whom turns would have left.
terminal = Terminal("chat", "--quiet", "--max-new-tokens=6")
for message, answered in (("Hi there", True), ("x " * 100, False), ("Go on", True)):
    terminal.until(READY, message)
    terminal.type(message + "\r")
    terminal.until("> " + message + r"\r\x1b\[\d+C\r+\n" if answered else "error: cannot answer", message)
    shown = terminal.until(READY, message) if answered else ""
    terminal.seen = "\x1b[J> " * answered + terminal.seen
wanted = run("chat", "--quiet", "--max-new-tokens=6", text="Hi there\nGo on\n").stdout[len(fresh(plain["text"])):]
if wanted.replace("\n", "\r\n") not in shown:
    sys.exit(f"behind a message that is refused the answer is {shown!r}, not {wanted!r}")
# A signal leaves the terminal as it was: what is typed is shown, and what is pasted comes without marks.
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
for sign, number in ((signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130), (signal.SIGQUIT, -signal.SIGQUIT)):
    terminal = Terminal("chat", "--quiet")
    terminal.until(READY, sign.name)
    terminal.until(re.escape("\r\x1b[2C"), sign.name)  # the cursor behind the prompt
    os.kill(terminal.child, sign)
    if number > 0:
        terminal.until(rf"error: cannot finish \({sign.name}\): it was told to end; run it again\r\n", f"{sign.name} while a message is typed")
    expect(terminal.leave(), number, f"the status of {sign.name}")
    marks = re.findall(re.escape("\x1b[?2004") + "[hl]", terminal.all)
    expect(([mark[-1] for mark in marks], bool(termios.tcgetattr(terminal.fd)[3] & termios.ECHO)), (["h", "l"], True), f"what {sign.name} leaves")

# Several answers in a terminal say whose they are; Ctrl-C ends a run with its summary.
terminal = Terminal("generate", "--max-new-tokens=4", "--quiet", "--prompt=Hi\tthere", "--tokens=1,2")
terminal.until(r"\[1/2\] Hi there\r\n", "whose an answer is")
terminal.until(r"\[2/2\] 1,2\r\n", "whose an answer is")
expect(terminal.leave(), 0, "two answers")
terminal = Terminal("generate", "--max-new-tokens=60", *["--prompt=Hi"] * 3000)  # far more than a pty holds: it cannot end before
terminal.until(r"\[2/3000\]", "many answers")
os.kill(terminal.child, signal.SIGINT)
terminal.until(r"\r\nloaded .*; prefill: \d+ tokens in .*; decode: \d+ tokens", "Ctrl-C ends a run")
status = terminal.leave()
expect(status, 130, f"the status of Ctrl-C, behind {terminal.seen!r}")

# A reader that goes is no error.
pipe = subprocess.Popen([args.out, "generate", *["--prompt=Hi there"] * 1000], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
pipe.stdout.read(1)
pipe.stdout.close()
errors = pipe.stderr.read().decode()
expect((pipe.wait(120), "error" in errors), (0, False), f"a closed pipe: {errors}")

# A damaged template is one line, before anything runs.
for template, why in (("{{ bos_token", "line 1"), ("{{ raise_exception('no such role') }}", "no such role")):
    write("tokenizer_config.json", {"bos_token": bos["content"], "chat_template": template})
    for words in (["generate", "--chat", "--prompt=Hi"], ["chat", "--prompt=Hi"]):
        done = run(*words, status=1)
        if done.stdout or not done.stderr.startswith("error: cannot") or done.stderr.count("\n") != 1 or why not in done.stderr:
            sys.exit(f"{template}, {words}: {done.stderr!r}")
# One that prints nothing is named; so is the tokenizer that is missing, with a hint that each command can follow.
write("tokenizer_config.json", {"bos_token": bos["content"], "chat_template": ""})
for words, whose in ((["generate", "--chat"], "prompt"), (["chat"], "message")):
    expect(run(*words, "--prompt=Hi", status=1).stderr, f"error: cannot format the conversation ({whose} 1, {model}/tokenizer_config.json, chat_template): the chat template makes no tokens of it; "
           "correct the template, or give the whole prompt to generate with --prompt=, without --chat\n", f"{words} of a template that prints nothing")
os.remove(os.path.join(model, "tokenizer.json"))
missing = f"cannot use the tokenizer ({model}): the model has no tokenizer.json and no tokenizer.model"
place = "put one that can be used into the model's folder, or name a folder that has one, beside its weights, with --model="
for words, hint in ((["generate", "--chat", "--prompt=Hi"], place), (["chat", "--prompt=Hi"], place), (["generate", "--tokens=1", "--stop=x"], f"leave --stop out, or {place}"),
                    (["generate", "--prompt=Hi"], "give prompts as token ids with --tokens")):
    expect(run(*words, status=1).stderr, f"error: {missing}; {hint}\n", f"{words} without a tokenizer")
expect(f"no text will be printed: {missing}\n" in run("generate", "--tokens=1", "--max-new-tokens=1").stderr, True, "ids without a tokenizer")
expect(run("chat", f"--model={args.model}", "--max-new-tokens=1", text="", status=1).stderr.startswith("error: cannot read the chat template"), True, "--model names a folder with a tokenizer")
print(f"ok: {read[0]} tokens of one turn read, {read[1]} of two, which have {read[2]}")
