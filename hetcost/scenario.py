"""Assumptions: frozen, validated, and told with every result."""

from __future__ import annotations

import datetime as dt
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, NoReturn, Self, get_args

import yaml
from pydantic import (
    BaseModel,
    ConfigDict,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from hetcost.errors import (
    AssumptionError,
    HetcostError,
    UnknownNameError,
    listing,
    nearest_first,
    unknown_name,
)
from hetcost.reference import (
    gpu_name,
    grids,
    last_day,
    price_classes,
    study_tdp_w,
    zone_code,
)
from hetcost.yaml12 import read_yaml

PowerModel = Literal["nameplate"]

_ALTERNATIVES = {"grid_zone": "gco2e_per_kwh", "grid_year": "gco2e_per_kwh"}
_LARGEST = 1e9  # of any price, power, PUE or intensity; beyond, it is a slip
_AS_OF = re.compile(r"[0-9]{4}(-[0-9]{2}(-[0-9]{2})?)?")


class _Fixed(dict[str, float]):
    """A mapping that cannot be changed, so that a scenario cannot either."""

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        message = "a scenario cannot be changed; .but() makes another"
        raise TypeError(message)

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple[Any, ...]:
        return _Fixed, (dict(self),)


class Scenario(BaseModel):
    """What is assumed about prices, power, site and grid.

    Parameters
    ----------
    price_class : Kind of provider that rents the cards out: ``alternative``, ``hyperscaler``,
        ``marketplace``.
    price_as_of : Date, month or year; the newest price not later than it is taken.
    usd_per_gpu_h : Own prices by card, instead of the table's. [USD per GPU and hour]
    grid_zone : Country (alpha-2, alpha-3 or name) or ``EU27``, whose electricity is used.
    grid_year : Calendar year of the grid's carbon intensity.
    gco2e_per_kwh : Own carbon intensity instead of zone and year. [gCO2e/kWh]
    power_model : Rung of the power ladder: ``nameplate`` (each board draws its TDP).
    tdp_w : Own board power by card, instead of the table's. [W]
    pue : Power usage effectiveness of the site, one for all or by card. [1]
    tables : Folder of own ``gpus.csv``, ``gpu_aliases.csv``, ``prices.csv``, ``grids.csv``, laid
        over the bundled ones.

    Raises
    ------
    AssumptionError, UnknownNameError
        An unknown field, zone, card or class, or a value out of range; the message names
        field, value and what would be valid.

    Examples
    --------
    >>> base = Scenario(grid_zone="France", grid_year=2023)
    >>> base.grid_zone
    'FR'
    >>> base.but(gco2e_per_kwh=50).grid_zone is None
    True
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    tables: str | None = None  # first: the names in other fields are looked up in it
    price_class: str = "alternative"
    price_as_of: str = "2025-05"
    usd_per_gpu_h: Mapping[str, float] = _Fixed()
    grid_zone: str | None = "EU27"
    grid_year: int | None = 2023
    gco2e_per_kwh: float | None = None
    power_model: PowerModel = "nameplate"
    tdp_w: Mapping[str, float] = _Fixed()
    pue: float | Mapping[str, float] = 1.0

    def __init__(self, /, **fields: Any) -> None:
        try:
            super().__init__(**fields)
        except ValidationError as error:
            raise _translated(error, type(self)) from None

    def but(self, /, **changes: Any) -> Self:
        """Return a scenario with some fields changed, validated anew.

        A zone or year replaces an own intensity and the other way round.
        """
        fields = {name: getattr(self, name) for name in self.model_fields_set}
        for name in (name for name, value in changes.items() if value is not None):
            for clashing in _clashing(name):
                if clashing not in changes:
                    fields.pop(clashing, None)
        return type(self)(**{**fields, **changes})

    @classmethod
    def paper(cls) -> Self:
        """Return the published study's assumptions exactly.

        May 2025 prices of alternative providers, nameplate power with 700 W for the H100 PCIe
        (the SXM part's figure), boards only, PUE 1, EU27 grid of 2023.
        """
        return cls(
            price_class="alternative",
            price_as_of="2025-05",
            grid_zone="EU27",
            grid_year=2023,
            tdp_w=study_tdp_w(),
            pue=1.0,
        )

    @classmethod
    def from_yaml(cls, path: str | os.PathLike[str]) -> Self:
        """Read a scenario from a YAML file of fields, as :meth:`to_yaml` writes it.

        Raises
        ------
        AssumptionError, UnknownNameError
            The file is no mapping of fields, or a field is not valid.
        """
        try:
            fields = read_yaml(Path(path).read_text("utf-8"))
        except (OSError, ValueError) as error:
            message = f"scenario {os.fspath(path)}: {error}"
            raise AssumptionError(message) from None
        if not isinstance(fields, dict):
            message = f"scenario {os.fspath(path)}: fields and their values belong here"
            raise AssumptionError(message)
        return cls(**{str(name): value for name, value in fields.items()})

    def to_yaml(self, path: str | os.PathLike[str]) -> None:
        """Write every field to a YAML file that :meth:`from_yaml` reads back."""
        text = yaml.safe_dump(self.model_dump(), sort_keys=False, allow_unicode=True)
        Path(path).write_text(text, "utf-8")

    @field_validator("tables", mode="before")
    @classmethod
    def _folder(cls, value: Any) -> str | None:
        if value is None or value == "":  # a notebook's parameter cannot be None
            return None
        if not isinstance(value, (str, os.PathLike)) or not Path(value).is_dir():
            message = f"tables={value!r}: no such folder"
            raise AssumptionError(message)
        return str(Path(value).resolve())

    @field_validator("price_class")
    @classmethod
    def _known_price_class(cls, value: str) -> str:
        if value not in price_classes():
            raise unknown_name("price_class", value, price_classes())
        return value

    @field_validator("price_as_of")
    @classmethod
    def _date(cls, value: str) -> str:
        if not _is_date(value):
            message = f"price_as_of={value!r}: a date is YYYY, YYYY-MM or YYYY-MM-DD"
            raise AssumptionError(message)
        return value

    @field_validator("usd_per_gpu_h")
    @classmethod
    def _prices_by_gpu(cls, value: Mapping[str, float], info: ValidationInfo) -> _Fixed:
        return _by_gpu(info, value, lambda usd: usd >= 0, "0 or more USD per hour")

    @field_validator("tdp_w")
    @classmethod
    def _power_by_gpu(cls, value: Mapping[str, float], info: ValidationInfo) -> _Fixed:
        return _by_gpu(info, value, lambda watts: watts > 0, "watts above 0")

    @field_validator("pue")
    @classmethod
    def _pue_of_site(
        cls, value: float | Mapping[str, float], info: ValidationInfo
    ) -> float | _Fixed:
        valid = "1 or more (site energy per IT energy)"
        if isinstance(value, Mapping):
            return _by_gpu(info, value, lambda pue: pue >= 1, valid)
        return _number("pue", value, lambda pue: pue >= 1, valid)

    @field_validator("gco2e_per_kwh")
    @classmethod
    def _intensity(cls, value: float | None) -> float | None:
        if value is None:
            return None
        return _number("gco2e_per_kwh", value, lambda grams: grams >= 0, "0 or more gCO2e/kWh")

    @model_validator(mode="before")
    @classmethod
    def _one_source_of_intensity(cls, fields: dict[str, Any]) -> dict[str, Any]:
        if fields.get("gco2e_per_kwh") is None:
            if fields.get("grid_zone", "") is None:
                message = "grid_zone=None: give a zone, or gco2e_per_kwh instead"
                raise AssumptionError(message)
            return {k: v for k, v in fields.items() if v is not None or k != "grid_year"}
        given = [name for name in _ALTERNATIVES if fields.get(name) is not None]
        if given:
            message = (
                f"gco2e_per_kwh={fields['gco2e_per_kwh']!r} and "
                f"{given[0]}={fields[given[0]]!r} exclude each other: give one"
            )
            raise AssumptionError(message)
        return {**fields, **dict.fromkeys(_ALTERNATIVES)}

    @model_validator(mode="after")
    def _known_intensity(self) -> Self:
        if self.grid_zone is None:
            return self
        zone = zone_code(self.grid_zone, tables=self.tables)
        years = grids(self.tables).query("zone == @zone")["year"].sort_values()
        if self.grid_year not in set(years):
            message = (
                f"grid_year={self.grid_year}: no carbon intensity of {zone} for that year; "
                f"valid choices are {listing(years)}"
            )
            raise AssumptionError(message)
        if zone != self.grid_zone:
            object.__setattr__(self, "grid_zone", zone)
        return self


def _is_date(text: str) -> bool:
    try:
        dt.date.fromisoformat(last_day(text))
    except ValueError:
        return False
    return _AS_OF.fullmatch(text) is not None


def _clashing(name: str) -> list[str]:
    if name in _ALTERNATIVES:
        return [_ALTERNATIVES[name]]
    return [field for field, other in _ALTERNATIVES.items() if other == name]


def _number(field: str, value: float, fits: Callable[[float], bool], valid: str) -> float:
    if not fits(value) or value > _LARGEST:
        message = f"{field}={value:g}: valid values are {valid}"
        raise AssumptionError(message)
    return value


def _by_gpu(
    info: ValidationInfo, values: Mapping[str, float], fits: Callable[[float], bool], valid: str
) -> _Fixed:
    field, out = str(info.field_name), {}
    for written, value in values.items():
        gpu = gpu_name(written, field, tables=info.data.get("tables"))
        if gpu in out:
            message = f"{field}: '{gpu}' is given twice"
            raise AssumptionError(message)
        out[gpu] = _number(f"{field}[{gpu!r}]", value, fits, valid)
    return _Fixed(out)


def _translated(error: ValidationError, model: type[BaseModel]) -> HetcostError:
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
        return unknown_name(field, value, get_args(PowerModel))
    if len(first["loc"]) > 1 and isinstance(value, str):
        field = f"{field}[{first['loc'][-1]!r}]" if field != "pue" else field
    return AssumptionError(f"{field}={value!r}: {first['msg'].lower()}")
