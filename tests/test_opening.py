"""Archives, encodings, and files that are too large or change under the reader."""

import gzip
import io
import json
import random
import struct
import sys
import zipfile

import pytest
from test_runs import GOOD

import hetcost as hc
from hetcost.errors import ReadError
from hetcost.readers import opening

TEXT = json.dumps(GOOD)


def _scan(path):
    return hc.scan_runs(path)


def _reason(path):
    scan = _scan(path)
    assert scan.runs.empty
    return "; ".join(scan.refused["reason"])


def _zip(path, **members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name.replace("__", "/").replace("_json", ".json"), content)
    return path


@pytest.mark.parametrize(
    "content",
    [
        TEXT.encode("utf-8-sig"),
        TEXT.encode("utf-16"),
        TEXT.encode("utf-16-be").join([b"\xfe\xff", b""]),
        json.dumps(GOOD, indent=1).replace("\n", "\r\n").encode(),
    ],
)
def test_encodings_and_line_ends(tmp_path, content):
    (tmp_path / "a.json").write_bytes(content)
    scan = _scan(tmp_path)
    assert scan.refused.empty
    assert scan.runs["out_tok_per_s"].item() == 600


def test_archives(tmp_path):
    (tmp_path / "a.json.gz").write_bytes(gzip.compress(TEXT.encode()))
    other = json.dumps(GOOD | {"duration": 51.0})
    _zip(tmp_path / "b.zip", deep__b_json="no result", deep__c_json=other)
    scan = _scan(tmp_path)
    assert sorted(scan.runs["source"]) == ["a.json.gz:1", "b.zip/deep/c.json:1"]
    assert scan.refused["file"].tolist() == ["b.zip/deep/b.json"]


def test_what_is_no_text_in_an_archive_costs_nothing_beside_it(tmp_path):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("run.json", TEXT)
        for name in ("plot.png", "deep.zip", "more.json.gz", "bad.json", "../up.json"):
            archive.writestr(name, b"\xff\x00\xfe")
        for hidden in ("__MACOSX/._a.json", ".DS_Store"):
            archive.writestr(hidden, b"\xff\x00\xfe")
    scan = _scan(path)
    assert scan.runs["source"].tolist() == ["a.zip/run.json:1"]
    reasons = dict(zip(scan.refused["file"], scan.refused["reason"], strict=True))
    assert reasons.pop("a.zip/plot.png").startswith("not a result file")
    assert reasons.pop("a.zip/deep.zip") == "an archive inside an archive: unpack it"
    assert reasons.pop("a.zip/more.json.gz") == "an archive inside an archive: unpack it"
    assert reasons == dict.fromkeys(["a.zip/bad.json", "a.zip/../up.json"], "not UTF-8 text")


def test_archives_of_nothing_of_too_much_and_of_names_that_are_none(tmp_path, monkeypatch):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("deep/", "")
        archive.writestr("__MACOSX/a.json", TEXT)
    assert _reason(tmp_path / "a.zip") == "no result file in this archive"
    other = json.dumps(GOOD | {"duration": 51.0})
    whole = _zip(tmp_path / "a.zip", a_json=TEXT, b_json=other).read_bytes()
    (tmp_path / "a.zip").write_bytes(whole.replace(b"b.json", b"\0.json"))
    scan = _scan(tmp_path / "a.zip")
    assert len(scan.runs) == 1
    assert scan.refused["reason"].tolist() == ["it has no name"]
    monkeypatch.setattr(opening, "_MOST_OF_ONE", len(TEXT) + 10)
    (tmp_path / "a.zip").write_bytes(whole)
    scan = _scan(tmp_path / "a.zip")
    assert scan.runs["source"].tolist() == ["a.zip/a.json:1"]
    assert scan.refused["reason"].tolist() == ["the archive becomes too large"]


