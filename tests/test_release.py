"""What is released works: wheel and sources, in a clean environment and in a browser."""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest
import yaml

import anchorview

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
SCRIPT = ROOT / "tests" / "helpers" / "pyodide_fit.mjs"
PYODIDE = Path(os.environ.get("ANCHORVIEW_PYODIDE", ROOT / "node_modules" / "pyodide"))
"""Folder of the npm package, or of a full distribution of Pyodide, which has packages as well."""

SMOKE = """
from anchorview import DALMC, load_digits
from anchorview.metrics import clustering_accuracy

views, y = load_digits(return_X_y=True)
model = DALMC(n_clusters=10, random_state=0).fit(views)
assert clustering_accuracy(y, model.labels_) > 0.9
assert (model.predict(views) == model.labels_).all()
print("fitted")
"""

# What each extra is for, in an environment without the others.
USES = {
    "dask": """
import dask.array as da
assert len(DALMC(10).fit([da.from_array(X) for X in views.values()]).labels_.compute()) == 2000
""",
    "excel": """
import zipfile
office = "http://schemas.openxmlformats.org/{}/2006/{}"
parts = {"_rels/.rels": ("officeDocument", "xl/workbook.xml")}
parts["xl/_rels/workbook.xml.rels"] = ("worksheet", "worksheets/sheet1.xml")
ids = office.format("officeDocument", "relationships")
main = office.format("spreadsheetml", "main")
row = '<row><c t="str"><v>{}</v></c><c t="str"><v>{}</v></c></row>'
rows = row.format("id", "x") + row.format("first", "one") + row.format("second", "two")
with zipfile.ZipFile("views.xlsx", "w") as file:
    for part, (kind, target) in parts.items():
        one = f'<Relationship Id="r" Type="{ids}/{kind}" Target="{target}"/>'
        relations = office.format("package", "relationships")
        file.writestr(part, f'<Relationships xmlns="{relations}">{one}</Relationships>')
    sheet = f'<sheets><sheet name="a" sheetId="1" xmlns:r="{ids}" r:id="r"/></sheets>'
    file.writestr("xl/workbook.xml", f'<workbook xmlns="{main}">{sheet}</workbook>')
    rows = f'<worksheet xmlns="{main}"><sheetData>{rows}</sheetData></worksheet>'
    file.writestr("xl/worksheets/sheet1.xml", rows)
assert read_views("views.xlsx").sample_ids.tolist() == ["first", "second"]
""",
    "hdf5": """
import h5py
with h5py.File("views.h5", "w") as file:
    file["pixels"] = views["pixels"]
assert read_views("views.h5").views["pixels"].shape[0] == 2000
""",
    "leiden": """
from anchorview.compared import GraphLeiden
assert len(GraphLeiden(10).fit(views).labels_) == 2000
""",
    "mudata": """
import anndata, mudata
cells = mudata.MuData({name: anndata.AnnData(X) for name, X in views.items()})
assert len(DALMC(10).fit(cells).labels_) == 2000
""",
    "parquet": """
import pathlib, pandas
pathlib.Path("tables").mkdir()
pandas.DataFrame(views["pixels"]).rename(columns=str).to_parquet("tables/pixels.parquet")
assert read_views("tables", id_column=False).views["pixels"].shape[0] == 2000
""",
    "report": """
from anchorview.report import write_fit_report
write_fit_report("report.html", model, views)
assert "</html>" in open("report.html").read()
""",
    "scverse": """
import anndata
from anchorview import scverse
cells = anndata.AnnData(views["pixels"], obsm={"X_fourier": views["fourier"]})
scverse.tl.dalmc(cells, 10, views={"pixels": "X", "fourier": "obsm:X_fourier"})
scverse.pl.sizes(cells, "dalmc")
""",
    "remote": """
from anchorview import open_views
try:
    open_views("s3://user:password@bucket/folder")
except ValueError as error:
    assert "password" not in str(error)
""",
    "skops": """
from sklearn.preprocessing import QuantileTransformer
DALMC(10, preprocess=QuantileTransformer(n_quantiles=10)).fit(views).save("model.anchorview")
assert (load("model.anchorview").labels_ >= 0).all()
""",
    "zarr": """
import zarr
zarr.save_group("views.zarr", pixels=views["pixels"])
assert read_views("views.zarr").views["pixels"].shape[0] == 2000
""",
}

# The package answers without NumPy, and memory is assumed without psutil.
WITHOUT_PACKAGES = f"""
import sys
import anchorview
from anchorview._utils.memory import ASSUMED_BYTES, available_memory

assert sys.platform == "emscripten" and "psutil" not in sys.modules
assert anchorview.__version__ == "{anchorview.__version__}"
assert available_memory() == ASSUMED_BYTES
print("imported")
"""


