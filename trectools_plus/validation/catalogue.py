"""All rules of the validators."""

from trectools_plus.validation.registry import Registry
from trectools_plus.validation.rules import RULES, testsets, topics

CATALOGUE = Registry((*RULES, *topics.RULES, *testsets.RULES))
