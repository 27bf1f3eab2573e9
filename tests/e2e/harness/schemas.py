"""Checks the command's JSON against its published schemas."""

import functools
import json
import os
from typing import Any

import jsonschema

from .hand_written import TOP

SCHEMAS = os.path.join(TOP, "tools", "accounting", "report")


@functools.lru_cache()
def _validator(name: str) -> Any:
    with open(os.path.join(SCHEMAS, name + ".schema.json")) as file:
        schema = json.load(file)
    # Once for each schema: it takes as long as to check an answer.
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def check(answer: Any, name: str) -> None:
    """Raises jsonschema.ValidationError unless the answer conforms to NAME.schema.json."""
    _validator(name).validate(answer)
