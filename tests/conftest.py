"""Fixtures for every test."""

from __future__ import annotations

import importlib
import logging
import os
import shutil
import sys
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent / "contract"))

from harness.program import Program

from trectools_plus.cli.app import app, benchmark_app, runs_app
from trectools_plus.cli.errors import run_command

# Tests import ir_measures, which imports cwl-eval, which would log to cwl.log without a handler.
logging.getLogger().addHandler(logging.NullHandler())

# Hypothesis runs few examples per property in development and more in continuous integration. There
# is no deadline, because the time of an example depends more on the machine than on the code.
settings.register_profile("fast", max_examples=8, deadline=None)
settings.register_profile("ci", max_examples=40, deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or "fast")


def pytest_addoption(parser):
    parser.addoption("--write-passed", metavar="FILE", help="list the tests that passed in a file")
    parser.addoption(
        "--omit-passed",
        metavar="FILE",
        help="omit the tests in such a list, except those with the marker installation",
    )
    parser.addoption(
        "--seconds", type=float, metavar="N", help="skip the tests that would start after N seconds"
    )
    parser.addoption(
        "--python",
        type=Path,
        default=Path(sys.executable),
        metavar="FILE",
        help="the interpreter of the environment whose commands the tests of tests/contract run",
    )


def pytest_configure(config):
    path = config.getoption("--write-passed")
    if path and not hasattr(config, "workerinput"):  # workers report to the main process
        config.pluginmanager.register(PassedTests(Path(path)))


_STARTED = time.monotonic()


def pytest_runtest_setup(item):
    """Skip a test after the time of ``--seconds``."""
    seconds = item.config.getoption("--seconds")
    if seconds is not None and time.monotonic() - _STARTED > seconds:
        pytest.skip(f"not started within {seconds:g} seconds")


class PassedTests:
    """Lists the tests that passed in a file, when all have run."""

    def __init__(self, path):
        self._path = path
        self._passed = set()

    def pytest_runtest_logreport(self, report):
        if report.when == "call" and report.passed:
            self._passed.add(report.nodeid)
        elif report.failed:  # for example the end of a fixture
            self._passed.discard(report.nodeid)

    def pytest_sessionfinish(self):
        self._path.write_text("".join(f"{name}\n" for name in sorted(self._passed)), "utf-8")


def is_thorough():
    """Return whether tests use all cases of a long list; with the profile fast, a part of them."""
    return settings.default is not None and settings.default.max_examples > 12


def pytest_collection_modifyitems(config, items):
    """Omit tests that passed or are not in turn; run tests that wait for processes first.

    If they ran last, other workers would be idle.
    """
    wanted = ("keyword", "freeze", "golden")
    if not is_thorough() and not any(getattr(config.option, name, None) for name in wanted):
        numbers = Counter[str]()
        omitted = set()
        for item in items:
            if marker := item.get_closest_marker("every"):
                test = item.nodeid.partition("[")[0]
                if numbers[test] % marker.args[0]:
                    omitted.add(item)
                numbers[test] += 1
        config.hook.pytest_deselected(items=list(omitted))
        items[:] = [item for item in items if item not in omitted]
    if path := config.getoption("--omit-passed"):
        passed = set(Path(path).read_text("utf-8").splitlines())
        omitted = {
            item
            for item in items
            if item.nodeid in passed and item.get_closest_marker("installation") is None
        }
        config.hook.pytest_deselected(items=list(omitted))
        items[:] = [item for item in items if item not in omitted]
    items.sort(key=lambda item: item.get_closest_marker("process") is None)


def skip_unless_required(reason, variable):
    """Skip a test that lacks something, or fail if a variable such as ``REQUIRE_LATEX`` is 1."""
    (pytest.fail if os.environ.get(variable) == "1" else pytest.skip)(reason)
    raise AssertionError


@pytest.fixture(scope="session", name="skip_unless_required")
def _skip_unless_required():
    return skip_unless_required


