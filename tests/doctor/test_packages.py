"""What Python imports: missing parts, wrong versions, and copies that stand before the installed ones."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from langdu.doctor.child import Died, ask
from langdu.doctor.finding import Finding
from langdu.doctor.packages import PARTS, Package, judge


def whole(*changed: Package) -> list[Package]:
    """Everything installed, but for `changed`."""
    others = {one.module: one for one in changed}
    return [
        others.get(module, Package(module, distribution, "1.0", f"/site/{module}"))
        for part in PARTS
        for module, distribution in part.modules.items()
    ]


def bad(found: list[Finding]) -> Finding:
    (one,) = [finding for finding in found if finding.level != "ok"]
    return one


def missing(*modules: str) -> list[Package]:
    return whole(*(Package(m, d, missing=True) for part in PARTS for m, d in part.modules.items() if m in modules))


def test_everything_installed_is_one_line_a_part_with_versions_and_folder() -> None:
    found = judge(whole(), needed=["kokoro"], qwen3=True)
    assert {one.level for one in found} == {"ok"}
    assert len(found) == len(PARTS)
    assert any("onnxruntime 1.0" in one.what and one.reason.endswith("from /site") for one in found)


def test_a_part_the_default_voice_needs_is_an_error_another_only_a_note() -> None:
    found = bad(judge(missing("onnxruntime"), needed=["kokoro"], qwen3=True))
    assert (found.level, found.command) == ("error", "pip install 'langdu[kokoro]'")
    assert bad(judge(missing("onnxruntime"), needed=["qwen3"], qwen3=True)).level == "note"
    assert bad(judge(missing("faster_whisper"), needed=["kokoro"], qwen3=True)).level == "warning"


def test_a_missing_qwen3_is_not_mentioned_where_it_makes_no_sense() -> None:
    modules = next(part for part in PARTS if part.extra == "qwen3").modules
    assert all(one.level == "ok" for one in judge(missing(*modules), needed=["kokoro"], qwen3=False))
    assert bad(judge(missing(*modules), needed=["kokoro"], qwen3=True)).command == "pip install 'langdu[qwen3]'"


def test_a_shadow_is_named_with_what_it_hides() -> None:
    shadow = Package(
        "transformers", "transformers", "4.40.0", "/old/transformers", "", False, "PYTHONPATH", "5.14.1", ">=5.14.0"
    )
    found = bad(judge(whole(shadow), needed=["qwen3"], qwen3=True))
    assert found.level == "error"
    assert found.what == "transformers 4.40.0 is imported from /old/transformers"
    assert "PYTHONPATH puts it first, before the installed 5.14.1" in found.reason and ">=5.14.0" in found.reason
    assert found.command == "unset PYTHONPATH"


def test_shadows_of_the_right_version_are_one_warning_for_each_place() -> None:
    one, two = (
        Package(name, name, "2.1", f"/old/{name}", put_first_by="PYTHONPATH", installed="2.0")
        for name in ("numpy", "soxr")
    )
    found = bad(judge(whole(one, two), needed=["kokoro"], qwen3=True))
    assert (found.level, found.what) == ("warning", "numpy 2.1, soxr 2.1 are imported from /old")
    assert (found.reason, found.command) == (
        "PYTHONPATH comes first; the installed copies are 2.0, 2.0",
        "unset PYTHONPATH",
    )


def test_a_pythonpath_that_hides_nothing_is_only_where_it_comes_from() -> None:
    only = Package("numpy", "numpy", "2.1", "/extra/numpy", put_first_by="PYTHONPATH")
    found = judge(whole(only), needed=["kokoro"], qwen3=True)
    assert {one.level for one in found} == {"ok"}
    assert found[0].reason.endswith("from /extra, /site")


def test_a_package_that_cannot_be_imported_is_quoted_and_installed_again() -> None:
    broken = Package("av", "av", "13.0", "/site/av", "ImportError: libfoo.so.1: cannot open")
    found = bad(judge(whole(broken), needed=["kokoro"], qwen3=True))
    assert (found.level, found.command) == ("warning", "pip install --force-reinstall 'av'")
    assert "libfoo.so.1" in found.reason


def test_a_crash_while_importing_is_an_error() -> None:
    assert bad(judge(Died("it crashed (SIGILL)"), needed=[], qwen3=False)).reason == "it crashed (SIGILL)"


@pytest.mark.slow
def test_a_real_pythonpath_that_brings_the_wrong_transformers_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "transformers").mkdir()
    (tmp_path / "transformers" / "__init__.py").write_text('__version__ = "4.40.0"\n')
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    answer = ask("imports", timeout_s=120)
    assert not isinstance(answer, Died), answer
    packages = [Package(**one) for one in answer["packages"]]
    (found,) = [one for one in packages if one.module == "transformers"]
    assert (found.version, found.put_first_by, found.wanted) == ("4.40.0", "PYTHONPATH", ">=5.14.0")
    assert found.installed.startswith("5.")
    (finding,) = [one for one in judge(packages, needed=["qwen3"], qwen3=True) if "4.40.0" in one.what]
    assert finding.command == "unset PYTHONPATH"
