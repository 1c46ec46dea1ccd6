/** Texts about members in etcd's arguments, where commas and equals signs separate them. */

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/
const PEER_URL = /^https:\/\/(?:[A-Za-z0-9][A-Za-z0-9.-]{0,252}|\[[0-9A-Fa-f:.]{2,45}\]):\d{1,5}$/

export const isEtcdName = (value: unknown): value is string => typeof value === 'string' && NAME.test(value)

/** Host and port, and nothing behind them. */
export const isPeerUrl = (value: unknown): value is string => typeof value === 'string' && PEER_URL.test(value)

// All of it fits into a frame.
export const PEERS_MAX = 32
export const URLS_MAX = 4 // of one member
export const PEM_BYTES_MAX = 256 * 1024
