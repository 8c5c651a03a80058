#!/bin/sh
# zkCli.sh [-server HOST:PORT] [COMMAND...]: ZooKeeper's own client. That it ends is no error, which is how its log has it.
set -eu
exec java -Dorg.slf4j.simpleLogger.defaultLogLevel=warn -Dorg.slf4j.simpleLogger.log.org.apache.zookeeper.util.ServiceUtils=off \
    -cp /usr/share/java/zookeeper.jar:/usr/share/java/slf4j-simple.jar org.apache.zookeeper.ZooKeeperMain "$@"
