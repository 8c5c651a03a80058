#!/bin/sh
# A driver of zkbench for Apache Curator, from Debian's libcurator-recipes-java or the jars in CURATOR_JARS: docs/drivers.md.
jars=${CURATOR_JARS:-/usr/share/java}
path=
for jar in curator-recipes curator-framework curator-client zookeeper zookeeper-jute guava slf4j-api slf4j-nop jackson-databind jackson-core jackson-annotations \
    netty-common netty-buffer netty-handler netty-transport netty-codec netty-resolver netty-transport-native-epoll netty-transport-native-unix-common; do
    if [ ! -e "$jars/$jar.jar" ]; then
        echo "$jars/$jar.jar is not there ('make drivers' installs libcurator-recipes-java and libjackson2-databind-java; or set CURATOR_JARS to a directory with the jars)" >&2
        exit 1
    fi
    path=$path:$jars/$jar.jar
done
if ! command -v javac >/dev/null 2>&1; then
    echo "there is no javac, which runs the driver from its source ('make drivers' installs default-jdk-headless)" >&2
    exit 1
fi
exec java -XX:+UseSerialGC -cp "${path#:}" "$(dirname "$0")/Driver.java"
