# SPDX-License-Identifier: Apache-2.0
"""The items of the contract, as the source and the documents name them. An item is a line such as
"flag informerd --once" or "setting hooks.timeout": a kind and a name."""
import re

import csource
import settings

LIST = r'names\[\] = \{(.*?)\};'
# kind: the function that gives the words of this kind.
WORDS = {
    "event": ("daemon/cache/delta.c", "delta_type_name"),
    "cause": ("daemon/cache/delta.c", "delta_cause_name"),
    "reason": ("daemon/hook/run.c", "run_reason_name"),
    "program": ("daemon/hook/run.c", "run_kind_name"),
    "state": ("daemon/cache/watch_status.c", "watch_state_name"),
    "why": ("daemon/hook/why.c", "why_reason_name"),
}
# Where members are written: (file, function): the document that they are members of.
MEMBERS = {
    "daemon/hook/payload.c": {"payload_put_json": "", "put_sources": "", "put_source": "sources.",
                              "put_snapshot": "", "put_what_happened": "", "put_changed": "event.",
                              "put_event": "event."},
    "daemon/hook/event_json.c": {"put_identity": "event.", "event_json_open": "event."},
    "daemon/cache/view_join.c": {"put_use": "view.ports.use.", "put_port": "view.ports.",
                                 "put_number": None, "create_object": "view."},
}
MACROS = {"Cm", "No", "Ar", "Pq", "Po", "Pc", "Fl", "It", "Op", "Ns", "Ql"}
# Sections of docs/design.md that say what this release does not have.
NOT_YET = "Not built yet"


def text_of(top, name):
    return (top / name).read_text(encoding="utf-8")


def body(top, file, function):
    """The text of a function."""
    source = csource.Source(top / file, top)
    for d in source.declarations():
        if d.is_definition and d.name == function:
            return "\n".join(source.lines[d.line - 1:d.end])
    raise SystemExit(f"{file}: no function {function}(): tests/lint/contract_items.py looks for it")


def array(text, name):
    return re.search(rf"\b{name}\[\] = \{{(.*?)\}};", text, re.S)[1]


def flags(top):
    text = text_of(top, "daemon/app/options.c")
    for name in re.findall(r'\{"([\w-]+)",', array(text, "long_options")):
        yield f"flag informerd --{name}"
    for letter in re.search(r'getopt_long\(argc, argv, "([^"]+)"', text)[1].replace(":", ""):
        yield f"flag informerd -{letter}"
    text = text_of(top, "daemon/ctl/args.c")
    for name, letter in re.findall(r'\{"([\w-]+)",\s*\'(\\0|\w)\'', text):
        yield f"flag informerctl --{name}"
        if letter != r"\0":
            yield f"flag informerctl -{letter}"
    yield from (f"output {word}" for word in re.findall(r'\[OUTPUT_\w+\] = "(\w+)"', text))


def verbs(top):
    """Each command of informerctl, and each with an option that not all commands have."""
    text = text_of(top, "daemon/ctl/command.c")
    bits = {bit: options.split(", ") for bit, options in
            re.findall(r"(WITH_\w+) = \d+,\s*/\* (-.*?) \*/", text)}
    for entry in re.findall(r"\.name = .*?(?=\.name = |\Z)", array(text, "commands"), re.S):
        verb = re.match(r'\.name = "([\w-]+)"', entry)[1]
        yield f"verb {verb}"
        for bit in re.findall(r"\bWITH_\w+", entry):
            for option in bits[bit]:
                yield f"verb {verb} {option}"


def exits(top):
    for program, file in ("informerd", "daemon/app/options.h"), ("informerctl", "daemon/ctl/command.h"):
        for code in re.findall(r"^\s+EXIT_\w+ = (\d+)", text_of(top, file), re.M):
            yield f"exit {program} {code}"


def every_setting(top):
    for name in settings.expected(settings.tables(top), "main_conf_settings"):
        yield f"setting {name}"


