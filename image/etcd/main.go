// The etcd of a device, which is what a cluster's members share: etcd as it is released, and nothing else.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() {
	etcdmain.Main(os.Args)
}
