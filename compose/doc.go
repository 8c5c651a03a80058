// Package compose has the files of ensembles in containers, for docker-compose 1.29 and docker compose 2: ensembles of 1, 3 and 5 servers, one with
// an observer, and what runs beside them, which is Prometheus with Grafana and the load generator. docs/containers.md describes their use. image/ builds
// the image of a server and generator/ that of the generator, both through make. fleet/ has what starts one run on many hosts, as 'zkbench fleet' prints
// it: see docs/fleet.md.
package compose
