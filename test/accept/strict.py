"""
Decodes answers by the models of the published NetHSM SDK, and refuses members that these do not name.

Standard input: a JSON list of {"method", "path", "status", "body"}; `path` with `{}` for its parameters. Prints how many
were decoded, then the operations with a JSON answer that the SDK knows and that were not among them.
"""

import importlib
import json
import pkgutil
import re
import sys

from nethsm.client import paths

METHODS = ("get", "put", "post", "delete")


def published():
    """(method, path) -> status -> schema of the JSON answer."""
    operations = {}
    for _, name, _ in pkgutil.iter_modules(paths.__path__):
        module = f"{paths.__name__}.{name}"
        path = re.sub(r"{\w+}", "{}", importlib.import_module(module).path)
        for method in METHODS:
            for status in ("200", "201"):
                place = f"{module}.{method}.responses.response_{status}.content.application_json.schema"
                try:
                    schema = importlib.import_module(place).Schema
                except ModuleNotFoundError:
                    continue
                operations.setdefault((method.upper(), path), {})[int(status)] = schema
    return operations


def decode(schema, value, place):
    schema.validate(value)
    expect_known(schema, value, place)


def expect_known(schema, value, place):
    described = schema()
    if isinstance(value, list):
        for item in value:
            expect_known(described.items, item, f"{place}[]")
    if not isinstance(value, dict):
        return
    properties = getattr(described, "properties", None)
    if properties is None:  # members of any name
        return
    for name, member in value.items():
        if name not in properties:
            raise ValueError(f"{place} has a member that no reference knows: {name}")
        expect_known(properties[name], member, f"{place}.{name}")


operations = published()
answers = json.load(sys.stdin)
for answer in answers:
    operation = (answer["method"], answer["path"])
    schema = operations[operation].get(answer["status"])
    if schema is None:
        raise ValueError(f"{operation}: {answer['status']} has no JSON body in the reference")
    decode(schema, answer["body"], " ".join(operation))
print(len(answers))
for operation in sorted(operations.keys() - {(answer["method"], answer["path"]) for answer in answers}):
    print(*operation)
