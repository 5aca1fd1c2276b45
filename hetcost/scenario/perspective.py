"""What each perspective on carbon allows: attributional and consequential are not mixed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from hetcost.errors import AssumptionError, listing
from hetcost.scenario.checks import SHARES

if TYPE_CHECKING:
    from hetcost.scenario import Scenario

_NEW, _SUNK = SHARES["new"], SHARES["sunk"]


def check_perspective(scenario: Scenario) -> None:
    """Refuse assumptions that belong to the other perspective.

    Raises
    ------
    AssumptionError
        The message names the field, its value, and what the perspective takes instead.
    """
    if scenario.perspective == "attributional":
        _attributional(scenario)
    else:
        _consequential(scenario)


def _attributional(scenario: Scenario) -> None:
    if scenario.marginal_gco2e_per_kwh is not None:
        _refuse(scenario, "marginal_gco2e_per_kwh", "the average grid is charged")
    if scenario.idle_baseline != "off":
        _refuse(scenario, "idle_baseline", "the whole machine is charged: 'off'")
    if scenario.induced_frac is not None:
        _refuse(scenario, "induced_frac", "embodied_share_frac says what is charged")
    for share in _values(scenario.embodied_share_frac):
        if share == _SUNK:
            told = "a card that serves bears a share: 'new', 'shared' or above 0"
            _refuse(scenario, "embodied_share_frac", told)


def _consequential(scenario: Scenario) -> None:
    if scenario.market_gco2e_per_kwh is not None:
        _refuse(scenario, "market_gco2e_per_kwh", "contracts do not say what changes")
    for share in _values(scenario.embodied_share_frac):
        if share not in (_NEW, _SUNK):
            _refuse(scenario, "embodied_share_frac", "a purchase is caused ('new') or not ('sunk')")
    if _NEW in _values(scenario.embodied_share_frac) and scenario.idle_baseline != "off":
        told = "a machine that is bought for the service would not stand idle: 'off', or 'sunk'"
        _refuse(scenario, "idle_baseline", told)
    _induced(scenario)


def _induced(scenario: Scenario) -> None:
    """Every sunk card needs its induced share, and no other card has one."""
    shares, induced = scenario.embodied_share_frac, scenario.induced_frac
    if _SUNK not in _values(shares):
        if induced is not None:
            _refuse(scenario, "induced_frac", "it belongs to a 'sunk' card")
        return
    if induced is None:
        message = (
            "induced_frac: a sunk card is not free; state the share of its embodied carbon that "
            "replacement and wear cause again, 0 to 1"
        )
        raise AssumptionError(message)
    if not isinstance(induced, Mapping):
        return
    if not isinstance(shares, Mapping):
        message = "induced_frac: every card is 'sunk', so give one number for all"
        raise AssumptionError(message)
    sunk = {gpu for gpu, share in shares.items() if share == _SUNK}
    if sunk != set(induced):
        odd = min(sunk ^ set(induced))
        message = f"induced_frac: the sunk cards are {listing(sorted(sunk))}; see '{odd}'"
        raise AssumptionError(message)


def _values(field: Any) -> list[float | str]:
    return list(field.values()) if isinstance(field, Mapping) else [field]


def _refuse(scenario: Scenario, field: str, instead: str) -> NoReturn:
    value = getattr(scenario, field)
    message = (
        f"{field}={value!r} does not belong to perspective='{scenario.perspective}', "
        f"where {instead}"
    )
    raise AssumptionError(message)
