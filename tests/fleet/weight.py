# SPDX-License-Identifier: Apache-2.0
"""The bytes that an object has in protobuf, the form that kube-proxy asks for, from its JSON."""
import json


def _varint(number):
    return max(1, (number.bit_length() + 6) // 7)


def _field(size):
    """The bytes of a field with a length: one byte of tag (no object here has a large field with a
    number above 15), the length, the content."""
    return 1 + _varint(size) + size


def _value(name, value):
    if name == "fieldsV1":
        return _field(_field(len(json.dumps(value, separators=(",", ":")))))
    if name in ("creationTimestamp", "time"):
        return _field(8)
    if isinstance(value, dict):
        if all(isinstance(item, str) for item in value.values()) \
                and name in ("labels", "annotations", "selector"):
            return sum(_field(_field(len(key)) + _field(len(item)))
                       for key, item in value.items())
        return _field(_message(value))
    if isinstance(value, list):
        return sum(_value("", item) for item in value)
    if isinstance(value, str):
        return _field(len(value.encode()))
    if isinstance(value, bool):
        return 2
    if isinstance(value, int):
        return 1 + _varint(value)
    return 0


def _message(obj):
    return sum(_value(name, value) for name, value in obj.items()
               if name not in ("kind", "apiVersion"))


def protobuf(obj):
    """The bytes of the object as an item of a list (items have no kind and apiVersion)."""
    return _field(_message(obj))
