// The etcd of a device, which is what a cluster's members share: the server of etcd as it is released. What it is told are the flags of
// boot/etcd/parameters.ts: those whose values etcd's own main package takes apart itself are taken apart here, and no others.
package main

import (
	"flag"
	"fmt"
	"os"

	"go.etcd.io/etcd/api/v3/version"
	"go.etcd.io/etcd/pkg/v3/flags"
	"go.etcd.io/etcd/pkg/v3/osutil"
	"go.etcd.io/etcd/server/v3/embed"
)

func main() {
	config := embed.NewConfig()
	config.AddFlags(flag.CommandLine)
	flag.StringVar(&config.ClusterState, "initial-cluster-state", config.ClusterState, "")
	isAsked := flag.Bool("version", false, "")
	flag.Parse()
	if *isAsked {
		fmt.Printf("etcd Version: %s\n", version.Version)
		return
	}
	config.ListenPeerUrls = flags.UniqueURLsFromFlag(flag.CommandLine, "listen-peer-urls")
	config.AdvertisePeerUrls = flags.UniqueURLsFromFlag(flag.CommandLine, "initial-advertise-peer-urls")
	config.ListenClientUrls = flags.UniqueURLsFromFlag(flag.CommandLine, "listen-client-urls")
	config.AdvertiseClientUrls = flags.UniqueURLsFromFlag(flag.CommandLine, "advertise-client-urls")
	config.LogOutputs = flags.UniqueStringsFromFlag(flag.CommandLine, "log-outputs")

	server, err := embed.StartEtcd(config)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	osutil.RegisterInterruptHandler(server.Close)
	osutil.HandleInterrupts(config.GetLogger())
	select {
	case err = <-server.Err():
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	case <-server.Server.StopNotify():
		osutil.Exit(0)
	}
}
