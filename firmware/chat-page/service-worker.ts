/**
 * Answers for the files of the page, so that it starts without the server. It never answers for the API. W3C Service Workers.
 */

import { handlePushes } from './service-worker-push.ts'

/** Set by tools/build-chat-page.ts. `FILES` are paths with a hash of their content in the name. */
declare const FILES: readonly string[]

interface WorkerEvent extends Event {
  waitUntil(done: Promise<unknown>): void
}

interface FetchEvent extends WorkerEvent {
  readonly request: Request
  respondWith(answer: Promise<Response>): void
}

interface WorkerScope {
  skipWaiting(): Promise<void>
  readonly clients: { claim(): Promise<void> }
  addEventListener(type: 'install' | 'activate', act: (event: WorkerEvent) => void): void
  addEventListener(type: 'fetch', act: (event: FetchEvent) => void): void
}

const worker = globalThis as unknown as WorkerScope
const SHELL = '/'
const SHELL_MS_MAX = 2000 // then the stored page starts

/** Other files are another version of the page, in a cache of its own. */
const cacheName = `coffer-chat ${FILES.join(' ')}`

worker.addEventListener('install', (event) => {
  event.waitUntil(store().then(() => worker.skipWaiting()))
})

worker.addEventListener('activate', (event) => {
  event.waitUntil(deleteOthers().then(() => worker.clients.claim()))
})

worker.addEventListener('fetch', (event) => {
  const { request } = event
  const { origin, pathname } = new URL(request.url)
  if (request.method !== 'GET' || origin !== location.origin) return
  if (request.mode === 'navigate' && pathname === SHELL) event.respondWith(shell(request))
  else if (FILES.includes(pathname)) event.respondWith(stored(pathname).then((answer) => answer ?? fetch(request)))
})

handlePushes(globalThis as never)

async function store(): Promise<void> {
  const cache = await caches.open(cacheName)
  await cache.addAll([SHELL, ...FILES])
}

async function deleteOthers(): Promise<void> {
  for (const name of await caches.keys()) if (name !== cacheName) await caches.delete(name)
}

const stored = async (path: string): Promise<Response | undefined> => (await caches.open(cacheName)).match(path)

/** The server's answer, or the stored page if there is none in time. A 5xx comes from a proxy that cannot reach the server. */
async function shell(request: Request): Promise<Response> {
  const answer = fetch(request)
  const late = new Promise<null>((resolve) => setTimeout(resolve, SHELL_MS_MAX, null))
  const first = await Promise.race([answer.catch(() => null), late])
  return first !== null && first.status < 500 ? first : ((await stored(SHELL)) ?? answer)
}
