# SPDX-License-Identifier: MIT
# What goes where. An installed tree can be moved as a whole; only libhcp.a knows the prefix that was configured.
include(CMakePackageConfigHelpers)
# whatever the umask: hcp refuses what others may write
set(CMAKE_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ
  WORLD_EXECUTE)

install(TARGETS hcp_installed RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS hcp_lib EXPORT hcp LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES $<TARGET_FILE:hcp_static> DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES core/include/hcp.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS hcp_module LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/lua/5.4)
install(TARGETS hcp-init RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/hcp)
install(TARGETS hcp-net hcp-http LIBRARY DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/hcp)
install(DIRECTORY adapters policies packs DESTINATION ${CMAKE_INSTALL_DATADIR}/hcp REGEX "/packs/[^/]+/bin/[^/]+$"
  PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

# What editors and luacheck know of scripts.
install(DIRECTORY lua/types lua/luacheck lua/hcp DESTINATION ${CMAKE_INSTALL_DATADIR}/hcp/lua)
install(FILES ${CMAKE_BINARY_DIR}/lua/luarc.json ${CMAKE_BINARY_DIR}/lua/luacheckrc
  DESTINATION ${CMAKE_INSTALL_DATADIR}/hcp/lua)

install(FILES man/hcp.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES man/libhcp.3 DESTINATION ${CMAKE_INSTALL_MANDIR}/man3)
install(FILES man/hcp-pack.5 man/hcp-policy.5 man/hcp.yaml.5 DESTINATION ${CMAKE_INSTALL_MANDIR}/man5)
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES LICENSE NEWS.md DESTINATION ${CMAKE_INSTALL_DOCDIR})

# To be copied to /etc/apparmor.d where a host wants it: docs/doctor.md.
configure_file(packaging/apparmor.d/hcp.in ${CMAKE_BINARY_DIR}/apparmor.d/hcp @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/apparmor.d/hcp DESTINATION ${CMAKE_INSTALL_DATADIR}/hcp/apparmor.d)

# What editors judge YAML files by is what the program prints.
foreach(format pack pack-policy policy settings)
  set(file ${CMAKE_BINARY_DIR}/schema/${format}.json)
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/schema)
  add_custom_command(OUTPUT ${file} DEPENDS hcp VERBATIM COMMAND $<TARGET_FILE:hcp> schema ${format} > ${file})
  list(APPEND schemas ${file})
endforeach()
add_custom_target(schemas ALL DEPENDS ${schemas})
install(FILES ${schemas} DESTINATION ${CMAKE_INSTALL_DATADIR}/hcp/schema)

# Completion scripts are what the program prints where PATH has no links.
function(install_completion shell name folder)
  set(file ${CMAKE_BINARY_DIR}/completions/${shell}/${name})
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/completions/${shell})
  add_custom_command(OUTPUT ${file} DEPENDS hcp VERBATIM
    COMMAND ${CMAKE_COMMAND} -E env PATH=/nonexistent $<TARGET_FILE:hcp> completion ${shell} > ${file})
  add_custom_target(completion-${shell} ALL DEPENDS ${file})
  install(FILES ${file} DESTINATION ${CMAKE_INSTALL_DATADIR}/${folder})
endfunction()
install_completion(bash hcp bash-completion/completions)
install_completion(zsh _hcp zsh/site-functions)
install_completion(fish hcp.fish fish/vendor_completions.d)

# For the programs that embed it: pkg-config hcp or hcp-static, find_package(hcp), hcp::hcp or hcp::static.
file(RELATIVE_PATH prefix_from_pc ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" prefix_from_pc ${prefix_from_pc})
foreach(name hcp hcp-static)
  configure_file(packaging/${name}.pc.in ${CMAKE_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
configure_package_config_file(packaging/hcpConfig.cmake.in ${CMAKE_BINARY_DIR}/hcpConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/hcp PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/hcpConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/hcpConfig.cmake ${CMAKE_BINARY_DIR}/hcpConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/hcp)
install(EXPORT hcp NAMESPACE hcp:: FILE hcpTargets.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/hcp)

# cmake --build DIR --target uninstall
add_custom_target(uninstall COMMAND ${CMAKE_COMMAND} -D MANIFEST=${CMAKE_BINARY_DIR}/install_manifest.txt
  -P ${CMAKE_CURRENT_LIST_DIR}/uninstall.cmake VERBATIM)

# cmake --preset deb && cmake --build build-deb && cpack --config build-deb/CPackConfig.cmake
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME hcp)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "runs declared commands for agents, without a shell")
set(CPACK_PACKAGE_CONTACT "hcp <hcp@localhost>")
set(CPACK_PACKAGING_INSTALL_PREFIX ${CMAKE_INSTALL_PREFIX})
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_BINARY_DIR})
set(CPACK_DEBIAN_PACKAGE_DEPENDS zlib1g) # loaded by name, when a pack comes as an archive
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "hledger, sqlite3, git, unzip")
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_LIST_DIR}/triggers)
include(CPack)