def test_archives_of_kinds_that_python_does_not_know(tmp_path):
    (tmp_path / "good.json").write_text(TEXT)
    whole = _zip(tmp_path / "a.zip", a_json=json.dumps(GOOD | {"duration": 51.0})).read_bytes()
    local, central = whole.index(b"PK\x03\x04"), whole.index(b"PK\x01\x02")
    for flag, method in ((0, 99), (0x20, 8), (0x40, 8)):
        odd = bytearray(whole)
        for at in (local + 6, central + 8):
            odd[at : at + 4] = struct.pack("<HH", flag, method)
        (tmp_path / "a.zip").write_bytes(odd)
        scan = _scan(tmp_path)
        assert len(scan.runs) == 1
        assert scan.refused["file"].str.startswith("a.zip").all()
    named = bytearray(whole.replace(b"a.json", b"\xff.json"))
    named[central + 8 : central + 10] = struct.pack("<H", 0x800)
    (tmp_path / "a.zip").write_bytes(named)
    assert "a damaged archive" in _scan(tmp_path).refused["reason"].item()


@pytest.mark.parametrize("packed", ["gz", "zip"])
def test_a_large_archive_that_is_damaged_is_refused_and_no_good_file_is_lost(
    tmp_path, monkeypatch, packed
):
    monkeypatch.setattr(opening, "WHOLE", 2**14)
    (tmp_path / "good.json").write_text(TEXT)
    lines = "\n".join(json.dumps(GOOD | {"duration": 50.0 + n}) for n in range(400)).encode()
    if packed == "gz":
        (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(lines)[:-2000])
    else:
        with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_STORED) as archive:
            archive.writestr("a.jsonl", lines)
        whole = (tmp_path / "a.zip").read_bytes()
        (tmp_path / "a.zip").write_bytes(whole.replace(b'"duration": 449.0', b'"duration": 440.0'))
    scan = _scan(tmp_path)
    assert scan.runs["source"].tolist() == ["good.json:1"]
    assert "a damaged archive" in scan.refused["reason"].item()


def test_damaged_archives(tmp_path):
    whole = gzip.compress(TEXT.encode())
    for name, content in {
        "cut.json.gz": whole[:-20],
        "none.json.gz": b"not packed",
        "none.zip": b"not packed",
        "cut.zip": _zip(tmp_path / "w.zip", a=TEXT).read_bytes()[:-30],
    }.items():
        (tmp_path / "one").mkdir(exist_ok=True)
        path = tmp_path / "one" / name
        path.write_bytes(content)
        assert "a damaged archive" in _reason(path), name


def test_an_archive_that_becomes_too_large(tmp_path, monkeypatch):
    monkeypatch.setattr(opening, "WHOLE", 2**16)
    bomb = b"\n" * 2**24
    (tmp_path / "bomb.jsonl.gz").write_bytes(gzip.compress(bomb))
    _zip(tmp_path / "bomb.zip", bomb_json=bomb)
    (tmp_path / "good.json").write_text(TEXT)
    scan = _scan(tmp_path)
    assert len(scan.runs) == 1, "the good file beside them is read"
    reasons = dict(zip(scan.refused["file"], scan.refused["reason"], strict=True))
    assert reasons["bomb.jsonl.gz"] == "an archive that becomes too large"
    assert reasons["bomb.zip/bomb.json"].startswith("larger than")


def test_large_files_are_read_by_line_or_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(opening, "WHOLE", 2**14)
    monkeypatch.setattr(opening, "LARGEST", 2**16)
    lines = [json.dumps(GOOD | {"duration": 50.0 + number}) for number in range(200)]
    (tmp_path / "many.jsonl").write_text("\n".join([*lines, "x" * 2**15]))
    (tmp_path / "one.json").write_text("[" + ",".join(lines) + "]")
    scan = _scan(tmp_path)
    assert scan.refused["file"].tolist() == ["many.jsonl", "one.json"]
    assert scan.refused["reason"].iloc[0] == "the line is too long to be read"
    assert scan.refused["reason"].iloc[1].startswith("larger than")
    assert len(scan.runs) == 200
    (tmp_path / "many.jsonl").write_text("\n".join(lines))
    assert len(_scan(tmp_path / "many.jsonl").runs) == 200


@pytest.mark.parametrize("asked", [None, 5, [1], b"a", [b"a", "b"]])
def test_what_is_no_path(asked):
    with pytest.raises(ReadError, match=r"paths: .* a path or a list of paths belongs"):
        _scan(asked)


