/** Calls a function once nothing has used something for a while. */

interface IdleTimer {
  /** Call when a use begins. The time counts from the end of the turn of the event loop, however long the use takes. */
  touch(): void
}

export function createIdleTimer(ms: number, onIdle: () => void): IdleTimer {
  let timer: NodeJS.Timeout | undefined
  let isArmed = false
  return {
    touch() {
      clearTimeout(timer)
      if (isArmed) return
      isArmed = true
      setImmediate(() => {
        isArmed = false
        timer = setTimeout(onIdle, ms).unref()
      }).unref()
    },
  }
}
