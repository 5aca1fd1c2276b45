"""Stamps of logs → seconds since 1970, UTC: zones, daylight-saving time, clocks of other zeros."""

from __future__ import annotations

import datetime as dt
import math
import re
import zoneinfo

from hetcost.errors import AssumptionError, ReadError, unknown_name
from hetcost.readers.fields import LAST_S, shown
from hetcost.units import MS_PER_S, NS_PER_S

_US_PER_S = 1e6
_EPOCH = dt.datetime(1970, 1, 1)  # the zone is weighed apart
# A clock that shows less counts from another zero: boot, or the start of the log.
_FIRST_S = 1e8
# A count since 1970 in a unit that is not named: the unit follows from its size.
_PER_S = {"s": 1.0, "ms": MS_PER_S, "us": _US_PER_S, "ns": NS_PER_S}
_MOST_S = 1e11
_DAY = r"(?P<year>\d{4})(?P<dash>[-/.]?)(?P<month>\d{2})(?P=dash)(?P<day>\d{2})"
_US_DAY = r"(?P<month>\d{2})-(?P<day>\d{2})-(?P<year>\d{4})"
_TIME = (
    r"[ T]+(?P<hour>\d{2}):(?P<minute>\d{2}):(?P<second>\d{2})(?:[.,](?P<fraction>\d{1,9}))?"
    r"\s*(?P<offset>Z|UTC|[+-]\d{2}:?\d{2})?"
)
_YEAR_FIRST = re.compile(_DAY + _TIME)
_MONTH_FIRST = re.compile(_US_DAY + _TIME)
_LONG = re.compile(
    r"[A-Z][a-z]{2} (?P<name>[A-Z][a-z]{2}) +(?P<day>\d{1,2}) (?P<hour>\d{2}):(?P<minute>\d{2})"
    r":(?P<second>\d{2}) (?P<year>\d{4})(?: (?P<offset>[+-]\d{4}))?"
)
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_COUNT = re.compile(r"[0-9]+(\.[0-9]*)?([eE]\+?[0-9]+)?")
_OFFSET = re.compile(r"([+-])(\d{2}):?(\d{2})")
_NO_DATE = re.compile(r"\d{1,2}:\d{2}(:\d{2})?(\.\d+)?")

Zone = str | dt.tzinfo | None


