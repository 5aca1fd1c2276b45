"""The most memory that a program of its own takes."""

import subprocess
import sys

_TELL = "\nprint(*(line.split()[1] for line in open('/proc/self/status') if 'VmHWM' in line))"
_KIB = 1024


def peak_bytes(program, *arguments):
    """Run a Python program in a process of its own, and return its peak resident memory.

    A child's ``ru_maxrss`` begins with its parent's; the kernel's ``VmHWM`` does not.
    """
    command = [sys.executable, "-c", program + _TELL, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(done.stdout) * _KIB
