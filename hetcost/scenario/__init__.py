"""Assumptions: frozen, validated, and told with every result."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Self, TypeAlias

import yaml
from pydantic import (
    BaseModel,
    ConfigDict,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from hetcost.errors import AssumptionError, listing, unknown_name
from hetcost.reference import grid_years, price_classes, site_kinds, study_tdp_w, zone_code
from hetcost.scenario import checks
from hetcost.scenario.checks import Fixed
from hetcost.scenario.perspective import check_perspective
from hetcost.scenario.ranges import Range, likeliest
from hetcost.yaml12 import read_yaml

__all__ = ["BY_TIER", "Range", "Scenario"]

BY_TIER = "by_tier"

Number: TypeAlias = float | Range
ByCard: TypeAlias = Mapping[str, Number]
OneOrByCard: TypeAlias = Number | Mapping[str, Number]

_ALTERNATIVES = {"grid_zone": "gco2e_per_kwh", "td_loss_frac": "gco2e_per_kwh"}


class Scenario(BaseModel):
    """What is assumed about prices, power, site, grid and embodied carbon.

    Numbers marked *by card* are one for all cards or a mapping from card to number; a card that
    a mapping leaves out takes the table's figure, or the default. A number may be a
    :class:`Range`: single results take its mode, :func:`hetcost.monte_carlo` draws from it.

    Parameters
    ----------
    tables : Folder of own tables of facts (``gpus.csv``, ``prices.csv`` …), laid over ours.
    price_class : Kind of provider that rents the cards out: ``alternative``, ``hyperscaler``,
        ``marketplace``.
    price_as_of : Date, month or year; the newest price not later than it is taken.
    usd_per_gpu_h : Own prices by card, instead of the table's. [USD per GPU and hour]
    acquisition : How hardware is had, by card: ``rent`` (by the hour), ``spot`` (rented, and taken
        away now and then), ``own`` (bought for the service), ``idle`` (a machine that is there and
        idle otherwise: electricity above idle, and wear).
    interrupts_per_h, restart_h, lost_h : Own figures on interruptions of spot, by card. [1/h], [h]
    capex_usd : Own purchase prices by card. [USD]
    host_capex_usd_per_gpu : Own price of the host per card, by card. [USD]
    install_frac : Own cost of installation as a share of the price, by card. [1]
    residual_frac, value_decay_frac : Own residual value at the end of the life, as a share of the
        price, or the share of its value that hardware loses a year; by card, one of them. [1]
    discount_frac, discount_basis, inflation_frac : Own discount rate a year, by card; ``real``, or
        ``nominal`` with the inflation that makes it real. [1]
    upkeep_frac, failure_frac : Own upkeep, and cards that fail and are bought anew, a year and as
        a share of the price, by card. [1]
    spares_frac : Own share of spare hardware, by card. [1]
    colo_usd_per_kw_month : Own price of space per kilowatt of IT power, by card. [USD/kW/month]
    usd_per_kwh : Own price of electricity, by card. [USD/kWh]
    avail_frac : Own share of the year that owned hardware works, by card. [1]
    platform_fee_frac : Share of the user's price that a platform keeps of what is owned. [1]
    wear_frac : Own share of the price that a year of use wears off an idle machine, by card. [1]
    hours_per_day, churn_frac : Own hours a day that an idle machine is offered, and extra machines
        for those that leave, by card. [h], [1]
    perspective : ``attributional`` (average grid, a share of what exists, idle hours charged) or
        ``consequential`` (what serving changes: marginal grid, watts above the alternative,
        purchases it causes). They are not mixed.
    grid_zone : Country (alpha-2, alpha-3 or name) or ``EU27``, whose electricity is used.
    grid_year : Calendar year of the grid's carbon intensity, and of the site's PUE.
    grid_method : ``lifecycle`` or ``direct`` emissions of power plants; of an own intensity too.
    gco2e_per_kwh : Own average intensity at the socket, instead of a zone's. [gCO2e/kWh]
    marginal_gco2e_per_kwh : Own marginal intensity at the socket, for the consequential
        perspective; without it the average stands in, and the result says so. [gCO2e/kWh]
    market_gco2e_per_kwh : Intensity of contracted electricity; adds a market-based column beside
        the location-based one. [gCO2e/kWh]
    td_loss_frac : Own share lost between power plant and socket, instead of the table's. [1]
    power_model : Rung of the power ladder: ``measured`` (the run's own log), ``load`` (watts by
        concurrency), ``nameplate`` (each board draws its TDP), ``all_in`` (provisioned power).
    tdp_w, idle_w : Own power limit and idle power by card, instead of the table's. An own idle
        power stands for the card with weights loaded and bare. [W]
    site : Kind of site: ``datacentre``, ``hyperscale``, ``home``; ``by_tier`` puts consumer cards
        at home and all others in a datacentre. One for all, or by card.
    host_w_load_per_gpu, host_w_idle_per_gpu : Own power of the host per card, by card. [W]
    psu_efficiency_frac : Own efficiency of the power supply, by card. [1]
    pue : Own power usage effectiveness of the site, by card. [1]
    idle_baseline : What would be without the service: the machine ``off`` (all watts count, idle
        hours too), ``idle`` (only watts above idle), or ``in_use`` by its owner (only the extra
        watts of the card). The same rule for every card.
    load_frac : Share of the assigned hours that the hardware is loaded as in the run, by card;
        the rest it idles. A rent is by the hour used, whatever the share. [1]
    embodied_method : Where embodied carbon comes from: ``inventory``, ``manufacturer``, ``act``,
        ``boavizta``; ``none`` leaves it out, and the sum missing.
    embodied_boundary : ``gate`` (cradle to gate), ``end_of_life`` (and transport and end of life),
        ``host`` (and a share of the host).
    act_yield : Yield in the ACT model: ``constant``, ``murphy`` or ``poisson``.
    embodied_kgco2e : Own figures by card, at the boundary without host. [kgCO2e per card]
    host_kgco2e_per_gpu : Own embodied carbon of the host per card, by card. [kgCO2e]
    life_yr : Own calendar life, by card. [yr]
    assigned_frac : Share of its life that the hardware is assigned to the service, by card. [1]
    embodied_share_frac : Share of the embodied carbon that is charged, by card: ``new`` (1),
        ``shared`` (its time share, `assigned_frac`), ``sunk`` (0; consequential only), or a
        fraction. [1]
    induced_frac : Share of a sunk card's embodied carbon that the service causes again, by
        replacement and wear, by card; consequential only, and needed for a sunk card. [1]

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

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    tables: str | None = None  # first: the names in other fields are looked up in it
    price_class: str = "alternative"
    price_as_of: str = "2025-05"
    usd_per_gpu_h: ByCard = Fixed()
    acquisition: str | Mapping[str, str] = "rent"
    interrupts_per_h: OneOrByCard | None = None
    restart_h: OneOrByCard | None = None
    lost_h: OneOrByCard | None = None
    capex_usd: ByCard = Fixed()
    host_capex_usd_per_gpu: OneOrByCard | None = None
    install_frac: OneOrByCard | None = None
    residual_frac: OneOrByCard | None = None
    value_decay_frac: OneOrByCard | None = None
    discount_frac: OneOrByCard | None = None
    discount_basis: Literal["real", "nominal"] = "real"
    inflation_frac: Number | None = None
    upkeep_frac: OneOrByCard | None = None
    failure_frac: OneOrByCard | None = None
    spares_frac: OneOrByCard | None = None
    colo_usd_per_kw_month: OneOrByCard | None = None
    usd_per_kwh: OneOrByCard | None = None
    avail_frac: OneOrByCard | None = None
    platform_fee_frac: OneOrByCard | None = None
    wear_frac: OneOrByCard | None = None
    hours_per_day: OneOrByCard | None = None
    churn_frac: OneOrByCard | None = None
    perspective: Literal["attributional", "consequential"] = "attributional"
    grid_zone: str | None = "EU27"
    grid_year: int = 2023
    grid_method: Literal["lifecycle", "direct"] = "lifecycle"
    gco2e_per_kwh: Number | None = None
    marginal_gco2e_per_kwh: Number | None = None
    market_gco2e_per_kwh: float | None = None
    td_loss_frac: float | None = None
    power_model: Literal["measured", "load", "nameplate", "all_in"] = "load"
    tdp_w: ByCard = Fixed()
    idle_w: ByCard = Fixed()
    site: str | Mapping[str, str] = BY_TIER
    host_w_load_per_gpu: OneOrByCard | None = None
    host_w_idle_per_gpu: OneOrByCard | None = None
    psu_efficiency_frac: OneOrByCard | None = None
    pue: OneOrByCard | None = None
    idle_baseline: Literal["off", "idle", "in_use"] = "off"
    load_frac: OneOrByCard = 1.0
    embodied_method: Literal["inventory", "manufacturer", "act", "boavizta", "none"] = "inventory"
    embodied_boundary: Literal["gate", "end_of_life", "host"] = "host"
    act_yield: Literal["constant", "murphy", "poisson"] = "constant"
    embodied_kgco2e: ByCard = Fixed()
    host_kgco2e_per_gpu: OneOrByCard | None = None
    life_yr: OneOrByCard | None = None
    assigned_frac: OneOrByCard = 1.0
    embodied_share_frac: Number | str | Mapping[str, Number | str] = 1.0
    induced_frac: OneOrByCard | None = None

    def __init__(self, /, **fields: Any) -> None:
        try:
            super().__init__(**fields)
        except ValidationError as error:
            raise checks.translated(error, type(self)) from None

    def of(self, field: str, gpu: str) -> Any:
        """Return what a field says of a card, of a range the mode; None where it says nothing."""
        return likeliest(self.range_of(field, gpu))

    def range_of(self, field: str, gpu: str) -> Any:
        """Return what a field says of a card, a range as such; None where it says nothing."""
        value = getattr(self, field)
        return value.get(gpu) if isinstance(value, Mapping) else value

    def __repr_args__(self) -> Any:
        """Show what differs from the default scenario."""
        for name, field in type(self).model_fields.items():
            if (value := getattr(self, name)) != field.default:
                yield name, value

    def __str__(self) -> str:
        """Return the call that makes it."""
        return repr(self)

    def but(self, /, **changes: Any) -> Self:
        """Return a scenario with some fields changed, validated anew.

        A zone replaces an own intensity and the other way round; so does a loss on the way.
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
        (the SXM part's figure), boards only, PUE 1, EU27 grid of 2023 as generated, no embodied
        carbon.
        """
        return cls(
            price_class="alternative",
            price_as_of="2025-05",
            grid_zone="EU27",
            grid_year=2023,
            td_loss_frac=0,
            power_model="nameplate",
            tdp_w=study_tdp_w(),
            host_w_load_per_gpu=0,
            host_w_idle_per_gpu=0,
            psu_efficiency_frac=1,
            pue=1.0,
            embodied_method="none",
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
        fields = {name: checks.plain(getattr(self, name)) for name in type(self).model_fields}
        text = yaml.safe_dump(fields, sort_keys=False, allow_unicode=True)
        Path(path).write_text(text, "utf-8")

    @staticmethod
    def check_number(field: str, value: float) -> None:
        """Refuse a number that a field cannot hold.

        Raises
        ------
        AssumptionError
            It cannot; the message says what is valid.
        """
        valid = checks.FRACTION if field == "embodied_share_frac" else checks.NUMBERS[field]
        checks.number(field, value, valid)

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
        if not checks.is_date(value):
            message = f"price_as_of={value!r}: a date is YYYY, YYYY-MM or YYYY-MM-DD"
            raise AssumptionError(message)
        return value

    @field_validator("site", "acquisition")
    @classmethod
    def _known_kind(cls, value: str | Mapping[str, str], info: ValidationInfo) -> Any:
        tables = info.data.get("tables")
        sites = info.field_name == "site"
        kinds = [BY_TIER, *site_kinds(tables)] if sites else checks.ACQUISITIONS
        return checks.one_of_or_by_card(str(info.field_name), value, kinds, tables)

    @field_validator(*checks.NUMBERS, mode="before")
    @classmethod
    def _named(cls, value: Any, info: ValidationInfo) -> Any:
        return checks.named(str(info.field_name), value, by_card_only=_by_card_only(info))

    @field_validator(*checks.NUMBERS)
    @classmethod
    def _valid_numbers(cls, value: Any, info: ValidationInfo) -> Any:
        return checks.number_or_by_card(str(info.field_name), value, info.data.get("tables"))

    @field_validator("embodied_share_frac", mode="plain")
    @classmethod
    def _share(cls, value: Any, info: ValidationInfo) -> Any:
        if isinstance(value, Mapping):
            tables = info.data.get("tables")
            return checks.by_card("embodied_share_frac", value, tables, checks.share)
        return checks.share("embodied_share_frac", value)

    @model_validator(mode="before")
    @classmethod
    def _one_source_of_intensity(cls, fields: dict[str, Any]) -> dict[str, Any]:
        own = [n for n in ("gco2e_per_kwh", "marginal_gco2e_per_kwh") if fields.get(n) is not None]
        if own and fields.get("td_loss_frac"):
            message = (
                f"{own[0]}={fields[own[0]]!r} and td_loss_frac={fields['td_loss_frac']!r} exclude "
                "each other: an own intensity is at the socket, losses are in it"
            )
            raise AssumptionError(message)
        if fields.get("gco2e_per_kwh") is None:
            if fields.get("grid_zone", "") is None:
                message = "grid_zone=None: give a zone, or gco2e_per_kwh instead"
                raise AssumptionError(message)
            return fields
        if fields.get("grid_zone") is not None:
            message = (
                f"gco2e_per_kwh={fields['gco2e_per_kwh']!r} and "
                f"grid_zone={fields['grid_zone']!r} exclude each other: give one"
            )
            raise AssumptionError(message)
        return {**fields, "grid_zone": None}

    @model_validator(mode="after")
    def _known_intensity(self) -> Self:
        if self.grid_zone is None:
            return self
        zone = zone_code(self.grid_zone, tables=self.tables)
        years = grid_years(zone, tables=self.tables, method=self.grid_method)
        if self.grid_year not in years:
            choices = listing(years) or f"none: the table has no {self.grid_method} figure of it"
            message = (
                f"grid_year={self.grid_year}: no {self.grid_method} carbon intensity of {zone} "
                f"for that year; valid choices are {choices}"
            )
            raise AssumptionError(message)
        if zone != self.grid_zone:
            object.__setattr__(self, "grid_zone", zone)
        return self

    @model_validator(mode="after")
    def _one_perspective(self) -> Self:
        check_perspective(self)
        return self

    @model_validator(mode="after")
    def _one_finance(self) -> Self:
        checks.check_finance(self)
        return self


def _by_card_only(info: ValidationInfo) -> bool:
    return Scenario.model_fields[str(info.field_name)].annotation == ByCard


def _clashing(name: str) -> list[str]:
    if name in _ALTERNATIVES:
        return [_ALTERNATIVES[name]]
    return [field for field, other in _ALTERNATIVES.items() if other == name]
