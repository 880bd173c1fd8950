import pytest

from anchorview import AutoDALMC


@pytest.fixture(scope="session")
def digits_model(digits):
    """Model of the digits; tests with it are in the group "digits", so that one process fits it."""
    return AutoDALMC(10, random_state=0).fit(digits[0])
