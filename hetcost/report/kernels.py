"""The kernel that runs a report: this very Python, over local sockets, told where to write."""

from __future__ import annotations

import sys
import tempfile
import uuid
import warnings
from pathlib import Path
from typing import Any

from jupyter_client.kernelspec import KernelSpec, KernelSpecManager, NoSuchKernel
from jupyter_client.manager import AsyncKernelManager

from hetcost.errors import DataWarning
from hetcost.report.outputs import REPORT_DIR

KERNEL = "python3"
_LAUNCH = ["-m", "ipykernel_launcher", "-f", "{connection_file}"]


def manager_for(report_dir: Path) -> type[AsyncKernelManager]:
    """Return the class of a kernel manager whose kernels write to a report's folder.

    The kernel is this interpreter, whatever a kernelspec of the user's says; it talks over IPC,
    so that kernels started at once do not race for ports.
    """
    spec = KernelSpec(
        argv=[sys.executable, *_LAUNCH, "--IPKernelApp.log_level=CRITICAL"],
        env={
            REPORT_DIR: str(report_dir),
            "MPLBACKEND": "module://matplotlib_inline.backend_inline",
            "PYDEVD_DISABLE_FILE_VALIDATION": "1",  # nobody debugs a report
        },
        display_name=KERNEL,
        language="python",
    )

    class ReportKernelManager(AsyncKernelManager):
        def __init__(self, **options: Any) -> None:
            # Without an address of its own, every kernel would meet at `kernel-ipc` in the
            # working directory.
            address = Path(tempfile.gettempdir(), f"hetcost-{uuid.uuid4().hex[:12]}")
            super().__init__(**{**options, "transport": "ipc", "ip": str(address)})
            self._kernel_spec = spec

    return ReportKernelManager


def warn_of_a_foreign_kernelspec() -> None:
    """Warn if Jupyter would start another Python than this one for ``python3``."""
    try:
        program = Path(KernelSpecManager().get_kernel_spec(KERNEL).argv[0])
    except NoSuchKernel:
        return
    if program.is_absolute() and program != Path(sys.executable):
        message = (
            f"the kernelspec '{KERNEL}' starts {program}; the report runs in {sys.executable}, "
            "where hetcost is installed"
        )
        warnings.warn(message, DataWarning, stacklevel=2)
