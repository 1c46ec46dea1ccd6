/** When the next group of audit lines goes to the disk. */

const GROUP_MS_MIN = 400
const GROUP_MS_MAX = 1000 // what a power cut may lose
const GROUP_SHARE = 50 // a group waits this many times as long as the last one took: syncing takes 2 % of the time

interface FlushTimer {
  /** In a while, together with what comes until then. `isFailing`: the disk has just refused. */
  later(isFailing: boolean): void
  /** Once everything that arrived together has been recorded. */
  soon(): void
  took(ms: number): void
  /** Nothing is to be done until it is asked for again. */
  clear(): void
}

/** `onSoon` and `onLater` write; what they throw is theirs to handle. */
export function createFlushTimer(onLater: () => void, onSoon: () => void): FlushTimer {
  let timer: NodeJS.Timeout | undefined
  let immediate: NodeJS.Immediate | undefined
  let lastMs = 0

  const groupMs = (): number => Math.min(GROUP_MS_MAX, Math.max(GROUP_MS_MIN, lastMs * GROUP_SHARE))

  return {
    later(isFailing) {
      timer ??= setTimeout(onLater, isFailing ? GROUP_MS_MAX : groupMs()).unref()
    },
    soon() {
      immediate ??= setImmediate(() => {
        immediate = undefined
        onSoon()
      })
    },
    took(ms) {
      lastMs = ms
    },
    clear() {
      clearTimeout(timer)
      clearImmediate(immediate)
      timer = undefined
      immediate = undefined
    },
  }
}
