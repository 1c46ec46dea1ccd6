"""Reads metrics in the text format of Prometheus with its own client's parser; prints families and samples as JSON."""

import json
import sys

from prometheus_client.parser import text_string_to_metric_families

families = []
for family in text_string_to_metric_families(sys.stdin.read()):
    samples = [{"name": s.name, "labels": s.labels, "value": s.value} for s in family.samples]
    families.append({"name": family.name, "type": family.type, "help": family.documentation, "samples": samples})
json.dump(families, sys.stdout)