def environment(top):
    """The variables that hooks get, that exec plugins get, and that informerd and informerctl read."""
    payload = text_of(top, "daemon/hook/payload.c")
    for name in re.findall(r'"(INFORMERD_[A-Z_]+)(?:%s=)?"', payload):
        yield "env hook " + (name + "NAME" if name.endswith("_") else name)
    for name in re.findall(r'mem_strdup\("([A-Z]+)=', text_of(top, "daemon/app/build.c")):
        yield f"env hook {name}"
    plugins = text_of(top, "daemon/app/exec_plugins.c")
    for name in re.findall(r'add\(&e, "(\w+)"', plugins) + re.findall(r'"(\w+)"', array(plugins, "proxies")):
        yield f"env plugin {name}"
    yield "env plugin INFORMERD_RUN"
    for source in csource.sources(top, ["daemon"], "*.c"):
        for name in re.findall(r'\bgetenv\("(\w+)"\)', source.text):
            yield f"env read {name}"
        for pair in re.findall(r'\bvariable\("(\w+)", "(\w+)"\)', source.text):
            yield from (f"env read {name}" for name in pair)
        if "sd_notify(" in source.text:
            yield "env read NOTIFY_SOCKET"
        if "sd_watchdog_enabled(" in source.text:
            yield from ("env read WATCHDOG_PID", "env read WATCHDOG_USEC")


def put_events_keys(top):
    """The arrays that put_events() writes, whose names its callers give."""
    return re.findall(r'put_events\(j, "(\w+)"', text_of(top, "daemon/hook/payload.c"))


def inputs(top):
    """Members of the document on standard input, and of the objects of a view."""
    for file, functions in MEMBERS.items():
        source, found = csource.Source(top / file, top), set()
        for d in source.declarations():
            text = "\n".join(source.lines[d.line - 1:d.end])
            names = re.findall(r'\b(?:json_out_key|json_member_\w+|event_json_object|put_numbers?)'
                               r'\((?:&?j|&?out|&?o), "(\w+)"', text)
            names += re.findall(r'^\s+\{"(\w+)",\s+object_', text, re.M)
            if d.is_definition and names and d.name not in functions and d.name != "event_json_put":
                raise SystemExit(f"{file}: {d.name}() writes members: put it into MEMBERS of "
                                 "tests/lint/contract_items.py")
            for name in names:
                found.add(f"input {functions.get(d.name, 'event.')}{name}")
        yield from sorted(found)
    yield from (f"input {key}" for key in put_events_keys(top))


def words(top):
    for kind, (file, function) in WORDS.items():
        names = re.search(LIST, body(top, file, function), re.S)[1]
        yield from (f"{kind} {word}" for word in re.findall(r'"([\w-]+)"', names))
    for word in re.findall(r'"type", "([A-Z]+)"', text_of(top, "daemon/admin/stream.c")):
        yield f"line {word}"
    yield from (f"line {word}" for word in
                re.findall(r'"type", "([A-Z]+)"', text_of(top, "daemon/ctl/record.c")))
    log = text_of(top, "daemon/base/log_journal.c")
    yield from (f"field {name}" for name in re.findall(r'"([A-Z]+)"', array(log, "selectable")))


def signals(top):
    for name in re.findall(r"SIG[A-Z0-9]+", array(text_of(top, "daemon/app/daemon.c"), "signal_numbers")):
        if name != "SIGCHLD":
            yield f"signal {name}"


def of_source(top):
    """All items that the source has."""
    return {item for find in (flags, verbs, exits, every_setting, environment, inputs, words, signals)
            for item in find(top)}


def words_of_item(text):
    """The names that follow the macro Cm in a piece of a man page, up to the next macro."""
    out = []
    text = re.sub(r"\([^)]*\)", "", text.replace("\\\n", ""))
    text = re.sub(r"\bas (?:in )?Cm \w+(?: No of Cm \w+)?", "", text)
    for line in text.splitlines():
        on = False
        for word in line.lstrip(".").split():
            if word in MACROS:
                on = word == "Cm"
            elif on and re.fullmatch(r"[a-z][a-z0-9_]*", word):
                out.append(word)
    return out


