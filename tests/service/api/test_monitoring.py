"""The shipped alerts and the dashboard name metrics and labels that the service has."""

import json
import re

import yaml
from harness.observe import ROOT
from prometheus_client.parser import text_string_to_metric_families

from trectools_plus.service import ServiceSettings
from trectools_plus.service.metrics import split_measure

MONITORED_MEASURE = "R@10"
"""The measure that the shipped alerts name."""

MONITORING = ROOT / "docs/monitoring"
PREFIX = "trectools_plus"
_METRIC = re.compile(rf"\b({PREFIX}_\w+)(?:{{([^}}]*)}})?")


def expressions():
    """The expressions of the alerts and of the dashboard's panels and variables."""
    rules = yaml.safe_load((MONITORING / "alerts.yml").read_text())
    found = [rule["expr"] for group in rules["groups"] for rule in group["rules"]]
    dashboard = json.loads((MONITORING / "grafana-dashboard.json").read_text())
    found += [one["expr"] for panel in dashboard["panels"] for one in panel.get("targets", ())]
    queries = [one["query"] for one in dashboard["templating"]["list"]]
    found += [one["query"] for one in queries if isinstance(one, dict)]
    return [one.replace("${prefix}", PREFIX) for one in found]


def exported(page):
    """The names of the labels of each metric."""
    found = {}
    for family in text_string_to_metric_families(page):
        for sample in family.samples:
            found.setdefault(sample.name, set()).update(sample.labels)
    return found


def test_every_metric_that_they_name_is_exported(open_service, bench):
    """Whatever measures are asked for, the measures of the alerts are computed."""
    report = bench.make("nightly", {"a": {}, "b": {}})
    folder = str(ROOT / "fixtures/garden-trec")
    settings = ServiceSettings(dataset=folder, reports=(str(report),))
    with open_service(settings) as client:
        answer = client.post("/v1/evaluate", params={"measures": "nDCG@5"}).json()
        assert list(answer["metrics"])[:2] == ["ndcg_at_5", "recall_at_10"]
        page = client.get("/metrics").text
    found = exported(page)
    names = [match for one in expressions() for match in _METRIC.findall(one)]
    assert len({name for name, _ in names}) > 8
    for name, labels in names:
        # MRR without and with a cutoff are alternatives; so are query types.
        if name.endswith("_mrr_at_k") or "_stratum_" in name:
            continue
        assert name in found, name
        assert set(re.findall(r"(\w+) *(?:=~?|!~|!=)", labels)) <= found[name], name
    own = [
        one
        for family in text_string_to_metric_families(page)
        for one in family.samples
        if one.name == f"{PREFIX}_retrieval_recall_at_k" and one.labels["dataset"] == "garden-trec"
    ]
    assert [one.labels["k"] for one in own] == ["10"]


def test_the_alerts_name_the_monitored_measure():
    parts = split_measure(MONITORED_MEASURE)
    selector = f'{PREFIX}_retrieval_{parts[0]}_at_k{{k="{parts[1]}"}}'
    assert any(selector in one for one in expressions())
