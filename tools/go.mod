module github.com/zkbench/zkbench/tools

go 1.26.0

require (
	github.com/go-zookeeper/zk v1.0.4
	github.com/zkbench/zkbench v0.0.0
)

require (
	github.com/aclements/go-moremath v0.0.0-20210112150236-f10218a38794 // indirect
	github.com/anishathalye/porcupine v1.3.1 // indirect
	github.com/klauspost/compress v1.18.0 // indirect
)

replace github.com/zkbench/zkbench => ../
