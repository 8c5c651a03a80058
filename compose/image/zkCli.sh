#!/bin/sh
# zkCli.sh [-server HOST:PORT] [COMMAND...]: ZooKeeper's own client.
set -eu
exec java -Dorg.slf4j.simpleLogger.defaultLogLevel=warn -cp /usr/share/java/zookeeper.jar:/usr/share/java/slf4j-simple.jar \
    org.apache.zookeeper.ZooKeeperMain "$@"
