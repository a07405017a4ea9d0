-- The header alone. In your xmake.lua: includes("statesampler.lua"), then
-- add_requires("statesampler") and, in a target, add_packages("statesampler")

package("statesampler")
    set_kind("library", {headeronly = true})
    set_description("Shuffled sample indices for training runs")
    set_license("MIT")
    set_urls("@RELEASE@/statesampler.h-$(version).tar.gz")
    add_versions("@VERSION@", "@SHA256@")

    on_install(function (package)
        os.cp("statesampler.h", package:installdir("include"))
    end)

    on_test(function (package)
        assert(package:has_cfuncs("statesampler_perm_at", {
            includes = "statesampler.h",
            configs = {defines = "STATESAMPLER_IMPLEMENTATION"}}))
    end)
package_end()
