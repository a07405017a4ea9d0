"""Makes the package `statesampler`: pip and build run this.

In the repository, the package is first laid out in a temporary folder, so that
nothing is left beside the sources. An sdist has that layout already."""

import ast
import atexit
import glob
import os
import re
import shutil
import sys
import tempfile

from setuptools import Distribution, Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import CCompilerError, ModuleError, PlatformError

# What the package has besides its folder, and where. The headers are those that
# library.c includes.
LAYOUT = {"setup.py": ".", "pyproject.toml": ".", "README.md": ".",
          "../../LICENSE": ".",
          "../../statesampler.h": "statesampler"}
with open("statesampler/library.c", encoding="utf-8") as library:
    for header in re.findall('^#include "(.*)"', library.read(), re.MULTILINE):
        if header != "statesampler.h":
            LAYOUT["../extras/" + header] = "statesampler"


def lay_out():
    """Makes the layout of an sdist, and goes there."""
    if "editable_wheel" in sys.argv:
        sys.exit("statesampler has no editable install: put the folder "
                 f"{os.getcwd()} on PYTHONPATH instead.")
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    shutil.copytree("statesampler", os.path.join(folder, "statesampler"),
                    ignore=shutil.ignore_patterns("__pycache__"))
    for source, target in LAYOUT.items():
        if not os.path.exists(source):
            sys.exit(f"{source} is not in {os.getcwd()}: install from a whole "
                     "checkout, with pip 21.3 or newer, or from an sdist.")
        shutil.copy(source, os.path.join(folder, target))
    os.chdir(folder)
    with open("MANIFEST.in", "w") as manifest:
        manifest.write("include statesampler/*.h\n")


class Library(build_ext):
    """For ctypes: the same library for every Python, without a PyInit."""

    def get_ext_filename(self, name):
        return os.path.join(*name.split(".")) + ".so"

    def get_export_symbols(self, library):
        return []

    def build_extension(self, library):
        try:
            super().build_extension(library)
        except (CCompilerError, PlatformError) as error:
            sys.exit(f"The library was not compiled, as {error}: install gcc "
                     "or clang, or set CC and CFLAGS to what works here.")


try:
    bdist_wheel = Distribution().get_command_class("bdist_wheel")
except (ModuleError, ImportError):
    sys.exit("A wheel cannot be made here: pip install wheel, or setuptools "
             "70.1 or newer, or leave --no-build-isolation out.")


class Wheel(bdist_wheel):
    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


if not os.path.exists("statesampler/statesampler.h"):
    lay_out()
with open("statesampler/statesampler.h") as header:
    version = re.search(" - v([0-9.]+) - ", header.readline())[1]
with open("statesampler/__init__.py") as module:
    about = ast.get_docstring(ast.parse(module.read()))
with open("README.md", encoding="utf-8") as readme:
    manual = readme.read()
# What an index shows: the first sentences and the first program. All else has
# links to files that only the repository has, and would be 8 KB of the wheel.
shown = (manual[:manual.index("- [Install]")] +
         re.search("^```python\n.*?^```$", manual, re.DOTALL | re.MULTILINE)[0])
# With libraries for the usual platforms, the wheel is for all: Python says where
# none fits, and names the sdist.
parts, compiled = ["py.typed", "*.pyi"], []
if glob.glob("statesampler/libstatesampler-*"):
    parts.append("libstatesampler-*")
else:
    compiled = [Extension(
        "statesampler.libstatesampler", ["statesampler/library.c"],
        include_dirs=["statesampler"],
        extra_compile_args=[] if os.name == "nt" else ["-std=c99", "-g0"])]
setup(
    verbose=0, name="statesampler", version=version,
    license="MIT OR Unlicense",
    description=about.splitlines()[0], long_description=shown,
    long_description_content_type="text/markdown", python_requires=">=3.7",
    packages=["statesampler"],
    package_data={"statesampler": parts}, ext_modules=compiled,
    cmdclass={"build_ext": Library, "bdist_wheel": Wheel})
