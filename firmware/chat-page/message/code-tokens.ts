/** Splits code into tokens, in a worker: one block after the other, with bounds on hostile ones. */

import { effect } from '@preact/signals'
import { realm } from '../connection.ts'
import { fragment } from '../place.ts'
import { codeWorkerAddress } from '../worker-address.ts'

/** `scope` is a name of highlight.js, such as `title.function`, or empty. */
export type CodeToken = readonly [scope: string, text: string]

interface Block {
  readonly language: string
  readonly code: string
  take(tokens: readonly CodeToken[]): void
}

const MS_MAX = 200 // of one block; code that people write takes a few
const START_MS_MAX = 30_000 // of the worker: it may come over a slow network
const SLOW_MAX = 3 // blocks of a view: each holds a processor for MS_MAX, and the next waits for another worker

/** In their order. A block leaves when it is split, or is no longer in the document. */
const queue = new Set<Block>()
/** Codes of this view that took too long, each with its language. */
const slow = new Set<string>()
let isLoadable = true
let isRunning = false
let worker: Worker | null = null
let answer = (_tokens: readonly CodeToken[] | null) => {}

effect(() => {
  void fragment.value // another view
  slow.clear()
  isLoadable = true
})
effect(() => {
  if (realm.value !== null) return
  queue.clear()
  slow.clear()
  endWorker()
})

/** Does not call `take` if the code takes too long. Returns the function that takes the block out of the queue. */
export function splitCode(language: string, code: string, take: Block['take']): () => void {
  const block = { language, code, take }
  queue.add(block)
  if (!isRunning) void run()
  return () => void queue.delete(block)
}

async function run(): Promise<void> {
  isRunning = true
  for (const block of queue) {
    const tokens = await tokensOf(block)
    if (queue.delete(block) && tokens !== null) block.take(tokens)
  }
  isRunning = false
  endWorker()
}

async function tokensOf({ language, code }: Block): Promise<readonly CodeToken[] | null> {
  const key = `${language}\n${code}`
  if (!isLoadable || slow.size >= SLOW_MAX || slow.has(key)) return null
  const asked = worker ?? (await startWorker())
  if (asked === null) return null
  asked.postMessage({ language, code })
  const tokens = await answerWithin(MS_MAX)
  if (tokens === null && worker === asked) {
    slow.add(key)
    endWorker()
  }
  return tokens
}

async function startWorker(): Promise<Worker | null> {
  try {
    worker = new Worker(codeWorkerAddress())
  } catch {
    isLoadable = false
    return null
  }
  const started = worker
  started.onmessage = ({ data }) => answer(data)
  started.onerror = () => answer(null)
  const isReady = (await answerWithin(START_MS_MAX)) !== null
  if (worker !== started) return null // locked
  if (isReady) return started
  isLoadable = false
  endWorker()
  return null
}

function endWorker(): void {
  worker?.terminate()
  worker = null
  answer(null)
}

/** Null if the worker failed, was ended, or has not answered in time. */
function answerWithin(ms: number): Promise<readonly CodeToken[] | null> {
  return new Promise((resolve) => {
    // If the page was busy, an answer may be there when the time is over: it comes before the second timer.
    const timer = setTimeout(() => setTimeout(resolve, 0, null), ms)
    answer = (tokens) => {
      clearTimeout(timer)
      resolve(tokens)
    }
  })
}