@pytest.fixture(scope="session")
def distributions(tmp_path_factory):
    """Source distribution, and the wheel that is built from it."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    (source,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    return source, wheel


def test_workflows_are_valid():
    """By the schema of GitHub; commands are those of ``dev.py``."""
    assert len(WORKFLOWS) == 4
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema"]
    subprocess.run([*command, "vendor.github-workflows", *map(str, WORKFLOWS)], check=True)
    jobs = set(
        (ROOT / "dev.py").read_text().rpartition("JOBS = {")[2].split("}")[0].split('"')[1::2]
    )
    for path in WORKFLOWS:
        for job in yaml.safe_load(path.read_text())["jobs"].values():
            for step in job["steps"]:
                words = step.get("run", "").split()
                if words[1:2] == ["dev.py"]:
                    assert words[2] in jobs


@pytest.mark.slow
def test_distributions_have_the_package_and_little_else(distributions):
    source, wheel = distributions
    with zipfile.ZipFile(wheel) as file:
        names = file.namelist()
    assert {"anchorview/py.typed", "anchorview/datasets/data/digits.npz"} <= set(names)
    assert {name.split("/")[0] for name in names} == {
        "anchorview",
        f"anchorview-{anchorview.__version__}.dist-info",
    }
    with tarfile.open(source) as archive:
        tops = {name.split("/")[1] for name in archive.getnames()}
    assert {"src", "tests", "docs", "examples", "dev.py", "LICENSE", "PKG-INFO"} <= tops
    assert not {".venv", "dist", ".git"} & tops


@pytest.mark.slow
@pytest.mark.parametrize("extra", ["", *USES])
def test_the_wheel_works_in_a_clean_environment_with_each_extra_alone(
    distributions, tmp_path, extra
):
    python = tmp_path / "clean" / ("Scripts" if os.name == "nt" else "bin") / "python"
    settings = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    wanted = f"anchorview{f'[{extra}]' * bool(extra)} @ {distributions[1].as_uri()}"
    for command in (
        ["uv", "venv", "--quiet", "--python", sys.executable, str(tmp_path / "clean")],
        ["uv", "pip", "install", "--quiet", "--python", str(python), wanted],
    ):
        subprocess.run([sys.executable, "-m", *command], check=True)
    program = f"from anchorview import load, read_views\n{SMOKE}\n{USES.get(extra, '')}"
    for command in (["-c", program], ["-m", "anchorview", "--version"]):
        subprocess.run([str(python), *command], check=True, cwd=tmp_path, env=settings)


@pytest.mark.slow
@pytest.mark.parametrize("page", ["README.md", "docs/index.md", "docs/getting_started.md"])
def test_the_landing_pages_install_as_written(distributions, tmp_path, page):
    (command,) = re.findall(r"^pip install .*$", (ROOT / page).read_text(), re.MULTILINE)
    folder = tmp_path / "clean"
    venv.create(folder, with_pip=True)
    settings = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    settings["PATH"] = f"{folder / 'bin'}{os.pathsep}{settings['PATH']}"
    settings["PIP_FIND_LINKS"] = str(distributions[1].parent)
    subprocess.run(["sh", "-c", command], check=True, cwd=tmp_path, env=settings)
    program = f"{SMOKE}\n{USES['report']}"
    subprocess.run(["python", "-c", program], check=True, cwd=tmp_path, env=settings)


def test_every_extra_is_used():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert {*USES, "docs", "dev"} == set(project["optional-dependencies"])


def in_pyodide(wheel, program, *packages):
    command = ["node", str(SCRIPT), str(PYODIDE), str(wheel), *packages]
    return subprocess.run(command, input=program, capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="session")
def pyodide_lock():
    """The packages that this version of Pyodide has, by name."""
    if shutil.which("node") is None or not PYODIDE.is_dir():
        pytest.skip("node or the npm package pyodide is not here")
    return json.loads((PYODIDE / "pyodide-lock.json").read_text())["packages"]


@pytest.mark.slow
def test_the_wheel_imports_in_a_browser(distributions, pyodide_lock):
    result = in_pyodide(distributions[1], WITHOUT_PACKAGES)
    assert result.stdout.endswith("imported\n"), result.stderr[-2000:]


@pytest.mark.slow
def test_the_wheel_fits_in_a_browser(distributions, pyodide_lock):
    packages = ["narwhals", "numpy", "pandas", "scikit-learn", "scipy"]
    if not all((PYODIDE / pyodide_lock[name]["file_name"]).exists() for name in packages):
        pytest.skip("set ANCHORVIEW_PYODIDE to a full distribution of Pyodide")
    result = in_pyodide(distributions[1], SMOKE, *packages)
    assert result.stdout.endswith("fitted\n"), result.stderr[-2000:]
