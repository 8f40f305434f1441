# SPDX-License-Identifier: Apache-2.0
# The Debian packages, by CPack: herdgate (component server), libherdgate0 (library) and libherdgate-dev (dev).
# Only for builds that were configured for /usr (preset deb): the paths are compiled in.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME herdgate)
set(CPACK_PACKAGE_CONTACT "herdgate maintainers <maintainers@herdgate.example>")
set(CPACK_COMPONENTS_ALL server library dev)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/stage.cmake)
set(CPACK_VERBATIM_VARIABLES ON)
# Installed as into a root of its own, so that the unit names the prefix.
set(CPACK_SET_DESTDIR ON)
set(CPACK_INSTALL_PREFIX /usr)
# CPack reads it before stage.cmake.
set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_CURRENT_BINARY_DIR}/stage_with.cmake)
file(WRITE ${CPACK_PROJECT_CONFIG_FILE} "set(HERDGATE_SOURCE_DIR [[${PROJECT_SOURCE_DIR}]])\n")

set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(about "herdgate keeps the answers that API gateways ask for again and again, and loads
each of them once, however many requests wait for it. What has been invalidated
is not served again, from no memory, running load or snapshot.
.
")
set(CPACK_DEBIAN_SERVER_PACKAGE_NAME herdgate)
set(CPACK_DEBIAN_SERVER_PACKAGE_SOURCE herdgate)
set(CPACK_DEBIAN_SERVER_PACKAGE_SECTION net)
set(CPACK_DEBIAN_SERVER_PACKAGE_DEPENDS "systemd | systemd-standalone-sysusers | systemd-sysusers")
set(CPACK_DEBIAN_SERVER_PACKAGE_CONTROL_EXTRA
    ${CMAKE_CURRENT_LIST_DIR}/postinst ${CMAKE_CURRENT_LIST_DIR}/prerm ${CMAKE_CURRENT_LIST_DIR}/postrm
    ${CMAKE_CURRENT_LIST_DIR}/conffiles)
set(CPACK_COMPONENT_SERVER_DESCRIPTION "caches for API gateways: server and command\n${about}This package has the server, its loaders, and the command that asks it.")

set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libherdgate0)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SOURCE herdgate)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_MULTIARCH same)
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/shlibs "libherdgate 0 libherdgate0 (>= ${PROJECT_VERSION})\n")
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/triggers "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_BINARY_DIR}/shlibs ${CMAKE_CURRENT_BINARY_DIR}/triggers)
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION "caches for API gateways: client library\n${about}This package has the library that programs ask the server by.")

set(CPACK_DEBIAN_DEV_PACKAGE_NAME libherdgate-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SOURCE herdgate)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "libherdgate0 (= ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})")
set(CPACK_COMPONENT_DEV_DESCRIPTION "caches for API gateways: development files\n${about}This package has what programs and loader plugins are built against, and the\nmessages and the protocol for clients in other languages.")

include(CPack)
