"""Tells the tokens of a multiset apart by their role in it, whatever they are called. Pure.

Two tokens that nothing tells apart but their own text must not make equal multisets differ. So
tokens are told apart by where they occur, then by the tokens they occur with, and so on (colour
refinement); what is still tied is either interchangeable, or tried both ways.

An entry is read once, into a `_Shape`: numbers that stand for the texts between its tokens, in the
order of these texts, and holes for the tokens. From then on nobody looks at a text again, however
long. A round of refinement looks only at tokens that are still tied and occur beside one that was
told apart in the round before, so that a chain of tokens does not make all of them be looked at
once a link.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from gradekeeper.referee.texts import is_map, pieces_of, tokens_in

_MAX_LEAVES: Final = 8
"""Ways to break ties that are tried, in all."""
_MARK: Final = "*"
"""In the place of the token itself: before every number."""

_END: Final = (1 << 32,)
"""After the entries of a map: behind whatever entry another one has there."""

Filled = tuple[Any, ...]


class Roles:
    """The entries of a multiset, and its tokens by role.

    Attributes:
        looks: how many holes of entries were filled so far: what the work is proportional to.
    """

    def __init__(
        self, entries: Sequence[Any], used: Sequence[str], tokens: Mapping[str, str]
    ) -> None:
        """Read the entries.

        Args:
            entries: normalised; a number that is tolerated is masked.
            used: the distinct tokens that occur in them.
            tokens: token -> the method that it answered.
        """
        self.looks = 0
        self._tokens = tokens
        self._index = {token: position for position, token in enumerate(used)}
        self._holes = [(position,) for position in range(len(used))]
        self._shapes = [self._read(entry) for entry in entries]
        _number_texts(self._shapes)
        self._where: list[list[_Shape]] = [[] for _ in used]
        for shape in self._shapes:
            for position in shape.tokens:
                self._where[position].append(shape)
        methods = [tokens[token] for token in used]
        firsts: dict[str, int] = {}
        for position, method in enumerate(sorted(methods)):
            firsts.setdefault(method, position)
        self._colours = [firsts[method] for method in methods]
        self._classes: dict[int, list[int]] = {}
        for position, colour in enumerate(self._colours):
            self._classes.setdefault(colour, []).append(position)
        self._shown: list[str] = []
        self._leaves = 0
        self._show()
        self._refine(range(len(used)))
        self._solve()

    @property
    def colours(self) -> dict[str, int]:
        """Token -> its number among all of them, from 0."""
        return {token: self._colours[position] for token, position in self._index.items()}

    def keys(self) -> list[Filled]:
        """What each entry is sorted by: equal for those that differ in maps' order only."""
        return [self._fill(shape) for shape in self._shapes]

    def _read(self, value: Any) -> "_Shape":
        shape = _Shape({self._index[token] for token in tokens_in(value, self._tokens)})
        text: list[str] = []
        self._write(value, shape.parts, text)
        shape.parts.append("".join(text))
        return shape

    def _write(self, value: Any, parts: list[Any], text: list[str]) -> None:
        """Append to parts: texts, and between two of them a hole or the entries of a map.

        The form is injective up to the order of a map's entries, and no part is the beginning of
        another one that is followed by something else: parts compare as their whole would.

        Args:
            value: what is written.
            parts: what is finished.
            text: pieces of the text that comes next.
        """

        def end(part: Any) -> None:
            parts.extend(("".join(text), part))
            text.clear()

        if type(value) is str:
            for is_token, piece in pieces_of(value, self._tokens):
                if is_token:
                    text.append(f"${self._tokens[piece]}@")
                    end(self._holes[self._index[piece]])
                    text.append(";")
                else:
                    text.append(f"{len(piece)}:{piece}")
            text.append(",")
        elif type(value) is list:
            text.append("[")
            for item in value:
                self._write(item, parts, text)
            text.append("]")
        elif type(value) is dict:
            text.append("{")
            if is_map(value):
                if value["v"]:
                    text.append("[")
                    end([self._read(pair) for pair in value["v"]])
            else:
                for key, item in sorted(value.items()):
                    text.append(f"{len(key)}:{key}=")
                    self._write(item, parts, text)
            text.append("}")
        else:
            text.append(f"<{value}>")

    def _show(self) -> None:
        """Number the classes; the numbers compare as texts, as they do in a written entry."""
        numbers = {colour: f"{rank};" for rank, colour in enumerate(sorted(self._classes))}
        self._shown = [numbers[colour] for colour in self._colours]

    def _fill(self, shape: "_Shape", marked: int | None = None) -> Filled:
        """A shape with every token's colour, and `marked` standing out."""
        shown = self._shown
        filled: list[Any] = []
        self.looks += len(shape.parts)
        for part in shape.parts:
            if type(part) is int:
                filled.append(part)
            elif type(part) is tuple:
                filled.append(_MARK if part[0] == marked else shown[part[0]])
            else:
                inside = sorted(self._fill(one, marked) for one in part)
                filled.append((*inside, _END))
        return tuple(filled)

    def _refine(self, changed: Sequence[int]) -> None:
        """Split classes until none can be told apart any more.

        Args:
            changed: tokens whose neighbours may be told apart by them.
        """
        touched = set(changed)
        while touched:
            beside = set(touched)
            for shape in {shape for position in touched for shape in self._where[position]}:
                beside |= shape.tokens
            dirty = {self._colours[position] for position in beside}
            splits: list[tuple[int, list[list[int]]]] = []
            for colour in dirty:
                members = self._classes[colour]
                if len(members) > 1:
                    parts = self._tell_apart(members, beside)
                    if len(parts) > 1:
                        splits.append((colour, parts))
            touched = set()
            for colour, parts in splits:
                largest = max(parts, key=len)
                for part in parts:
                    self._classes[colour] = part
                    for position in part:
                        self._colours[position] = colour
                    colour += len(part)
                    if part is not largest:
                        # Whoever has other neighbours in the largest part has so elsewhere too.
                        touched.update(part)
            self._show()

    def _tell_apart(self, members: Sequence[int], beside: set[int]) -> list[list[int]]:
        """The members of a class by what each occurs in, in order.

        Those that are not beside a changed token were equal before, and still are: to look at one
        of them is to look at all.
        """
        signatures: dict[tuple[Filled, ...], list[int]] = {}
        same = [position for position in members if position not in beside]
        groups = [[position] for position in members if position in beside]
        for group in [*groups, same] if same else groups:
            filled = sorted(self._fill(shape, group[0]) for shape in self._where[group[0]])
            signatures.setdefault(tuple(filled), []).extend(group)
        return [signatures[signature] for signature in sorted(signatures)]

    def _interchangeable(self, first: int, second: int) -> bool:
        """Whether swapping two tokens leaves the multiset as it is."""
        near = [shape for shape in self._where[first] if second not in shape.tokens]
        near += self._where[second]
        kept = self._shown
        listings = []
        for one, other in (("0;", "1;"), ("1;", "0;")):
            self._shown = [f"{2 + position};" for position in range(len(kept))]
            self._shown[first], self._shown[second] = one, other
            listings.append(sorted(self._fill(shape) for shape in near))
        self._shown = kept
        return listings[0] == listings[1]

    def _solve(self) -> None:
        """Break the ties that are left, so that every token has a colour of its own."""
        tied = next(
            (members for _, members in sorted(self._classes.items()) if len(members) > 1), None
        )
        if tied is None:
            self._leaves += 1
            return
        candidates = [tied[0]]
        for position in tied[1:]:
            if self._leaves + len(candidates) >= _MAX_LEAVES:
                break
            if not self._interchangeable(tied[0], position):
                candidates.append(position)
        else:
            if len(candidates) == 1:
                # Any two of them are, and stay so: whichever comes first, it is the same.
                for position in tied[:-1]:
                    self._set_apart(position)
                self._solve()
                return
        before = self._colours[:], dict(self._classes)
        best: tuple[list[Filled], list[int], dict[int, list[int]]] | None = None
        for candidate in candidates:
            self._colours, self._classes = before[0][:], dict(before[1])
            self._show()
            self._set_apart(candidate)
            self._solve()
            if len(candidates) == 1:
                return
            found = sorted(self.keys())
            if best is None or found < best[0]:
                best = found, self._colours, self._classes
        assert best is not None
        _, self._colours, self._classes = best
        self._show()

    def _set_apart(self, candidate: int) -> None:
        """Put a token before the others of its class, and refine."""
        colour = self._colours[candidate]
        # Between two numbers, until the next round numbers the classes anew.
        self._shown = [f"{2 * int(number[:-1])};" for number in self._shown]
        self._shown[candidate] = f"{int(self._shown[candidate][:-1]) - 1};"
        others = [position for position in self._classes[colour] if position != candidate]
        self._classes[colour], self._classes[colour + 1] = [candidate], others
        for position in others:
            self._colours[position] = colour + 1
        self._refine([candidate])


class _Shape:
    """An entry, or an entry of a map in it: `parts` as `Roles._write` makes them, and `tokens`."""

    __slots__ = ("parts", "tokens")

    def __init__(self, tokens: set[int]) -> None:
        self.parts: list[Any] = []
        self.tokens = tokens


def _number_texts(shapes: Sequence[_Shape]) -> None:
    """Put in the place of each text its number among all of them, in their order."""
    every: list[_Shape] = []
    waiting = list(shapes)
    while waiting:
        shape = waiting.pop()
        every.append(shape)
        for part in shape.parts:
            if type(part) is list:
                waiting += part
    texts = {part for shape in every for part in shape.parts if type(part) is str}
    numbers = {text: number for number, text in enumerate(sorted(texts))}
    for shape in every:
        shape.parts = [numbers[part] if type(part) is str else part for part in shape.parts]
