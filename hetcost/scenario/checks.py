"""What a field of a scenario may hold: numbers for all cards or by card, dates, presets."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn, get_args

from pydantic import BaseModel, ValidationError

from hetcost.errors import (
    AssumptionError,
    HetcostError,
    UnknownNameError,
    listing,
    nearest_first,
    unknown_name,
)
from hetcost.reference import gpu_name, last_day
from hetcost.scenario.ranges import Range
from hetcost.units import HOURS_PER_DAY

ACQUISITIONS = ("rent", "spot", "own", "idle")
SHARES = {"new": 1.0, "sunk": 0.0}
SHARED = "shared"

_LARGEST = 1e9  # of any price, power, PUE or intensity; beyond, it is a slip
_AS_OF = re.compile(r"[0-9]{4}(-[0-9]{2}(-[0-9]{2})?)?")


class Valid(NamedTuple):
    """What a number must fulfil, in code and in words."""

    fits: Callable[[float], bool]
    words: str


NOT_NEGATIVE = Valid(lambda x: x >= 0, "0 or more")
POSITIVE = Valid(lambda x: x > 0, "above 0")
FRACTION = Valid(lambda x: 0 <= x <= 1, "0 to 1")
POSITIVE_FRACTION = Valid(lambda x: 0 < x <= 1, "above 0, at most 1")
BELOW_ONE = Valid(lambda x: 0 <= x < 1, "0 or more, below 1")
NUMBERS: dict[str, Valid] = {
    "usd_per_gpu_h": Valid(NOT_NEGATIVE.fits, "0 or more USD per hour"),
    "tdp_w": Valid(POSITIVE.fits, "watts above 0"),
    "pue": Valid(lambda x: x >= 1, "1 or more (site energy per IT energy)"),
    "host_w_load_per_gpu": NOT_NEGATIVE,
    "host_w_idle_per_gpu": NOT_NEGATIVE,
    "psu_efficiency_frac": POSITIVE_FRACTION,
    "load_frac": POSITIVE_FRACTION,
    "gco2e_per_kwh": Valid(NOT_NEGATIVE.fits, "0 or more gCO2e/kWh"),
    "marginal_gco2e_per_kwh": Valid(NOT_NEGATIVE.fits, "0 or more gCO2e/kWh"),
    "market_gco2e_per_kwh": Valid(NOT_NEGATIVE.fits, "0 or more gCO2e/kWh"),
    "td_loss_frac": BELOW_ONE,
    "embodied_kgco2e": Valid(POSITIVE.fits, "kgCO2e above 0"),
    "host_kgco2e_per_gpu": NOT_NEGATIVE,
    "life_yr": Valid(POSITIVE.fits, "years above 0"),
    "assigned_frac": POSITIVE_FRACTION,
    "induced_frac": FRACTION,
    "idle_w": Valid(POSITIVE.fits, "watts above 0"),
    "interrupts_per_h": NOT_NEGATIVE,
    "restart_h": NOT_NEGATIVE,
    "lost_h": NOT_NEGATIVE,
    "capex_usd": Valid(NOT_NEGATIVE.fits, "0 or more USD"),
    "host_capex_usd_per_gpu": Valid(NOT_NEGATIVE.fits, "0 or more USD"),
    "install_frac": NOT_NEGATIVE,
    "residual_frac": FRACTION,
    "value_decay_frac": FRACTION,
    "discount_frac": Valid(NOT_NEGATIVE.fits, "0 or more a year"),
    "inflation_frac": Valid(NOT_NEGATIVE.fits, "0 or more a year"),
    "upkeep_frac": NOT_NEGATIVE,
    "failure_frac": NOT_NEGATIVE,
    "spares_frac": NOT_NEGATIVE,
    "colo_usd_per_kw_month": NOT_NEGATIVE,
    "usd_per_kwh": Valid(NOT_NEGATIVE.fits, "0 or more USD/kWh"),
    "avail_frac": POSITIVE_FRACTION,
    "platform_fee_frac": BELOW_ONE,
    "wear_frac": FRACTION,
    "hours_per_day": Valid(lambda x: 0 < x <= HOURS_PER_DAY, "above 0, at most 24"),
    "churn_frac": NOT_NEGATIVE,
}


class Fixed(dict[str, Any]):
    """A mapping that cannot be changed, so that a scenario cannot either."""

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        message = "a scenario cannot be changed; .but() makes another"
        raise TypeError(message)

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __hash__(self) -> int:  # type: ignore[override]  # noqa: D105
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple[Any, ...]:  # noqa: D105
        return Fixed, (dict(self),)


def named(field: str, value: Any, *, by_card_only: bool) -> Any:
    """Return a mapping with text as keys and numbers; another value is refused where told."""
    if isinstance(value, Mapping):
        return {str(card): _as_number(f"{field}[{str(card)!r}]", x) for card, x in value.items()}
    if (found := _as_range(value)) is not None:
        return found
    if value == "":  # a notebook's parameter cannot be None
        return None
    if by_card_only:
        message = f"{field}={value!r}: a mapping by card belongs here, such as {{'RTX 4090': 1}}"
        raise AssumptionError(message)
    return value


def _as_number(field: str, value: Any) -> Any:
    if (found := _as_range(value)) is not None:
        return found
    try:
        return float(value)
    except (TypeError, ValueError):
        message = f"{field}={value!r}: a number belongs here"
        raise AssumptionError(message) from None


def _as_range(value: Any) -> Range | None:
    """Return a range, also from the list that YAML has of it."""
    if isinstance(value, Range):
        return value
    return Range(*value) if isinstance(value, (list, tuple)) and len(value) == 3 else None


def plain(value: Any) -> Any:
    """Return a field as YAML writes it: mappings and ranges as such, a range as a list."""
    if isinstance(value, Mapping):
        return {card: plain(entry) for card, entry in value.items()}
    return list(value) if isinstance(value, Range) else value


def number_or_by_card(field: str, value: Any, tables: str | None) -> Any:
    """Check a number, or numbers by card; the cards' names become canonical."""
    if value is None:
        return None
    valid = NUMBERS[field]
    if isinstance(value, Mapping):
        return by_card(field, value, tables, lambda name, x: number(name, x, valid))
    return number(field, value, valid)


