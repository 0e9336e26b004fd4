import math

import pytest
from harness.tables import cases_of
from hypothesis import given
from hypothesis import strategies as st

from trectools_plus.errors import UsageError
from trectools_plus.ontology.hierarchy import Resolution
from trectools_plus.ontology.obo import OboFile, Term
from trectools_plus.ontology.ontology import Ontology
from trectools_plus.ontology.similarity import FORMULAS, best_matches

THING, LIVING, ARTEFACT, ANIMAL, MAMMAL = (f"TOY:000{i}" for i in range(1, 6))
DOG, CAT, PUPPY, ROBOT_DOG = (f"TOY:000{i}" for i in range(6, 10))


# D = 5; each value worked out from the picture in toy.obo.
BY_HAND = cases_of(__file__, "by_hand")


@pytest.mark.parametrize(("pair", "simple", "hybrid", "hybrid_depth"), BY_HAND)
def test_similarities_by_hand(toy, pair, simple, hybrid, hybrid_depth):
    a, b = pair
    for first, second in ((a, b), (b, a)):
        assert toy.similarity(first, second, "simple_resnik_like") == pytest.approx(simple)
        assert toy.similarity(first, second) == pytest.approx(hybrid)
        assert toy.similarity(first, second, "hybrid_depth") == pytest.approx(hybrid_depth)


def test_resolving_ids(toy):
    assert toy.resolve(DOG) == Resolution("live", DOG)
    assert toy.resolve("TOY:0104") == Resolution("alternative", ANIMAL)
    assert toy.resolve("TOY:0010") == Resolution("obsolete", DOG, (DOG,))
    assert toy.resolve("TOY:0013") == Resolution("obsolete", DOG, ("TOY:0010",))
    assert toy.resolve("TOY:0011") == Resolution("obsolete", None, (DOG, CAT))
    assert toy.resolve("TOY:0012") == Resolution("obsolete")
    assert toy.resolve("nonsense") == Resolution("unknown")


@pytest.mark.parametrize(
    ("stub", "resolution"),
    [
        ((), Resolution("alternative", "X:1")),
        (("replaced_by: X:1",), Resolution("alternative", "X:1")),
        (("replaced_by: X:2",), Resolution("alternative", "X:1")),
        (("replaced_by: X:1", "replaced_by: X:2"), Resolution("alternative", "X:1")),
        (("replaced_by: X:9",), Resolution("alternative", "X:1")),
    ],
)
def test_an_alternative_id_that_is_also_obsolete_resolves_to_its_live_term(
    write_obo, stub, resolution
):
    path = write_obo(
        ("X:1", "alt_id: X:3"),
        ("X:2",),
        ("X:3", "is_obsolete: true", *stub),
        ("X:4", "is_obsolete: true", "replaced_by: X:3"),
    )
    ontology = Ontology.from_obo(path)
    assert ontology.resolve("X:3") == resolution
    assert ontology.resolve("X:4") == Resolution("obsolete", "X:1", ("X:3",))
    assert ontology.term("X:3") is ontology.term("X:1")
    assert ontology.max_similarity(["X:3"], ["X:1"]) == 1.0


def functions_of_terms(toy):
    return (
        toy.term,
        toy.depth,
        toy.ancestors,
        lambda term_id: toy.similarity(term_id, CAT),
        lambda term_id: toy.similarity(CAT, term_id),
        lambda term_id: toy.max_similarity([term_id], [CAT]),
        lambda term_id: toy.max_similarity([CAT], [CAT, term_id]),
        lambda term_id: toy.lowest_common_ancestor(term_id, CAT),
    )


@pytest.mark.parametrize("spelling", [str.lower, lambda text: text.replace(":", "_"), str.title])
@pytest.mark.parametrize("term_id", [DOG, "TOY:0104"])
def test_functions_of_terms_accept_every_spelling(toy, term_id, spelling):
    for ask in functions_of_terms(toy):
        assert ask(spelling(term_id)) == ask(term_id)
    lists = [[spelling(term_id)]], [[CAT]]
    exact = [[term_id]], [[CAT]]
    values = [best_matches(toy.ids, toy.hierarchy, *one, FORMULAS["lin"]) for one in (lists, exact)]
    assert values[0] == values[1]


@pytest.mark.parametrize(
    ("term_id", "message"),
    [
        ("TOY:0011", "TOY:0011 is obsolete — .*use TOY:0006 or TOY:0007"),
        ("TOY:0012", "TOY:0012 is obsolete — .*use another term"),
        ("HP:1", "HP:1 "),
    ],
)
def test_ids_without_a_term_are_refused(toy, term_id, message):
    for ask in functions_of_terms(toy):
        with pytest.raises(UsageError, match=message):
            ask(term_id)


