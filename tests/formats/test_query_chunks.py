import gzip

import pytest
from harness.files import write
from hypothesis import given
from hypothesis import strategies as st

from trectools_plus.errors import FormatError, InputError
from trectools_plus.formats.query_chunks import iter_query_chunks


@st.composite
def contents(draw):
    """Lines of queries of any length, ids with common prefixes, perhaps without a last line end."""
    lines = []
    for number in range(draw(st.integers(0, 9))):
        query_id = draw(st.sampled_from(["1", "11", "q", "qé"])) + str(number)
        blank = draw(st.sampled_from([" ", "\t"]))
        n_rows = draw(st.integers(1, 12))
        lines += [f"{query_id}{blank}Q0 d{row} {row} 1 t\n" for row in range(n_rows)]
    text = "".join(lines)
    return (text if draw(st.booleans()) else text.removesuffix("\n")).encode()


def queries_of(data):
    return {line.split()[0] for line in data.splitlines()}


@given(contents(), st.integers(1, 200), st.booleans())
def test_chunks_are_the_content_and_have_whole_queries(tmp_path_factory, data, size, packed):
    path = write(tmp_path_factory.mktemp("chunks") / "run", gzip.compress(data) if packed else data)
    pieces = [chunk() for chunk in iter_query_chunks(path, size)]
    assert b"".join(pieces) == data
    assert all(pieces)
    seen = [queries_of(piece) for piece in pieces]
    assert sum(len(ids) for ids in seen) == len(queries_of(data))


def test_chunks_have_about_the_requested_size(tmp_path):
    path = write(tmp_path / "run", b"".join(b"%d Q0 d 1 1 t\n" % query for query in range(1000)))
    sizes = [len(chunk()) for chunk in iter_query_chunks(path, 500)]
    assert max(sizes) <= 500
    assert min(sizes[:-1]) > 400


def test_a_file_that_shrinks_meanwhile_is_an_error(tmp_path):
    path = write(tmp_path / "run", b"1 Q0 d 1 1 t\n2 Q0 d 1 1 t\n")
    chunks = list(iter_query_chunks(path, 14))
    path.write_bytes(b"")
    with pytest.raises(FormatError):
        [chunk() for chunk in chunks]


def test_a_missing_file_is_an_input_error(tmp_path):
    with pytest.raises(InputError):
        list(iter_query_chunks(tmp_path / "run"))
