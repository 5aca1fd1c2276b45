"""Named conversion constants, and nothing else."""

from typing import Final

SECONDS_PER_MINUTE: Final = 60.0
SECONDS_PER_HOUR: Final = 3600.0
HOURS_PER_DAY: Final = 24.0
HOURS_PER_YEAR: Final = 8760.0
MONTHS_PER_YEAR: Final = 12.0
MS_PER_S: Final = 1000.0
NS_PER_S: Final = 1e9
TOKENS_PER_MTOK: Final = 1e6
WATTS_PER_KW: Final = 1000.0
JOULES_PER_KWH: Final = 3.6e6
GRAMS_PER_KG: Final = 1000.0
MM2_PER_CM2: Final = 100.0
BYTES_PER_GB: Final = 1e9
BYTES_PER_GIB: Final = 2.0**30