def json_members(top):
    """The members that informerctl(1) lists under JSON: these are there to stay."""
    page = text_of(top, "packaging/man/informerctl.1")
    section = re.search(r"^\.Sh JSON$(.*?)^\.El", page, re.S | re.M)[1]
    for title, text in re.findall(r"^\.It Cm (.*?)\n(.*?)(?=^\.It|\Z)", section, re.S | re.M):
        for verb in re.findall(r"[a-z-]+", title):
            yield from (f"json {verb} {name}" for name in dict.fromkeys(words_of_item(text)))


def of_pages(top):
    """[(page, item)] of flags and verbs that the man pages describe."""
    for page, program in ("informerd.8", "informerd"), ("informerctl.1", "informerctl"):
        name = f"packaging/man/{page}"
        for line in re.findall(r"^\.It (Fl .*)$", text_of(top, name), re.M):
            for flag in re.findall(r"\bFl (-?[\w-]+)", line) + re.findall(r" , (-[\w-]+)", line):
                yield name, f"flag {program} -{flag}"
    for call in text_of(top, "packaging/man/informerctl.1").split("\n.Op Fl -socket Ar path\n.Cm ")[1:]:
        for part in re.split(r" \| ", re.split(r" (?:Ar|Op)\b|\n", call)[0]):
            yield "packaging/man/informerctl.1", "verb " + part.split()[0]
            if " " in part:
                break


def built(text):
    """The contract without the section "Not built yet"."""
    return re.sub(rf"^## {NOT_YET}\n.*?(?=^## |\Z)", "", text, flags=re.S | re.M)


def of_contract(top, found):
    """The items that docs/design.md names outside of "Not built yet", less those that were found."""
    text, named = built(text_of(top, "docs/design.md")), set()
    settings_found = {item.split()[1] for item in found if item.startswith("setting ")}
    groups = {name.rsplit(".", 1)[0] for name in settings_found if "." in name}
    tails = {".".join(name.split(".")[-2:]) for name in settings_found | groups}
    programs = ("informerd", "informerctl")

    named |= {f"env hook {name}" for name in re.findall(r"`(INFORMERD_[A-Z_]+[A-Z])`", text)}
    for code in re.findall(r"`([^`\n]+)`", text):
        program = code.split()[0] if code.startswith("informer") else None
        for flag in re.findall(r"(?<!\S)--[a-z-]+", code) if program or code.startswith("-") else ():
            if program in programs or not any(f"flag {p} {flag}" in found for p in programs):
                named.add(f"flag {program or 'informerd'} {flag}")
        if program == "informerctl" and " " in code:
            named.add("verb " + code.split()[1])
        if re.fullmatch(r"(tuning|backoff|limits|metrics|start_stale|guard|log|control|retry)\.(\w+)", code) \
                and code not in tails:
            named.add(f"setting {code}")
    for code, *cells in re.findall(r"^\| (\d+) \|([^|\n]*)\|([^|\n]*)\|$", text, re.M):
        named |= {f"exit {program} {code}" for program, cell in zip(programs, cells) if cell.strip()}
    named |= {f"signal SIG{name}" for name in re.findall(r"\b(?:TERM|INT|HUP)\b", text)}
    return named - found


def of_hooks_page(top):
    """The members and variables in the tables of docs/hooks.md "Input" and "Environment"."""
    text = text_of(top, "docs/hooks.md")

    def section(title):
        return re.search(rf"^### {title}\n(.*?)(?=^##)", text, re.S | re.M)[1]

    tables = section("Input").split("\n\n")
    for part in tables:
        cells = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|", part, re.M)
        prefix = "event." if "| `cause` |" in part else ""
        yield from (f"input {prefix}{name}" for cell in cells for name in re.findall(r"`(\w+)`", cell))
    yield from (f"env hook {name}" for cell in
                re.findall(r"^\| ((?:`[A-Z_]+`(?:, )?)+) \|", section("Environment"), re.M)
                for name in re.findall(r"`([A-Z_]+)`", cell))
