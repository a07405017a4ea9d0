# The header alone, for Conan 2. Try it: conan create FOLDER/OF/THIS/FILE

import os

from conan import ConanFile
from conan.tools.files import copy, get


class StatesamplerConan(ConanFile):
    name = "statesampler"
    version = "@VERSION@"
    description = "Shuffled sample indices for training runs"
    license = "MIT OR Unlicense"
    package_type = "header-library"
    no_copy_source = True

    def source(self):
        get(self, "@ARCHIVE_URL@", sha256="@SHA256@", strip_root=True)

    def package(self):
        for name, to in ("statesampler.h", "include"), ("LICENSE", "licenses"):
            copy(self, name, self.source_folder,
                 os.path.join(self.package_folder, to))

    def package_info(self):
        self.cpp_info.bindirs = self.cpp_info.libdirs = []
