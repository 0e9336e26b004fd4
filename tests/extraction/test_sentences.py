"""Sentences as in clinical texts, in five languages: the assertions of their findings, in order.

``A`` is affirmed, ``N`` negated, ``U`` uncertain, ``O`` of another person. The findings are in
braces.
"""

import pytest
from harness.tables import cases_of

from tests.extraction.conftest import read_assertions


@pytest.mark.parametrize("language", ["en", "de", "fr", "es", "nl"])
def test_findings_have_the_assertion_of_their_sentence(language):
    wrong = [
        (assertions, sentence)
        for assertions, sentence in cases_of(__file__, language)
        if read_assertions(sentence, language=language) != assertions
    ]
    assert wrong == []
