/**
 * Tells whether what clients saw of a register can have been one register: an order of all operations, each between its call and
 * its answer, in which every read gives what was written last. Wing and Gong, "Testing and Verifying Concurrent Objects", 1993, with
 * the memory of Lowe, "Testing for linearizability", 2017.
 */

export interface Operation {
  kind: 'read' | 'write'
  /** The value written, never twice, or the value read. */
  value: string | null
  /** All clients share one clock. */
  calledMs: number
  /** Null where no answer said whether a write was done: it may be at any time from its call on, or never. */
  answeredMs: number | null
}

interface Event {
  operation: Operation
  /** In the order of their calls. */
  number: number
  isCall: boolean
  previous: Event | null
  next: Event | null
  /** Answer of a call. */
  answer: Event | null
}

/** `initial`: what the register holds before all of them. */
export function isLinearizable(history: readonly Operation[], initial: string | null): boolean {
  const first = eventsOf(history.filter(isOfUse(history)))
  const done = new Set<number>()
  const seen = new Set<string>()
  const tried: { call: Event; value: string | null }[] = []
  let value = initial
  let event = first.next
  while (first.next !== null) {
    if (event === null) return false
    if (event.isCall) {
      const { operation, number } = event
      const isPossible = operation.kind === 'write' || operation.value === value
      const state = isPossible ? stateOf(done, number, operation.value) : ''
      if (!isPossible || seen.has(state)) {
        event = event.next
        continue
      }
      seen.add(state)
      tried.push({ call: event, value })
      value = operation.value
      done.add(number)
      lift(event)
      event = first.next
    } else {
      const last = tried.pop()
      if (last === undefined) return false
      value = last.value
      done.delete(last.call.number)
      unlift(last.call)
      event = last.call.next
    }
  }
  return true
}

/** A write without an answer that no client has read may or may not have been done. */
function isOfUse(history: readonly Operation[]): (operation: Operation) => boolean {
  const read = new Set(history.filter(({ kind }) => kind === 'read').map(({ value }) => value))
  return ({ kind, value, answeredMs }) => kind === 'read' || answeredMs !== null || read.has(value)
}

function eventsOf(history: readonly Operation[]): Event {
  const first: Event = { operation: history[0]!, number: -1, isCall: false, previous: null, next: null, answer: null }
  const inOrder = history.toSorted((a, b) => a.calledMs - b.calledMs)
  const timed = inOrder.flatMap((operation, number) => {
    const answer: Event = { operation, number, isCall: false, previous: null, next: null, answer: null }
    const call: Event = { ...answer, isCall: true, answer }
    return [
      { atMs: operation.calledMs, event: call },
      { atMs: operation.answeredMs ?? Number.POSITIVE_INFINITY, event: answer },
    ]
  })
  // At the same moment calls come first: what cannot be told apart is not held against anybody.
  timed.sort((a, b) => (a.atMs === b.atMs ? Number(b.event.isCall) - Number(a.event.isCall) : a.atMs < b.atMs ? -1 : 1))
  let last = first
  for (const { event } of timed) {
    last.next = event
    event.previous = last
    last = event
  }
  return first
}

/** Few are left open before the last that is done. */
function stateOf(done: ReadonlySet<number>, more: number, value: string | null): string {
  const left: number[] = []
  let seen = 0
  for (let number = 0; seen <= done.size; number++) {
    if (number === more || done.has(number)) seen++
    else left.push(number)
  }
  return `${done.size} ${left} ${value}`
}

function unlink(event: Event): void {
  event.previous!.next = event.next
  if (event.next !== null) event.next.previous = event.previous
}

function relink(event: Event): void {
  event.previous!.next = event
  if (event.next !== null) event.next.previous = event
}

function lift(call: Event): void {
  unlink(call)
  unlink(call.answer!)
}

function unlift(call: Event): void {
  relink(call.answer!)
  relink(call)
}
