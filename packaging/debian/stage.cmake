# SPDX-License-Identifier: Apache-2.0
# What only Debian wants, put beside what was installed before it is packed: the configuration in /etc, and in each
# package's documents the copyright and the changes. Run by CPack (CPACK_PRE_BUILD_SCRIPTS).
cmake_minimum_required(VERSION 3.25)

function(put text file)
  file(WRITE ${file} "${text}")
  execute_process(COMMAND gzip -9nf ${file} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# Debian's form of CHANGELOG.md: each version with its date.
set(entries "")
file(STRINGS ${HERDGATE_SOURCE_DIR}/CHANGELOG.md headings REGEX "^## ")
foreach(heading ${headings})
  string(REGEX MATCH "^## ([0-9.]+) - ([0-9-]+)$" found "${heading}")
  if(NOT found)
    message(FATAL_ERROR "CHANGELOG.md: \"${heading}\" is not \"## VERSION - YYYY-MM-DD\"")
  endif()
  set(version ${CMAKE_MATCH_1})
  execute_process(COMMAND date -u -R -d ${CMAKE_MATCH_2} OUTPUT_VARIABLE date COMMAND_ERROR_IS_FATAL ANY)
  string(APPEND entries "herdgate (${version}-${CPACK_DEBIAN_PACKAGE_RELEASE}) unstable; urgency=medium

  * Version ${version}; what has changed is in changelog.gz.

 -- ${CPACK_PACKAGE_CONTACT}  ${date}
")
endforeach()

file(READ ${HERDGATE_SOURCE_DIR}/CHANGELOG.md changes)
foreach(component server library dev)
  string(TOUPPER ${component} upper)
  set(doc ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/${component}/usr/share/doc/${CPACK_DEBIAN_${upper}_PACKAGE_NAME})
  file(COPY ${HERDGATE_SOURCE_DIR}/packaging/debian/copyright DESTINATION ${doc})
  put("${changes}" ${doc}/changelog)
  put("${entries}" ${doc}/changelog.Debian)
endforeach()
file(COPY ${HERDGATE_SOURCE_DIR}/packaging/herdgated.conf
     DESTINATION ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/server/etc/herdgate)
# Whatever umask it was built under.
execute_process(COMMAND chmod -R u=rwX,go=rX ${CPACK_TEMPORARY_INSTALL_DIRECTORY} COMMAND_ERROR_IS_FATAL ANY)
