"""Views in object stores: in memory, and on a server of S3 on the loopback interface."""

import socket
import subprocess
import sys
import time

import fsspec
import numpy as np
import pandas as pd
import pytest
import zarr
from upath import UPath

from anchorview import DALMC, load, make_multiview, open_views, read_views
from anchorview._utils.errors import DataFileError
from anchorview._utils.progress import listen_to_progress
from anchorview.sources import disk_source
from helpers.command_line import error_of, run
from helpers.view_files import write_view_tables, write_zarr

N, K = 600, 3


@pytest.fixture(scope="module")
def local(tmp_path_factory):
    """The same views as a folder of Parquet tables and as a Zarr store."""
    folder = tmp_path_factory.mktemp("local")
    views, y = make_multiview(N, n_clusters=K, n_features=(9, 14), random_state=0)
    ids = write_view_tables(folder / "tables", views, "parquet", row_group_size=100)
    pd.DataFrame({"y": y}, index=ids).to_parquet(folder / "tables" / "labels.parquet")
    write_zarr(folder / "views.zarr", **views, y=y)
    return folder


@pytest.fixture
def store(local):
    """Address of a copy in memory."""
    memory = fsspec.filesystem("memory")
    memory.put(str(local), "/bucket", recursive=True)
    yield "memory://bucket"
    memory.rm("/bucket", recursive=True)


FORMS = pytest.mark.parametrize("name", ["tables", "views.zarr"])


def fitted(path, **parameters):
    return DALMC(K, random_state=0, **parameters).fit(open_views(path))


@FORMS
def test_results_are_those_of_local_files(local, store, name, set_constants):
    set_constants(disk_source, PART=10_000, PRODUCTS_PER_PART=0)
    opened = open_views(f"{store}/{name}")
    expected = open_views(local / name)
    assert list(opened.views) == list(expected.views)
    np.testing.assert_array_equal(opened.target, expected.target)
    model = fitted(f"{store}/{name}")
    np.testing.assert_array_equal(model.labels_, fitted(local / name).labels_)
    np.testing.assert_array_equal(model.predict(opened), model.labels_)
    read, expected = (read_views(f"{path}/{name}") for path in (store, local))
    for view, values in read.views.items():
        np.testing.assert_array_equal(values, expected.views[view])


@FORMS
def test_shell(local, store, name, tmp_path):
    model, labels = tmp_path / "a.anchorview", tmp_path / "labels.csv"
    address = f"{store}/{name}"
    assert run("fit", address, "-k", K, "--save", model, "--seed", 0).exit_code == 0
    assert run("predict", model, address, "--out", labels).exit_code == 0
    assert run("info", address).exit_code == 0
    assert len(pd.read_csv(labels)) == N == len(load(model).labels_)


def test_errors_name_the_object(store, tmp_path):
    with pytest.raises(DataFileError, match="memory://bucket/nothing: no such"):
        open_views(f"{store}/nothing")
    UPath(f"{store}/arrays/a.npy").write_bytes(b"")
    with pytest.raises(DataFileError, match=r"memory://bucket/arrays: .*\.npy .*Zarr"):
        open_views(f"{store}/arrays")
    opened = open_views(f"{store}/tables")
    broken = UPath(f"{store}/tables/view_1.parquet")
    broken.write_bytes(broken.read_bytes()[:500])
    with pytest.raises(DataFileError, match=r"memory://bucket/tables/view_1\.parquet: .*changed"):
        DALMC(K).fit(opened, out=tmp_path / "out")
    with pytest.raises(DataFileError, match=r"view_1\.parquet: cannot be read.*store"):
        open_views(f"{store}/tables")
    broken.unlink()
    with pytest.raises(DataFileError, match=r"memory://bucket/tables/view_1\.parquet"):
        DALMC(K).fit(opened, out=tmp_path / "out")
    assert not (tmp_path / "out" / "labels.npy").exists()


@pytest.mark.parametrize(
    "address",
    [
        "s3://key:geheim@bucket/folder",
        "s3://key:ge/heim@bucket/folder",
        "https://user:geheim@host/folder",
        "https://user:ge/heim@host/folder",
        "https://host/a.parquet?X-Amz-Signature=geheim",
    ],
)
def test_credentials_in_an_address_are_refused_and_not_repeated(address):
    with pytest.raises(DataFileError, match="credentials") as info:
        open_views(address)
    message = error_of("fit", address, "-k", 3)
    for text in (str(info.value), message):
        assert "geheim" not in text
        assert "ge/heim" not in text


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture
def server(monkeypatch):
    """A server of S3 with a bucket; the environment has its address and the credentials."""
    port = free_port()
    code = "import sys; from moto.server import main; main(sys.argv[1:])"
    command = [sys.executable, "-W", "ignore", "-c", code, "-H", "127.0.0.1", "-p", str(port)]
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(command, stdout=quiet, stderr=quiet)
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "geheim")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    for _ in range(600):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.1)
    # Instances are cached with the address of the server of an earlier test.
    fsspec.filesystem("s3").clear_instance_cache()
    fsspec.filesystem("s3").mkdir("bucket")
    yield process
    process.kill()
    process.wait()


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """Views of 21.6 MB, more than the limit of the fits; row groups have to be read in slices."""
    folder = tmp_path_factory.mktemp("large")
    views, _ = make_multiview(30_000, n_clusters=K, n_features=(80, 100), random_state=0)
    views = {name: view.astype(np.float32) for name, view in views.items()}
    write_view_tables(folder / "tables", views, "parquet", row_group_size=5000)
    group = zarr.open_group(str(folder / "views.zarr"), mode="w")
    for name, view in views.items():
        group.create_array(name, data=view, chunks=(500, view.shape[1]))
    return folder


@pytest.mark.system
@FORMS
def test_s3_with_less_memory_than_data(server, large, tmp_path, name):
    fsspec.filesystem("s3").put(str(large / name), f"bucket/{name}", recursive=True)
    limit = {"memory_limit": "20MB"}
    model = DALMC(K, random_state=0, **limit)
    model.fit(open_views(f"s3://bucket/{name}"), out=tmp_path / "out")
    np.testing.assert_array_equal(model.labels_, fitted(large / name, **limit).labels_)
    model.save(tmp_path / "model.anchorview")
    assert b"geheim" not in (tmp_path / "model.anchorview").read_bytes()

    def kill(stage, done, total):
        if stage == "embedding":
            server.kill()

    out = tmp_path / "interrupted"
    with listen_to_progress(kill), pytest.raises(DataFileError) as info:
        DALMC(K, random_state=0, **limit).fit(open_views(f"s3://bucket/{name}"), out=out)
    assert f"s3://bucket/{name}" in str(info.value)
    assert "store" in str(info.value)
    assert "geheim" not in str(info.value)
    assert not out.exists() or not list(out.iterdir())
