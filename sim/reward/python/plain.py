"""Values between the program of a model and what judges it, as JSON.

None, truth, finite numbers, text and lists are themselves; everything else is an
object of one key: tuple, set, frozenset, dict (pairs), float ("nan", "inf",
"-inf"), complex, bytes (hexadecimal). What is none of these is given to other,
which says what stands for it.
"""
import math
import sys

if hasattr(sys, "set_int_max_str_digits"):
    sys.set_int_max_str_digits(0)


def pack(value, other):
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        value = float(value)
        return value if math.isfinite(value) else {"float": repr(value)}
    if isinstance(value, str):
        return str(value)
    if isinstance(value, list):
        return [pack(v, other) for v in value]
    for kind in (tuple, set, frozenset):
        if isinstance(value, kind):
            return {kind.__name__: [pack(v, other) for v in value]}
    if isinstance(value, dict):
        return {"dict": [[pack(k, other), pack(v, other)] for k, v in value.items()]}
    if isinstance(value, complex):
        return {"complex": [pack(value.real, other), pack(value.imag, other)]}
    if isinstance(value, (bytes, bytearray)):
        return {"bytes": bytes(value).hex()}
    return other(value)


def unpack(packed, other):
    if isinstance(packed, list):
        return [unpack(v, other) for v in packed]
    if not isinstance(packed, dict):
        return packed
    ((kind, value),) = packed.items()
    if kind == "dict":
        return {unpack(k, other): unpack(v, other) for k, v in value}
    if kind in ("tuple", "set", "frozenset"):
        make = {"tuple": tuple, "set": set, "frozenset": frozenset}[kind]
        return make(unpack(v, other) for v in value)
    if kind == "float":
        return float(value)
    if kind == "complex":
        return complex(*(unpack(v, other) for v in value))
    if kind == "bytes":
        return bytes.fromhex(value)
    return other(kind, value)


class Format:
    """What json asks of a reader, without its module, which takes long to load."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float, parse_int, parse_constant = float, int, float


def texts():
    """Returns json's functions from a text to a value and back."""
    try:
        from _json import encode_basestring_ascii, make_encoder, make_scanner

        scan = make_scanner(Format)
        encode = make_encoder({}, None, encode_basestring_ascii, None, ": ", ", ", False, False, True)
        if "".join(encode(scan('{"a": [1, "x"]}', 0)[0], 0)) != '{"a": [1, "x"]}':
            raise TypeError
    except (ImportError, TypeError, AttributeError):  # another Python's are its own
        from json import dumps, loads

        return loads, dumps
    return lambda text: scan(text, 0)[0], lambda value: "".join(encode(value, 0))


read, write = texts()