def number(field: str, value: Any, valid: Valid) -> Any:
    """Refuse a number that makes no sense, and a range whose ends do not."""
    if isinstance(value, Range):
        for end in value:
            number(field, end, valid)
        return value
    if not valid.fits(value) or value > _LARGEST:
        message = f"{field}={value:g}: valid values are {valid.words}"
        raise AssumptionError(message)
    return value


def by_card(
    field: str, values: Mapping[str, Any], tables: str | None, check: Callable[[str, Any], Any]
) -> Fixed:
    """Check values by card; their names become canonical."""
    out: dict[str, Any] = {}
    for written, value in values.items():
        gpu = gpu_name(written, field, tables=tables)
        if gpu in out:
            message = f"{field}: '{gpu}' is given twice"
            raise AssumptionError(message)
        out[gpu] = check(f"{field}[{gpu!r}]", value)
    return Fixed(out)


def one_of_or_by_card(field: str, value: Any, choices: Sequence[str], tables: str | None) -> Any:
    """Check a name, or names by card, against the valid ones."""

    def check(where: str, name: Any) -> str:
        if name not in choices:
            raise unknown_name(where, name, choices)
        return str(name)

    if isinstance(value, Mapping):
        return by_card(field, value, tables, check)
    return check(field, value)


def _mode(value: Any) -> float:
    return float(value.mode if isinstance(value, Range) else value)


def check_finance(scenario: Any) -> None:
    """Refuse two kinds of residual value, and a nominal rate without its inflation."""
    if scenario.residual_frac is not None and scenario.value_decay_frac is not None:
        message = "residual_frac and value_decay_frac exclude each other: give one"
        raise AssumptionError(message)
    nominal = scenario.discount_basis == "nominal"
    if nominal and (scenario.discount_frac is None or scenario.inflation_frac is None):
        message = "discount_basis='nominal': give discount_frac and inflation_frac as well"
        raise AssumptionError(message)
    rates = scenario.discount_frac
    rates = rates.values() if isinstance(rates, Mapping) else [rates]
    if nominal and any(_mode(rate) < _mode(scenario.inflation_frac) for rate in rates):
        message = "discount_frac: a nominal rate below inflation_frac makes a real one below 0"
        raise AssumptionError(message)
    if not nominal and scenario.inflation_frac is not None:
        message = "inflation_frac belongs to discount_basis='nominal'"
        raise AssumptionError(message)


def share(field: str, value: Any) -> Any:
    """Check a share of embodied carbon: a preset or a fraction."""
    if isinstance(value, str) and value in (*SHARES, SHARED):
        return SHARES.get(value, SHARED)
    if (found := _as_range(value)) is not None:
        return number(field, found, FRACTION)
    try:
        return number(field, float(value), FRACTION)
    except (TypeError, ValueError) as error:
        if isinstance(error, AssumptionError):
            raise
        presets = listing([*SHARES, SHARED])
        message = f"{field}={value!r}: valid values are {presets} or 0 to 1"
        raise AssumptionError(message) from None


def is_date(text: str) -> bool:
    """Say whether a text is a year, a month or a day."""
    try:
        dt.date.fromisoformat(last_day(text))
    except ValueError:
        return False
    return _AS_OF.fullmatch(text) is not None


def translated(error: ValidationError, model: type[BaseModel]) -> HetcostError:
    """Turn what pydantic found into an error of ours: field, value, what would be valid."""
    first = error.errors()[0]
    cause = first.get("ctx", {}).get("error")
    if isinstance(cause, HetcostError):
        return cause
    field, value = str(first["loc"][0]), first["input"]
    if first["type"] == "extra_forbidden":
        nearest = listing(nearest_first(field, model.model_fields))
        message = f"Scenario has no field '{field}'; its fields, nearest first: {nearest}"
        return UnknownNameError(message)
    if first["type"] == "literal_error":
        choices = get_args(model.model_fields[field].annotation)
        return unknown_name(field, value, choices)
    inner = [str(step) for step in first["loc"][1:]]
    if inner and inner[-1] != "float" and "[" not in inner[-1]:
        field = f"{field}[{inner[-1]!r}]"
    return AssumptionError(f"{field}={value!r}: {first['msg'].lower()}")
