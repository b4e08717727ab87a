"""What a filter that does not parse was probably meant to be, and what to write instead."""

from __future__ import annotations

import re
from collections.abc import Sequence

from flexdp.tables.where.tokens import Token
from flexdp.tables.where.tree import READINGS

__all__ = ["FUNCTIONS", "unexpected", "unknown_function"]

FUNCTIONS = ("year", "month", "seconds", "coalesce", *READINGS)
_AGGREGATES = {
    "avg", "mean", "sum", "count", "min", "max", "median", "mode", "quantile", "percentile", "stddev", "std",
    "variance", "var", "first", "last", "any_value", "array_agg", "string_agg", "group_concat",
}  # fmt: skip
_WINDOWS = {
    "row_number", "rank", "dense_rank", "ntile", "lag", "lead", "first_value", "last_value", "nth_value", "cume_dist",
}  # fmt: skip
_CASTS = {
    "cast", "try_cast", "safe_cast", "convert", "to_date", "to_timestamp", "to_number", "str_to_date", "strptime",
    "try_strptime", "parse_date", "timestamp", "int", "float", "double", "decimal", "numeric", "bool", "str", "string",
    "varchar",
}  # fmt: skip
_CLAUSES = {
    "LIMIT", "OFFSET", "FETCH", "GROUP", "HAVING", "ORDER", "FROM", "WHERE", "JOIN", "UNION", "INTERSECT", "EXCEPT",
    "QUALIFY", "WITH", "DISTINCT",
}  # fmt: skip
_OPERATORS = {
    "ILIKE": "Use LIKE, which is case-sensitive, or IN with all spellings.",
    "SIMILAR": "Use LIKE with % and _.", "REGEXP": "Use LIKE with % and _.", "RLIKE": "Use LIKE with % and _.",
    "GLOB": "Use LIKE with % and _.", "MATCH": "Use LIKE with % and _.", "CONTAINS": "Use LIKE '%text%'.",
    "MOD": "The arithmetic operators are +, -, * and /.", "DIV": "The arithmetic operators are +, -, * and /.",
    "XOR": "Combine tests with AND, OR and NOT.", "COLLATE": "Texts are compared by their bytes.",
}  # fmt: skip
CASTS = (
    "There are no casts: number(x), integer(x), text(x), date(x), datetime(x) and boolean(x) say how a column that "
    "declares no type is read."
)
_SEVERAL = "{} looks at several records; {} looks at one."


def unexpected(tokens: Sequence[Token], place: int, noun: str) -> tuple[str, str]:
    """Return why the token at a place does not fit, and the remedy; ``noun`` is what is parsed."""
    token = tokens[place]
    before = tokens[place - 1] if place else None
    word = token.text.upper() if token.kind == "word" else ""
    if word in ("SELECT", "EXISTS"):
        return f": unexpected {token.shown}", _SEVERAL.format("A subquery", noun)
    if word == "OVER":
        return f": unexpected {token.shown}", _SEVERAL.format("A window", noun)
    if word in _OPERATORS:
        return f": there is no operator {word}", _OPERATORS[word]
    if word in _CLAUSES:
        return f": unexpected {token.shown}", f"{noun.capitalize()} is computed from one record and has no clauses."
    if word == "NOT" and before is not None and before.kind != "sign":
        return f": unexpected {token.shown}", "Write NOT age = 3, or age NOT IN (3)."
    if before is not None and before.kind == token.kind == "sign" and before.text == token.text == "=":
        return f": unexpected {token.shown}", "Equality is written with one =."
    if before == Token("sign", "=") and token in (Token("sign", ">"), Token("sign", "<")):
        return f": unexpected {token.shown}", f"Write {token.text}= instead of ={token.text}."
    if before is not None and before.kind == "word" and before.text.upper() == "WHERE":
        return f": unexpected {token.shown} after {before.shown}", "Write the test alone, without WHERE."
    if before is not None and before.kind in ("word", "name") and token.kind in ("word", "name", "number", "text"):
        return f": unexpected {token.shown} after {before.shown}", (
            'An operator is missing, or a column name of several words is not in double quotes: "my column".'
        )
    after = tokens[min(place + 1, len(tokens) - 1)]
    if token == Token("sign", ",") and before is not None and before.kind == after.kind == "number":
        whole = re.sub(r"^([0-9]{1,3})\.(?=[0-9]{3}$)", r"\1", before.text)  # a point between thousands
        return f": unexpected {token.shown}", f"Decimals are written with a point: {whole}.{after.text}"[:100] + "."
    return f": unexpected {token.shown}", ""


def unknown_function(name: str, noun: str) -> tuple[str, str]:
    """Return the refusal of a function, and the remedy."""
    reason = f"The functions are {', '.join(FUNCTIONS)}."
    if name.lower() in _AGGREGATES:
        reason = _SEVERAL.format("An aggregate", noun)
    elif name.lower() in _WINDOWS:
        reason = _SEVERAL.format("A window", noun)
    elif name.lower() in _CASTS:
        reason = CASTS
    return f": there is no function {Token('word', name).shown} here", reason
