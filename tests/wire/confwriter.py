# SPDX-License-Identifier: Apache-2.0
"""Writes Python values as libconfig text."""
import json
import pathlib
import re


def value(item, indent=0):
    """dict -> group, list -> array, tuple -> list of mixed values; the rest as scalars."""
    pad = "  " * (indent + 1)
    if isinstance(item, dict):
        rows = "".join(f"{pad}{key} : {value(entry, indent + 1)};\n" for key, entry in item.items())
        return "{\n" + rows + "  " * indent + "}"
    if isinstance(item, (list, tuple)):
        return "[ " + ", ".join(value(entry) for entry in item) + " ]"
    if isinstance(item, bool):
        return "true" if item else "false"
    if isinstance(item, float):
        return f"{item:.6f}"
    if isinstance(item, int):
        return str(item)
    if isinstance(item, pathlib.Path):
        return value(str(item))
    return re.sub(r"\\u00(..)", r"\\x\1", json.dumps(item, ensure_ascii=False))


def text(settings):
    return "".join(f"{key} : {value(item)};\n" for key, item in settings.items())


def merge(base, extra):
    """`base` overridden by `extra`, group by group; None removes a setting."""
    out = dict(base)
    for key, item in extra.items():
        if item is None:
            out.pop(key, None)
        elif isinstance(item, dict) and isinstance(out.get(key), dict):
            out[key] = merge(out[key], item)
        else:
            out[key] = item
    return out
