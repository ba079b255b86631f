import pytest
from e2b import Sandbox


@pytest.fixture(scope="session")
def sandbox():
    made = Sandbox.create(timeout=280, metadata={"t": "x y"}, envs={"K": "V"})
    yield made
    made.kill()
