from __future__ import annotations

from anvil_lab import cache


def test_folder_comes_from_the_environment_or_the_home(monkeypatch, tmp_path):
    monkeypatch.setenv("ANVIL_LAB_CACHE", str(tmp_path / "a" / "b"))
    assert cache.cache_dir() == tmp_path / "a" / "b"
    assert cache.cache_dir().is_dir()
    monkeypatch.delenv("ANVIL_LAB_CACHE")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache.cache_dir() == tmp_path / ".cache" / "anvil-lab"


def test_digests(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"abc")
    assert cache.sha256_of(path).startswith("ba7816bf8f01cfea")
    assert cache.integrity_of(path) == (
        "sha512-3a81oZNherrMQXNJriBBMRLm+k6JqX6iCp7u5ktV05ohkpkqJ0/BqDa6PCOj/uu9RU1EI2Q86A4qmslPpUyknw=="
    )
