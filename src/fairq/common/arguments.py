"""Arguments and environments: HTCondor's old (V1) and new (V2) way of quoting them.

Source: the manual of ``condor_submit``, "arguments" and "environment"; ``ArgList`` and ``Env``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

_BLANKS = " \t\n\r\v\f"


def split_quoted(text: str) -> list[str]:
    """Return the words of *text*, which is in double quotes (the new syntax).

    Blanks separate the words, single quotes hold a word together, and a doubled quote stands for itself.
    Raises ValueError with the reason.
    """
    return _split_raw(_unquoted(text.strip()))


def split_arguments(text: str) -> tuple[list[str], bool]:
    """Return the arguments of *text* and whether it is in the new syntax; raises ValueError."""
    text = text.strip()
    if text.startswith('"'):
        return split_quoted(text), True
    if '"' in text.replace('\\"', ""):
        raise ValueError('a double quote must be written as \\", or all be put into double quotes (new syntax)')
    return text.replace('\\"', '"').split(), False


def joined(words: Sequence[str]) -> str:
    """Return *words* as one text in the new syntax without the outer quotes, as in job ads."""
    return " ".join(map(_raw_word, words))


def quoted(words: Sequence[str]) -> str:
    """Return *words* as one text in the new syntax."""
    return '"' + joined(words).replace('"', '""') + '"'


def split_environment(text: str) -> dict[str, str]:
    """Return the variables in *text*, in the new or the old syntax (``A=1;B=2``); raises ValueError."""
    text = text.strip()
    entries = split_quoted(text) if text.startswith('"') else _split_old(text)
    result = {}
    for entry in entries:
        name, equals, value = entry.partition("=")
        if not name or not equals:
            raise ValueError(f"{entry!r} is not of the form NAME=value")
        result[name] = value
    return result


def joined_environment(variables: Mapping[str, str]) -> str:
    """Return *variables* in the new syntax without its outer quotes, sorted by name."""
    return joined([f"{name}={variables[name]}" for name in sorted(variables)])


def _split_old(text: str) -> list[str]:
    delimiter = ";"
    if text[:1] in (";", "|"):
        delimiter, text = text[0], text[1:]
    return [entry for part in text.split(delimiter) if (entry := part.strip(_BLANKS))]


def _unquoted(text: str) -> str:
    inner = text[1:].replace('""', "\0")
    end = inner.find('"')
    if end < 0:
        raise ValueError("the closing double quote is missing")
    if inner[end + 1 :].strip():
        raise ValueError("text follows the closing double quote; a double quote inside must be doubled")
    return inner[:end].replace("\0", '"')


def _split_raw(text: str) -> list[str]:
    if "'" not in text:
        return text.split()
    words: list[str] = []
    word: list[str] | None = None  # None between words: '' is also a word
    index = 0
    while index < len(text):
        character = text[index]
        index += 1
        if character in _BLANKS:
            if word is not None:
                words.append("".join(word))
                word = None
            continue
        if word is None:
            word = []
        if character != "'":
            word.append(character)
            continue
        end = index
        while (end := text.find("'", end)) >= 0 and text[end + 1 : end + 2] == "'":
            end += 2
        if end < 0:
            raise ValueError("a single quote is not closed; write two single quotes for a literal one")
        word.append(text[index:end].replace("''", "'"))
        index = end + 1
    if word is not None:
        words.append("".join(word))
    return words


def _raw_word(word: str) -> str:
    if word and not any(character in _BLANKS or character == "'" for character in word):
        return word
    return "'" + word.replace("'", "''") + "'"
