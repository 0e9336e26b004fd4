from pathlib import Path

import pytest

from trectools_plus.ontology.ontology import Ontology

TOY = Path(__file__).parents[2] / "fixtures" / "ontology" / "toy.obo"


@pytest.fixture(scope="session")
def toy_path() -> Path:
    return TOY


@pytest.fixture(scope="session")
def toy() -> Ontology:
    return Ontology.from_obo(TOY)


@pytest.fixture
def write_obo(tmp_path):
    """Write terms, given as (id, further lines …), to an OBO file and return its path."""

    def write(*terms: tuple[str, ...], header: str = "format-version: 1.2\n") -> Path:
        stanzas = ["\n".join(["[Term]", f"id: {term[0]}", *term[1:]]) + "\n" for term in terms]
        path = tmp_path / "written.obo"
        path.write_text("\n".join([header, *stanzas]), encoding="utf-8")
        return path

    return write
