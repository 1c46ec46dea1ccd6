/**
 * Tabs of one browser share an event queue. The tab that holds a Web Lock leads: it polls the queue, and a BroadcastChannel takes the
 * events to the others. When the leader closes, the next tab in line goes on. W3C Web Locks.
 */

const NAME = 'coffer-chat'

export interface Tabs<Message> {
  readonly isLeading: boolean
  /** Reaches all other tabs. */
  post(message: Message): void
  /** Leads in place of a tab that does not answer: browsers suspend pages in the background. */
  takeOver(): void
}

interface TabsOptions<Message> {
  /** Leaves the tabs when it is aborted. */
  signal: AbortSignal
  /** True to lead at once, in place of another tab. */
  isFirst: boolean
  /** Called when this tab leads. Must run until the signal is aborted. */
  lead(signal: AbortSignal): Promise<void>
  receive(message: Message): void
}

export function joinTabs<Message>({ signal, isFirst, lead, receive }: TabsOptions<Message>): Tabs<Message> {
  const channel = new BroadcastChannel(NAME)
  channel.onmessage = ({ data }) => receive(data)
  let isLeading = false
  let mustSteal = isFirst
  let current = new AbortController()
  signal.addEventListener('abort', () => {
    current.abort()
    channel.close()
  })

  async function takeTurns(): Promise<void> {
    while (!signal.aborted) {
      current = new AbortController()
      const turn = current
      const options = mustSteal ? { steal: true } : { signal: turn.signal }
      mustSteal = false
      const lock = navigator.locks.request(NAME, options, async () => {
        isLeading = true
        await lead(turn.signal)
      })
      await lock.catch(() => {}) // taken by another tab, or left in order to take it
      isLeading = false
      turn.abort()
    }
  }

  void takeTurns()
  return {
    get isLeading() {
      return isLeading
    },
    post(message) {
      if (!signal.aborted) channel.postMessage(message)
    },
    takeOver() {
      mustSteal = true
      current.abort()
    },
  }
}
