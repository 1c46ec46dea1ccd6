/** What the device prints of itself during a soak. */

/** Before each, on the console. */
export const MARK = 'soak: '
export const SAMPLE_MS = 5000

export interface Sample {
  /** With the memory that each has of its own or with others. */
  processes: { name: 'boot' | 'firmware' | 'etcd'; pid: number; kibibytes: number }[]
  availableKibibytes: number
  /** Processes that the kernel has ended for lack of memory. */
  killed: number
  /** Changes with each election; null where etcd did not answer. */
  term: string | null
}
