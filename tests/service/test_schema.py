"""The service answers as its OpenAPI says, whatever it is asked."""

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.specs.openapi.checks import positive_data_acceptance

from langdu.service.app import create_app

from .conftest import Running

OPERATIONS = [
    (method.upper(), path)
    for path, methods in create_app(mcp=False).openapi()["paths"].items()
    for method in methods
    if not path.endswith("/download")  # it would fetch gigabytes
]


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_no_request_breaks_the_contract(service: Running, method: str, path: str) -> None:
    schema = schemathesis.openapi.from_url(f"{service.url}/openapi.json")

    @given(case=schema[path][method].as_strategy())
    @settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True, database=None)
    def holds(case: schemathesis.Case) -> None:
        if isinstance(case.body, dict) and "input" in case.body and "voice" in case.body:
            case.body["voice"] = "tone"  # the sound is not what is tested here
        if case.headers:
            case.headers.pop("x-langdu-deadline", None)  # a client that allows no time gets its 504
        # A text with nothing to say, or a file that is no sound, is refused though the schema allows it.
        case.call_and_validate(timeout=60, excluded_checks=[positive_data_acceptance])

    holds()
