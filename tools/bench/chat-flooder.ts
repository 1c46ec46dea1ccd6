/** A thread that calls one webhook at a steady pace over one connection, until it is told to stop; it posts how many calls had which status. */

import { Agent, request } from 'node:https'
import { parentPort, workerData } from 'node:worker_threads'

export interface FlooderData {
  port: number
  path: string
  everyMs: number
  waitingMax: number
}

const { port, path, everyMs, waitingMax } = workerData as FlooderData
const agent = new Agent({ keepAlive: true, maxSockets: waitingMax, rejectUnauthorized: false })
const statuses: Record<number, number> = {}
let waiting = 0
let isStopping = false

const timer = setInterval(() => {
  if (waiting === waitingMax) return
  waiting++
  const body = JSON.stringify({ text: `alert ${Date.now()}` })
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
  const called = request({ agent, host: '127.0.0.1', port, method: 'POST', path, headers }, (answer) => {
    statuses[answer.statusCode!] = (statuses[answer.statusCode!] ?? 0) + 1
    answer.resume().once('close', () => {
      waiting--
      endWhenAnswered()
    })
  })
  called.once('error', (error) => {
    throw error
  })
  called.end(body)
}, everyMs)

function endWhenAnswered(): void {
  if (!isStopping || waiting > 0) return
  parentPort!.postMessage(statuses)
  parentPort!.close()
  agent.destroy()
}

parentPort!.once('message', () => {
  clearInterval(timer)
  isStopping = true
  endWhenAnswered()
})
