"""``python -m hetcost.cli`` is the ``hetcost`` command."""

from hetcost.cli import main

main()