@pytest.fixture(scope="session")
def thorough():
    """Return :func:`is_thorough`."""
    return is_thorough()


@pytest.fixture(scope="session")
def shared_data():
    """Return the folder of real data files, which are not part of the repository.

    ``TRECTOOLS_PLUS_SHARED_DATA`` names the folder; the default is next to the repository. Without
    it, tests that use it are skipped, or fail if ``REQUIRE_SHARED_DATA=1``.
    """
    default = Path(__file__).resolve().parents[1].parent / "shared" / "data"
    folder = Path(os.environ.get("TRECTOOLS_PLUS_SHARED_DATA") or default)
    if not folder.is_dir():
        reason = f"no shared test data in {folder}: set TRECTOOLS_PLUS_SHARED_DATA"
        skip_unless_required(reason, "REQUIRE_SHARED_DATA")
    return folder


@pytest.fixture(scope="session")
def ir_datasets_home(shared_data, tmp_path_factory):
    """Make a writable copy of an ``ir_datasets`` cache that contains Cranfield.

    Tests set ``IR_DATASETS_HOME`` to it before ``ir_datasets`` is imported.
    """
    home = tmp_path_factory.mktemp("ir_datasets") / "home"
    shutil.copytree(shared_data / "ir_datasets_home", home)
    for path in (home, *home.rglob("*")):
        path.chmod(path.stat().st_mode | 0o200)
    return home


@pytest.fixture(scope="session", autouse=True)
def _catalogue(request):
    """Set ``IR_DATASETS_HOME`` before a test imports ``ir_datasets``, which reads it once."""
    with pytest.MonkeyPatch.context() as patch:
        with suppress(pytest.skip.Exception):
            patch.setenv("IR_DATASETS_HOME", str(request.getfixturevalue("ir_datasets_home")))
        yield


@pytest.fixture(scope="session")
def program(tmp_path_factory, request):
    """Return the installed commands in a warm process; with Cranfield, if shared data is there."""
    variables = {}
    with suppress(pytest.skip.Exception):
        variables["IR_DATASETS_HOME"] = str(request.getfixturevalue("ir_datasets_home"))
    python = str(request.config.getoption("--python"))
    with Program(tmp_path_factory.mktemp("program"), variables, python) as running:
        yield running


@pytest.fixture(scope="session", autouse=True)
def shared_index_cache(tmp_path_factory):
    """Set a cache folder for indexes that all tests, commands and workers share, not the user's.

    Tests of the cache itself use another folder.
    """
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRECTOOLS_PLUS_CACHE", str(folder / "index-cache"))
        yield


@pytest.fixture(scope="session")
def require_module():
    """Import a module of the extra ``dev-integrations``; skip without it.

    It fails instead if ``REQUIRE_INTEGRATIONS=1``.
    """

    def require(name):
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError as error:
            reason = f"{error}: pip install '.[dev-integrations]'"
            skip_unless_required(reason, "REQUIRE_INTEGRATIONS")

    return require


@pytest.fixture(scope="session")
def pdflatex():
    """Return the program; without it, skip, or fail if ``REQUIRE_LATEX=1``."""
    found = shutil.which("pdflatex")
    if found is None:
        reason = "no pdflatex: apt-get install texlive-latex-base texlive-latex-recommended"
        skip_unless_required(reason, "REQUIRE_LATEX")
    return found


def write_benchmark(folder, *, plots=False, **options):
    """Run a benchmark with few resamples, write its report to a folder, and return the result."""
    from trectools_plus.benchmark import load_config, run_benchmark
    from trectools_plus.reporting import write_reports

    result = run_benchmark(
        load_config(options={"resamples": 100, **options, "output_dir": str(folder)})
    )
    write_reports(result, plots=plots)
    return result


@pytest.fixture(scope="session", name="write_benchmark")
def _write_benchmark():
    return write_benchmark


