"""Rules on values of YAML and JSON that loaders read as something else."""

from __future__ import annotations

from trectools_plus.validation.registry import RuleFix, rule
from trectools_plus.validation.rules.topics import lines

id_not_text = rule(
    "T114",
    "id-not-text",
    on="topics",
    scope="row",
    severity="error",
    fix=RuleFix("safe", "put ids in quotes"),
    checks="YAML or JSON id that is not a string; a warning for a plain integer and for a value "
    "that only YAML 1.2 reads as a number",
    rationale="YAML 1.1 reads 010 as 8, 12:30 as 750, 1.10 as 1.1 and no as false; YAML 1.2 reads "
    "1e3 as 1000. The id in the run then differs from the id in the file.",
    example='set.yaml:2: error T114: id 010 is read as 8 by YAML 1.1. Quote it: "010".',
    remedy="Quote it",
)(lines.recorded("T114", "place"))


boolean_value = rule(
    "T115",
    "boolean-value",
    on="topics",
    scope="row",
    severity="error",
    fix=RuleFix("safe", "put texts in quotes"),
    checks="NO, yes, on, off or true in place of a text or grade; another type in place of a text",
    rationale="YAML 1.1 reads NO, the country code, as false. Some programs read the grade 'true' "
    "as 1; others stop.",
    example='set.yaml:3: error T115: text NO is the boolean false. Quote it: "NO".',
    remedy="Quote it",
)(lines.recorded("T115", "place"))


duplicate_key = rule(
    "T116",
    "duplicate-key",
    on="topics",
    scope="file",
    severity="error",
    fix="no",
    checks="mapping key twice (PyYAML, json and orjson keep the last)",
    rationale="Loaders keep the last of two equal keys and give no warning, so a judgment or a "
    "whole query is lost.",
    example="set.yaml:6: error T116: key d01 is repeated (line 5: 2; here: 0); loaders keep the "
    "last value. Keep one of them.",
    remedy="Keep one of them",
)(lines.recorded("T116", "place"))


text_cut = rule(
    "T117",
    "text-cut",
    on="topics",
    scope="row",
    severity="warning",
    fix=RuleFix("ask", "put texts in quotes, with what stood behind '#'"),
    checks="text as a plain YAML scalar followed by ' #'",
    rationale="A blank followed by '#' begins a comment, so 'C # language' is read as 'C'.",
    example="set.yaml:3: warning T117: text is cut at '#': 'C'. Quote the text if the rest "
    "belongs to it.",
    remedy="Quote the text if the rest belongs to it",
)(lines.recorded("T117", "place"))


field_value = rule(
    "T118",
    "field-value",
    on="topics",
    scope="row",
    severity="error",
    fix="no",
    checks="category, difficulty or query_type with an unknown word; metadata or a remark that is "
    "not text",
    rationale="Figures are reported for each category and difficulty, so an unknown word forms a "
    "separate group. Version 1.10 without quotes is the number 1.1.",
    example="set.yaml:5: error T118: difficulty is 'simple', not one of easy, medium, hard. Write "
    "one of the known words, or a text in quotes.",
    remedy="Write one of the known words, or a text in quotes",
)(lines.recorded("T118", "place"))


no_judgments = rule(
    "T131",
    "no-judgments",
    on="topics",
    scope="query",
    severity="warning",
    fix="no",
    checks="test case with empty judgments",
    rationale="No result is right or wrong for such a query, so it has no score, and the mean "
    "covers only the other queries.",
    example="set.yaml:4: warning T131: no judgments for query 1; it is left out of the mean. Add "
    "its relevant documents, or remove the query.",
    remedy="Add its relevant documents, or remove the query",
)(lines.recorded("T131", "query"))
