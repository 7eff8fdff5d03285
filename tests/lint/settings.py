#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""config/informerd.conf shows the settings of the tables in daemon/conf, their defaults, no more.
informerd.conf(5) has each setting of a hook in the list of its class."""
import re

import csource

LEAST = 97  # the number of settings when this lint was written
TABLE = re.compile(r"^(?:static )?const struct setting (\w+)\[\] = \{\n(.*?)^\};", re.S | re.M)
ROW = re.compile(r"SETTING_(?:HOOK_ROW\((\w+),\s*|ROW\()(\w+), (\w+),?(.*?)\),\n"
                 r"(?=\s*(?:SETTING_(?:HOOK_)?ROW|\{\.key = NULL\}))", re.S)
DEFAULT = re.compile(r'SETTING_DEFAULT\(((?:\s*"(?:[^"\\]|\\.)*")+)\)')
COMMENT = re.compile(r'("(?:[^"\\]|\\.)*")|/\*.*?\*/', re.S)   # or a string, which stays
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}=:;,]|[^\s\[\]{}=:;,"]+')


def c_string(text):
    return "".join(part.replace(r"\"", '"') for part in re.findall(r'"((?:[^"\\]|\\.)*)"', text))


def squeeze(text):
    return " ".join(TOKEN.findall(text))


def tables(top):
    """{table: [(kind, key, default or None, group or None)]} of all tables in daemon/conf."""
    found = {}
    for path in sorted((top / "daemon/conf").glob("*.c")):
        for name, body in TABLE.findall(path.read_text()):
            rows = []
            for _, kind, key, rest in ROW.findall(COMMENT.sub(r"\1", body)):
                default = DEFAULT.search(rest)
                group = re.search(r"\.group = (\w+)", rest)
                rows.append((kind, key, squeeze(c_string(default[1])) if default else None,
                             group[1] if group else None))
            found[name] = rows
    return found


def expected(all_tables, table, prefix=""):
    """{dotted path: default}; a named section appears once, under its own key."""
    out = {}
    for kind, key, default, group in all_tables[table]:
        if group:
            out.update(expected(all_tables, group, f"{prefix}{key}."))
        else:
            out[prefix + key] = default
    return out


CLASSES = {"IN_PLACE": "A changed setting takes effect without a run",
           "RENEWS": "A changed setting makes the hook run again for all its objects"}


def check_classes(top):
    """The class of each row of a hook's table, and the list of informerd.conf(5) that has it."""
    source = (top / "daemon/conf/hook_conf.c").read_text()
    table = dict(TABLE.findall(source))["hook_conf_settings"]
    rows = {key: kind for kind, _, key, _ in ROW.findall(COMMENT.sub(r"\1", table))}
    bad = [f"daemon/conf/hook_conf.c: {key} has no class" for key, kind in rows.items() if not kind]
    manual = (top / "packaging/man/informerd.conf.5").read_text()
    for name, title in CLASSES.items():
        item = re.search(rf"^\.It {title}\n(.*?)(?=^\.It|^\.El|^The main setting)", manual, re.S | re.M)
        words = re.findall(r"^\.Cm (.*)$", item[1], re.M) if item else []
        listed = set(" ".join(words).replace(",", " ").replace(".", " ").replace(":", " ").split())
        have, want = listed - {"renew"}, {key for key, kind in rows.items() if kind == name}
        bad += [f"packaging/man/informerd.conf.5: {key} is not in \"{title}\"" for key in sorted(want - have)]
        bad += [f"packaging/man/informerd.conf.5: {key} is wrong in \"{title}\"" for key in sorted(have - want)]
    return bad


def uncommented(text):
    """The lines of the file as if no setting were commented out, without the prose."""
    lines = []
    for line in text.splitlines():
        code, _, remark = line.partition("#") if not line.lstrip().startswith("#") else ("", "", "")
        if code.strip():
            lines.append(code)
            line = "#" + remark if re.match(r"\s*\w+ = [^;]+;$", remark) else ""
        body = line.lstrip().removeprefix("#")
        setting = re.match(r"\s*(\w+ = [^;#]+;|\w+ : \{ \};|\w+ : \{|\};)\s*(#.*)?$", body)
        if line and setting:
            lines.append(setting[1])
    return lines


def named_sections(all_tables, table, prefix=""):
    """The dotted paths of groups whose members have names that the user chooses."""
    out = set()
    for kind, key, _, group in all_tables[table]:
        if group:
            out |= {prefix + key} if kind == "NAMED" else set()
            out |= named_sections(all_tables, group, f"{prefix}{key}.")
    return out


def without_names(path, named):
    """The path without the names that the user chooses."""
    out, is_name = [], False
    for key in path:
        if not is_name:
            out.append(key)
        is_name = not is_name and ".".join(out) in named
    return out


def shown(text, named):
    """{dotted path: [values]}: the names of elements in named sections are left out."""
    out, path = {}, []
    for line in uncommented(text):
        line = line.strip()
        opened = re.match(r"(\w+)\s*:\s*\{$", line)
        if opened:
            path.append(opened[1])
        elif line == "};":
            path.pop()
        else:
            key, value = re.match(r"(\w+)\s*[=:]\s*(.*);$", line).groups()
            where = without_names(path, named)
            out.setdefault(".".join(where + [key]), []).append(squeeze(value))
    return out


def check(top, _arguments):
    all_tables = tables(top)
    named = named_sections(all_tables, "main_conf_settings")
    want = expected(all_tables, "main_conf_settings")
    have = shown((top / "config/informerd.conf").read_text(), named)
    bad = [f"config/informerd.conf: {key} is missing" for key in want if key not in have]
    bad += [f"config/informerd.conf: {key} is in no table" for key in have if key not in want]
    bad += [f"config/informerd.conf: {key} does not show its default, {default}"
            for key, default in want.items()
            if default is not None and key in have and default not in have[key]]
    bad += check_classes(top)
    if len(want) < LEAST:
        bad.append(f"daemon/conf: only {len(want)} settings found: are the tables still read?")
    return bad


if __name__ == "__main__":
    csource.main(check)
