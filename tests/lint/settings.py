#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""config/informerd.conf shows the settings of the tables in daemon/conf, their defaults, no more."""
import re

import csource

LEAST = 97  # the number of settings when this lint was written
TABLE = re.compile(r"^(?:static )?const struct setting (\w+)\[\] = \{\n(.*?)^\};", re.S | re.M)
ROW = re.compile(r"SETTING_ROW\((\w+), (\w+),?(.*?)\),\n(?=\s*(?:SETTING_ROW|\{\.key = NULL\}))",
                 re.S)
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
            for kind, key, rest in ROW.findall(COMMENT.sub(r"\1", body)):
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
    if len(want) < LEAST:
        bad.append(f"daemon/conf: only {len(want)} settings found: are the tables still read?")
    return bad


if __name__ == "__main__":
    csource.main(check)