class Clock:
    """What is known of the clocks of logs.

    Parameters
    ----------
    zone : Zone of stamps that name none: ``Europe/Berlin``, ``UTC``, ``+02:00``, or a tzinfo.
    zero_s : When a clock that does not count from 1970 showed 0, or, of logs without stamps,
        their first sample was taken. [s since 1970]
    every_s : Interval of logs without stamps. [s]

    Raises
    ------
    UnknownNameError
        There is no such zone; the message lists the nearest.
    AssumptionError
        A value is out of range.
    """

    def __init__(
        self, zone: Zone = None, zero_s: float | None = None, every_s: float | None = None
    ) -> None:
        self.zone = _zone(zone)
        self._zero_s = _number("zero_s", zero_s, least=-LAST_S)
        self._every_s = _number("every_s", every_s, least=math.nextafter(0, 1))
        self._known: dict[str, float] = {}
        self.unused = {
            name for name, value in (("zero_s", zero_s), ("every_s", every_s)) if value is not None
        }

    def stamp(self, written: str, *, month_first: bool = False) -> float:
        """Return a stamp as seconds since 1970, UTC.

        Raises
        ------
        ReadError
            It is no time; or a local one of which the zone is not known, or which that zone has
            twice or never.
        """
        if written not in self._known:
            self._known[written] = self._parsed(written, month_first=month_first)
        return self._known[written]

    def _parsed(self, written: str, *, month_first: bool) -> float:
        if _COUNT.fullmatch(written):
            return self.count(float(written))
        day_time = (_MONTH_FIRST if month_first else _YEAR_FIRST).fullmatch(written)
        found = day_time or _LONG.fullmatch(written)
        if found is None:
            also = ": a time of day without its day" if _NO_DATE.fullmatch(written) else ""
            message = f"{shown(written)} is no time{also}; right is 2026-01-31 23:59:59.123"
            raise ReadError(message)
        parts = found.groupdict()
        try:
            month = _MONTHS.index(parts["name"]) + 1 if "name" in parts else int(parts["month"])
            day = dt.date(int(parts["year"]), month, int(parts["day"]))
            time = dt.time(int(parts["hour"]), int(parts["minute"]), int(parts["second"]))
        except ValueError:
            message = f"{shown(written)}: there is no such day or time"
            raise ReadError(message) from None
        when = dt.datetime.combine(day, time)
        fraction = float(f"0.{parts.get('fraction') or 0}")
        local = (when - _EPOCH).total_seconds() + fraction
        offset = parts["offset"]
        behind_s = self._offset_s(when) if offset is None else _fixed(offset).total_seconds()
        return self.count(local - behind_s, "s")

    def _offset_s(self, when: dt.datetime) -> float:
        """Return what the zone's clocks are ahead of UTC at a local time."""
        if self.zone is None:
            message = (
                "stamps of local time without its zone: pass timezone= that of the machine which "
                "wrote them, such as 'Europe/Berlin' or 'UTC'"
            )
            raise ReadError(message)
        first = when.replace(tzinfo=self.zone, fold=0).utcoffset() or dt.timedelta()
        second = when.replace(tzinfo=self.zone, fold=1).utcoffset() or dt.timedelta()
        if first > second:
            message = (
                f"{when} is twice in {self.zone}, where clocks are set back: it may be either; "
                "write logs in UTC"
            )
            raise ReadError(message)
        if first < second:
            message = (
                f"{when} is never in {self.zone}, where clocks are set forward: is that the zone "
                "of the machine?"
            )
            raise ReadError(message)
        return first.total_seconds()

    def count(self, value: float, unit: str = "") -> float:
        """Return what a clock counts as seconds since 1970.

        Parameters
        ----------
        value : What it shows.
        unit : ``s``, ``ms``, ``us``, ``ns``; if blank, it follows from the size.

        Raises
        ------
        ReadError
            It does not count from 1970, and it is not known when it showed 0; or it is out of
            range.
        """
        units = [unit] if unit else list(_PER_S)
        fitting = (value / _PER_S[each] for each in units if value < _MOST_S * _PER_S[each])
        seconds = next(fitting, math.inf)
        if not abs(seconds) < LAST_S:
            message = f"{value:g} is no time"
            raise ReadError(message)
        if seconds >= _FIRST_S:
            return seconds
        if self._zero_s is None:
            message = (
                "a clock that does not count from 1970: pass zero_s=, the time since 1970 at which "
                "it showed 0"
            )
            raise ReadError(message)
        self.unused.discard("zero_s")
        return self._zero_s + seconds

    def nth(self, place: int) -> float:
        """Return the time of the n-th sample, from 0, of a log without stamps.

        Raises
        ------
        ReadError
            It is not known when the first was taken, or how often.
        """
        if self._zero_s is None or self._every_s is None:
            message = (
                "no stamps: pass zero_s=, when the first sample was taken, and every_s=, the "
                "interval; or log with stamps (nvidia-smi: timestamp; dmon: -o DT)"
            )
            raise ReadError(message)
        self.unused.clear()
        return self._zero_s + place * self._every_s


def _zone(zone: Zone) -> dt.tzinfo | None:
    if zone is None or isinstance(zone, dt.tzinfo):
        return zone
    if isinstance(zone, str):
        if _OFFSET.fullmatch(zone):
            return dt.timezone(_fixed(zone))
        try:
            return zoneinfo.ZoneInfo(zone)
        except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
            known = zoneinfo.available_timezones()
            raise unknown_name("timezone", zone, known) from None
    message = f"timezone={zone!r}: a name such as 'Europe/Berlin', or a tzinfo"
    raise AssumptionError(message)


def _fixed(offset: str) -> dt.timedelta:
    found = _OFFSET.fullmatch(offset)
    if found is None:  # Z, UTC
        return dt.timedelta()
    sign, hours, minutes = found.groups()
    size = dt.timedelta(hours=int(hours), minutes=int(minutes))
    if size >= dt.timedelta(days=1):
        message = f"{offset}: no offset from UTC"
        raise ReadError(message)
    return -size if sign == "-" else size


def _number(name: str, value: float | None, *, least: float) -> float | None:
    if value is None:
        return None
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not is_number or not least <= value <= LAST_S:
        message = f"{name}={value!r}: a number of seconds{' above 0' if least > 0 else ''}"
        raise AssumptionError(message)
    return float(value)
