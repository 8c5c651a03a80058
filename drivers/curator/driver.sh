#!/bin/sh
# A driver of zkbench for Apache Curator, from Debian's libcurator-recipes-java or the jars in CURATOR_JARS: docs/drivers.md.
here=$(dirname "$0")
jars=${CURATOR_JARS:-/usr/share/java}
needs="guava curator-client curator-framework curator-recipes"
install="'make drivers' installs libcurator-recipes-java and libjackson2-databind-java; or set CURATOR_JARS to a directory with the jars"
. "$here/../java/start"
