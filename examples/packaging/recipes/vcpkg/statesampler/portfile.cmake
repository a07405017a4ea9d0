# Both targets of examples/packaging/cmake.
# Try it: vcpkg install statesampler --overlay-ports=FOLDER/OF/THIS/FILE

vcpkg_download_distfile(archive
    URLS "@ARCHIVE_URL@"
    FILENAME "@ARCHIVE@"
    SHA512 @SHA512@)
vcpkg_extract_source_archive(source ARCHIVE "${archive}")
vcpkg_cmake_configure(SOURCE_PATH "${source}/examples/packaging/cmake")
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/statesampler)
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include")
vcpkg_install_copyright(FILE_LIST "${source}/LICENSE")
