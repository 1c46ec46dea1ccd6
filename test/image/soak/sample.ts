/** Before each, on the console. */
export const MARK = 'soak: '
export const SAMPLE_MS = 5000

export interface Sample {
  processes: { name: 'boot' | 'firmware' | 'etcd'; pid: number; kibibytes: number }[]
  availableKibibytes: number
  killed: number
  /** Changes with each election; null where etcd did not answer. */
  term: string | null
}
