from __future__ import annotations

from collections.abc import Iterator

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from trectools_plus.blas import limited_blas_threads, one_blas_thread

pytestmark = pytest.mark.installation


def blas_threads() -> set[int]:
    # With OpenMP, which some package's own BLAS uses, the limit is that of one thread.
    return {
        one["num_threads"]
        for one in threadpool_info()
        if one["user_api"] == "blas" and one["threading_layer"] != "openmp"
    }


@pytest.fixture(autouse=True)
def two_threads() -> Iterator[None]:
    with threadpool_limits(2, user_api="blas"):
        if blas_threads() != {2}:
            pytest.skip("this NumPy has a BLAS whose threads cannot be set")
        yield


def test_one_thread_inside_and_as_many_as_before_outside() -> None:
    with one_blas_thread(), one_blas_thread():
        assert blas_threads() == {1}
    assert blas_threads() == {2}
    assert limited_blas_threads() == 1
    assert blas_threads() == {2}
