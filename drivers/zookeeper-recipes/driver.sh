#!/bin/sh
# A driver of zkbench for ZooKeeper's own recipes, from Debian's libzookeeper-java or the jars in ZOOKEEPER_RECIPES_JARS: docs/drivers.md.
here=$(dirname "$0")
jars=${ZOOKEEPER_RECIPES_JARS:-/usr/share/java}
needs="zookeeper-recipes-lock zookeeper-recipes-election zookeeper-recipes-queue"
install="'make drivers' installs libzookeeper-java and libjackson2-databind-java; or set ZOOKEEPER_RECIPES_JARS to a directory with the jars"
. "$here/../java/start"
