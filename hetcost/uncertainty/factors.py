"""What of a result is not known exactly: ranges of a scenario, bounds of facts, choices."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hetcost.errors import AssumptionError, DataWarning, listing
from hetcost.impacts import DRAWN_FIGURES, Solved, card_bounds, figures_of, variable_fields
from hetcost.impacts.lookups import Known
from hetcost.scenario import Range, Scenario

Floats = NDArray[np.float64]
Changed = dict[str, Floats]

_LOOKED_AT = 9  # points between the ends of a factor
_STANDING = 8  # places of all other factors at which one is looked at
_SAME = 1e-12  # relative difference that is rounding
_BOARD = ("wanted_w", "wanted_frac", "limit_w", "busy_frac")
_RATED = ("n_gpus", "out_tok_per_s", "all_tok_per_s")


class Factor(Protocol):
    """One thing that is drawn, once for everything that rests on it."""

    @property
    def told(self) -> dict[str, Any]:
        """Label, kind, bounds and source."""

    @property
    def levels(self) -> Floats:
        """Probabilities at which all that it may be is seen."""

    def into(self, changed: Changed, base: Mapping[str, Floats], u: Floats) -> None:
        """Change figures by draws, given as probabilities between 0 and 1."""


def triangular(u: Floats, low: Any, mode: Any, high: Any) -> Floats:
    """Return quantiles of a triangular distribution; of equal bounds, that value."""
    span = np.where(high > low, high - low, 1.0)
    corner = (mode - low) / span
    rising = low + np.sqrt(u * span * (mode - low))
    falling = high - np.sqrt((1 - u) * span * (high - mode))
    return np.asarray(np.where(u < corner, rising, falling))


class _Bounded:
    levels = np.linspace(0.0, 1.0, _LOOKED_AT)


class Number(_Bounded):
    """A number with bounds, drawn once for all figures and rows that rest on it.

    A range of a scenario stands in the place of its figure; a fact moves the figures that are
    made of it by the ratio of the draw to its likeliest value.
    """

    def __init__(
        self,
        label: str,
        kind: str,
        ends: tuple[float, float, float],
        source: str,
        ratio: Callable[[Floats, float], Floats] | None,
    ) -> None:
        self.label, self.kind, self.source, self.ratio = label, kind, source, ratio
        self.low, self.mode, self.high = ends
        self._rows: dict[str, NDArray[np.bool_]] = {}

    @property
    def told(self) -> dict[str, Any]:
        """Label, kind, bounds and source."""
        ends = {"low": self.low, "mode": self.mode, "high": self.high}
        return {"factor": self.label, "kind": self.kind, **ends, "source": self.source}

    @property
    def figures(self) -> set[str]:
        """Figures that rest on it."""
        return set(self._rows)

    def rests(self, figure: str, rows: NDArray[np.bool_]) -> None:
        """Note that a figure rests on it in some rows."""
        self._rows[figure] = self._rows.get(figure, np.zeros(len(rows), dtype=bool)) | rows

    def into(self, changed: Changed, base: Mapping[str, Floats], u: Floats) -> None:
        """Move the figures by the draws."""
        drawn = triangular(u, self.low, self.mode, self.high)[np.newaxis]
        for figure, mask in self._rows.items():
            now = changed.get(figure, base[figure][:, np.newaxis])
            rows = mask[:, np.newaxis]
            if rows.all() and now.shape[1] == 1 and bool((now == now[0]).all()):
                now = now[:1]  # one row stands for all
            moved = drawn if self.ratio is None else now * self.ratio(drawn, self.mode)
            changed[figure] = moved if rows.all() else np.where(rows, moved, now)


def _proportional(drawn: Floats, mode: float) -> Floats:
    return drawn / mode


def _consumed(loss: Floats, mode: float) -> Floats:
    return (1 - mode) / (1 - loss)


_RATIOS = {"td_loss_frac": _consumed}


class BoardPower(_Bounded):
    """Watts of a card's boards between their bounds: one draw for all loads.

    It moves the likeliest power by a ratio, so that a limit that is drawn or chosen still caps it.
    """

    def __init__(
        self, card: str, rows: NDArray[np.bool_], low: Floats, high: Floats, source: str
    ) -> None:
        self.card, self.rows, self.low, self.high, self.source = card, rows, low, high, source

    @property
    def told(self) -> dict[str, Any]:
        """Label, kind, bounds over all loads, and source; the likeliest power is by load."""
        low, high = np.nanmin(self.low[self.rows]), np.nanmax(self.high[self.rows])
        ends = {"low": low, "mode": np.nan, "high": high, "source": self.source}
        return {"factor": f"board power of {self.card}", "kind": "power", **ends}

    def into(self, changed: Changed, base: Mapping[str, Floats], u: Floats) -> None:
        """Let the boards draw between their bounds."""
        rows = self.rows
        mode = _board_w({name: base[name][rows, np.newaxis] for name in _BOARD}, base, rows)
        low, high = self.low[rows, np.newaxis], self.high[rows, np.newaxis]
        watts = triangular(u, np.minimum(low, mode), mode, np.maximum(high, mode))
        now = {
            name: np.broadcast_to(changed.get(name, base[name][:, np.newaxis]), (len(rows), u.size))
            for name in _BOARD
        }
        drawn = _board_w({name: x[rows] for name, x in now.items()}, base, rows) * watts / mode
        for name, value in (("wanted_w", drawn), ("wanted_frac", 0.0), ("busy_frac", 1.0)):
            changed[name] = now[name].copy()
            changed[name][rows] = value


def _board_w(of: Mapping[str, Floats], base: Mapping[str, Floats], rows: Any) -> Floats:
    """Return the likeliest power of one board, idle parts of an hour and all."""
    busy = of["busy_frac"]
    idle = base["idle_w"][rows, np.newaxis] if (busy < 1).any() else 0.0
    wanted = np.minimum(of["wanted_w"] + of["wanted_frac"] * of["limit_w"], of["limit_w"])
    return np.asarray(np.where(busy < 1, busy * wanted + (1 - busy) * idle, wanted))


class Choice:
    """One of several assumptions, each as likely: methods, zones. A share, not a probability."""

    def __init__(self, label: str, options: Sequence[str], figures: Mapping[str, Floats]) -> None:
        self.label, self.options, self.figures = label, options, figures

    @property
    def told(self) -> dict[str, Any]:
        """Label and options."""
        return {"factor": self.label, "kind": "choice", "source": ", ".join(self.options)}

    @property
    def levels(self) -> Floats:
        """Probabilities in the midst of the options."""
        count = len(self.options)
        return (np.arange(count) + 0.5) / count

    def into(self, changed: Changed, base: Mapping[str, Floats], u: Floats) -> None:
        """Take the figures of the option that is drawn."""
        picked = np.minimum((u * len(self.options)).astype(int), len(self.options) - 1)
        for name, by_option in self.figures.items():
            changed[name] = by_option[picked].T


class Asked(NamedTuple):
    """What is drawn: result, bounds of facts as well as ranges, and choices."""

    on: Sequence[str]
    facts: bool
    choices: Mapping[str, Sequence[Any]]


def find_factors(runs: pd.DataFrame, solved: Solved, asked: Asked) -> list[Factor]:
    """Return what the results rest on that is not known exactly, choices first.

    What a choice decides on is drawn by the choice alone.
    """
    chosen = [_choice(runs, solved, field, each) for field, each in asked.choices.items()]
    decided = [name for choice in chosen for name in choice.figures]
    if len(decided) != len(set(decided)):
        twice = listing(sorted({name for name in decided if decided.count(name) > 1}))
        message = f"choices: several of them decide on {twice}: give one of them"
        raise AssumptionError(message)
    ranges, unread, read = _ranges_read(solved, asked.on, chosen)
    if clashing := {name for number in ranges for name in number.figures} & set(decided):
        message = f"choices: they decide on what has a range as well, {listing(sorted(clashing))}"
        raise AssumptionError(message)
    ranged = {name for number in ranges for name in number.figures}
    factors: list[Factor] = [*chosen, *ranges]
    if asked.facts:
        factors += _facts(solved, read - set(decided), ranged)
        if "wanted_w" in read - {*decided, *ranged}:
            factors += _board_power(solved)
    moving = [
        factor
        for factor in factors
        if _moves(factor, [factor], solved, asked.on) or _moves(factor, factors, solved, asked.on)
    ]
    labels = [factor.label for factor in moving if isinstance(factor, Number)]
    still = [number.label for number in ranges if number.label not in labels]
    if still := sorted({*unread, *still}):
        message = f"a range that decides nothing here: {listing(still)}"
        warnings.warn(message, DataWarning, stacklevel=4)
    return moving


def _moves(factor: Factor, drawn: Sequence[Factor], solved: Solved, on: Sequence[str]) -> bool:
    """Say whether a factor changes any result of any row, the drawn ones standing anywhere."""
    levels = factor.levels
    places = _STANDING if len(drawn) > 1 else 1
    for standing in np.random.default_rng(0).random((places, len(drawn))):
        changed: Changed = {}
        for other, u in zip(drawn, standing, strict=True):
            other.into(changed, solved.kept, levels if other is factor else np.full(levels.size, u))
        for name in on:
            values = solved.values(name, changed)
            if not np.allclose(values, values[:, :1], rtol=_SAME, atol=0, equal_nan=True):
                return True
    return False


def _ranges_read(
    solved: Solved, on: Sequence[str], chosen: Sequence[Choice]
) -> tuple[list[Number], set[str], set[str]]:
    """Return ranges that figures rest on, labels of the others, and all figures that are read.

    What is read may depend on what is drawn: idle power, only where some hours are idle.
    """
    ranges: list[Number] = []
    unread: set[str] = set()
    read: set[str] = set()
    while True:
        changed: Changed = {}
        drawn: list[Factor] = [*chosen, *ranges]
        for factor in drawn:
            factor.into(changed, solved.kept, np.array([0.5]))
        more = {name for each in on for name in solved.read_by(each, changed)} - read
        if not more:
            return ranges, unread, read
        read |= more | set(changed)
        ranges, unread = _ranges(solved, read)


def _ranges(solved: Solved, read: set[str]) -> tuple[list[Number], set[str]]:
    """Return the ranges of the scenario that figures rest on, and the labels of the others."""
    found: dict[str, Number] = {}
    cards, scenario = solved.figures.cards, solved.scenario
    unread = set()
    for field in type(scenario).model_fields:
        for code, card in enumerate(cards.names):
            stated = scenario.range_of(field, card)
            if not isinstance(stated, Range):
                continue
            label = f"{field} of {card}" if _by_card(scenario, field) else field
            rows = cards.codes == code
            names = [name for name in figures_of(field) if name in read]
            if not names or not all(_is(solved, name, rows, stated.mode) for name in names):
                unread.add(label)
                continue
            for name in names:
                number = Number(label, "range", stated, "scenario", None)
                found.setdefault(label, number).rests(name, rows)
    return list(found.values()), unread - set(found)


def _by_card(scenario: Scenario, field: str) -> bool:
    return isinstance(getattr(scenario, field), Mapping)


def _is(solved: Solved, figure: str, rows: NDArray[np.bool_], value: float) -> bool:
    return bool((solved.figures[figure][rows] == value).all())


def _facts(solved: Solved, read: set[str], ranged: set[str]) -> list[Number]:
    """Return the facts with bounds that figures are made of."""
    found: dict[Any, Number] = {}
    cards = solved.figures.cards
    for figure in sorted(read - {*DRAWN_FIGURES, *_RATED}):
        looked_up = solved.figures.looked_up(figure).known
        for code, (card, known) in enumerate(zip(cards.names, looked_up, strict=True)):
            if known.missing or (figure in ranged and _has_range(solved.scenario, figure, card)):
                continue
            for key, number in _of_facts(solved.scenario, card, figure, known):
                found.setdefault(key, number).rests(figure, cards.codes == code)
    return list(found.values())


def _has_range(scenario: Scenario, figure: str, card: str) -> bool:
    return any(
        figure in figures_of(field) and isinstance(scenario.range_of(field, card), Range)
        for field in variable_fields()
    )


def _of_facts(
    scenario: Scenario, card: str, figure: str, known: Known
) -> Iterator[tuple[Any, Number]]:
    if figure == "card_kgco2e" and (bounds := card_bounds(card, scenario)) is not None:
        label = f"embodied carbon of {card}"
        ends = (bounds[0], known.value, bounds[1])
        yield label, Number(label, "fact", ends, known.basis, _proportional)
        return
    for fact in known.facts:
        low, value, high = (float(fact[end]) for end in ("low", "value", "high"))
        if low < high and (value > 0 or known.value == 0):
            label, source = f"{fact['quantity']} of {fact['entity']}", str(fact["source"])
            ratio = None if value == 0 else _RATIOS.get(fact["quantity"], _proportional)
            number = Number(label, "fact", (low, value, high), source, ratio)
            yield (label, fact["date"], source), number


def _board_power(solved: Solved) -> list[Factor]:
    drawn, cards = solved.figures.drawn, solved.figures.cards
    factors: list[Factor] = []
    for code, card in enumerate(cards.names):
        known = (cards.codes == code) & (drawn.low_w < drawn.high_w)
        if known.any():
            source = str(np.broadcast_to(drawn.quality, known.shape)[known][0])
            factors.append(BoardPower(card, known, drawn.low_w, drawn.high_w, source))
    return factors


def _choice(runs: pd.DataFrame, solved: Solved, field: str, options: Any) -> Choice:
    if isinstance(options, str) or not isinstance(options, Sequence) or len(options) < 2:
        message = f"choices: {field}={options!r}: a list of two options or more belongs here"
        raise AssumptionError(message)
    each = [
        Solved(runs, solved.scenario.but(**{field: option}), "monte_carlo") for option in options
    ]
    if not all(other.computes_as(solved) for other in each):
        message = (
            f"choices: {field} decides how results are computed, not on a figure of theirs; "
            "compare draws of each option"
        )
        raise AssumptionError(message)
    figures = {}
    for name in solved.figures:
        values = np.stack([other.figures[name] for other in each])
        if not all(np.array_equal(values[0], row, equal_nan=True) for row in values):
            figures[name] = values
    if not figures:
        message = f"choices: {field} changes nothing that the results rest on"
        raise AssumptionError(message)
    return Choice(field, [str(option) for option in options], figures)
