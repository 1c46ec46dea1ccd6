/** What an etcd is started with: https://etcd.io/docs/v3.6/op-guide/configuration/ */

import { isIPv6 } from 'node:net'
import type { EtcdLaunch } from '../../firmware/channel/protocol.ts'
import { WRITES_MAX } from '../../firmware/cluster/etcd/limits.ts'

/** Of its client socket, in the directory that it runs in: before 3.5 a socket has a name with a port, and no path. */
export const SOCKET = 'etcd:0'
/** In the same directory. */
export const DATA = 'data'

/** Where it finds what it is not told in arguments, and reads it at each connection. */
const IDENTITY_DESCRIPTOR = 4
const AUTHORITY_DESCRIPTOR = 5

const REVISIONS_KEPT = 10_000 // what a watch can still begin at
// Memory: it holds as many entries as it may have to send to others, and those of a load are large.
const SNAPSHOT_ENTRIES = 1000
const CATCHUP_ENTRIES = 500
const WALS_MAX = 2
const MEBIBYTE = 1024 ** 2
const QUOTA_BYTES_MAX = 2048 * MEBIBYTE // etcd's own; a cluster of a million keys has room in it
const QUOTA_BYTES_MIN = 64 * MEBIBYTE
const LOG_BYTES = 256 * MEBIBYTE // segments of 64 MB: those that are kept, the one that is written, and the next
/** Of the disk: the database, the copy of it while it is defragmented, the node's own store, and a rest. */
const QUOTA_SHARE = 4
const SLOW = '1s' // a request that is worth a line of the log

/** Nothing of ours. Beyond this much memory Go's collector works harder; with less it would have no room to read its log. */
export const ETCD_ENVIRONMENT = { GOMEMLIMIT: '192MiB' }

export interface EtcdVersion {
  major: number
  minor: number
}

/** From what `etcd --version` prints; null when that is something else. */
export function readVersion(printed: string): EtcdVersion | null {
  const [, major, minor] = /^etcd Version: (\d+)\.(\d+)\./m.exec(printed) ?? []
  return major === undefined ? null : { major: Number(major), minor: Number(minor) }
}

/** Of the database, so that it is full before the disk is; `diskBytes`: of the whole file system. */
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
    '--pre-vote=true', // one that comes back does not unseat a leader: by default only since 3.5
    ...['--logger=zap', '--log-outputs=stderr', '--log-level=warn', ...timeouts(version)],
  ]
}

/** Peers show each other certificates of the cluster's CA, in TLS 1.2 or newer, which is all that Go's client and etcd speak. */
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

/** By itself it warns of each request that takes a tenth of a second, which on a small device is each beside many signatures. */
const timeouts = (version: EtcdVersion): string[] =>
  isKnown(version, 6) ? [`--warning-apply-duration=${SLOW}`, `--warning-unary-request-duration=${SLOW}`] : []

/** At the address that the firmware listens at, with the port that the others use. */
export function listenUrlAt(host: string, peerUrl: string): string {
  const [, port] = /:(\d+)$/.exec(peerUrl)!
  const address = host === 'localhost' ? '127.0.0.1' : host
  return `https://${isIPv6(address) ? `[${address}]` : address}:${port}`
}
