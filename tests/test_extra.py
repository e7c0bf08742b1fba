"""What a missing package of the extra says."""

import sys

import pytest

from theory._extra import extra


def test_an_installed_package_or_module_is_returned():
    assert extra("json.decoder") is sys.modules["json.decoder"]


def test_a_missing_package_names_the_install_line():
    for name in ("no_such_package", "no_such_package.part"):
        with pytest.raises(
            ModuleNotFoundError, match=r'expected it to be installed, got none; pip install "attention-theory\[learn\]"'
        ):
            extra(name)


def test_what_an_installed_package_lacks_is_not_blamed_on_it(tmp_path, monkeypatch):
    (tmp_path / "needy_package.py").write_text("import no_such_package\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="No module named 'no_such_package'"):
        extra("needy_package")
