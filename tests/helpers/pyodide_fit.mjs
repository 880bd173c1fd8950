// Install a wheel of anchorview into Pyodide and run a program there:
// node pyodide_fit.mjs PYODIDE_FOLDER WHEEL [PACKAGE...] < program.py
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [folder, wheel, ...packages] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(path.join(folder, "pyodide.mjs")).href);
const pyodide = await loadPyodide({ indexURL: folder + path.sep });
try {
  if (packages.length) await pyodide.loadPackage(packages);
  pyodide.unpackArchive(new Uint8Array(fs.readFileSync(wheel)), "wheel");
  pyodide.runPython(fs.readFileSync(0, "utf8"));
} catch (error) {
  // Without the source of Pyodide, one line of a megabyte.
  console.error(error.message);
  process.exitCode = 1;
}