@pytest.fixture(scope="session")
def check_mistake():
    """Check that a command failed with an exit code and one line with a text, and printed nothing.

    What it did is a tuple of exit code, stdout and stderr, or what ``program`` returns.
    """

    def check(done, code, text):
        left, out, err = done if isinstance(done, tuple) else (done.code, done.text, done.stderr)
        assert (left, out, err.count("\n")) == (code, "", 1), err
        assert err.startswith("error: ")
        assert text in err

    return check


@pytest.fixture
def call_here(program, tmp_path):
    """Call ``trectools-plus`` with words, in a temporary folder."""

    def call(*words, **variables):
        return program(["trectools-plus", *map(str, words)], tmp_path, **variables)

    return call


@dataclass(frozen=True)
class Bench:
    """Runs benchmarks whose queries have one relevant document each, retrieved at given ranks."""

    folder: Path

    def make(
        self,
        name,
        ranks,
        *,
        queries=60,
        grade=1,
        judged=(3,),
        without=(),
        **settings,
    ):
        """Run a benchmark over run files and return its output folder.

        Args:
            name: Name of the output folder.
            ranks: For each mode, the rank of the relevant document by query number; 1 by default,
                0 if the document is not retrieved.
            queries: Number of queries.
            grade: Grade of the relevant documents.
            judged: The numbers of the other documents that are judged, as not relevant.
            without: The numbers of the queries whose document is judged as not relevant.
            settings: Further settings of the benchmark.
        """
        data = self.folder / f"{name}-data"
        data.mkdir()
        qrels = data / "qrels.txt"
        qrels.write_text(
            "".join(
                f"q{n} 0 {doc_id} {label}\n"
                for n in range(queries)
                for doc_id, label in [
                    ("good", 0 if n in without else grade),
                    *((f"b{other}", 0) for other in judged),
                ]
            )
        )
        runs = {}
        for mode, places in ranks.items():
            runs[mode] = str(data / f"{mode}.run")
            rows = []
            for number in range(queries):
                found = [f"b{place}" for place in range(12)]
                rank = places.get(number, 1)
                if rank:
                    found.insert(rank - 1, "good")
                rows += [
                    f"q{number} Q0 {doc_id} {place} {100 - place} x\n"
                    for place, doc_id in enumerate(found, 1)
                ]
            Path(runs[mode]).write_text("".join(rows))
        options = {"measures": ["R@10", "RR@10"], "resamples": 500, **settings}
        write_benchmark(self.folder / name, **options, runs=runs, qrels=str(qrels))
        return self.folder / name


@pytest.fixture
def bench(tmp_path):
    return Bench(tmp_path)


@pytest.fixture(scope="module")
def module_bench(tmp_path_factory):
    """Return a bench for reports that the tests of a module share; copy them before changes."""
    return Bench(tmp_path_factory.mktemp("bench"))


@pytest.fixture
def call_of(capsys, monkeypatch, tmp_path):
    """Make functions that call a command like its console command, in a temporary folder.

    The function returns exit code, stdout and stderr. Its command is named by group and name, as in
    ``benchmark run``.
    """

    def make(name):
        program, *words = name.split()
        if program not in ("trectools-plus", "benchmark", "runs"):
            program, words = "trectools-plus", [program, *words]
        group = {"benchmark": benchmark_app, "runs": runs_app}.get(program, app)
        monkeypatch.chdir(tmp_path)
        monkeypatch.delenv("FORCE_COLOR", raising=False)

        def run(*arguments):
            monkeypatch.setattr(
                sys, "argv", [f"/somewhere/bin/{program}", *words, *map(str, arguments)]
            )
            capsys.readouterr()
            code = 0
            try:
                run_command(group, program)
            except SystemExit as left:
                code = left.code if isinstance(left.code, int) else 1
            out, err = capsys.readouterr()
            return code, out, err

        return run

    return make
