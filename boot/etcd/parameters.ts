/** Command line and environment of etcd: https://etcd.io/docs/v3.6/op-guide/configuration/ */

import { isIPv6 } from 'node:net'
import { defined } from '../../firmware/base/defined.ts'
import type { EtcdLaunch } from '../../firmware/channel/protocol.ts'
import { WRITES_MAX } from '../../firmware/cluster/etcd/limits.ts'

/** Client socket in etcd's working directory. Before 3.5 the name needs a port and has no path. */
export const SOCKET = 'etcd:0'
export const DATA = 'data'

/** Descriptors of credentials, which are not passed as arguments. etcd reads them at each connection. */
const IDENTITY_DESCRIPTOR = 4
const AUTHORITY_DESCRIPTOR = 5

const REVISIONS_KEPT = 10_000 // revisions from which a watch can start
// Limits memory: etcd retains this many entries for other members, and those of a load are large.
const SNAPSHOT_ENTRIES = 1000
const CATCHUP_ENTRIES = 500
const WALS_MAX = 2
const MEBIBYTE = 1024 ** 2
const QUOTA_BYTES_MAX = 2048 * MEBIBYTE // etcd's default, enough for a cluster with a million keys
const QUOTA_BYTES_MIN = 64 * MEBIBYTE
const LOG_BYTES = 256 * MEBIBYTE // segments of 64 MB: retained ones, the current one, and the next
/** Divides the disk among the database, its copy during defragmentation, the node's own store, and spare space. */
const QUOTA_SHARE = 4
const SLOW = '1s' // slower requests are logged

/**
 * Contains no variable of the boot manager. Beyond this limit Go's collector works harder; a lower one would leave no room to
 * read etcd's log.
 */
export const ETCD_ENVIRONMENT = { GOMEMLIMIT: '192MiB' }

export interface EtcdVersion {
  major: number
  minor: number
}

/** Parses the output of `etcd --version`; null if it is in another form. */
export function readVersion(printed: string): EtcdVersion | null {
  const [, major, minor] = /^etcd Version: (\d+)\.(\d+)\./m.exec(printed) ?? []
  return major === undefined ? null : { major: Number(major), minor: Number(minor) }
}

/** Quota of the database, which must be full before the disk is. `diskBytes` is the size of the file system. */
export const quotaFor = (diskBytes: number): number =>
  Math.floor(Math.min(QUOTA_BYTES_MAX, Math.max(QUOTA_BYTES_MIN, (diskBytes - LOG_BYTES) / QUOTA_SHARE)))

export function etcdParameters(
  launch: EtcdLaunch,
  listenUrl: string,
  version: EtcdVersion,
  quotaBytes: number,
): string[] {
  const { how, name, peerUrl, members, token, tls } = launch
  const self = [{ name, urls: [peerUrl] }]
  const initial = how === 'join' ? members : self
  return [
    ...[`--name=${name}`, `--data-dir=${DATA}`],
    ...[`--listen-client-urls=unix://${SOCKET}`, `--advertise-client-urls=unix://${SOCKET}`],
    ...[`--listen-peer-urls=${listenUrl}`, `--initial-advertise-peer-urls=${peerUrl}`],
    `--initial-cluster=${initial.flatMap(({ name, urls }) => urls.map((url) => `${name}=${url}`)).join(',')}`,
    ...[`--initial-cluster-state=${how === 'create' ? 'new' : 'existing'}`, `--initial-cluster-token=${token}`],
    ...(tls === null ? [] : TLS),
    `--max-txn-ops=${WRITES_MAX}`,
    ...['--auto-compaction-mode=revision', `--auto-compaction-retention=${REVISIONS_KEPT}`],
    ...[`--snapshot-count=${SNAPSHOT_ENTRIES}`, ...catchup(version)],
    ...[`--max-wals=${WALS_MAX}`, `--quota-backend-bytes=${quotaBytes}`],
    '--pre-vote=true', // a returning member does not unseat the leader; default only since 3.5
    ...['--logger=zap', '--log-outputs=stderr', '--log-level=warn', ...timeouts(version)],
  ]
}

/** Peers authenticate each other with certificates of the cluster's CA, over TLS 1.2 or newer, the default of Go's client and etcd. */
const TLS = [
  `--peer-cert-file=/proc/self/fd/${IDENTITY_DESCRIPTOR}`,
  `--peer-key-file=/proc/self/fd/${IDENTITY_DESCRIPTOR}`,
  `--peer-trusted-ca-file=/proc/self/fd/${AUTHORITY_DESCRIPTOR}`,
  '--peer-client-cert-auth=true',
]

const isKnown = ({ major, minor }: EtcdVersion, since: number): boolean => major > 3 || (major === 3 && minor >= since)

function catchup(version: EtcdVersion): string[] {
  if (isKnown(version, 6)) return [`--snapshot-catchup-entries=${CATCHUP_ENTRIES}`]
  if (isKnown(version, 5)) return [`--experimental-snapshot-catchup-entries=${CATCHUP_ENTRIES}`]
  return []
}

/** By default etcd warns of each request that takes a tenth of a second, which under signing load on a small device is every request. */
const timeouts = (version: EtcdVersion): string[] =>
  isKnown(version, 6) ? [`--warning-apply-duration=${SLOW}`, `--warning-unary-request-duration=${SLOW}`] : []

/** URL of the firmware's listening address with the port that other members use. */
export function listenUrlAt(host: string, peerUrl: string): string {
  const [, port] = defined(/:(\d+)$/.exec(peerUrl))
  const address = host === 'localhost' ? '127.0.0.1' : host
  return `https://${isIPv6(address) ? `[${address}]` : address}:${port}`
}