def test_circular_replacements_resolve_to_nothing(write_obo):
    path = write_obo(
        ("X:1",),
        ("X:2", "is_obsolete: true", "replaced_by: X:3"),
        ("X:3", "is_obsolete: true", "replaced_by: X:2"),
    )
    assert Ontology.from_obo(path).resolve("X:2") == Resolution("obsolete", None, ("X:3",))


def test_max_similarity(toy):
    assert toy.max_similarity([DOG], [CAT, DOG]) == 1.0
    assert toy.max_similarity([DOG, ARTEFACT], [CAT, LIVING]) == toy.similarity(DOG, CAT)
    assert toy.max_similarity([], [DOG]) == 0.0
    assert toy.max_similarity([DOG], []) == 0.0
    assert toy.max_similarity([DOG], ["TOY:0010"], "simple_resnik_like") == 1.0
    assert toy.max_similarity(iter([DOG]), iter([LIVING, CAT])) == toy.similarity(DOG, CAT)


# --- against brute force, on random hierarchies -------------------------------------------------

Graph = dict[str, tuple[str, ...]]


@st.composite
def graphs(draw) -> Graph:
    """Parents of each term; only earlier terms can be parents, so there are no cycles."""
    n_terms = draw(st.integers(1, 14))
    names = draw(st.permutations([f"X:{i:02d}" for i in range(n_terms)]))
    return {
        name: tuple(
            draw(st.lists(st.sampled_from(names[:i]), max_size=3, unique=True)) if i else ()
        )
        for i, name in enumerate(names)
    }


def ontology_of(graph: Graph) -> Ontology:
    terms = (Term(term_id, parents=parents) for term_id, parents in graph.items())
    return Ontology(OboFile("random.obo", "", tuple(terms)))


def ways_up(graph: Graph, term: str) -> dict[str, int]:
    """Edges on the shortest path to each ancestor, computed by following every path."""
    shortest = {term: 0}
    for parent in graph[term]:
        for ancestor, steps in ways_up(graph, parent).items():
            shortest[ancestor] = min(steps + 1, shortest.get(ancestor, steps + 1))
    return shortest


def brute_depth(graph: Graph, term: str) -> int:
    return min(steps for up, steps in ways_up(graph, term).items() if not graph[up])


def brute_similarity(graph: Graph, a: str, b: str) -> dict[str, float]:
    largest = max(brute_depth(graph, term) for term in graph) or 1
    up_a, up_b = ways_up(graph, a), ways_up(graph, b)
    common = up_a.keys() & up_b.keys()
    if not common:
        return dict.fromkeys(FORMULAS, 0.0)
    deepest = max(brute_depth(graph, term) for term in common)
    steps = min(up_a[t] + up_b[t] for t in common if brute_depth(graph, t) == deepest)
    depths = brute_depth(graph, a) + brute_depth(graph, b)
    by_depth = max(0, depths - 2 * deepest)

    def mixed(p: int) -> float:
        return 0.7 * deepest / largest + 0.3 * max(0.0, 1 - p / (depths or 1))

    below = {term: sum(term in ways_up(graph, other) for other in graph) for term in graph}
    ic = {term: 1 - math.log(n) / (math.log(len(graph)) or 1) for term, n in below.items()}
    shared = max(ic[term] for term in common)
    return {
        "simple_resnik_like": deepest / largest,
        "hybrid": 1.0 if a == b else mixed(steps),
        "hybrid_depth": 1.0 if by_depth == 0 else mixed(by_depth),
        "lin": 1.0 if a == b else 2 * shared / (ic[a] + ic[b] or 1),
    }


@given(graphs())
def test_ancestors_and_depths_equal_brute_force(graph):
    ontology = ontology_of(graph)
    for term in graph:
        assert ontology.ancestors(term) == ways_up(graph, term).keys()
        assert ontology.depth(term) == brute_depth(graph, term)


@given(graphs(), st.data())
def test_similarities_equal_brute_force(graph, data):
    ontology = ontology_of(graph)
    a, b = (data.draw(st.sampled_from(sorted(graph))) for _ in range(2))
    by_hand = brute_similarity(graph, a, b)
    assert by_hand.keys() == FORMULAS.keys()
    for formula, value in by_hand.items():
        assert ontology.similarity(a, b, formula) == pytest.approx(value, abs=1e-12)
        assert ontology.similarity(a, b, formula) == ontology.similarity(b, a, formula)
        assert 0 <= ontology.similarity(a, b, formula) <= 1
    for formula in ("hybrid", "lin"):
        assert (ontology.similarity(a, b, formula) == 1.0) == (a == b)


@given(graphs(), st.randoms())
def test_the_order_of_stanzas_changes_nothing(graph, random):
    shuffled = list(graph.items())
    random.shuffle(shuffled)
    one, other = ontology_of(graph), ontology_of(dict(shuffled))
    assert list(one.terms) == list(other.terms)
    for a in graph:
        for b in graph:
            assert one.lowest_common_ancestor(a, b) == other.lowest_common_ancestor(a, b)