def test_files_of_one_name_are_told_apart(tmp_path):
    for folder, duration in (("a", 50.0), ("b", 51.0)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "run.json").write_text(json.dumps(GOOD | {"duration": duration}))
        (tmp_path / folder / "bad.json").write_text("{")
    files = [str(path) for path in sorted(tmp_path.rglob("*.json"))]
    for asked in (files, [tmp_path / "b", tmp_path / "a"], tmp_path):
        scan = _scan(asked)
        assert sorted(scan.runs["source"]) == ["a/run.json:1", "b/run.json:1"]
        assert scan.refused["file"].tolist() == ["a/bad.json", "b/bad.json"]


def test_reasons_can_be_printed_and_are_no_longer_than_can_be_read(tmp_path):
    (tmp_path / "a.json").write_text(json.dumps({"\u001b[31mred": 1, "\ud800": 2}))
    (tmp_path / "b.json").write_text(json.dumps(GOOD | {"duration": "x" * 10**5}))
    reasons = _scan(tmp_path).refused["reason"]
    assert "x1b[31mred" in reasons[0]
    assert all(reason.isprintable() and len(reason) < 2100 for reason in reasons)
    reasons.to_csv(tmp_path / "refused.csv")


@pytest.mark.slow
def test_a_line_of_two_gigabytes(tmp_path):
    for name, told in (("a.json", "larger than 256 MiB"), ("a.jsonl", "too long to be read")):
        path = tmp_path / name
        with path.open("wb") as file:
            file.truncate(2**31)
        assert told in _reason(path)
        path.unlink()


def test_a_file_that_changes_while_it_is_read(tmp_path, monkeypatch):
    path = tmp_path / "a.json"
    path.write_text(TEXT)
    read = opening._text

    def changing(*args, **options):
        found = read(*args, **options)
        path.write_text(TEXT + " ")
        return found

    monkeypatch.setattr(opening, "_text", changing)
    assert _reason(path) == "it changed while it was read"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[" * 10**5, "nested too deeply"),
        ('{"a":' * 10**5 + "1" + "}" * 10**5, "nested too deeply"),
        (TEXT[:-1] + ', "duration": 99}', "'duration' stands twice, with different values"),
        (TEXT.replace("50.0", "NaN"), None),
        (TEXT.replace("200", '"200"'), None),
        (TEXT[:-1] + ', "duration": 50.0}', None),
    ],
)
def test_odd_json(tmp_path, text, told):
    (tmp_path / "a.json").write_text(text)
    scan = _scan(tmp_path)
    if told is None:
        assert scan.refused.empty
        assert len(scan.runs) == 1
    else:
        assert told in _reason(tmp_path)


def test_links_that_go_round(tmp_path):
    (tmp_path / "a.json").write_text(TEXT)
    (tmp_path / "round").symlink_to(tmp_path)
    (tmp_path / "self.json").symlink_to(tmp_path / "self.json")
    scan = _scan(tmp_path)
    assert len(scan.runs) == 1
    assert sorted(scan.refused["file"]) == ["round", "self.json"]


def test_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(TEXT.encode())))
    scan = _scan("-")
    assert scan.runs["source"].item() == "standard input:1"


def test_the_order_of_files_changes_nothing(tmp_path):
    paths = []
    for number in range(12):
        path = tmp_path / f"{number}.json"
        bad = number % 4 == 3
        path.write_text("{" if bad else json.dumps(GOOD | {"duration": 50.0 + number}))
        paths.append(path)
    expected = _scan(paths)
    assert (len(expected.runs), len(expected.refused)) == (9, 3)
    rng = random.Random(1)
    for _ in range(3):
        rng.shuffle(paths)
        again = _scan(paths)
        assert again.runs.equals(expected.runs)
        assert again.refused.equals(expected.refused)


def test_a_card_that_no_table_knows_may_be_given(tmp_path):
    (tmp_path / "a.json").write_text(json.dumps(GOOD | {"gpu_name": "Secret GPU"}))
    assert _scan(tmp_path).runs["gpu"].item() == "Secret GPU"
    assert hc.scan_runs(tmp_path, gpu="RTX 4090").runs["gpu"].item() == "RTX 4090"
