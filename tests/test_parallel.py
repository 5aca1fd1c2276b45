import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from hetcost.errors import AssumptionError
from hetcost.parallel import run_jobs


def _half(number):
    return 1 / number


@pytest.mark.parametrize("workers", [1, 2])
def test_every_job_gives_its_result_or_its_error(workers):
    done = {d.job: d for d in run_jobs(_half, [1, 2, 0, 4], workers=workers)}
    assert {job: d.result for job, d in done.items() if d.error is None} == {1: 1, 2: 0.5, 4: 0.25}
    assert isinstance(done[0].error, ZeroDivisionError)


def test_any_executor_serves_and_is_left_open():
    with ThreadPoolExecutor(1) as executor:
        assert [d.result for d in run_jobs(_half, [1, 2], executor=executor)] == [1, 0.5]
        assert executor.submit(_half, 4).result() == 0.25


def test_nonsense():
    assert list(run_jobs(_half, [])) == []
    with pytest.raises(AssumptionError, match="workers=0"):
        list(run_jobs(_half, [1], workers=0))


def test_jobs_that_have_not_begun_are_cancelled_when_nobody_waits():
    begun = []

    def slow(number):
        begun.append(number)
        time.sleep(0.05)
        return number

    with ThreadPoolExecutor(1) as executor:
        results = run_jobs(slow, range(100), executor=executor)
        next(results)
        results.close()
    assert len(begun) < 20


@pytest.mark.slow
def test_an_interrupted_report_keeps_what_is_finished(tmp_path):
    from test_report import _notebook

    _notebook(tmp_path / "fast.ipynb", "pass")
    _notebook(tmp_path / "slow.ipynb", "import time; time.sleep(300)")
    command = [sys.executable, "-m", "hetcost.cli", "report", "fast.ipynb", "slow.ipynb"]
    with subprocess.Popen(
        [*command, "--out", "out"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        deadline = time.monotonic() + 60
        while not (tmp_path / "out" / "fast" / "report.json").exists():
            assert time.monotonic() < deadline
            time.sleep(0.2)
        time.sleep(0.5)
        os.killpg(process.pid, signal.SIGINT)
        _, told = process.communicate(timeout=60)
    assert process.returncode == 130, told
    assert "1 of 2 reports are finished" in told
    assert "Traceback" not in told
    index = (tmp_path / "out" / "index.html").read_text("utf-8")
    assert "fast.ipynb" in index
    assert "slow.ipynb" not in index
